/**
 * Trail paths: how a trail's value is reached from an expression that holds it. Used by the other
 * files about trails.
 */
import ts from "typescript";
import { memberName, unwrap } from "../program/syntax.ts";

/**
 * Names of fields, from the outermost, `*` for an element or a field of any name. Empty for the
 * value itself.
 */
export type Path = readonly string[];

/** Methods of containers that give each value to a callback first. */
export const visits = /^(forEach|map|flatMap|some|every|filter|find(Last)?(Index)?)$/;

/** Whether the first step of a path may be a name. */
export const leadsTo = (name: string, [first]: Path): boolean => first === name || first === "*";

/** A name as a step of a path. */
export const nameOf = (name: ts.PropertyName | ts.BindingName): string =>
  ts.isComputedPropertyName(name) && !ts.isStringLiteralLike(name.expression)
    ? "*"
    : memberName(name);

/** What a literal has under a path, as far as that leads through literals. */
export function partOf(node: ts.Expression, path: Path): [ts.Expression, Path] {
  const [first, ...rest] = path;
  if (first === undefined || !ts.isObjectLiteralExpression(node)) return [node, path];
  for (const property of node.properties) {
    if (ts.isShorthandPropertyAssignment(property) && property.name.text === first)
      return [property.name, rest];
    if (ts.isPropertyAssignment(property) && nameOf(property.name) === first)
      return partOf(unwrap(property.initializer), rest);
  }
  return [node, path];
}
