/**
 * Pattern stores: assignments that fill several places at once, `[this.a, this.b] = make()` and
 * `({ a: this.a } = make())`, each place with what it is given. Read wherever it matters what an
 * assignment stores, and where.
 */
import ts from "typescript";
import { unwrap, valueGiven, valuesOf } from "./syntax.ts";

/** A place, and the value, or the whole of the values, that an assignment gives it. */
export interface PlaceStore {
  place: ts.Expression;
  value: ts.Expression;
}

/** Everything an assignment stores; what a default or a rest is given stays out. */
export function storesOf(node: ts.BinaryExpression): PlaceStore[] {
  const { left } = node;
  if (!isPattern(left)) return [{ place: left, value: valueGiven(node) }];
  const whole = unwrap(node.right);
  return valuesOf(left).flatMap((place, index) => {
    if (!isPlace(place)) return [];
    if (ts.isObjectLiteralExpression(whole)) return [];
    if (!ts.isArrayLiteralExpression(whole)) return [{ place, value: node.right }];
    const value = whole.elements[index];
    const isCounted = !whole.elements.slice(0, index + 1).some(ts.isSpreadElement);
    return value && isCounted ? [{ place, value }] : [];
  });
}

/** What a pattern that is assigned to gives a place in it. */
export function valueByPattern(place: ts.Expression): ts.Expression | undefined {
  const { parent } = place;
  const pattern =
    ts.isPropertyAssignment(parent) || ts.isShorthandPropertyAssignment(parent)
      ? parent.parent
      : parent;
  const store = pattern.parent as ts.Node | undefined;
  const isStore =
    isPattern(pattern) &&
    store !== undefined &&
    ts.isBinaryExpression(store) &&
    store.left === pattern &&
    store.operatorToken.kind === ts.SyntaxKind.EqualsToken;
  return isStore ? storesOf(store).find((s) => s.place === place)?.value : undefined;
}

/** Whether what stands at the left of an assignment takes apart what it is given. */
export const isPattern = (
  node: ts.Node,
): node is ts.ArrayLiteralExpression | ts.ObjectLiteralExpression =>
  ts.isArrayLiteralExpression(node) || ts.isObjectLiteralExpression(node);

const isPlace = (node: ts.Expression): boolean =>
  ts.isIdentifier(node) || ts.isPropertyAccessExpression(node);
