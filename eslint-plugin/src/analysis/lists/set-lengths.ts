/**
 * Set lengths: whether `xs.length = n` cuts a list, or makes room in one that is filled by place.
 * Used by `removals.ts`.
 */
import ts from "typescript";
import { samePlace } from "../program/same-place.ts";
import { isTarget, someWithin } from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { enclosingFunction } from "../transfer/fate.ts";

/** Whether a list loses elements where it is given a length. */
export const isCut = (
  session: Session,
  length: ts.PropertyAccessExpression,
  store: ts.BinaryExpression,
): boolean => isShorter(length, store) || isAddedTo(session, length, store);

/** `xs.length = Math.min(xs.length, n)`, `if (xs.length > n) xs.length = n`. */
function isShorter(
  length: ts.PropertyAccessExpression,
  { right, parent }: ts.BinaryExpression,
): boolean {
  const asks = (at: ts.Node): boolean => at.getText() === length.getText();
  const statement = ts.isBlock(parent.parent) ? parent.parent : parent;
  const test = statement.parent;
  return (
    someWithin(right.parent, (at) => at.parent !== right.parent && asks(at)) ||
    (ts.isIfStatement(test) &&
      someWithin(
        test.expression,
        ({ parent: by }) =>
          ts.isBinaryExpression(by) && />/.test(by.operatorToken.getText()) && asks(by.left),
      ))
  );
}

/**
 * `xs.unshift(x); xs.length = n;`, `xs.length = at + 1; xs.push(x);`, where nothing is put into a
 * place of the list.
 */
function isAddedTo(
  { oracle }: Session,
  { expression: list }: ts.PropertyAccessExpression,
  store: ts.Node,
): boolean {
  const home = enclosingFunction(store) ?? store.getSourceFile();
  const isOfList = (at: ts.Expression): boolean => samePlace(oracle, at, list);
  const isAdded = (at: ts.Node): boolean =>
    ts.isCallExpression(at) &&
    ts.isPropertyAccessExpression(at.expression) &&
    /^(push|unshift)$/.test(at.expression.name.text) &&
    isOfList(at.expression.expression);
  const isPlaced = (at: ts.Node): boolean =>
    ts.isElementAccessExpression(at) && isTarget(at) && isOfList(at.expression);
  return someWithin(home, isAdded) && !someWithin(home, isPlaced);
}
