/**
 * Untyped patterns: what the names in a pattern stand for whose values have no known type: in
 * `const { xs } = make()`, in `for (const [key, { t }] of table)`, and in patterns within those.
 * Used by `untyped.ts` alone, which also asks what is put into a list.
 */
import ts from "typescript";
import { puts, putValues } from "../program/containers.ts";
import type { Owned } from "../program/ownership.ts";
import type { References } from "../program/references.ts";
import { calleeNameNode, memberName, unwrap } from "../program/syntax.ts";
import { fateOf, loopOfTurn } from "../transfer/fate.ts";
import { storedAt, type FieldContext } from "./untyped-fields.ts";
import { elementOf, usesOf } from "./untyped-parameters.ts";
import { fieldOf } from "./untyped-records.ts";

/** `const { xs } = make()`, `for (const { t } of list)`: the field of that name. */
export function ownedByPattern(context: FieldContext, element: ts.BindingElement): Owned | null {
  if (!ts.isObjectBindingPattern(element.parent) || element.dotDotDotToken) return null;
  const field = memberName(element.propertyName ?? element.name);
  return fieldOf(takenApart(context, element.parent.parent), field);
}

/** What a pattern takes apart: what a variable is given, one turn of a loop, part of another. */
function takenApart(context: FieldContext, holder: ts.BindingPattern["parent"]): Owned | null {
  if (ts.isBindingElement(holder))
    return ownedOfEntry(context, holder) ?? ownedByPattern(context, holder);
  if (!ts.isVariableDeclaration(holder)) return null;
  if (holder.initializer) return context.ownedAt(holder.initializer);
  const turns = loopOfTurn(holder);
  const list = turns && context.ownedAt(turns.expression);
  return list?.shape === "many" ? elementOf(list) : null;
}

/**
 * The `t` of `for (const [key, t] of table)`, of `for (const [t, size] of pairs)`, or of
 * `for (const [key, [t]] of table)`.
 */
export function ownedOfEntry(context: FieldContext, element: ts.BindingElement): Owned | null {
  const { parent: pattern } = element;
  if (!ts.isArrayBindingPattern(pattern)) return null;
  const place = pattern.elements.indexOf(element);
  const holder = pattern.parent;
  const isInner = ts.isBindingElement(holder);
  const entry = isInner ? holder.parent : pattern;
  if (isInner && (!ts.isArrayBindingPattern(entry) || entry.elements[1] !== holder)) return null;
  const turns = loopOfTurn(entry.parent);
  if (!turns) return null;
  const walked = unwrap(turns.expression);
  const pairs = pairsPut(context, isInner ? tableOf(walked) : walked, isInner);
  const values = pairs.flatMap((pair) => pair[place] ?? []);
  if (pairs.length > 0) return firstOwned(context, values);
  const held = place === 1 && !isInner ? context.ownedAt(tableOf(walked)) : null;
  return held?.shape === "many" ? elementOf(held) : null;
}

const firstOwned = (context: FieldContext, values: readonly ts.Expression[]): Owned | null =>
  values.map((value) => context.ownedAt(value)).find((owned) => owned !== null) ?? null;

/** The `table` of `table.entries()` and `Object.entries(table)`, or what a loop goes over. */
function tableOf(walked: ts.Expression): ts.Expression {
  if (!ts.isCallExpression(walked) || calleeNameNode(walked)?.text !== "entries") return walked;
  const { expression: access } = walked;
  return ts.isPropertyAccessExpression(access)
    ? (walked.arguments[0] ?? access.expression)
    : walked;
}

/** The lists that are put into a list, or are set in a table under a key. */
function pairsPut(
  context: FieldContext,
  list: ts.Expression,
  underKey: boolean,
): (readonly ts.Expression[])[] {
  const declaration = ts.isIdentifier(list) ? context.declarationAt(list) : undefined;
  const values = ts.isPropertyAccessExpression(list)
    ? storedAt(context, list).flatMap(({ value, inside }) => (inside ? [value] : []))
    : declaration
      ? valuesPut(context, declaration)
      : [];
  const isSet = ({ parent }: ts.Expression): boolean =>
    ts.isCallExpression(parent) && calleeNameNode(parent)?.text === "set";
  return values
    .filter((value) => isSet(value) === underKey)
    .map(unwrap)
    .flatMap((value) => (ts.isArrayLiteralExpression(value) ? [value.elements] : []));
}

/** The values that are put into a list which starts empty. */
export const valuesPut = (context: References, declaration: ts.Declaration): ts.Expression[] =>
  usesOf(context, declaration).flatMap((id) => {
    const { kind, member, node } = fateOf(id);
    if (kind === "receiver" && puts(member) && ts.isCallExpression(node))
      return [...putValues(member, node.arguments)];
    const isStore =
      kind === "element" &&
      ts.isBinaryExpression(node.parent) &&
      node.parent.left === node &&
      /^(\?\?|\|\|)?=$/.test(node.parent.operatorToken.getText());
    return isStore ? [node.parent.right] : [];
  });
