/**
 * Found empty: whether a node is reached only where a test has found that a name or place holds
 * nothing, so that an assignment there loses nothing. Used by the verbs about lost values.
 */
import ts from "typescript";
import { isNullish, unwrap, within } from "./syntax.ts";

/** Whether one of the tests around a node, in its function, says that a place holds nothing. */
export function isFoundEmpty(node: ts.Node, isPlace: (node: ts.Expression) => boolean): boolean {
  for (let at: ts.Node = node; !ts.isSourceFile(at) && !ts.isFunctionLike(at); at = at.parent) {
    const { parent } = at;
    const test = ts.isIfStatement(parent)
      ? parent.expression
      : ts.isConditionalExpression(parent)
        ? parent.condition
        : undefined;
    if (!test || within(node, test)) continue;
    const holds = ts.isIfStatement(parent)
      ? at === parent.thenStatement
      : at === (parent as ts.ConditionalExpression).whenTrue;
    if (saysEmpty(test, holds, isPlace)) return true;
  }
  return false;
}

/** Whether a test that holds, or does not, says that the place is empty. */
export function saysEmpty(
  test: ts.Expression,
  holds: boolean,
  isPlace: (node: ts.Expression) => boolean,
): boolean {
  const node = unwrap(test);
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken)
    return saysEmpty(node.operand, !holds, isPlace);
  if (!ts.isBinaryExpression(node)) return !holds && isPlace(node);
  const { left, right, operatorToken } = node;
  switch (operatorToken.kind) {
    case ts.SyntaxKind.AmpersandAmpersandToken:
      return holds && (saysEmpty(left, true, isPlace) || saysEmpty(right, true, isPlace));
    case ts.SyntaxKind.BarBarToken:
      return holds
        ? saysEmpty(left, true, isPlace) && saysEmpty(right, true, isPlace)
        : saysEmpty(left, false, isPlace) || saysEmpty(right, false, isPlace);
    case ts.SyntaxKind.EqualsEqualsToken:
    case ts.SyntaxKind.EqualsEqualsEqualsToken:
      return holds && isPlace(unwrap(left)) && isNullish(unwrap(right));
    case ts.SyntaxKind.ExclamationEqualsToken:
    case ts.SyntaxKind.ExclamationEqualsEqualsToken:
      return !holds && isPlace(unwrap(left)) && isNullish(unwrap(right));
    default:
      return false;
  }
}
