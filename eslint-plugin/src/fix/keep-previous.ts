/**
 * Keeps what a place held in a variable, over the assignment that makes it hold something else, and
 * ends it afterwards. Used by `no-overwritten-tensor`; refused where the place may not be read yet.
 */
import ts from "typescript";
import type { FileAnalysis } from "../analysis/analyse.ts";
import type { Owned } from "../analysis/program/oracle.ts";
import { isScript, unwrap, valuesOf, within } from "../analysis/program/syntax.ts";
import { enclosingFunction } from "../analysis/transfer/fate.ts";
import type { Fix } from "../create-rule.ts";
import { asCall, endCallOf } from "./end-call.ts";
import { indentOf, Names, slotOf, unitOf } from "./text.ts";

/** Ends what a place held, after the assignment; null where that does not fit. */
export function keepPrevious(
  { facts, session }: FileAnalysis,
  node: ts.Node,
  held: ts.Expression,
  owned: Owned,
  variable = held.getText(),
): Fix | null {
  const statement = node.parent;
  if (
    !ts.isBinaryExpression(node) ||
    !ts.isExpressionStatement(statement) ||
    slotOf(statement) === "case"
  )
    return null;
  if (isMoved(node, held)) return null; // what it held has another name by then
  const isPart = variable !== held.getText(); // a field of a record
  const [member = "dispose"] = owned.owner.dispose.methods;
  const typed = endCallOf(session.oracle, held, owned);
  const ending = isPart ? { member, waits: false } : typed;
  const filled = owned.nullable ? "perhaps" : fillingOf(session, node, held);
  if (!ending || filled === "unread") return null;
  const indent = indentOf(statement),
    unit = unitOf(node.getSourceFile());
  const name = new Names(facts, node.getSourceFile()).pick("previous");
  const lines = [
    `const ${name} = ${variable};`,
    statement.getText().replace(/;?$/, ";"),
    `${asCall(name, ending, filled === "surely")};`,
  ];
  return (fixer) =>
    fixer.replaceTextRange(
      [statement.getStart(), statement.getEnd()],
      `{\n${lines.map((l) => indent + unit + l).join("\n")}\n${indent}}`,
    );
}

/** `[a, b] = [b, x]`: what `b` held goes on as `a`. */
function isMoved({ right }: ts.BinaryExpression, held: ts.Expression): boolean {
  const value = unwrap(right);
  return (
    (ts.isArrayLiteralExpression(value) || ts.isObjectLiteralExpression(value)) &&
    valuesOf(value).some((v) => v.getText() === held.getText())
  );
}

/**
 * Whether a place holds something before an assignment. A variable that is declared without a value
 * may not: "unread" is one that TypeScript does not let anybody read yet.
 */
function fillingOf(
  { oracle }: FileAnalysis["session"],
  assignment: ts.BinaryExpression,
  held: ts.Expression,
): "surely" | "perhaps" | "unread" {
  const place = unwrap(held);
  const name = ts.isPropertyAccessExpression(place) ? place.name : place;
  const declared = oracle.declarationAt(name);
  if (declared && ts.isPropertyDeclaration(declared))
    return declared.exclamationToken ? "perhaps" : "surely";
  if (!declared || !ts.isVariableDeclaration(declared) || declared.initializer) return "surely";
  if (ts.isForOfStatement(declared.parent.parent) || isFilledBefore(assignment, declared))
    return "surely";
  const isElsewhere = enclosingFunction(assignment) !== enclosingFunction(declared);
  const mayRead =
    declared.exclamationToken !== undefined || declared.type === undefined || isElsewhere;
  return mayRead || isScript(assignment.getSourceFile()) ? "perhaps" : "unread";
}

/** Whether a statement before this one, after the declaration, gives the variable a value. */
function isFilledBefore(assignment: ts.Node, { name, parent }: ts.VariableDeclaration): boolean {
  const from = parent.parent.parent;
  const fills = (s: ts.Statement): boolean =>
    ts.isExpressionStatement(s) &&
    ts.isBinaryExpression(s.expression) &&
    s.expression.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
    s.expression.left.getText() === name.getText();
  for (let node = assignment; node !== from; node = node.parent) {
    const { parent: block } = node;
    if (ts.isFunctionLike(node) || !block || !within(node, from)) return false;
    if (!ts.isBlock(block) && !ts.isSourceFile(block)) continue;
    const at = block.statements.indexOf(node as ts.Statement);
    if (block.statements.slice(0, Math.max(0, at)).some(fills)) return true;
  }
  return false;
}
