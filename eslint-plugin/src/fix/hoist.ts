/**
 * Hoist: pulls the temporaries of one expression out into variables, in evaluation order, just
 * before their statement: the rewrite the author of the seed did by hand. Refused wherever it would
 * move a call out of a place that is evaluated lazily, later or repeatedly.
 */
import ts from "typescript";
import type { Fix } from "../create-rule.ts";
import type { FreshValue } from "../analysis/consume.ts";
import type { Session } from "../analysis/session.ts";
import {
  contains,
  indentOf,
  nameOfValue,
  Names,
  slotOf,
  statementOf,
  textWith,
  unitOf,
  type Edit,
} from "./text.ts";

/** The expression to replace: the value with its `await` and wrappers. */
function carrierOf(node: ts.Expression): ts.Expression {
  let top = node;
  while (
    ts.isAwaitExpression(top.parent) ||
    ts.isNonNullExpression(top.parent) ||
    (ts.isParenthesizedExpression(top.parent) && !ts.isArrowFunction(top.parent.parent))
  )
    top = top.parent;
  return top;
}

/** A fix that hoists `values` (all below `root`), or null where that is not safe. */
export function hoist(
  session: Session,
  values: readonly FreshValue[],
  root: ts.Expression,
): { fix: Fix; using: boolean } | null {
  const first = values[0];
  if (!first) return null;
  const arrow =
    ts.isArrowFunction(root.parent) && root.parent.body === root ? root.parent : undefined;
  const statement = arrow ? undefined : statementOf(root);
  if (!arrow && (!statement || !statementAllows(statement, root))) return null;
  if (values.some((v) => !evaluatedOnce(v.node, root))) return null;
  if (somethingBefore(values, statement ?? root)) return null;
  const kinds = values.map((v) => session.oracle.usingKind(v.node));
  const using = kinds.every((k) => k !== null);
  if (using && leavesUnread(session, first, root, arrow)) return null;
  if (
    !using &&
    !(statement && (ts.isExpressionStatement(statement) || ts.isVariableStatement(statement)))
  )
    return null;
  const { lines, edits, names } = declarations(session, values, kinds, using);
  if (arrow) return { using, fix: arrowFix(arrow, root, lines, edits) };
  return statement
    ? { using, fix: statementFix(statement, lines, edits, using ? [] : names) }
    : null;
}

/**
 * A returned promise that is not awaited would outlive the `using` of a resource that does not pin
 * its reads.
 */
function leavesUnread(
  session: Session,
  first: FreshValue,
  root: ts.Expression,
  arrow: ts.ArrowFunction | undefined,
): boolean {
  if (first.owned.owner.policy === "protocol") return false;
  if (!arrow && !ts.isReturnStatement(root.parent)) return false;
  return session.oracle.isPromise(root);
}

function declarations(
  { oracle }: Session,
  values: readonly FreshValue[],
  kinds: readonly ("using" | "await using" | null)[],
  using: boolean,
): { lines: string[]; edits: Edit[]; names: string[] } {
  const file = values[0]!.node.getSourceFile();
  const names = new Names(oracle.facts, file);
  const edits: Edit[] = [];
  const lines: string[] = [];
  const given: string[] = [];
  const ordered = values
    .map((v, i) => ({ v, kind: kinds[i] }))
    .sort((a, b) => a.v.node.getEnd() - b.v.node.getEnd());
  for (const { v, kind } of ordered) {
    const carrier = carrierOf(v.node);
    const name = names.pick(nameOfValue(v.node));
    const inner = ts.isParenthesizedExpression(carrier) ? carrier.expression : carrier;
    // the innermost replacements are already known; the outer text uses them
    const nested = edits.filter(
      (e) => !edits.some((o) => o !== e && o.start <= e.start && o.end >= e.end),
    );
    lines.push(
      `${using ? (kind ?? "using") : "const"} ${name} = ` +
        `${textWith(file, inner.getStart(), inner.getEnd(), nested)};`,
    );
    edits.push({ start: carrier.getStart(), end: carrier.getEnd(), text: name });
    given.push(name);
  }
  return {
    lines,
    edits: edits.filter((e) => !edits.some((o) => o !== e && o.start <= e.start && o.end >= e.end)),
    names: given,
  };
}

function statementFix(
  statement: ts.Statement,
  lines: string[],
  edits: Edit[],
  dispose: string[],
): Fix {
  const file = statement.getSourceFile();
  const indent = indentOf(statement);
  const body = textWith(file, statement.getStart(), statement.getEnd(), edits);
  const after = dispose.reverse().map((n) => `${n}.dispose();`);
  if (slotOf(statement) === "block") {
    const text = [...lines, body, ...after].join(`\n${indent}`);
    return (fixer) => fixer.replaceTextRange([statement.getStart(), statement.getEnd()], text);
  }
  const unit = unitOf(file);
  const own = indentOf(statement);
  const text = `{\n${[...lines, body, ...after].map((l) => own + unit + l).join("\n")}\n${own}}`;
  return (fixer) => fixer.replaceTextRange([statement.getStart(), statement.getEnd()], text);
}

function arrowFix(
  arrow: ts.ArrowFunction,
  root: ts.Expression,
  lines: string[],
  edits: Edit[],
): Fix {
  const file = arrow.getSourceFile();
  const indent = indentOf(arrow);
  const unit = unitOf(file);
  const inner =
    ts.isParenthesizedExpression(root) && ts.isObjectLiteralExpression(root.expression)
      ? root.expression
      : root;
  const body = textWith(file, inner.getStart(), inner.getEnd(), edits);
  const text =
    `{\n${[...lines, `return ${body};`].map((l) => indent + unit + l).join("\n")}\n` + `${indent}}`;
  return (fixer) => fixer.replaceTextRange([root.getStart(), root.getEnd()], text);
}

/**
 * Statements before which the expression may be evaluated without changing when or how often it
 * runs.
 */
function statementAllows(statement: ts.Statement, root: ts.Expression): boolean {
  const slot = slotOf(statement);
  if (ts.isVariableStatement(statement)) return slot === "block";
  if (
    ts.isExpressionStatement(statement) ||
    ts.isReturnStatement(statement) ||
    ts.isThrowStatement(statement)
  )
    return true;
  if (slot !== "block") return false;
  if (ts.isIfStatement(statement) || ts.isSwitchStatement(statement))
    return statement.expression === root;
  return (
    ts.isForOfStatement(statement) &&
    statement.expression === root &&
    statement.awaitModifier === undefined
  );
}

/** Not on the right of `&&`, `||`, `??`, not in a branch of `?:`, not behind `?.`. */
function evaluatedOnce(node: ts.Expression, root: ts.Expression): boolean {
  if (contains(node, (n) => (n as { questionDotToken?: unknown }).questionDotToken !== undefined))
    return false;
  for (let child: ts.Node = node; child !== root; child = child.parent) {
    const parent = child.parent;
    if (
      ts.isBinaryExpression(parent) &&
      parent.right === child &&
      lazyOperators.has(parent.operatorToken.kind)
    )
      return false;
    if (ts.isConditionalExpression(parent) && parent.condition !== child) return false;
    if (
      ts.isFunctionLike(parent) ||
      ts.isClassLike(parent) ||
      ts.isTaggedTemplateExpression(parent) ||
      ts.isYieldExpression(parent)
    )
      return false;
    if (
      (parent as { questionDotToken?: unknown }).questionDotToken !== undefined &&
      (parent as { expression?: unknown }).expression !== child
    )
      return false;
  }
  return true;
}
const lazyOperators = new Set([
  ts.SyntaxKind.AmpersandAmpersandToken,
  ts.SyntaxKind.BarBarToken,
  ts.SyntaxKind.QuestionQuestionToken,
  ts.SyntaxKind.AmpersandAmpersandEqualsToken,
  ts.SyntaxKind.BarBarEqualsToken,
  ts.SyntaxKind.QuestionQuestionEqualsToken,
]);

/**
 * Whether something with an effect is evaluated before a value and would come after it once
 * hoisted.
 */
function somethingBefore(values: readonly FreshValue[], scope: ts.Node): boolean {
  const hoisted = new Set<ts.Node>(values.map((v) => v.node));
  const last = Math.max(...values.map((v) => v.node.getStart()));
  const covers = (n: ts.Node): boolean =>
    values.some(
      (v) => v.node !== n && v.node.getStart() <= n.getStart() && v.node.getEnd() >= n.getEnd(),
    );
  return contains(
    scope,
    (n) => effectful(n) && !hoisted.has(n) && !covers(n) && n.getEnd() <= last,
  );
}
const effectful = (n: ts.Node): boolean =>
  ts.isCallExpression(n) ||
  ts.isNewExpression(n) ||
  ts.isAwaitExpression(n) ||
  ts.isYieldExpression(n) ||
  ts.isPostfixUnaryExpression(n) ||
  (ts.isPrefixUnaryExpression(n) &&
    (n.operator === ts.SyntaxKind.PlusPlusToken || n.operator === ts.SyntaxKind.MinusMinusToken)) ||
  (ts.isBinaryExpression(n) && n.operatorToken.kind === ts.SyntaxKind.EqualsToken);
