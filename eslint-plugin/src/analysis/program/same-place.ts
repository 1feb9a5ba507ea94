/**
 * Same place: whether two expressions name the same variable, field or element, by what their names
 * mean and not by how they are written. Used by the rules that look for a second mention.
 */
import ts from "typescript";
import type { Oracle } from "./oracle.ts";
import { unwrap } from "./syntax.ts";

/** Whether two expressions name the same place; an index counts as the same when it reads so. */
export function samePlace(oracle: Oracle, one: ts.Expression, two: ts.Expression): boolean {
  const a = unwrap(one);
  const b = unwrap(two);
  if (a.kind === ts.SyntaxKind.ThisKeyword) return b.kind === a.kind;
  if (ts.isIdentifier(a)) return ts.isIdentifier(b) && sameName(oracle, a, b);
  if (ts.isPropertyAccessExpression(a))
    return (
      ts.isPropertyAccessExpression(b) &&
      a.name.text === b.name.text &&
      samePlace(oracle, a.expression, b.expression)
    );
  if (ts.isElementAccessExpression(a))
    return (
      ts.isElementAccessExpression(b) &&
      samePlace(oracle, a.expression, b.expression) &&
      samePlace(oracle, a.argumentExpression, b.argumentExpression)
    );
  return a.kind === b.kind && textOf(a) === textOf(b) && sameParts(oracle, a, b);
}

function sameParts(oracle: Oracle, a: ts.Node, b: ts.Node): boolean {
  const parts = partsOf(b);
  const own = partsOf(a);
  return (
    own.length === parts.length &&
    own.every((part, i) => samePlace(oracle, part as ts.Expression, parts[i] as ts.Expression))
  );
}

function partsOf(node: ts.Node): ts.Node[] {
  const parts: ts.Node[] = [];
  ts.forEachChild(node, (part) => {
    parts.push(part);
  });
  return parts;
}

function sameName(oracle: Oracle, a: ts.Identifier, b: ts.Identifier): boolean {
  if (a.text !== b.text) return false;
  const declaration = oracle.declarationAt(a);
  return declaration !== undefined && declaration === oracle.declarationAt(b);
}

const textOf = (node: ts.Node): string =>
  ts.isLiteralExpression(node) || ts.isTemplateLiteralToken(node) ? node.text : "";
