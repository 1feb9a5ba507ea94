/**
 * The line that ends one more value of an object, at the end of the method that ends it. Used by
 * `require-member-disposal.ts`.
 */
import ts from "typescript";
import type { Ending } from "../analysis/objects/endings.ts";
import type { Member } from "../analysis/objects/members.ts";
import { within } from "../analysis/program/syntax.ts";
import type { Suggestion } from "../create-rule.ts";
import { indentOf, unitOf } from "./text.ts";

/** What gives the values of a list or a table: a record by keys has no `values()`. */
export function valuesIn({ name, at }: Member): string {
  const store = ts.findAncestor(at, ts.isBinaryExpression);
  const byKey = store && ts.isElementAccessExpression(store.left) && within(at, store.right);
  return byKey ? `Object.values(this.${name})` : `this.${name}.values()`;
}

/** Puts a line at the end of a method. */
export function lastLine(
  { member: method, body }: Ending,
  line: string,
): Suggestion<string>["fix"] {
  const last = body.statements[body.statements.length - 1];
  const indent = last ? indentOf(last) : indentOf(method) + unitOf(method.getSourceFile());
  const at = last ? last.getEnd() : body.getStart() + 1;
  const text = last ? `\n${indent}${line}` : `\n${indent}${line}\n${indentOf(method)}`;
  return (fixer) => fixer.insertTextAfterRange([at, at], text);
}
