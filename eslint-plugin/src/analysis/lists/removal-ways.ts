/**
 * Ways around a removal: which mentions of a container may have had in hand what `delete` takes out
 * of it, by the loops and branches that both stand in. Used by `removals.ts` alone.
 */
import ts from "typescript";
import { entryOf } from "../transfer/looked-at.ts";
import { putAt } from "./puts.ts";
import { samePlace } from "../program/same-place.ts";
import type { Session } from "../session.ts";
import { unwrap, within } from "../program/syntax.ts";
import { isOnOtherWay } from "../program/ways.ts";

interface Removed {
  node: ts.Node;
  container: ts.Expression;
}

/** Where mentions end that come before a removal, those of an earlier turn of a loop included. */
export function endOfReach(session: Session, found: Removed, root: ts.Node): number {
  const { node, container } = found;
  return lastLoop(node, blockOf(session, container) ?? root)?.end ?? node.end;
}

/** The outermost loop around a node. */
function lastLoop(node: ts.Node, root: ts.Node): ts.Node | undefined {
  let found: ts.Node | undefined;
  for (let at = node; at !== root && !ts.isSourceFile(at); at = at.parent)
    if (ts.isIterationStatement(at, false)) found = at;
  return found;
}

/** The block that a local list is declared in: every turn of a loop around it has another. */
function blockOf({ oracle }: Session, container: ts.Expression): ts.Node | undefined {
  const declaration = ts.isIdentifier(container) ? oracle.declarationAt(container) : undefined;
  return declaration && ts.findAncestor(declaration, ts.isBlock);
}

/**
 * `if (gap) { all.delete(k); continue; } … all.get(k) … all.set(k, next);`: a mention on the way
 * that the removal leaves, which in a loop asks only for what gets another one in its place.
 */
export function comesToAnother(session: Session, mention: ts.Node, removed: Removed): boolean {
  const { node, container } = removed;
  if (!isOnOtherWay(node, mention)) return false;
  if (!ts.findAncestor(mention, (n) => ts.isIterationStatement(n, false) && within(node, n)))
    return true;
  const entry = ts.isExpression(mention) ? entryOf(mention) : undefined;
  const key = entry && ts.isCallExpression(entry) ? entry.arguments[0]?.getText() : undefined;
  const block = ts.findAncestor(mention, ts.isBlock);
  const isReplaced = (statement: ts.Statement): boolean => {
    if (statement.pos < mention.pos || !ts.isExpressionStatement(statement)) return false;
    const put = putAt(unwrap(statement.expression));
    return (
      put !== undefined &&
      put.key.getText() === key &&
      samePlace(session.oracle, put.table, container)
    );
  };
  return key !== undefined && block?.statements.some(isReplaced) === true;
}
