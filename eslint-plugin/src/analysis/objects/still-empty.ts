/**
 * Still empty: `this.part = new Part(); if (!(await this.part.start())) this.part = null;`, where
 * nothing that the object was asked so far has made anything. Used by `slot-losses.ts`.
 */
import ts from "typescript";
import { isHolder } from "../../owner.ts";
import type { Slot } from "../flow/slots.ts";
import { functionsRun } from "./closure-endings.ts";
import type { Session } from "../session.ts";
import { functionAround } from "../transfer/callbacks.ts";
import { enclosingFunction, fateOf } from "../transfer/fate.ts";
import { baseOf, hasBody, isTarget, someWithin, unwrap, within } from "../program/syntax.ts";

/** Whether the object that a place loses was made in the same function and holds nothing yet. */
export function isStillEmpty(session: Session, slot: Slot, loss: ts.Node): boolean {
  if (!isHolder(slot.owned.owner, session.settings) || slot.makes.length === 0) return false;
  const home = functionAround(session, loss);
  const mentions = slot.mentions.filter(
    (m) => m.end <= loss.pos && functionAround(session, m) === home,
  );
  const asked = mentions.filter((m) => !isTarget(m));
  return (
    slot.makes.every((made) => isBare(session, made) && within(made, home ?? loss)) &&
    asked.every((mention) => makesNothing(session, mention, loss))
  );
}

/** `new Part(device)` of a class without a base, which makes nothing before it is asked. */
function isBare(session: Session, made: ts.Expression): boolean {
  const bare = unwrap(made);
  const node = ts.isNewExpression(bare) && session.oracle.declarationAt(bare.expression);
  if (!node || !ts.isClassLike(node) || baseOf(node)) return false;
  return node.members.every((m) => {
    if (ts.isPropertyDeclaration(m)) return !m.initializer || !makesIn(session, m).length;
    return !ts.isConstructorDeclaration(m) || makesOf(session, m).length === 0;
  });
}

/** A test, or a call of a method that has made nothing by the time that it fails. */
function makesNothing(session: Session, mention: ts.Expression, loss: ts.Node): boolean {
  const { kind, node } = fateOf(mention);
  if (kind === "operand") return true;
  if (kind !== "receiver" || !ts.isCallExpression(node)) return false;
  const { body } = session.oracle.callee(node);
  if (!hasBody(body)) return false;
  const made = makesOf(session, body);
  if (made.length === 0) return true;
  if (!isFailure(session, node, loss) || made.some((at) => enclosingFunction(at) !== body))
    return false;
  // what stands after the last `return false` is not made where that is given
  return !made.some((at) => someWithin(body, (n) => n.pos >= at.end && givesFalse(n)));
}

const givesFalse = (node: ts.Node): boolean =>
  ts.isReturnStatement(node) && node.expression?.kind === ts.SyntaxKind.FalseKeyword;

/** Whether a loss stands where a call gave `false`: `if (!(await part.start()))`, `if (!ready)`. */
function isFailure({ oracle }: Session, call: ts.CallExpression, loss: ts.Node): boolean {
  const speaks = (node: ts.Node): boolean => {
    if (node === call) return true;
    const source = ts.isIdentifier(node) ? oracle.declarationAt(node) : undefined;
    return source !== undefined && ts.isVariableDeclaration(source) && within(call, source);
  };
  for (let at = loss; at.parent && !ts.isFunctionLike(at); at = at.parent) {
    const { parent } = at;
    if (!ts.isIfStatement(parent) || !someWithin(parent.expression, speaks)) continue;
    const isNegated = ts.isPrefixUnaryExpression(unwrap(parent.expression));
    return isNegated ? at === parent.thenStatement : at === parent.elseStatement;
  }
  return false;
}

/** All that a function makes that somebody must end, itself or by those that it runs. */
const makesOf = (session: Session, fn: ts.Node): ts.Expression[] =>
  [...functionsRun(session, fn)].flatMap((run) => makesIn(session, run));

function makesIn(session: Session, root: ts.Node): ts.Expression[] {
  const found: ts.Expression[] = [];
  someWithin(root, (node) => {
    const isMade =
      (ts.isCallExpression(node) || ts.isNewExpression(node)) &&
      session.oracle.ownedAt(node) !== null &&
      session.freshness(node) !== "borrowed";
    if (isMade) found.push(node);
    return false;
  });
  return found;
}
