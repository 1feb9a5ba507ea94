/**
 * Left out: expressions that give part of what a place holds, `xs.filter(…)`, `xs.slice(1)`,
 * `[...xs.slice(0, i), ...xs.slice(i + 1)]`, or a function of the program that does so with a
 * parameter. When such a part takes the place of the whole, the rest is out of reach. Used by
 * `lost-stores.ts`.
 */
import ts from "typescript";
import { functionHanded } from "./callee.ts";
import { returnsOf } from "./fate.ts";
import { samePlace } from "./same-place.ts";
import type { Session } from "./session.ts";
import { someWithin, unwrap } from "./syntax.ts";

/** Whether an expression gives some of the values a list holds, and does nothing to the rest. */
export function givesPart(session: Session, value: ts.Expression, list: ts.Expression): boolean {
  const node = unwrap(value);
  if (ts.isArrayLiteralExpression(node))
    return (
      node.elements.length > 0 &&
      node.elements.every((e) => ts.isSpreadElement(e) && givesPart(session, e.expression, list))
    );
  if (!ts.isCallExpression(node)) return false;
  const target = node.expression;
  if (ts.isPropertyAccessExpression(target) && samePlace(session.oracle, target.expression, list))
    return session.oracle.callee(node).builtin && leavesSome(session, node, target.name.text);
  const at = node.arguments.findIndex((a) => samePlace(session.oracle, a, list));
  const { body } = session.oracle.callee(node);
  const parameter = body?.parameters[at]?.name;
  if (!body || !parameter || !ts.isIdentifier(parameter)) return false;
  const [only, ...others] = returnsOf(body);
  return only !== undefined && others.length === 0 && givesPart(session, only, parameter);
}

/** `slice()` and `slice(0)` give all; a test may free what it rejects. */
function leavesSome(session: Session, call: ts.CallExpression, method: string): boolean {
  const [first] = call.arguments;
  if (!first) return false;
  if (method === "slice") return call.arguments.length > 1 || first.getText() !== "0";
  if (method !== "filter") return false;
  const test = functionHanded(session.oracle, first);
  return test !== undefined && !speaksOfEnding(session, test);
}

/** Whether a function ends anything, or hands what it is given to somebody else. */
function speaksOfEnding(
  session: Session,
  fn: ts.FunctionLikeDeclaration & { body: ts.Node },
): boolean {
  const effect = session.summary(fn).parameters[0];
  if (effect?.disposes === true || effect?.stores === true) return true;
  return someWithin(
    fn.body,
    (node) =>
      ts.isPropertyAccessExpression(node) && /^(dispose|destroy|close)/.test(node.name.text),
  );
}
