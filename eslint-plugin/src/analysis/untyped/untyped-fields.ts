/**
 * Untyped fields: what the field of an object is that has no known type, by what the program
 * stores there: in a class, in the methods of an object literal or of a prototype, or in the
 * object that a variable holds. Used by `untyped.ts` alone.
 */
import ts from "typescript";
import { puts, putValues } from "../program/containers.ts";
import { ownedByType } from "./untyped-annotations.ts";
import { listOfSuch, usesOf, type ParameterContext } from "./untyped-parameters.ts";
import type { Owned } from "../program/ownership.ts";
import { isSelf, prototypeOf, type FunctionWithBody } from "../program/syntax.ts";

/** What is needed to know of the program. */
export interface FieldContext extends ParameterContext {
  /** What each object is found to store in its fields. */
  readonly stored: Map<ts.Node, ReadonlyMap<string, readonly Stored[]>>;
  /** The method that a call of something without a type runs, by its name alone. */
  methodOf(call: ts.CallExpression): FunctionWithBody | undefined;
}
/** A value that is put into a field, or inside the list or table that the field holds. */
export interface Stored {
  readonly value: ts.Expression;
  readonly inside: boolean;
}

/** `this.x`, `state.x`, `this.parts.x`: what the object stores there. */
export function ownedField(
  context: FieldContext,
  access: ts.PropertyAccessExpression,
): Owned | null {
  const field = context.declarationAt(access.name);
  const said = field && isField(field) ? ownedByType(context, field.type) : null;
  if (said) return said;
  for (const { value, inside } of storedAt(context, access)) {
    const given = context.ownedAt(value);
    const owned = given && inside ? listOfSuch(given) : given;
    if (owned) return owned;
  }
  return null;
}

const isField = (node: ts.Node): node is ts.PropertyDeclaration | ts.ParameterDeclaration =>
  ts.isPropertyDeclaration(node) || ts.isParameter(node);

/** All that an object stores in a field of its own. */
export function storedAt(
  context: FieldContext,
  access: ts.PropertyAccessExpression,
): readonly Stored[] {
  const inner = partOfThis(access);
  const { expression } = inner ?? access;
  const holder = isSelf(expression)
    ? holderOf(expression)
    : ts.isIdentifier(expression)
      ? holderNamed(context.declarationAt(expression))
      : undefined;
  if (!holder) return [];
  const known = context.stored.get(holder) ?? storesOf(context, holder);
  context.stored.set(holder, known);
  const place = inner ? `${inner.name.text}.${access.name.text}` : access.name.text;
  return known.get(place) ?? [];
}

/** The `this.parts` of `this.parts.x`. */
const partOfThis = ({
  expression: inner,
}: ts.PropertyAccessExpression): ts.PropertyAccessExpression | undefined =>
  ts.isPropertyAccessExpression(inner) && isSelf(inner.expression) ? inner : undefined;

/** What `this` is, as far as it is written: a class, an object literal, a function with methods. */
function holderOf(self: ts.Node): ts.Node | undefined {
  for (let at: ts.Node = self.parent; !ts.isSourceFile(at); at = at.parent) {
    if (ts.isClassLike(at)) return at;
    if (!ts.isFunctionLike(at) || ts.isArrowFunction(at)) continue;
    const literal = ts.isPropertyAssignment(at.parent) ? at.parent.parent : at.parent;
    if (ts.isObjectLiteralExpression(literal))
      return isPrototype(literal.parent) ? literal.getSourceFile() : literal;
    const { parent } = at;
    const isMaker = ts.isFunctionDeclaration(at) || ts.isVariableDeclaration(parent);
    const isMethod = ts.isBinaryExpression(parent) && prototypeOf(parent.left);
    if (isMaker || isMethod) return at.getSourceFile();
  }
  return undefined;
}

/** `Net.prototype = { … }`. */
const isPrototype = (store: ts.Node): boolean =>
  ts.isBinaryExpression(store) &&
  ts.isPropertyAccessExpression(store.left) &&
  store.left.name.text === "prototype";

/** The object literal that a variable is given, or the class that a name means. */
function holderNamed(declaration: ts.Declaration | undefined): ts.Node | undefined {
  if (!declaration) return undefined;
  if (ts.isClassLike(declaration)) return declaration;
  const value = ts.isVariableDeclaration(declaration) ? declaration.initializer : undefined;
  return value && ts.isObjectLiteralExpression(value) ? value : undefined;
}

/** `=` and `??=`. */
const stores = [ts.SyntaxKind.EqualsToken, ts.SyntaxKind.QuestionQuestionEqualsToken];

/** Every value that an object is given in a field of its own, or in a list in one, by field. */
function storesOf(context: FieldContext, holder: ts.Node): Map<string, Stored[]> {
  const found = new Map<string, Stored[]>();
  const note = (field: ts.Expression, value: ts.Expression, inside: boolean): void => {
    if (ts.isElementAccessExpression(field)) return note(field.expression, value, true);
    if (!ts.isPropertyAccessExpression(field)) return;
    const inner = partOfThis(field);
    if (!inner && !isHolder(field.expression)) return;
    const place = inner ? `${inner.name.text}.${field.name.text}` : field.name.text;
    found.set(place, [...(found.get(place) ?? []), { value, inside }]);
  };
  const named = ts.isClassLike(holder)
    ? holder
    : !ts.isSourceFile(holder) && ts.isVariableDeclaration(holder.parent)
      ? holder.parent
      : undefined;
  const names = new Set<ts.Node>(named ? usesOf(context, named) : []);
  const isHolder = (node: ts.Expression): boolean => isSelf(node) || names.has(node);
  const visit = (node: ts.Node): void => {
    if (ts.isClassLike(node)) return;
    ts.forEachChild(node, visit);
    if (ts.isCallExpression(node)) noteCall(node, note);
    const isStore = ts.isBinaryExpression(node) && stores.includes(node.operatorToken.kind);
    if (isStore) note(node.left, node.right, false);
  };
  ts.forEachChild(holder, visit);
  for (const id of names) visitAround(id, note);
  return found;
}

type Note = (field: ts.Expression, value: ts.Expression, inside: boolean) => void;

/** `list.push(t)`, `table.set(key, t)`; of `x.add(t)` what it gives is used, where x is no set. */
function noteCall(call: ts.CallExpression, note: Note): void {
  const { expression, arguments: args } = call;
  if (!ts.isPropertyAccessExpression(expression) || !puts(expression.name.text)) return;
  if (expression.name.text === "add" && !ts.isExpressionStatement(call.parent)) return;
  for (const value of putValues(expression.name.text, args))
    note(expression.expression, value, true);
}

/** What the expression around a mention of the object stores in it. */
function visitAround(id: ts.Node, note: Note): void {
  let at: ts.Node = id;
  while (ts.isPropertyAccessExpression(at.parent) || ts.isElementAccessExpression(at.parent))
    at = at.parent;
  const { parent } = at;
  if (ts.isCallExpression(parent) && parent.expression === at) noteCall(parent, note);
  const isStore =
    ts.isBinaryExpression(parent) &&
    parent.left === at &&
    parent.operatorToken.kind === ts.SyntaxKind.EqualsToken;
  if (isStore) note(parent.left, parent.right, false);
}
