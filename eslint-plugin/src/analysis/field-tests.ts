/**
 * Field tests: which mentions of a field leave what it held when a store to it is reached: they
 * stand on another way, or only ask for null where the answer does not tell that it is empty. Pure
 * questions about syntax; used by `lost-stores.ts`.
 */
import ts from "typescript";
import { saysEmpty } from "./found-empty.ts";
import { fieldOfThis } from "./members.ts";
import { isEquality, isNullish, unwrap, within } from "./syntax.ts";
import { isOnOtherWay, leaves } from "./ways.ts";

/** Whether a mention of a field says nothing of what it holds where the store is reached. */
export function leavesHeld(at: ts.Node, store: ts.BinaryExpression): boolean {
  const field = fieldOfThis(at);
  if (!field) return false;
  if (isOnOtherWay(at, store)) return true;
  const isField = (node: ts.Expression): boolean =>
    fieldOfThis(unwrap(node))?.name.text === field.name.text;
  return letsBy(field, store, isField);
}

/** Whether a mention only asks whether a place holds something, and lets what it holds by. */
export function letsBy(
  mention: ts.Expression,
  store: ts.Node,
  isPlace: (node: ts.Expression) => boolean,
): boolean {
  const test = testAround(mention);
  return test !== undefined && !tellsEmpty(test, isPlace, store);
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
  (ts.isBinaryExpression(node) && (joins.has(node.operatorToken.kind) || isNullTest(node)));

const joins: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.AmpersandAmpersandToken,
  ts.SyntaxKind.BarBarToken,
]);

/** `x === null`, `undefined != x`. */
const isNullTest = (test: ts.BinaryExpression): boolean =>
  isEquality(test) && (isNullish(unwrap(test.left)) || isNullish(unwrap(test.right)));

/** Whether an `if` lets nobody come to a store but with an empty place. */
function tellsEmpty(
  test: ts.IfStatement,
  isPlace: (node: ts.Expression) => boolean,
  store: ts.Node,
): boolean {
  const { expression, thenStatement, elseStatement } = test;
  if (within(store, thenStatement)) return saysEmpty(expression, true, isPlace);
  if (elseStatement && within(store, elseStatement)) return saysEmpty(expression, false, isPlace);
  return !leaves(thenStatement) || saysEmpty(expression, false, isPlace);
}
