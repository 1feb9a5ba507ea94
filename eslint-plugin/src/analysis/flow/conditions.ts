/**
 * Conditions: what the edge between two segments says about a variable: null tests, `instanceof`,
 * `isDisposed`, identity with another value. ESLint's code paths fork but do not say why; the last
 * node of the segment and the first of its successor do. Used by `flow.ts`.
 */
import ts from "typescript";
import { shortCircuits } from "../program/syntax.ts";
import type { Cell } from "./cells.ts";
import type { Segment, Site } from "./events.ts";
import type { Answer } from "./variants.ts";

/** A fact about a name, or a place such as `this.x`, that holds on one edge. */
export interface Fact {
  id: ts.Identifier | ts.PropertyAccessExpression;
  /** For `out.age`: the field of the record `id` names. */
  field?: string;
  is: "null" | "present" | "disposed" | "undisposed" | "other" | "same" | "distinct";
  /** For `distinct`: the name of the value it is not. */
  from?: ts.Identifier;
}

/** What is asked at the end of a segment, last. */
function askedAtEnd({ forks, last }: Segment): ts.Expression | undefined {
  if (!forks || !last || !ts.isExpression(last)) return undefined;
  let leaf: ts.Expression = last;
  while (ts.isParenthesizedExpression(leaf) || (ts.isBinaryExpression(leaf) && isLogical(leaf)))
    leaf = ts.isParenthesizedExpression(leaf) ? leaf.expression : leaf.right;
  return leaf;
}

/** The answer of a test with which control passes from one segment to the next. */
export function answerBetween(from: Segment, to: Segment): Answer | undefined {
  const test = askedAtEnd(from);
  if (!test) return undefined;
  const { parent: clause } = test;
  if (!ts.isCaseClause(clause)) {
    const truth = polarity(test, to.first);
    return truth === "true" || truth === "false" ? { test, truth: truth === "true" } : undefined;
  }
  // where a clause does nothing, both ways may lead to the next one
  const [first] = clause.statements;
  const { expression } = clause.parent.parent;
  return first && to.first && { test: expression, other: test, truth: to.first === first };
}

/** The facts that hold when control passes from one segment to the next. */
export function factsBetween(from: Segment, to: Segment): Fact[] {
  const asked = askedAtEnd(from);
  if (!asked) return [];
  const truth = polarity(asked, to.first);
  const isAwaited = ts.isAwaitExpression(asked); // `(await p)?.x`
  const leaf = isAwaited ? (unparen(asked.expression) as ts.Expression) : asked;
  if (truth === undefined) return [];
  if (truth === "null" || truth === "present") {
    const field = fieldOf(leaf);
    return [
      ...(isNamed(leaf) ? [{ id: leaf, is: truth }] : []),
      ...(field ? [{ ...field, is: truth }] : []),
    ];
  }
  return factsOf(leaf, truth === "true");
}

const isNamed = (node: ts.Expression): node is ts.Identifier | ts.PropertyAccessExpression =>
  ts.isIdentifier(node) || ts.isPropertyAccessExpression(node);

/**
 * Whether the last statement of a `try` makes a value, and a segment begins the `catch` of it: what
 * throws there is that statement, before there is a value.
 */
export function beforeCatch(sites: ReadonlySet<Site>, { first }: Segment): boolean {
  const clause = first && (ts.isCatchClause(first) ? first : first.parent);
  if (sites.size === 0 || !clause || !ts.isCatchClause(clause)) return false;
  const last = clause.parent.tryBlock.statements.at(-1);
  return [...sites].every(
    ({ node }) => last !== undefined && ts.isExpressionStatement(last) && last.expression === node,
  );
}

/**
 * Whether a `try` ends a value before it does anything else, and a segment begins its `catch`: `try
 * { t.dispose(); } catch {}`. An end that throws is one, too.
 */
export function isEndedInTry({ first }: Segment, cell: Cell): boolean {
  const clause = first && (ts.isCatchClause(first) ? first : first.parent);
  if (!clause || !ts.isCatchClause(clause)) return false;
  const { methods } = cell.owned.owner.dispose;
  for (const statement of clause.parent.tryBlock.statements) {
    const call = ts.isExpressionStatement(statement) ? statement.expression : statement;
    const end = ts.isCallExpression(call) ? call.expression : call;
    if (!ts.isPropertyAccessExpression(end) || !methods.includes(end.name.text)) return false;
    if (end.expression.getText() === cell.label) return true;
  }
  return false;
}

const isLogical = (node: ts.BinaryExpression): boolean =>
  shortCircuits.has(node.operatorToken.kind);

/** Which way a fork went, told by the first node of the segment it led to. */
function polarity(
  leaf: ts.Expression,
  first: ts.Node | undefined,
): "true" | "false" | "null" | "present" | undefined {
  const yes = (target: ts.Node): "true" | "false" => (first === target ? "true" : "false");
  for (let node: ts.Node = leaf; ; node = node.parent) {
    const parent = node.parent;
    if (ts.isParenthesizedExpression(parent)) continue;
    if (ts.isBinaryExpression(parent) && isLogical(parent)) {
      if (parent.right === node) continue;
      const right = first !== undefined && unparen(parent.right) === unparenNode(first);
      if (parent.operatorToken.kind === ts.SyntaxKind.AmpersandAmpersandToken)
        return right ? "true" : "false";
      if (parent.operatorToken.kind === ts.SyntaxKind.BarBarToken) return right ? "false" : "true";
      return right ? "null" : "present";
    }
    if (ts.isIfStatement(parent) && parent.expression === node) return yes(parent.thenStatement);
    if (ts.isConditionalExpression(parent) && parent.condition === node)
      return first !== undefined && unparen(parent.whenTrue) === unparenNode(first)
        ? "true"
        : "false";
    if ((ts.isWhileStatement(parent) || ts.isDoStatement(parent)) && parent.expression === node)
      return yes(parent.statement);
    if (ts.isForStatement(parent) && parent.condition === node) return yes(parent.statement);
    if (
      (ts.isPropertyAccessExpression(parent) || ts.isElementAccessExpression(parent)) &&
      parent.expression === node &&
      parent.questionDotToken
    ) {
      const inside = ts.isPropertyAccessExpression(parent)
        ? parent.name
        : parent.argumentExpression;
      return first === inside ? "present" : "null";
    }
    return undefined;
  }
}

const unparen = (node: ts.Expression): ts.Node => {
  let n = node;
  while (ts.isParenthesizedExpression(n)) n = n.expression;
  return n;
};
const unparenNode = (node: ts.Node): ts.Node => (ts.isExpression(node) ? unparen(node) : node);

function factsOf(test: ts.Expression, truth: boolean): Fact[] {
  if (ts.isParenthesizedExpression(test)) return factsOf(test.expression, truth);
  if (ts.isPrefixUnaryExpression(test) && test.operator === ts.SyntaxKind.ExclamationToken)
    return factsOf(test.operand, !truth);
  if (ts.isIdentifier(test)) return [{ id: test, is: truth ? "present" : "null" }];
  const list = listOf(test);
  if (list) return [{ id: list, is: truth ? "present" : "null" }];
  const is = truth ? "present" : "null";
  const field = fieldOf(test);
  if (field && !/^(is)?[dD]isposed$/.test(field.field))
    return [
      { ...field, is },
      { id: test as ts.PropertyAccessExpression, is },
    ];
  if (
    ts.isPropertyAccessExpression(test) &&
    ts.isIdentifier(test.expression) &&
    /^(is)?[dD]isposed$/.test(test.name.text)
  ) {
    return [{ id: test.expression, is: truth ? "disposed" : "undisposed" }];
  }
  if (ts.isPropertyAccessExpression(test)) return [{ id: test, is }];
  if (!ts.isBinaryExpression(test)) return [];
  const count = countOf(test, truth);
  return count.length > 0 ? count : comparison(test, truth);
}

/** The `list` of `list.length`. */
const listOf = (node: ts.Expression): Fact["id"] | undefined =>
  ts.isPropertyAccessExpression(node) && node.name.text === "length" && isNamed(node.expression)
    ? node.expression
    : undefined;

/** `list.length > 0` and `list.length === 0`: a list without elements holds nothing. */
function countOf({ left, right, operatorToken }: ts.BinaryExpression, truth: boolean): Fact[] {
  const id = listOf(left);
  if (!id || !ts.isNumericLiteral(right)) return [];
  const test = `${operatorToken.getText()}${right.text}`;
  if (!/^(>0|>=1|!==?0|===?0|<1)$/.test(test)) return [];
  return [{ id, is: /^[>!]/.test(test) === truth ? "present" : "null" }];
}

const fieldOf = (node: ts.Expression): { id: ts.Identifier; field: string } | undefined =>
  ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.expression)
    ? { id: node.expression, field: node.name.text }
    : undefined;

function comparison({ left, right, operatorToken }: ts.BinaryExpression, truth: boolean): Fact[] {
  const kind = operatorToken.kind;
  if (kind === ts.SyntaxKind.InstanceOfKeyword)
    return ts.isIdentifier(left) && !truth ? [{ id: left, is: "other" }] : [];
  const equal =
    kind === ts.SyntaxKind.EqualsEqualsToken || kind === ts.SyntaxKind.EqualsEqualsEqualsToken;
  if (
    !equal &&
    kind !== ts.SyntaxKind.ExclamationEqualsToken &&
    kind !== ts.SyntaxKind.ExclamationEqualsEqualsToken
  )
    return [];
  const same = equal === truth;
  const facts: Fact[] = [];
  for (const [one, other] of [
    [left, right],
    [right, left],
  ] as const) {
    const empty =
      other.kind === ts.SyntaxKind.NullKeyword ||
      (ts.isIdentifier(other) && other.text === "undefined");
    const field = fieldOf(one);
    if (field && empty) facts.push({ ...field, is: same ? "null" : "present" });
    if (!isNamed(one) || one.getText() === "undefined") continue;
    if (empty) facts.push({ id: one, is: same ? "null" : "present" });
    else if (same) facts.push({ id: one, is: "same" });
    else if (ts.isIdentifier(one) && ts.isIdentifier(other))
      facts.push({ id: one, is: "distinct", from: other });
  }
  return facts;
}
