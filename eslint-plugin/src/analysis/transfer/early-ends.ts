/**
 * Early ends: what ends a value only where the function that makes it leaves early, `if (stopped) {
 * device.destroy(); return; }`. On the other ways the value goes on, and somebody else has to end
 * it. Used by `endless-values.ts` and `component-state.ts`.
 */
import ts from "typescript";
import { leaves } from "../program/ways.ts";
import { rootOf, someWithin, within } from "../program/syntax.ts";
import { enclosingFunction } from "./fate.ts";

/** The way out before which alone an end is reached, where the value is needed after it. */
export function earlyExit(end: ts.Node, made: ts.Node): ts.Node | undefined {
  const home = enclosingFunction(made);
  if (!home || enclosingFunction(end) !== home) return undefined;
  for (let at = end; at.parent !== home; at = at.parent) {
    const { parent } = at;
    if (within(made, parent) && !ts.isIfStatement(parent) && !ts.isTryStatement(parent)) break;
    if (ts.isCatchClause(parent) && leaves(parent.block)) return lastOf(parent.block);
    if (!ts.isIfStatement(parent) || at === parent.expression || !leaves(at)) continue;
    if (within(made, at) || asksFor(parent.expression, end)) return undefined;
    return lastOf(at);
  }
  return undefined;
}

/** Whether a test asks whether there is something to end. */
function asksFor(test: ts.Expression, end: ts.Node): boolean {
  const called = ts.isCallExpression(end) ? end.expression : end;
  const root = rootOf(called as ts.Expression).getText();
  return someWithin(test, (node) => ts.isIdentifier(node) && node.text === root);
}

/** The statement by which a branch leaves. */
function lastOf(branch: ts.Node): ts.Node {
  const last = ts.isBlock(branch) ? branch.statements.at(-1) : undefined;
  return last ? lastOf(last) : branch;
}
