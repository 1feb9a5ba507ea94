/**
 * Answers: what a promise gives to the one callback that waits for it, `load().then((m) => { if
 * (stopped) return; model = m; })`. It is the callback's, so that an early way out leaves it
 * behind. What a callback only looks at is told where the promise is made. So is each element of a
 * dataset that of the callback that goes through it. Used by `paths.ts`.
 */
import ts from "typescript";
import type { Frame } from "./events.ts";
import { boundNames, referencesTo } from "../program/references.ts";
import { hasBody, isTarget, unwrap, type FunctionWithBody } from "../program/syntax.ts";
import type { Session } from "../session.ts";

/** Gives a callback what a promise answers with, or a dataset goes through, where that is new. */
export function ownAnswer(session: Session, frame: Frame): void {
  const { root, cells } = frame;
  const [parameter] = hasBody(root) ? root.parameters : [];
  const call = parameter && callOf(root);
  if (!call || !hasBody(root) || parameter.initializer || parameter.dotDotDotToken) return;
  const isElement = goesThrough(session, call);
  if (!isElement && !isAnswer(session, call, root)) return;
  for (const { id, declaration } of boundNames(parameter.name, parameter)) {
    const cell = cells.of(declaration);
    if (!cell || referencesTo(session.oracle, declaration, id, root).some(isTarget)) continue;
    const parts = cell.fields && isElement ? [...cell.fields.values()] : [cell];
    for (const part of parts.filter(({ owned }) => owned.shape === "one")) {
      part.kind = "local"; // of this function, not of who calls it
      frame.own(part, id, parameter, true, part.owned.nullable);
    }
  }
}

/** The call that a function is written for, as its first argument. */
function callOf(fn: ts.Node): ts.CallExpression | undefined {
  let value: ts.Node = fn;
  while (ts.isParenthesizedExpression(value.parent)) value = value.parent;
  const { parent: call } = value;
  return ts.isCallExpression(call) && call.arguments[0] === value ? call : undefined;
}

/** `dataset.forEachAsync(f)`: each element is made for the function, and nobody else has it. */
function goesThrough({ oracle, settings }: Session, call: ts.CallExpression): boolean {
  if (!settings.owners.some(({ freshArguments }) => freshArguments.length > 0)) return false;
  const callee = oracle.callee(call);
  return settings.owners.some((owner) => oracle.is(callee, owner.freshArguments, owner));
}

/** `load().then(f)` of a function that does more than look: what it looks at is told elsewhere. */
function isAnswer(
  session: Session,
  { expression }: ts.CallExpression,
  fn: FunctionWithBody,
): boolean {
  if (!ts.isPropertyAccessExpression(expression) || expression.name.text !== "then") return false;
  if (!fn.parameters[0] || !ts.isIdentifier(fn.parameters[0].name)) return false;
  const promise = unwrap(expression.expression);
  if (!ts.isCallExpression(promise) || session.freshness(promise) !== "fresh") return false;
  const effect = session.summary(fn).parameters[0];
  return effect !== undefined && (effect.disposes || effect.stores || effect.returns);
}
