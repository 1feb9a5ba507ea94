/**
 * Spread back: `xs = [...xs, x]`, by which a list gets more and keeps what it has, as by a `push`.
 * Used where places and what they are given are collected and followed.
 */
import ts from "typescript";
import type { Oracle } from "../program/oracle.ts";
import { samePlace } from "../program/same-place.ts";
import { literalUnder, unwrap } from "../program/syntax.ts";

/** What such an assignment adds to the place; undefined for any other. */
export function spreadBack(
  oracle: Oracle,
  { left, right, operatorToken }: ts.BinaryExpression,
): readonly ts.Expression[] | undefined {
  const list = literalUnder(right);
  if (operatorToken.kind !== ts.SyntaxKind.EqualsToken || !list) return undefined;
  return spreads(oracle, list, left)
    ? list.elements.filter((part) => !isSpreadOf(oracle, part, left))
    : undefined;
}

/** The same of `const all = [...xs, x]; …; xs = all;` and of what is cut off such a list. */
export function addedByName(
  oracle: Oracle,
  { left, right, operatorToken }: ts.BinaryExpression,
): readonly ts.Expression[] | undefined {
  const given = unwrap(right);
  const target = ts.isCallExpression(given) ? given.expression : undefined;
  const isCut =
    target && ts.isPropertyAccessExpression(target) && /^(slice|filter)$/.test(target.name.text);
  const value = isCut ? unwrap(target.expression) : given;
  const copy = ts.isIdentifier(value) ? oracle.declarationAt(value) : undefined;
  const made = copy && ts.isVariableDeclaration(copy) ? copy.initializer : undefined;
  const list = made && literalUnder(made);
  if (operatorToken.kind !== ts.SyntaxKind.EqualsToken || !list || !spreads(oracle, list, left))
    return undefined;
  return list.elements.filter((part) => !isSpreadOf(oracle, part, left));
}

/** Whether a literal has all that a place holds. */
export const spreads = (
  oracle: Oracle,
  list: ts.ArrayLiteralExpression,
  place: ts.Expression,
): boolean => list.elements.some((part) => isSpreadOf(oracle, part, place));

const isSpreadOf = (oracle: Oracle, part: ts.Expression, place: ts.Expression): boolean =>
  ts.isSpreadElement(part) && samePlace(oracle, part.expression, place);

/** Whether a mention is the list that such an assignment spreads. */
export function isSpreadBack(oracle: Oracle, mention: ts.Node): boolean {
  const { parent: spread } = mention;
  const list = ts.isSpreadElement(spread) ? spread.parent : undefined;
  const store = list && ts.findAncestor(list, ts.isBinaryExpression);
  return (
    store !== undefined &&
    literalUnder(store.right) === list &&
    samePlace(oracle, mention as ts.Expression, store.left) &&
    spreadBack(oracle, store) !== undefined
  );
}
