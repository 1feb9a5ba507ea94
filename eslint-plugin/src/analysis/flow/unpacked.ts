/**
 * Unpacked records: which names get the fields of a record from a pattern, and own them from then
 * on. Used by the events of mentions and of values.
 */
import ts from "typescript";
import type { Cell } from "./cells.ts";
import type { Frame } from "./events.ts";
import type { Fate } from "../transfer/fate.ts";
import type { Session } from "../session.ts";
import { isUsing, memberName, unwrap } from "../program/syntax.ts";

/** `({ age, name } = out)`: each field goes to a variable. */
export function isUnpacked(node: ts.Expression, { kind, node: at, conditional }: Fate): boolean {
  if (kind !== "assigned" || conditional || !ts.isBinaryExpression(at)) return false;
  return unwrap(at.right) === node && unpackedNames(at.left) !== undefined;
}

/** The variables of a pattern that is made of names only, by the fields that they get. */
export function unpackedNames(left: ts.Expression): Map<string, ts.Identifier> | undefined {
  if (!ts.isObjectLiteralExpression(left)) return undefined;
  const found = new Map<string, ts.Identifier>();
  for (const property of left.properties) {
    const target = ts.isPropertyAssignment(property) ? property.initializer : property.name;
    const isPlain =
      ts.isPropertyAssignment(property) ||
      (ts.isShorthandPropertyAssignment(property) && !property.objectAssignmentInitializer);
    if (!isPlain || !target || !ts.isIdentifier(target)) return undefined;
    found.set(memberName(property.name), target);
  }
  return found;
}

/** `const { age, name } = out`: the fields of a record and the names that they get. */
export function partsUnpacked(
  frame: Frame,
  { fields }: Cell,
  declaration: ts.Node,
): [field: Cell, part: Cell][] | undefined {
  if (!fields || !ts.isVariableDeclaration(declaration)) return undefined;
  const { name: pattern } = declaration;
  if (!ts.isObjectBindingPattern(pattern)) return undefined;
  const found: [Cell, Cell][] = [];
  for (const element of pattern.elements) {
    const { name, propertyName, initializer, dotDotDotToken } = element;
    if (!ts.isIdentifier(name) || initializer || dotDotDotToken) return undefined;
    const part = frame.cells.of(element);
    if (!part) continue; // holds nothing
    const field = fields.get(memberName(propertyName ?? name));
    if (!field || field.fields || part.fields || part.kind !== "local") return undefined;
    if (field.owned.shape !== part.owned.shape) return undefined;
    found.push([field, part]);
  }
  return found;
}

/** `using state = model.stateDict()`: what it holds ends with it. */
export function isHeldByUsing({ oracle }: Session, source: ts.Expression): boolean {
  const declaration = ts.isIdentifier(source) ? oracle.declarationAt(source) : undefined;
  return declaration !== undefined && ts.isVariableDeclaration(declaration) && isUsing(declaration);
}
