/**
 * Endless loops: `while (true) { await frame(); … }`, which a function does not leave, and loops of
 * frames that it starts. What one uses lives as long as the program; who returns before it has
 * failed to start. Used by the rule that requires disposal.
 */
import ts from "typescript";
import { referencesTo } from "../program/references.ts";
import { hasBody, someWithin } from "../program/syntax.ts";
import { startsFrames } from "../trails/frame-loops.ts";
import type { Session } from "../session.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import type { Cell } from "./cells.ts";

/** Whether an endless loop after a place in the same function uses what a variable holds. */
export function livesInLoop(session: Session, { declaration, name }: Cell, at: ts.Node): boolean {
  const { oracle } = session;
  const home = enclosingFunction(at);
  if (!declaration || !name) return false;
  const isUsed = (node: ts.Node): boolean =>
    referencesTo(oracle, declaration, name, node).length > 0;
  const isLater = (node: ts.Node): boolean =>
    node.pos >= at.end && enclosingFunction(node) === home && isEndless(node) && isUsed(node);
  if (someWithin(home ?? at.getSourceFile(), isLater)) return true;
  return (
    home !== undefined &&
    startsFrames(oracle, home) &&
    someWithin(home, (node) => node !== home && hasBody(node) && isUsed(node))
  );
}

function isEndless(node: ts.Node): boolean {
  const isForever =
    (ts.isForStatement(node) && node.condition === undefined) ||
    (ts.isWhileStatement(node) && node.expression.kind === ts.SyntaxKind.TrueKeyword);
  return isForever && !isLeft(node.statement, true);
}

/** Whether something in a loop leaves it: a `return`, or a `break` that is not of another. */
function isLeft(node: ts.Node, isOwn: boolean): boolean {
  if (ts.isFunctionLike(node)) return false;
  if (ts.isReturnStatement(node)) return true;
  if (ts.isBreakStatement(node)) return isOwn || node.label !== undefined;
  const isOther = ts.isIterationStatement(node, false) || ts.isSwitchStatement(node);
  return ts.forEachChild(node, (child) => isLeft(child, isOwn && !isOther) || undefined) ?? false;
}
