/**
 * Answers: what a promise gives to the one callback that waits for it, `load().then((m) => { if
 * (stopped) return; model = m; })`. It is the callback's, so that an early way out leaves it
 * behind. What a callback only looks at is told where the promise is made. Used by `paths.ts`.
 */
import ts from "typescript";
import type { Frame } from "./events.ts";
import { referencesTo } from "../program/references.ts";
import { hasBody, isTarget, unwrap } from "../program/syntax.ts";
import type { Session } from "../session.ts";

/** Gives the callback of a `then` what the promise answers with, where that is new. */
export function ownAnswer(session: Session, frame: Frame): void {
  const { root, cells } = frame;
  const promise = hasBody(root) ? waitedFor(root) : undefined;
  if (!promise || !hasBody(root)) return;
  const [parameter] = root.parameters;
  const cell = parameter && cells.of(parameter);
  if (!cell || cell.owned.shape !== "one" || !ts.isIdentifier(parameter.name)) return;
  if (parameter.initializer || session.freshness(promise) !== "fresh") return;
  const effect = session.summary(root).parameters[0];
  if (!effect || !(effect.disposes || effect.stores || effect.returns)) return;
  if (referencesTo(session.oracle, parameter, parameter.name, root).some(isTarget)) return;
  frame.own(cell, parameter.name, parameter, true, cell.owned.nullable);
}

/** The call before the `then` that a function is written for, first of its callbacks. */
function waitedFor(fn: ts.Node): ts.CallExpression | undefined {
  let value: ts.Node = fn;
  while (ts.isParenthesizedExpression(value.parent)) value = value.parent;
  const { parent: call } = value;
  if (!ts.isCallExpression(call) || call.arguments[0] !== value) return undefined;
  const { expression } = call;
  if (!ts.isPropertyAccessExpression(expression) || expression.name.text !== "then")
    return undefined;
  const promise = unwrap(expression.expression);
  return ts.isCallExpression(promise) ? promise : undefined;
}
