/**
 * Untyped records: what the fields of an object hold whose values have no known type, by how the
 * object is written: `{ xs: tf.tensor(a) }`. Used by the oracle and by `untyped.ts`.
 */
import ts from "typescript";
import { ownedMember, type Owned } from "../program/ownership.ts";
import {
  isEmptyContainer,
  isNullish,
  isScript,
  isTarget,
  memberName,
  unwrap,
} from "../program/syntax.ts";
import { storedAt, type FieldContext } from "./untyped-fields.ts";
import { usesOf } from "./untyped-parameters.ts";

/** The value that an object literal gives a property. */
export function givenTo(declaration: ts.Declaration | undefined): ts.Expression | undefined {
  if (!declaration) return undefined;
  if (ts.isPropertyAssignment(declaration)) return declaration.initializer;
  return ts.isShorthandPropertyAssignment(declaration) ? declaration.name : undefined;
}

/** `{ last: null }`, `class { last = null }` of a script: given its value later. */
export const startsEmpty = (declaration: ts.Declaration): boolean =>
  (ts.isPropertyAssignment(declaration) || ts.isPropertyDeclaration(declaration)) &&
  declaration.initializer !== undefined &&
  isNullish(declaration.initializer) &&
  isScript(declaration.getSourceFile());

/** `all = {}`, `{ all: {} }` of a script: a table that is filled under keys later. */
export function startsAsTable(declaration: ts.Declaration): boolean {
  if (ts.isSourceFile(declaration) || !isScript(declaration.getSourceFile())) return false;
  const { parent } = declaration;
  const given =
    ts.isVariableDeclaration(declaration) ||
    ts.isPropertyDeclaration(declaration) ||
    ts.isPropertyAssignment(declaration)
      ? declaration.initializer
      : ts.isBinaryExpression(parent) && isTarget(declaration)
        ? parent.right
        : undefined;
  return given !== undefined && ts.isObjectLiteralExpression(given) && isEmptyContainer(given);
}

/** `this.x` of a script where no way to it gives a value: in a method that is a field itself. */
export const isUnset = (node: ts.Node, type: ts.Type): boolean =>
  (type.flags & ts.TypeFlags.Undefined) !== 0 &&
  ts.isPropertyAccessExpression(node) &&
  node.expression.kind === ts.SyntaxKind.ThisKeyword &&
  isScript(node.getSourceFile());

/**
 * `data.xs`: what the object that `data` holds was written with, or one of those that it is given:
 * `this.state = { kind: "on", last: make() }`.
 */
export function ownedByAccess(
  context: FieldContext,
  { expression, name }: ts.PropertyAccessExpression,
): Owned | null {
  const declaration = context.declarationAt(name);
  const given = givenTo(declaration);
  const found = given ? context.ownedAt(given) : fieldOf(context.ownedAt(expression), name.text);
  if (found || declaration) return found;
  for (const value of storedIn(context, expression).map(unwrap)) {
    const part = ts.isObjectLiteralExpression(value) ? partNamed(value, name.text) : undefined;
    const owned = part && context.ownedAt(part);
    if (owned) return { ...owned, nullable: true };
  }
  return null;
}

/** What a field or a variable is given after its first value. */
function storedIn(context: FieldContext, place: ts.Expression): readonly ts.Expression[] {
  if (ts.isPropertyAccessExpression(place))
    return storedAt(context, place).flatMap(({ value, inside }) => (inside ? [] : [value]));
  const declaration = ts.isIdentifier(place) ? context.declarationAt(place) : undefined;
  if (!declaration || !ts.isVariableDeclaration(declaration)) return [];
  return usesOf(context, declaration).flatMap((id) => {
    const { parent: store } = id;
    const isGiven = ts.isBinaryExpression(store) && store.left === id && isTarget(id);
    return isGiven ? [store.right] : [];
  });
}

const partNamed = (
  { properties }: ts.ObjectLiteralExpression,
  name: string,
): ts.Expression | undefined =>
  givenTo(properties.find((p) => p.name !== undefined && memberName(p.name) === name));

/** What a record holds under a name. */
export const fieldOf = (record: Owned | null, field: string): Owned | null =>
  record?.shape === "record" && record.fields.includes(field) ? ownedMember(record, field) : null;
