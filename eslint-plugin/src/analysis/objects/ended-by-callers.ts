/**
 * Ended by callers: whether who calls a function that fills a place may have ended what stood there
 * before, under whatever name: `release(this); this.fill();`, `for (const t of this.parts())
 * t.dispose();`, an ending that a subclass writes. Used by the verbs about what assignments lose.
 */
import ts from "typescript";
import { callSitesOf } from "../program/call-sites.ts";
import { implementationsSeen } from "../program/possible-callees.ts";
import {
  hasBody,
  isTarget,
  rootOf,
  someWithin,
  unwrap,
  type CallLike,
  type FunctionWithBody,
} from "../program/syntax.ts";
import { leaves } from "../program/ways.ts";
import type { Session } from "../session.ts";
import { getsNothing } from "./field-deeds.ts";
import { handedTo } from "../transfer/callbacks.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { calledBy, soundsLikeDisposal } from "../transfer/disposes.ts";

const furthest = 3;

type Test = (node: ts.Node) => boolean;

/** A place that a function fills. */
export interface Filled {
  /** Whether a node looks at it. */
  speaks: Test;
  /** Whether a node is a store that gives it something. */
  isStore?: Test;
  /** Whether a node counts on what is there. */
  isUsed?: Test;
}

/** The place that all of some mentions are of. */
export const filledBy = (mentions: readonly ts.Expression[]): Filled => {
  const all = new Set<ts.Node>(mentions);
  const isOne = (node: ts.Node): boolean => all.has(node);
  return {
    speaks: (node) => isOne(node) && !isTarget(node),
    isStore: (node) => isOne(node) && isTarget(node) && !getsNothing(node),
    isUsed: (node) => isOne(node) && isUsed(node),
  };
};

/** Whether one that calls a function which fills a place may end what is there beforehand. */
export function mayBeEndedBefore(session: Session, fills: ts.Node, place: Filled): boolean {
  if (!hasBody(fills) || (place.isUsed && someWithin(fills, place.isUsed))) return false;
  return callSitesOf(session.oracle, fills, "program").calls.some((call) => {
    let around = enclosingFunction(call);
    if (!around || around === fills) return false;
    for (let host = handedTo(around); host && enclosingFunction(host); host = handedTo(around))
      around = enclosingFunction(host) ?? around; // `names.map((name) => fill(name))`
    const isSame = (node: ts.CallExpression): boolean => objectOf(node) === objectOf(call);
    return mayEndIn(session, around, place, (node) => node.end <= call.pos, isSame);
  });
}

/** `this.x.size`. */
const isUsed = ({ parent }: ts.Node): boolean =>
  ts.isNonNullExpression(parent)
    ? isUsed(parent)
    : ts.isPropertyAccessExpression(parent) && parent.questionDotToken === undefined;

/** The `store` of `store.close()`, as it is written. */
export const objectOf = ({ expression }: CallLike): string =>
  ts.isPropertyAccessExpression(expression) ? expression.expression.getText() : "";

/** `release(x)`, `this.release()`: of the object that a method is called on. */
const isOwnCall = (call: ts.CallExpression): boolean => /^(|this|super)$/.test(objectOf(call));

/** Whether a class or file may end what a place holds, by whatever name. */
export const mayEndWithin = (session: Session, root: ts.Node, speaks: Test): boolean =>
  mayEndIn(session, root, { speaks }, undefined, undefined, furthest);

/** Whether a function may end what a place holds, itself or by what it calls. */
function mayEndIn(
  session: Session,
  fn: ts.Node,
  place: Filled,
  counts: Test = () => true,
  isSame: (call: ts.CallExpression) => boolean = isOwnCall,
  depth = 0,
): boolean {
  const mayEndBy = (node: ts.CallExpression): boolean => {
    if (ends(session, node) && reachesPlace(session, node, place.speaks))
      return depth === 0 || !isCountedDown(node, fn);
    if (depth === furthest || !(isSame(node) || isOwnCall(node))) return false;
    const bodies = bodiesOf(session, node).filter((body) => body !== fn);
    const isWhole = node.arguments.some(isThis) && bodies.some(endsSomething);
    return (
      isWhole || bodies.some((b) => mayEndIn(session, b, place, undefined, undefined, depth + 1))
    );
  };
  const isFilledAfter = (end: ts.Node): boolean =>
    someWithin(fn, (at) => at.pos >= end.end && counts(at) && fillsAgain(session, at, place));
  return someWithin(
    fn,
    (node) =>
      ts.isCallExpression(node) &&
      counts(node) &&
      runsIn(node, fn) &&
      mayEndBy(node) &&
      !isFilledAfter(node),
  );
}

/** `this.users -= 1; if (this.users > 0) return; this.x.dispose();`: for the last user alone. */
function isCountedDown(end: ts.Node, fn: ts.Node): boolean {
  const isOfCount = (at: ts.Node): boolean =>
    ts.isBinaryExpression(at) && /^[<>]=?$/.test(at.operatorToken.getText());
  return someWithin(
    fn,
    (at) =>
      ts.isIfStatement(at) &&
      at.end <= end.pos &&
      leaves(at.thenStatement) &&
      someWithin(at.expression, isOfCount),
  );
}

/** Whether a node stores something in the place, or calls a function that does. */
const fillsAgain = (session: Session, node: ts.Node, { isStore }: Filled): boolean =>
  isStore !== undefined &&
  (isStore(node) ||
    (ts.isCallExpression(node) &&
      bodiesOf(session, node).some((body) => someWithin(body, isStore))));

/** Whether a node is one of a function itself, or of a callback that it hands to another call. */
function runsIn(node: ts.Node, fn: ts.Node): boolean {
  const around = enclosingFunction(node);
  if (!around || around === fn || !ts.isFunctionLike(fn)) return true;
  const host = handedTo(around);
  return host !== undefined && runsIn(host, fn);
}

/** The functions of the program that a call may run. */
function bodiesOf({ oracle }: Session, call: ts.CallExpression): readonly FunctionWithBody[] {
  const { body, declaration } = oracle.callee(call);
  return body ? [body] : ((declaration && implementationsSeen(oracle, declaration)) ?? []);
}

/** A call of what ends its receiver or arguments, be it somebody else's function. */
function ends(session: Session, call: ts.CallExpression): boolean {
  if (!soundsLikeDisposal(calledBy(call))) return false;
  const { expression } = call;
  const isAccess =
    ts.isPropertyAccessExpression(expression) || ts.isElementAccessExpression(expression);
  const on = isAccess ? expression.expression : undefined;
  return (
    bodiesOf(session, call).length === 0 ||
    (on !== undefined && session.transfer(on).effect === "disposes")
  );
}

const isThis = (node: ts.Node): boolean => node.kind === ts.SyntaxKind.ThisKeyword;
const endsSomething = (fn: ts.Node): boolean =>
  someWithin(fn, (node) => ts.isCallExpression(node) && soundsLikeDisposal(calledBy(node)));

/** Whether the receiver or an argument of an ending leads to what a place holds. */
function reachesPlace(session: Session, call: ts.CallExpression, speaks: Test): boolean {
  const { expression, arguments: args } = call;
  const isAccess =
    ts.isPropertyAccessExpression(expression) || ts.isElementAccessExpression(expression);
  const on = isAccess ? [expression.expression] : [];
  return [...on, ...args].some((part) => !isThis(part) && leadsThere(session, part, speaks, 0));
}

/** `this.x`, `this[key]`, `this.parts()`, or a name for what such an expression gives. */
function leadsThere(session: Session, from: ts.Node, speaks: Test, depth: number): boolean {
  if (depth > furthest) return false;
  return someWithin(from, (node) => {
    if (speaks(node)) return true;
    if (ts.isElementAccessExpression(node) && isThis(unwrap(node.expression)))
      return !ts.isStringLiteralLike(node.argumentExpression);
    if (ts.isCallExpression(node)) {
      if (node.arguments.some(isThis)) return true;
      return bodiesOf(session, node).some((body) =>
        someWithin(body, (at) => speaks(at) && runsIn(at, body)),
      );
    }
    if (ts.isPropertyAccessExpression(node)) return isGetterOf(session, node, speaks);
    if (!ts.isIdentifier(node)) return false;
    const source = sourceOf(session, node);
    return source !== undefined && leadsThere(session, source, speaks, depth + 1);
  });
}

/** `this.parts`, where `get parts() { return [this.a, this.b]; }`. */
function isGetterOf({ oracle }: Session, node: ts.PropertyAccessExpression, speaks: Test) {
  if (rootOf(node).kind !== ts.SyntaxKind.ThisKeyword) return false;
  const declaration = oracle.declarationAt(node.name);
  return declaration !== undefined && ts.isGetAccessor(declaration)
    ? someWithin(declaration, speaks)
    : false;
}

/** What a name stands for: what a loop or a callback walks over, what a constant is made of. */
function sourceOf({ oracle }: Session, id: ts.Identifier): ts.Expression | undefined {
  const declaration = oracle.declarationAt(id);
  if (!declaration) return undefined;
  if (ts.isParameter(declaration)) {
    const host = handedTo(declaration.parent);
    const walked = host && ts.isCallExpression(host) ? host.expression : undefined;
    return walked && ts.isPropertyAccessExpression(walked) ? walked.expression : undefined;
  }
  const holder = ts.findAncestor(declaration, ts.isVariableDeclaration);
  if (!holder || !ts.isVariableDeclarationList(holder.parent)) return undefined;
  const loop = holder.parent.parent;
  return ts.isForOfStatement(loop) ? loop.expression : holder.initializer;
}
