/**
 * Settled results: whether a function only looks at what `Promise.allSettled(all)` gives: results
 * that are no values themselves, but have one each, `if (r.status === "fulfilled") r.value`. Used
 * by `looked-through.ts`.
 */
import ts from "typescript";
import { functionHanded } from "../program/callee.ts";
import { boundNames, referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";
import { isTarget, memberName } from "../program/syntax.ts";
import { enclosingFunction, fateOf } from "../transfer/fate.ts";

/** `Promise.allSettled(all)`. */
export const isSettled = (node: ts.Node): node is ts.CallExpression =>
  ts.isCallExpression(node) && node.expression.getText() === "Promise.allSettled";

/**
 * Whether a function only looks at results, or at one.
 *
 * @param looks whether it only looks at the value of one
 */
export function looksAtSettled(
  session: Session,
  results: ts.Expression,
  looks: (value: ts.Expression) => boolean,
): boolean {
  const { kind, node, member } = fateOf(results);
  const follow = (at: ts.Expression): boolean => looksAtSettled(session, at, looks);
  switch (kind) {
    case "dropped":
    case "operand":
      return true;
    case "read":
      return member !== "value" || looks(node as ts.Expression);
    case "element":
      return follow(node as ts.Expression);
    case "bound":
      return ts.isVariableDeclaration(node) && eachResult(session, node, follow, looks);
    case "iterated": {
      const turns = ts.isForOfStatement(node) ? node.initializer : undefined;
      if (!turns || !ts.isVariableDeclarationList(turns)) return false;
      return turns.declarations.every((turn) => eachResult(session, turn, follow, looks));
    }
    case "receiver": {
      if (member === "at") return follow(node as ts.Expression);
      const [first] = ts.isCallExpression(node) ? node.arguments : [];
      const [parameter] = (first && functionHanded(session.oracle, first)?.parameters) ?? [];
      if (!/^(then|forEach|filter|map|some|every|find)$/.test(member) || !first) return false;
      if (parameter && !eachResult(session, parameter, follow, looks)) return false;
      return !/^(filter|find)$/.test(member) || follow(node as ts.Expression);
    }
    default:
      return false;
  }
}

/** Whether all names that a declaration has for results, or for their values, only look. */
function eachResult(
  session: Session,
  { name }: ts.VariableDeclaration | ts.ParameterDeclaration,
  follow: (result: ts.Expression) => boolean,
  looks: (value: ts.Expression) => boolean,
): boolean {
  const root = enclosingFunction(name) ?? name.getSourceFile();
  return boundNames(name, name.parent as ts.VariableDeclaration).every(({ id, declaration }) => {
    const field = fieldTaken(declaration);
    if (field !== undefined && field !== "value") return true;
    return referencesTo(session.oracle, declaration, id, root).every(
      (at) => at === id || isTarget(at) || (field === undefined ? follow(at) : looks(at)),
    );
  });
}

/** The `value` of `{ status, value: texture }`; nothing where a list is taken apart. */
function fieldTaken(declaration: ts.Node): string | undefined {
  if (!ts.isBindingElement(declaration) || !ts.isObjectBindingPattern(declaration.parent))
    return undefined;
  return memberName(declaration.propertyName ?? declaration.name);
}
