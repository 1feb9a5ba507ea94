/**
 * The line that ends one more value of an object, at the end of the method that ends it. Used by
 * `require-member-disposal.ts`.
 */
import ts from "typescript";
import type { Ending } from "../analysis/objects/endings.ts";
import type { Member } from "../analysis/objects/members.ts";
import { memberName, within } from "../analysis/program/syntax.ts";
import type { Oracle } from "../analysis/program/oracle.ts";
import type { Fix } from "../create-rule.ts";
import { asCall, endCallOf } from "./end-call.ts";
import { indentOf, unitOf } from "./text.ts";

/** What gives the values of a list or a table: a record by keys has no `values()`. */
function valuesIn({ name, at }: Member): string {
  const store = ts.findAncestor(at, ts.isBinaryExpression);
  const byKey = store && ts.isElementAccessExpression(store.left) && within(at, store.right);
  return byKey ? `Object.values(this.${name})` : `this.${name}.values()`;
}

/** Puts a line at the end of a method. */
export function lastLine({ member: method, body }: Ending, line: string): Fix {
  const last = body.statements[body.statements.length - 1];
  const indent = last ? indentOf(last) : indentOf(method) + unitOf(method.getSourceFile());
  const at = last ? last.getEnd() : body.getStart() + 1;
  const text = last ? `\n${indent}${line}` : `\n${indent}${line}\n${indentOf(method)}`;
  return (fixer) => fixer.insertTextAfterRange([at, at], text);
}

/** Ends what a field holds at the end of a method; null where nothing can be typed that does. */
export function endingLine(oracle: Oracle, method: Ending, field: Member): Fix | null {
  const { owned, at } = field;
  const { shape, nullable } = owned;
  if (shape === "record" || (shape === "many" && nullable)) return null;
  if (owned.each !== undefined) return recordsLine(oracle, method, field);
  const end = endCallOf(oracle, at, owned, method.member);
  if (!end) return null;
  const sure = field.inConstructor && !nullable && isUnconditional(at);
  const line =
    shape === "many"
      ? `for (const value of ${valuesIn(field)}) ${asCall("value", end, true)};`
      : `${asCall(`this.${field.name}`, end, sure)};`;
  return lastLine(method, line);
}

/** `for (const { map } of this.all.values()) map.dispose();`, where the protocol names the end. */
function recordsLine(oracle: Oracle, method: Ending, field: Member): Fix | null {
  const { each, fields, inner, owner } = field.owned;
  const [end] = owner.dispose.methods;
  const isPlain = each === "record" && inner === undefined && owner.policy === "protocol";
  if (!isPlain || !end || fields.length === 0) return null;
  const dot = (name: string): string => (isAlwaysThere(oracle, field.at, name) ? "." : "?.");
  const calls = fields.map((name) => `${name}${dot(name)}${end}();`).join(" ");
  const body = fields.length === 1 ? calls : `{ ${calls} }`;
  return lastLine(method, `for (const { ${fields.join(", ")} } of ${valuesIn(field)}) ${body}`);
}

/** Whether the records of a file that have a field say that it always has a value. */
function isAlwaysThere({ facts }: Oracle, at: ts.Node, field: string): boolean {
  const said = facts
    .nodes<ts.PropertySignature>(at.getSourceFile(), ts.SyntaxKind.PropertySignature)
    .filter(({ name }) => memberName(name) === field);
  const isThere = ({ questionToken, type }: ts.PropertySignature): boolean =>
    !questionToken && !/\b(null|undefined)\b/.test(type?.getText() ?? "");
  return said.length > 0 && said.every(isThere);
}

/** Whether a value is made by a statement of the constructor itself, on every way through it. */
function isUnconditional(at: ts.Node): boolean {
  const statement = ts.findAncestor(at, ts.isExpressionStatement);
  return statement !== undefined && ts.isConstructorDeclaration(statement.parent.parent);
}
