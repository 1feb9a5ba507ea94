/**
 * Cleaned effects: code that a component runs each time it is shown, in an effect that says what to
 * do when the component goes or another run comes: the place to end what the run made. Used by
 * `endless-values.ts`.
 */
import ts from "typescript";
import { handedTo } from "../transfer/callbacks.ts";
import { enclosingFunction, returnsOf } from "../transfer/fate.ts";
import { isEffect } from "../flow/slot-touches.ts";
import { hasBody, isNullish, unwrap } from "../program/syntax.ts";

/** The effect with a clean-up that a node stands in, outside of the clean-up. */
export function cleanedEffect(node: ts.Node): ts.Node | undefined {
  for (let fn = enclosingFunction(node); fn; fn = enclosingFunction(fn)) {
    const host = handedTo(fn);
    if (host && isEffect(host)) return hasBody(fn) && isCleaned(fn, node) ? fn : undefined;
  }
  return undefined;
}

/** `return () => cancelAnimationFrame(frame);`, around no part of which the node stands. */
function isCleaned(effect: ts.FunctionLikeDeclaration & { body: ts.Node }, node: ts.Node): boolean {
  const ends = returnsOf(effect).map((value) => unwrap(value));
  const isFunction = (value: ts.Expression): boolean =>
    ts.isArrowFunction(value) ||
    ts.isFunctionExpression(value) ||
    (ts.isIdentifier(value) && !isNullish(value));
  return ends.some(isFunction) && !ends.some((end) => end.pos <= node.pos && node.end <= end.end);
}
