/**
 * Field tests: which mentions of a field leave what it held when a store to it is reached: they
 * stand on another way, or only ask for null where the answer does not tell that it is empty. Pure
 * questions about syntax; used by `lost-stores.ts`.
 */
import ts from "typescript";
import { fieldOfThis } from "./members.ts";
import { isNullish, unwrap, within } from "./syntax.ts";

/** Whether a mention of a field says nothing of what it holds where the store is reached. */
export function leavesHeld(at: ts.Node, store: ts.BinaryExpression): boolean {
  const field = fieldOfThis(at);
  if (!field) return false;
  if (isOnOtherWay(at, store)) return true;
  const test = testAround(field);
  return test !== undefined && !tellsEmpty(test, field.name.text, store);
}

/** Whether a node stands in a branch that leaves before the store, or in the other of two. */
function isOnOtherWay(at: ts.Node, store: ts.Node): boolean {
  for (let node = at; !ts.isFunctionLike(node) && !ts.isSourceFile(node); node = node.parent) {
    const test = node.parent;
    if (!ts.isIfStatement(test) || node === test.expression || within(store, node)) continue;
    if (within(store, test) || leaves(node)) return true;
  }
  return false;
}

/** The `if` that asks whether a field holds something, where that is all that a mention does. */
function testAround(field: ts.Expression): ts.IfStatement | undefined {
  let node: ts.Node = field;
  while (isPartOfTest(node.parent)) node = node.parent;
  const { parent } = node;
  return ts.isIfStatement(parent) && parent.expression === node ? parent : undefined;
}

const isPartOfTest = (node: ts.Node): boolean =>
  ts.isParenthesizedExpression(node) ||
  (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken) ||
  (ts.isBinaryExpression(node) &&
    (joins.has(node.operatorToken.kind) || equals(node) !== undefined));

const joins: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.AmpersandAmpersandToken,
  ts.SyntaxKind.BarBarToken,
]);

/** Whether a comparison with nothing asks for it, or for the opposite; undefined for all else. */
function equals({ operatorToken, left, right }: ts.BinaryExpression): boolean | undefined {
  if (!isNullish(unwrap(left)) && !isNullish(unwrap(right))) return undefined;
  const sign = operatorToken.getText();
  return /^[!=]==?$/.test(sign) ? sign.startsWith("=") : undefined;
}

/** Whether an `if` lets nobody come to a store but with an empty field. */
function tellsEmpty(test: ts.IfStatement, field: string, store: ts.Node): boolean {
  const { expression, thenStatement, elseStatement } = test;
  if (within(store, thenStatement)) return isEmptyWhen(expression, field, true);
  if (elseStatement && within(store, elseStatement)) return isEmptyWhen(expression, field, false);
  return !leaves(thenStatement) || isEmptyWhen(expression, field, false);
}

/** Whether a branch ends with a way out. */
function leaves(branch: ts.Node): boolean {
  const last = ts.isBlock(branch) ? branch.statements.at(-1) : branch;
  return (
    last !== undefined &&
    (ts.isReturnStatement(last) ||
      ts.isThrowStatement(last) ||
      ts.isContinueStatement(last) ||
      ts.isBreakStatement(last))
  );
}

/** Whether a field holds nothing where a condition has an answer. */
function isEmptyWhen(condition: ts.Expression, field: string, answer: boolean): boolean {
  const at = unwrap(condition);
  if (ts.isPrefixUnaryExpression(at)) return isEmptyWhen(at.operand, field, !answer);
  if (!ts.isBinaryExpression(at)) return !answer && fieldOfThis(at)?.name.text === field;
  const asks = equals(at);
  if (asks !== undefined)
    return asks === answer && [at.left, at.right].some((side) => isField(side, field));
  if (!joins.has(at.operatorToken.kind)) return false;
  const left = isEmptyWhen(at.left, field, answer);
  const right = isEmptyWhen(at.right, field, answer);
  const isAnd = at.operatorToken.kind === ts.SyntaxKind.AmpersandAmpersandToken;
  return isAnd === answer ? left || right : left && right;
}

const isField = (node: ts.Expression, field: string): boolean =>
  fieldOfThis(unwrap(node))?.name.text === field;
