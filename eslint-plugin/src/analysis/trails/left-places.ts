/**
 * Left places: whether a new object is put where another one was before, or into a list or table
 * from which some are taken out again, so that it does not last as long as the program. Used by
 * `made-again.ts`.
 */
import ts from "typescript";
import { callSitesOf } from "../program/call-sites.ts";
import { puts } from "../program/containers.ts";
import { enclosingFunction, fateOf, returnsOf } from "../transfer/fate.ts";
import { referencesTo } from "../program/references.ts";
import { surelyRunsOften } from "./runs-often.ts";
import { samePlace } from "../program/same-place.ts";
import type { Session } from "../session.ts";
import {
  hasBody,
  isEmptyContainer,
  isTarget,
  rootOf,
  unwrap,
  type CallLike,
} from "../program/syntax.ts";

const furthest = 3;

/** Whether what an expression makes stands where others stood before, or leaves its place again. */
export function leavesItsPlace(session: Session, made: ts.Expression, depth = 0): boolean {
  const { kind, node } = fateOf(made);
  if (kind === "assigned") return isStoreThatReplaces(session, node as ts.BinaryExpression);
  if (kind === "argument") return isPutForATime(session, node as CallLike);
  if (kind === "returned") return depth < furthest && isGivenForATime(session, made, depth);
  if (kind !== "bound" || !ts.isVariableDeclaration(node) || !ts.isIdentifier(node.name))
    return false;
  const home = enclosingFunction(node);
  if (!home) return false;
  return referencesTo(session.oracle, node, node.name, home).some(
    (id) => id !== node.name && !isTarget(id) && leavesItsPlace(session, id, depth + 1),
  );
}

/** `setMode(n) { this.mode = new Mode(n); }`, `this.parts[key] = part` beside `delete`. */
function isStoreThatReplaces(session: Session, { left }: ts.BinaryExpression): boolean {
  const place = unwrap(left);
  if (ts.isElementAccessExpression(place)) return isThinnedOut(session, place.expression);
  const home = enclosingFunction(place);
  if (!home || ts.isConstructorDeclaration(home) || !outlives(session, place, home)) return false;
  return surelyRunsOften(session, home);
}

/** A field, or a variable of something around a function. */
function outlives({ oracle }: Session, place: ts.Expression, home: ts.Node): boolean {
  const root = rootOf(place);
  if (root.kind === ts.SyntaxKind.ThisKeyword) return true;
  const declaration = ts.isIdentifier(root) ? oracle.declarationAt(root) : undefined;
  return (
    declaration !== undefined &&
    ts.isVariableDeclaration(declaration) &&
    enclosingFunction(declaration) !== home
  );
}

/** `this.parts.push(part)`, where parts are taken out of that list elsewhere. */
function isPutForATime(session: Session, { expression }: CallLike): boolean {
  return (
    ts.isPropertyAccessExpression(expression) &&
    puts(expression.name.text) &&
    isThinnedOut(session, expression.expression)
  );
}

/** Whether a function gives an object to somebody who puts it where it does not stay. */
function isGivenForATime(session: Session, made: ts.Node, depth: number): boolean {
  const fn = enclosingFunction(made);
  if (!fn || !hasBody(fn) || isForPool(session, made)) return false;
  const { calls } = callSitesOf(session.oracle, fn, "program");
  return calls.some((call) => leavesItsPlace(session, call, depth + 1));
}

/**
 * `if (pool.length) return pool.pop(); return new X();`: objects come back, and are no more than
 * are used at a time.
 */
export function isForPool({ oracle: { facts } }: Session, made: ts.Node): boolean {
  const fn = enclosingFunction(made);
  const isTakenBack = (value: ts.Expression): boolean =>
    /\.(pop|shift)\(\)!?$/.test(unwrap(value).getText());
  return fn !== undefined && hasBody(fn) && facts.of(fn, returnsOf).some(isTakenBack);
}

/** Whether the class or file of a list or table takes single values out of it, or all of them. */
function isThinnedOut(session: Session, container: ts.Expression): boolean {
  const { facts } = session.oracle;
  const file = container.getSourceFile();
  const root = rootOf(container);
  if (root.kind !== ts.SyntaxKind.ThisKeyword && !isOfFile(session, root)) return false;
  const holder = ts.findAncestor(container, ts.isClassLike);
  const isSame = (other: ts.Expression): boolean =>
    samePlace(session.oracle, other, container) &&
    (root.kind !== ts.SyntaxKind.ThisKeyword || ts.findAncestor(other, ts.isClassLike) === holder);
  return (
    facts.calls(file).some((call) => {
      const { expression: on } = call;
      return ts.isPropertyAccessExpression(on) && takesOut(on.name.text) && isSame(on.expression);
    }) ||
    facts
      .assignments(file)
      .some(
        (store) => isCut(store) && isSame(storeOf(store)) && !isStart(session, store, container),
      )
  );
}

/** A variable, and not one of the function that puts something in. */
function isOfFile({ oracle }: Session, root: ts.Expression): boolean {
  const declaration = ts.isIdentifier(root) ? oracle.declarationAt(root) : undefined;
  return (
    declaration !== undefined &&
    ts.isVariableDeclaration(declaration) &&
    enclosingFunction(declaration) !== enclosingFunction(root)
  );
}

const takesOut = (name: string): boolean => /^(delete|splice|pop|shift|clear)$/.test(name);

/** `xs.length = 0`, `xs = xs.filter(…)`, and `xs = []` in a function that is no constructor. */
function isCut(store: ts.BinaryExpression): boolean {
  if (store.operatorToken.kind !== ts.SyntaxKind.EqualsToken) return false;
  const home = enclosingFunction(store);
  if (!home || ts.isConstructorDeclaration(home)) return false;
  if (isLength(store.left)) return true;
  const value = unwrap(store.right);
  if (isEmptyContainer(value)) return true;
  return (
    ts.isCallExpression(value) &&
    ts.isPropertyAccessExpression(value.expression) &&
    value.expression.name.text === "filter"
  );
}

/** `this.xs = []; for (…) this.xs.push(new X())`, in what nothing runs again. */
function isStart(session: Session, store: ts.BinaryExpression, container: ts.Expression): boolean {
  const home = enclosingFunction(store);
  return (
    home !== undefined &&
    home === enclosingFunction(container) &&
    store.pos < container.pos &&
    !surelyRunsOften(session, home)
  );
}

/** The list that an assignment cuts. */
const storeOf = ({ left }: ts.BinaryExpression): ts.Expression =>
  isLength(left) ? left.expression : left;

const isLength = (node: ts.Expression): node is ts.PropertyAccessExpression =>
  ts.isPropertyAccessExpression(node) && node.name.text === "length";
