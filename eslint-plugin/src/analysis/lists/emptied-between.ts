/**
 * Emptied between: whether whoever calls a function that fills a place calls one that empties it or
 * ends what is there afterwards: `s.enter(x); s.leave();`, `s.put(x); s.take()`. Such a function
 * finds nothing there.
 * Used by the verbs about what assignments lose.
 */
import ts from "typescript";
import { callSitesOf } from "../program/call-sites.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { isUnconditional } from "../objects/taken-fields.ts";
import type { Session } from "../session.ts";
import { hasBody, isNullish, isTarget, valueGiven, type CallLike } from "../program/syntax.ts";

/** Whether all that call a function that fills a place let another one empty it before the next. */
export function isEmptiedBetween(
  session: Session,
  fills: ts.Node,
  mentions: readonly ts.Expression[],
): boolean {
  const isEnded = (m: ts.Expression): boolean =>
    session.transfer(m).effect === "disposes" && isUnconditional(m);
  const ending = mentions.filter((m) => isEmptied(m) || isEnded(m));
  const emptying = new Set(ending.flatMap((m) => enclosingFunction(m) ?? []));
  emptying.delete(fills as ts.SignatureDeclaration);
  if (emptying.size === 0 || !hasBody(fills)) return false;
  const { calls } = callSitesOf(session.oracle, fills, "program");
  const isFollowed = (call: CallLike): boolean => {
    const around = enclosingFunction(call);
    const turn =
      ts.findAncestor(call, (n) => n === around || ts.isIterationStatement(n, false)) ??
      call.getSourceFile();
    const next = callsIn(turn).find(
      (other) => other.pos >= call.end && (calls.includes(other) || empties(session, other)),
    );
    return next !== undefined && !calls.includes(next);
  };
  const empties = ({ oracle }: Session, call: CallLike): boolean => {
    const { body } = oracle.callee(call);
    return body !== undefined && emptying.has(body);
  };
  return calls.length > 0 && calls.every(isFollowed);
}

/** The calls below a node, as they stand. */
function callsIn(root: ts.Node): CallLike[] {
  const found: CallLike[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) found.push(node);
    ts.forEachChild(node, visit);
  };
  visit(root);
  return found.sort((a, b) => a.end - b.end);
}

/** `this.x = null`, `this.x = this.y = null`. */
export function isEmptied(mention: ts.Expression): boolean {
  const { parent } = mention;
  return isTarget(mention) && ts.isBinaryExpression(parent) && isNullish(valueGiven(parent));
}
