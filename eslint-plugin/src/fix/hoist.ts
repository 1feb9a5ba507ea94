/**
 * Hoist: pulls the temporaries of one expression out into variables, in evaluation order, just
 * before their statement: the rewrite the author of the seed did by hand. Refused wherever it would
 * move a call out of a place that is evaluated lazily, later or repeatedly.
 */
import ts from "typescript";
import type { Fix } from "../create-rule.ts";
import type { FreshValue } from "../analysis/fresh/consume.ts";
import type { Session } from "../analysis/session.ts";
import { isScript, someWithin, shortCircuits } from "../analysis/program/syntax.ts";
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

/** The expression to replace: the value with its `await`, wrappers, and what it is said to be. */
function carrierOf({ oracle }: Session, node: ts.Expression): ts.Expression {
  let top = node;
  while (
    ts.isAwaitExpression(top.parent) ||
    (ts.isAsExpression(top.parent) && oracle.ownedAt(top.parent)?.shape === "one") ||
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
  if (values.some((v) => isTypedByPlace(session, v.node))) return null;
  const carriers = values.map((v) => carrierOf(session, v.node));
  const kinds = carriers.map((c) => session.oracle.usingKind(c));
  const using = kinds.every((k) => k !== null);
  if (using && leavesUnread(session, first, root, arrow)) return null;
  if (
    !using &&
    (!(statement && (ts.isExpressionStatement(statement) || ts.isVariableStatement(statement))) ||
      carriers.some((c) => session.oracle.ownedAt(c)?.shape !== "one"))
  )
    return null;
  const { lines, edits, ends } = declarations(session, values, kinds, using);
  if (arrow) return { using, fix: arrowFix(arrow, root, lines, edits) };
  return statement
    ? { using, fix: statementFix(statement, lines, edits, using ? [] : ends) }
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
  session: Session,
  values: readonly FreshValue[],
  kinds: readonly ("using" | "await using" | null)[],
  using: boolean,
): { lines: string[]; edits: Edit[]; ends: string[] } {
  const file = values[0]!.node.getSourceFile();
  const names = new Names(session.oracle.facts, file);
  const edits: Edit[] = [];
  const lines: string[] = [];
  const given: string[] = [];
  const ordered = values
    .map((v, i) => ({ v, kind: kinds[i] }))
    .sort((a, b) => a.v.node.getEnd() - b.v.node.getEnd());
  for (const { v, kind } of ordered) {
    const carrier = carrierOf(session, v.node);
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
    const [end = "dispose"] = v.owned.owner.dispose.methods;
    given.push(`${name}.${end}();`);
  }
  return {
    lines,
    edits: edits.filter((e) => !edits.some((o) => o !== e && o.start <= e.start && o.end >= e.end)),
    ends: given,
  };
}

function statementFix(
  statement: ts.Statement,
  lines: string[],
  edits: Edit[],
  ends: readonly string[],
): Fix {
  const file = statement.getSourceFile();
  const indent = indentOf(statement);
  const body = textWith(file, statement.getStart(), statement.getEnd(), edits);
  const after = [...ends].reverse();
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
 * Whether a generic call may take its type from where it stands, and another elsewhere: `zeros<R>`
 * of a shape, handed to a function that wants a list of vectors.
 */
function isTypedByPlace(session: Session, node: FreshValue["node"]): boolean {
  if (!ts.isCallExpression(node) || node.typeArguments || isScript(node.getSourceFile()))
    return false;
  const { parent } = carrierOf(session, node);
  if (ts.isPropertyAccessExpression(parent) || ts.isElementAccessExpression(parent)) return false;
  const { declaration } = session.oracle.callee(node);
  if (!declaration || !ts.isFunctionLike(declaration)) return false;
  const { type, typeParameters = [], parameters } = declaration;
  const given = parameters.slice(0, node.arguments.length).flatMap((p) => p.type ?? []);
  return typeParameters.some(
    ({ name: { text } }) =>
      type !== undefined &&
      someWithin(type, (n) => isNamed(n, text)) &&
      !given.some((g) => someWithin(g, (n) => isNamed(n, text) && !isKey(n))),
  );
}
const isNamed = (node: ts.Node, name: string): boolean =>
  ts.isTypeReferenceNode(node) && ts.isIdentifier(node.typeName) && node.typeName.text === name;
/** `R` of `ShapeMap[R]`, which no argument tells. */
const isKey = ({ parent }: ts.Node): boolean => ts.isIndexedAccessTypeNode(parent);

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
  ...shortCircuits,
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
