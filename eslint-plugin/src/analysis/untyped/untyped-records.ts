/**
 * Untyped records: what the fields of an object hold whose values have no known type, by how the
 * object is written: `{ xs: tf.tensor(a) }`. Used by the oracle and by `untyped.ts`.
 */
import ts from "typescript";
import { ownedMember, type Owned } from "../program/ownership.ts";
import { isNullish, isScript } from "../program/syntax.ts";
import type { ParameterContext } from "./untyped-parameters.ts";

/** The value that an object literal gives a property. */
export function givenTo(declaration: ts.Declaration | undefined): ts.Expression | undefined {
  if (!declaration) return undefined;
  if (ts.isPropertyAssignment(declaration)) return declaration.initializer;
  return ts.isShorthandPropertyAssignment(declaration) ? declaration.name : undefined;
}

/** `{ last: null }`, `class { last = null }` of a script: given its value later. */
export const startsEmpty = (declaration: ts.Declaration | undefined): boolean =>
  declaration !== undefined &&
  (ts.isPropertyAssignment(declaration) || ts.isPropertyDeclaration(declaration)) &&
  declaration.initializer !== undefined &&
  isNullish(declaration.initializer) &&
  isScript(declaration.getSourceFile());

/** `this.x` of a script where no way to it gives a value: in a method that is a field itself. */
export const isUnset = (node: ts.Node, type: ts.Type): boolean =>
  (type.flags & ts.TypeFlags.Undefined) !== 0 &&
  ts.isPropertyAccessExpression(node) &&
  node.expression.kind === ts.SyntaxKind.ThisKeyword &&
  isScript(node.getSourceFile());

/** `data.xs`: what the object that `data` holds was written with. */
export function ownedByAccess(
  context: ParameterContext,
  { expression, name }: ts.PropertyAccessExpression,
): Owned | null {
  const given = givenTo(context.declarationAt(name));
  return given ? context.ownedAt(given) : fieldOf(context.ownedAt(expression), name.text);
}

/** What a record holds under a name. */
export const fieldOf = (record: Owned | null, field: string): Owned | null =>
  record?.shape === "record" && record.fields.includes(field) ? ownedMember(record, field) : null;
