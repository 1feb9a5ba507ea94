/**
 * Untyped records: what the fields of an object hold whose values have no known type, by how the
 * object is written: `{ xs: tf.tensor(a) }`. Used by the oracle and by `untyped.ts`.
 */
import ts from "typescript";
import { single, type Owned } from "../program/ownership.ts";
import { calleeNameNode, isNullish, isScript, memberName, unwrap } from "../program/syntax.ts";
import { elementOf, type ParameterContext } from "./untyped-parameters.ts";

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

/** `const { xs } = make()`: the field of that name. */
export function ownedByPattern(
  context: ParameterContext,
  element: ts.BindingElement,
): Owned | null {
  const holder = element.parent.parent;
  if (!ts.isObjectBindingPattern(element.parent) || element.dotDotDotToken) return null;
  if (!ts.isVariableDeclaration(holder) || !holder.initializer) return null;
  const field = memberName(element.propertyName ?? element.name);
  return fieldOf(context.ownedAt(holder.initializer), field);
}

/** The `t` of `for (const [key, t] of table)`. */
export function ownedOfEntry(context: ParameterContext, element: ts.BindingElement): Owned | null {
  const { parent: pattern } = element;
  const turns = pattern.parent.parent.parent;
  if (!ts.isArrayBindingPattern(pattern) || pattern.elements[1] !== element) return null;
  if (!ts.isForOfStatement(turns) || turns.initializer !== pattern.parent.parent) return null;
  const walked = unwrap(turns.expression);
  const isEntries = ts.isCallExpression(walked) && calleeNameNode(walked)?.text === "entries";
  const access = isEntries ? walked.expression : walked;
  const table =
    isEntries && ts.isPropertyAccessExpression(access)
      ? (walked.arguments[0] ?? access.expression)
      : walked;
  const held = context.ownedAt(table);
  return held?.shape === "many" ? elementOf(held) : null;
}

const fieldOf = (record: Owned | null, field: string): Owned | null =>
  record?.shape === "record" && record.fields.includes(field) ? single(record.owner) : null;
