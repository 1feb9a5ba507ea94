/**
 * Names for what a pattern leaves out: `const { a } = make()` becomes `const { a, b } = make();
 * b.dispose();`. Used by the rule for dropped elements.
 */
import ts from "typescript";
import type { Owned } from "../analysis/program/oracle.ts";
import { isUsingList } from "../analysis/program/syntax.ts";
import type { Unnamed } from "../analysis/lists/unreached.ts";
import type { Fix } from "../create-rule.ts";
import type { Facts } from "../analysis/program/facts.ts";
import { indentOf, Names, slotOf } from "./text.ts";

/** Names the values and disposes them after the declaration; null where that does not fit. */
export function nameAndDispose(
  facts: Facts,
  declaration: ts.VariableDeclaration,
  owned: Owned,
  lost: readonly Unnamed[],
): Fix | null {
  const pattern = declaration.name;
  const statement = soleStatement(declaration);
  const method = owned.owner.dispose.methods[0];
  if (ts.isIdentifier(pattern) || !statement || method === undefined || lost.length === 0)
    return null;
  if (lost.some(({ list }) => list === "unknown")) return null;
  const names = new Names(facts, declaration.getSourceFile());
  const named = lost.map((l) => ({ ...l, name: names.pick(l.field ?? "other") }));
  const text = withNames(pattern, named);
  const indent = indentOf(statement);
  const disposals = named
    .map(({ name, list }) => `\n${indent}${name}${list ? "?" : ""}.${method}();`)
    .join("");
  return (fixer) => [
    fixer.replaceTextRange([pattern.getStart(), pattern.getEnd()], text),
    fixer.insertTextAfterRange([statement.getStart(), statement.getEnd()], disposals),
  ];
}

/** The statement of a declaration that stands alone in a block and is not `using`. */
function soleStatement({ parent: list }: ts.VariableDeclaration): ts.VariableStatement | undefined {
  if (!ts.isVariableDeclarationList(list) || list.declarations.length !== 1) return undefined;
  const statement = list.parent;
  if (!ts.isVariableStatement(statement) || isUsingList(list)) return undefined;
  return slotOf(statement) === "block" ? statement : undefined;
}

function withNames(
  pattern: ts.BindingPattern,
  named: readonly (Unnamed & { name: string })[],
): string {
  const parts = pattern.elements.map((e) => e.getText());
  if (ts.isArrayBindingPattern(pattern)) {
    for (const { at, name } of named) parts[at] = name;
    return `[${parts.join(", ")}]`;
  }
  for (const { field = "", name } of named) parts.push(field === name ? name : `${field}: ${name}`);
  return `{ ${parts.join(", ")} }`;
}
