/**
 * List calls: whether what a script calls is a method of a list or a promise that has no type, or
 * of something of which nothing is known. Used by the oracle.
 */
import ts from "typescript";
import { functionHanded } from "../program/callee.ts";
import type { Checker } from "../program/checker.ts";
import type { CallLike } from "../program/syntax.ts";
import type { UntypedContext } from "./untyped.ts";

/** Whether a call of no known type is one of a list or a promise: by what that holds or makes. */
export function isListCall(
  context: UntypedContext,
  { expression, arguments: args }: CallLike,
): boolean {
  if (!ts.isPropertyAccessExpression(expression)) return false;
  const { name, expression: receiver } = expression;
  const held = context.ownedAt(receiver);
  if (held?.shape === "many" || (held && name.text === "then")) return true;
  return visiting.has(name.text) && !!args?.[0] && !!functionHanded(context, args[0]);
}
const visiting = new Set(["map", "flatMap", "forEach", "filter", "some", "every", "find"]);

/** `x.f(…)` where nothing is known of `x`: its arguments need not be checked. */
export const isOfUntyped = (
  checker: Pick<Checker, "isAny" | "typeAt">,
  { expression }: CallLike,
): boolean =>
  ts.isPropertyAccessExpression(expression) && checker.isAny(checker.typeAt(expression.expression));
