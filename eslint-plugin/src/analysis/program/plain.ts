/**
 * Plain values: expressions and annotations whose syntax says that they give a number, a string, a
 * boolean, a function or nothing, which nobody owns. Used by the oracle, so that it need not ask
 * the checker, which would check every operand first.
 */
import ts from "typescript";
import { assigns, shortCircuits } from "./syntax.ts";

const plainTypes = new Set([
  ts.SyntaxKind.NumberKeyword,
  ts.SyntaxKind.StringKeyword,
  ts.SyntaxKind.BooleanKeyword,
  ts.SyntaxKind.BigIntKeyword,
  ts.SyntaxKind.VoidKeyword,
  ts.SyntaxKind.UndefinedKeyword,
  ts.SyntaxKind.LiteralType,
]);
/** These give one of their operands; every other operator makes a plain value. */
const passing = new Set([...shortCircuits, ts.SyntaxKind.CommaToken]);

/** Whether an expression gives a plain value whatever its operands are. */
export function isPlain(node: ts.Node): boolean {
  if (ts.isParenthesizedExpression(node)) return isPlain(node.expression);
  if (ts.isBinaryExpression(node)) {
    const operator = node.operatorToken.kind;
    return !passing.has(operator) && !assigns(operator);
  }
  return (
    ts.isStringLiteralLike(node) ||
    ts.isNumericLiteral(node) ||
    ts.isTemplateExpression(node) ||
    ts.isPrefixUnaryExpression(node) ||
    ts.isPostfixUnaryExpression(node) ||
    ts.isTypeOfExpression(node) ||
    ts.isDeleteExpression(node) ||
    ts.isArrowFunction(node) ||
    ts.isFunctionExpression(node) ||
    node.kind === ts.SyntaxKind.TrueKeyword ||
    node.kind === ts.SyntaxKind.FalseKeyword
  );
}

/** Whether a variable, parameter or field can only hold plain values, as it is declared. */
export function holdsPlain(declaration: ts.Node): boolean {
  if (ts.isPropertySignature(declaration) || ts.isPropertyDeclaration(declaration))
    return declaration.type !== undefined && plainTypes.has(declaration.type.kind);
  if (!ts.isVariableDeclaration(declaration) && !ts.isParameter(declaration)) return false;
  if (!ts.isIdentifier(declaration.name)) return false;
  const { type, initializer } = declaration;
  return type ? plainTypes.has(type.kind) : initializer !== undefined && isPlain(initializer);
}
