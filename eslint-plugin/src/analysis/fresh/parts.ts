/**
 * Parts: what an expression owns where that of its parts settles it: objects written with nothing
 * that is owned, lists of single values, choices between two values. Used by the oracle, so that it
 * need not ask the checker, which would check every part in full.
 */
import ts from "typescript";
import { isEndingName } from "../objects/holders.ts";
import { listOf, widest, type Owned } from "../program/ownership.ts";
import { isPlain } from "../program/plain.ts";
import { memberName } from "../program/syntax.ts";

/** Ownership of a value by its parts; undefined where only its type tells. */
export function ownedByParts(
  node: ts.Node,
  ownedAt: (part: ts.Expression) => Owned | null,
): Owned | null | undefined {
  if (ts.isObjectLiteralExpression(node)) return ownedByFields(node, ownedAt);
  if (ts.isArrayLiteralExpression(node)) return ownedByElements(node, ownedAt);
  if (!ts.isConditionalExpression(node)) return undefined;
  const one = ownedAt(node.whenTrue),
    other = ownedAt(node.whenFalse);
  if (!one && !other) return null;
  if (one?.shape !== "one" || other?.shape !== "one" || one.owner !== other.owner) return undefined;
  return other.nullable ? other : one;
}

/** An object whose fields hold nothing that is owned, or single values of one owner. */
function ownedByFields(
  { properties }: ts.ObjectLiteralExpression,
  ownedAt: (part: ts.Expression) => Owned | null,
): Owned | null | undefined {
  const fields: string[] = [];
  let one: Owned | undefined;
  for (const property of properties) {
    const value = valueOf(property);
    const name = property.name && memberName(property.name);
    if (!value || name === undefined || isEndingName(name)) return undefined;
    const found = ownedAt(value);
    if (!found) continue;
    if (found.shape !== "one" || found.owner !== (one ?? found).owner) return undefined;
    one = found;
    fields.push(name);
  }
  if (!one) return null;
  const isWide = properties.length > widest || new Set(fields).size < fields.length;
  return isWide ? undefined : { owner: one.owner, shape: "record", nullable: false, fields };
}

/** What a field of a literal is given where that is written. */
function valueOf(property: ts.ObjectLiteralElementLike): ts.Expression | undefined {
  if (ts.isShorthandPropertyAssignment(property)) return property.name;
  return ts.isPropertyAssignment(property) ? property.initializer : undefined;
}

/** `[a, b]` of plain values, or of single ones of an owner. */
function ownedByElements(
  { elements }: ts.ArrayLiteralExpression,
  ownedAt: (part: ts.Expression) => Owned | null,
): Owned | null | undefined {
  const [first] = elements;
  if (!first) return undefined;
  if (elements.every(isPlain)) return null;
  let one: Owned | undefined;
  for (const element of elements) {
    const found = isPlain(element) || ts.isSpreadElement(element) ? null : ownedAt(element);
    if (found?.shape !== "one" || found.nullable || found.owner !== (one ?? found).owner)
      return undefined;
    one = found;
  }
  return one && listOf(one);
}
