/**
 * Trail ends: whether what is met on a trail ends the value for good: not where another takes its
 * place, and where a method gives away what its object had. Used by `trails.ts` and
 * `endless-values.ts`.
 */
import ts from "typescript";
import { enclosingFunction } from "../transfer/fate.ts";
import type { Callee } from "../program/callee.ts";
import { fieldOfThis } from "../objects/members.ts";
import type { Session } from "../session.ts";
import {
  hasBody,
  isNullish,
  isTarget,
  rootOf,
  someWithin,
  unwrap,
  within,
} from "../program/syntax.ts";
import { areApart } from "../program/ways.ts";
import { mayEnd } from "./trail-closures.ts";
import type { Trail } from "./trails.ts";

/** Whether the type of a name is a library's, which may end what it holds with it. */
export const isOfLibrary = ({ session: { oracle } }: Trail, name: ts.Node): boolean =>
  oracle.declarationsAt(name).some((d) => d.getSourceFile().isDeclarationFile);

/** `{ state, [Symbol.dispose]() { this.state.dispose(); } }`: an object that ends its own parts. */
export const endsItself = ({ session: { oracle } }: Trail, object: ts.Expression): boolean =>
  ["@@dispose", "@@asyncDispose"].some((name) => {
    const method = oracle.memberAt(object, name)?.valueDeclaration;
    return (
      method !== undefined &&
      ts.isObjectLiteralExpression(method.parent) &&
      someWithin(method, ({ kind }) => kind === ts.SyntaxKind.ThisKeyword)
    );
  });

/** `texture.createView()`: what is made goes on using it, and ends nothing. */
export const isHolding = (
  { session: { oracle }, owned: { owner } }: Trail,
  callee: Callee,
): boolean => callee.declaration !== undefined && oracle.is(callee, owner.holders, owner);

/**
 * `buffer.mapAsync(1)`, `frame.add(1)` of what has no type: what such a value has besides its end
 * only looks, or makes another.
 */
export function isOfUntyped({ owned: { owner } }: Trail, { declaration, name }: Callee): boolean {
  if (declaration) return false;
  const { described, makes } = owner.untyped;
  return (
    makes.includes(name) || (owner.policy === "generic" && described.length > 0 && !mayEnd(name))
  );
}

/** `pair.texture.destroy()`, where no type says what a pair has. */
export const endsPart = ({ owned }: Trail, { parent }: ts.Expression): boolean =>
  ts.isPropertyAccessExpression(parent) &&
  ts.isCallExpression(parent.parent) &&
  owned.owner.dispose.methods.includes(parent.name.text);

/**
 * `this.x.destroy(); this.x = make();`, `old.destroy(); this.makeX();`: the value is ended to put
 * another in its place. Where the field is emptied in between, it ends.
 */
export const isToReplace = (
  session: Session,
  end: ts.Node,
  field: string,
  makes: readonly ts.Node[],
): boolean => isMadeAfter(session, end, makes, (node) => empties(node, field));

/** `depth.destroy(); depth = make();`: the same of a variable or a part of what it holds. */
export function isReplaced(session: Session, end: ts.Node, made: ts.Node): boolean {
  const called = ts.isCallExpression(end) ? end.expression : end;
  if (!ts.isPropertyAccessExpression(called) || !ts.isIdentifier(rootOf(called))) return false;
  const place = called.expression.getText();
  return isMadeAfter(
    session,
    end,
    [made],
    (node) =>
      ts.isBinaryExpression(node) && node.left.getText() === place && isNullish(unwrap(node.right)),
  );
}

/** Whether a function that ends something makes something after that, and does not empty it. */
function isMadeAfter(
  { oracle }: Session,
  end: ts.Node,
  makes: readonly ts.Node[],
  isEmptied: (node: ts.Node) => boolean,
): boolean {
  const home = enclosingFunction(end);
  if (!home) return false;
  let isReplaced = false;
  someWithin(home, (node) => {
    if (node.pos < end.end || areApart(end, node)) return false;
    if (isEmptied(node)) return true;
    const body = ts.isCallExpression(node) ? oracle.callee(node).body : undefined;
    isReplaced = makes.some((at) => at === node || (body !== undefined && within(at, body)));
    return isReplaced;
  });
  return isReplaced;
}

/** `this.x = undefined`. */
const empties = (node: ts.Node, field: string): boolean =>
  ts.isBinaryExpression(node) &&
  isTarget(node.left) &&
  fieldOfThis(node.left)?.name.text === field &&
  isNullish(unwrap(node.right));

/**
 * Whether a method that gives a value to whoever uses the program leaves it to them: it empties the
 * field or takes it out of a list, or another method ends what it is given.
 */
export function givesForGood(session: Session, fn: ts.Node): boolean {
  const takesOut = someWithin(fn, (node) => {
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression))
      return /^(pop|shift|splice|delete|clear)$/.test(node.expression.name.text);
    return (
      ts.isBinaryExpression(node) &&
      isTarget(node.left) &&
      fieldOfThis(node.left) !== undefined &&
      (isNullish(unwrap(node.right)) || ts.isArrayLiteralExpression(unwrap(node.right)))
    );
  });
  const holder = ts.isClassLike(fn.parent) ? fn.parent : undefined;
  return takesOut || (holder?.members.some((m) => endsWhatItIsGiven(session, m)) ?? false);
}

const endsWhatItIsGiven = (session: Session, member: ts.ClassElement): boolean =>
  ts.isMethodDeclaration(member) &&
  hasBody(member) &&
  session.summary(member).parameters.some(({ disposes }) => disposes);
