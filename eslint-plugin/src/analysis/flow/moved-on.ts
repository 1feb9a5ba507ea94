/**
 * What changes places by a literal: `[a, b] = [b, a]`, `s = { a: s.b, b: s.a }`. Each value goes on
 * under another name, so that none is lost by the assignment. Used by `value-events.ts`.
 */
import ts from "typescript";
import { unwrap, valuesOf } from "../program/syntax.ts";
import type { Cell } from "./cells.ts";
import type { Frame } from "./events.ts";

/** Lets go of what the elements of a literal name; whether the value is a literal. */
export function moveOn(
  frame: Frame,
  value: ts.Expression,
  node: ts.Node,
): value is ts.ArrayLiteralExpression | ts.ObjectLiteralExpression {
  if (!ts.isArrayLiteralExpression(value) && !ts.isObjectLiteralExpression(value)) return false;
  for (const element of valuesOf(value)) {
    const moved = cellNamed(frame, element);
    if (moved) frame.all(moved, "escape", node);
  }
  return true;
}

/** Whether an assignment gives a record what other fields of it have; nobody follows that on. */
export function changesPlaces(frame: Frame, record: Cell, node: ts.BinaryExpression): boolean {
  const { fields } = record;
  const value = unwrap(node.right);
  if (!fields || !ts.isObjectLiteralExpression(value)) return false;
  const own = new Set(fields.values());
  const moved = value.properties.flatMap((property) => {
    const given = ts.isPropertyAssignment(property) && cellNamed(frame, property.initializer);
    return given && own.has(given) && property.name?.getText() !== nameOf(given, fields)
      ? [given]
      : [];
  });
  if (moved.length === 0) return false;
  for (const field of moved) frame.all(field, "escape", node);
  for (const field of own) frame.set(field, "unknown", node);
  return true;
}

const nameOf = (field: Cell, fields: ReadonlyMap<string, Cell>): string | undefined =>
  [...fields].find(([, cell]) => cell === field)?.[0];

/** The cell of `x`, or of the `x` in a local record. */
export function cellNamed(frame: Frame, value: ts.Expression): Cell | undefined {
  if (ts.isIdentifier(value)) return frame.cells.at(value);
  if (!ts.isPropertyAccessExpression(value) || !ts.isIdentifier(value.expression)) return undefined;
  return frame.cells.at(value.expression)?.fields?.get(value.name.text);
}
