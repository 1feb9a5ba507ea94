/**
 * Spread back: `xs = [...xs, x]`, by which a list gets more and keeps what it has, as by a `push`.
 * Used where places and what they are given are collected and followed.
 */
import ts from "typescript";
import type { Oracle } from "../program/oracle.ts";
import { samePlace } from "../program/same-place.ts";
import { unwrap } from "../program/syntax.ts";

/** What such an assignment adds to the place; undefined for any other. */
export function spreadBack(
  oracle: Oracle,
  { left, right, operatorToken }: ts.BinaryExpression,
): readonly ts.Expression[] | undefined {
  const list = unwrap(right);
  if (operatorToken.kind !== ts.SyntaxKind.EqualsToken || !ts.isArrayLiteralExpression(list))
    return undefined;
  const isWhole = (part: ts.Expression): boolean =>
    ts.isSpreadElement(part) && samePlace(oracle, part.expression, left);
  return list.elements.some(isWhole) ? list.elements.filter((part) => !isWhole(part)) : undefined;
}

/** Whether a mention is the list that such an assignment spreads. */
export function isSpreadBack(oracle: Oracle, mention: ts.Node): boolean {
  const { parent: spread } = mention;
  const store = ts.isSpreadElement(spread) ? spread.parent.parent : undefined;
  return (
    store !== undefined &&
    ts.isBinaryExpression(store) &&
    samePlace(oracle, mention as ts.Expression, store.left) &&
    spreadBack(oracle, store) !== undefined
  );
}
