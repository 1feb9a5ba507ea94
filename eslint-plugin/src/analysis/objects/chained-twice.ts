/**
 * Chained twice: methods that a program calls twice on one object, one call on what the other gave
 * back: `builder.step(a).step(b)`. What the first one put into a field, the second one writes over.
 * Used by the verb about overwritten places.
 */
import ts from "typescript";
import { callSitesOf } from "../program/call-sites.ts";
import type { Session } from "../session.ts";
import { unwrap, within, type CallLike, type FunctionWithBody } from "../program/syntax.ts";

/** Whether a method is called on what it gave back, with none between that speaks of a place. */
export function isChainedTwice(
  { oracle }: Session,
  method: FunctionWithBody,
  mentions: readonly ts.Expression[],
): boolean {
  const isBefore = (call: CallLike): boolean => {
    for (let at = receiverOf(call); at && ts.isCallExpression(at); at = receiverOf(at)) {
      const { body } = oracle.callee(at);
      if (body === method) return true;
      if (body?.parent !== method.parent || mentions.some((m) => within(m, body))) return false;
    }
    return false;
  };
  return (
    ts.isMethodDeclaration(method) &&
    callSitesOf(oracle, method, "program").calls.some((call) => isBefore(call))
  );
}

const receiverOf = ({ expression }: CallLike): ts.Expression | undefined =>
  ts.isPropertyAccessExpression(expression) ? unwrap(expression.expression) : undefined;
