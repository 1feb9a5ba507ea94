/**
 * What changes places by a literal: `[a, b] = [b, a]`, `s = { a: s.b, b: s.a }`. Each value goes on
 * under another name, so that none is lost by the assignment. Used by `value-events.ts`.
 */
import ts from "typescript";
import { unwrap, valuesOf } from "../program/syntax.ts";
import type { Cell } from "./cells.ts";
import type { Frame } from "./events.ts";
import { partGiven } from "./gathers.ts";

/** Lets go of what the elements of a literal name; whether there are such. */
export function moveOn(frame: Frame, value: ts.Expression, node: ts.Node): boolean {
  if (!ts.isArrayLiteralExpression(value) && !ts.isObjectLiteralExpression(value)) return false;
  const moved = valuesOf(value).flatMap((element) => cellNamed(frame, element) ?? []);
  for (const cell of moved) frame.all(cell, "escape", node);
  return moved.length > 0;
}

/** Whether an assignment gives a record what other fields of it have; nobody follows that on. */
export function changesPlaces(frame: Frame, record: Cell, node: ts.BinaryExpression): boolean {
  const { fields } = record;
  const value = unwrap(node.right);
  if (!fields || !ts.isObjectLiteralExpression(value)) return false;
  const own = [...fields.values()];
  const moved = [...fields].flatMap(([name, field]) => {
    const part = partGiven(value, name);
    const given = part && cellNamed(frame, part);
    return given && given !== field && own.includes(given) ? [given] : [];
  });
  if (moved.length === 0) return false;
  for (const field of moved) frame.all(field, "escape", node);
  for (const field of own) frame.set(field, "unknown", node);
  return true;
}

/** The cell of `x`, or of the `x` in a local record. */
export function cellNamed(frame: Frame, value: ts.Expression): Cell | undefined {
  if (ts.isIdentifier(value)) return frame.cells.at(value);
  if (!ts.isPropertyAccessExpression(value) || !ts.isIdentifier(value.expression)) return undefined;
  return frame.cells.at(value.expression)?.fields?.get(value.name.text);
}
