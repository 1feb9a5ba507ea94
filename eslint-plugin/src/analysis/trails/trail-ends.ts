/**
 * Trail ends: whether what is met on a trail ends the value for good: not where another takes its
 * place, and where a method gives away what its object had. Used by `trails.ts` and
 * `endless-values.ts`.
 */
import ts from "typescript";
import { enclosingFunction } from "../transfer/fate.ts";
import { fieldOfThis } from "../objects/members.ts";
import type { Session } from "../session.ts";
import { hasBody, isNullish, isTarget, someWithin, unwrap, within } from "../program/syntax.ts";
import { areApart } from "../program/ways.ts";

/**
 * `this.x.destroy(); this.x = make();`, `old.destroy(); this.makeX();`: the value is ended to put
 * another in its place. Where the field is emptied in between, it ends.
 */
export function isToReplace(
  { oracle }: Session,
  end: ts.Node,
  field: string,
  makes: readonly ts.Node[],
): boolean {
  const home = enclosingFunction(end);
  if (!home) return false;
  let isReplaced = false;
  someWithin(home, (node) => {
    if (node.pos < end.end || areApart(end, node)) return false;
    if (empties(node, field)) return true;
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
