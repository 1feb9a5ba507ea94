/**
 * Ways: whether two places of a function lie on ways of which only one is taken: the branches of an
 * `if`, the arms of `a ? b : c`, the clauses of a `switch`, and what comes after a branch or a
 * `catch` that leaves. Pure questions about syntax; used by the verbs about fields, freshness
 * and removed elements, and by what runs often.
 */
import ts from "typescript";
import { isNullish, rootOf, someWithin, unwrap, within } from "./syntax.ts";

/** Whether nobody who comes by one place comes to the other in the same turn. */
export function isOnOtherWay(at: ts.Node, other: ts.Node): boolean {
  for (let node = at; !ts.isSourceFile(node); node = node.parent) {
    const { parent } = node;
    if (within(other, node)) return false;
    if (ts.isCaseOrDefaultClause(node) && ts.isCaseBlock(parent) && within(other, parent))
      return isOtherClause(node, parent, other);
    if (ts.isConditionalExpression(parent) && node !== parent.condition)
      if (within(other, parent.whenTrue) || within(other, parent.whenFalse)) return true;
    if (ts.isCatchClause(node) && other.pos >= parent.end && leaves(node.block)) return true;
    if (!ts.isIfStatement(parent) || node === parent.expression) continue;
    const isArm = within(other, parent) && !within(other, parent.expression);
    if (isArm || (other.pos >= parent.end && leaves(node))) return true;
  }
  return false;
}

/** Whether the two places lie on different ways, whichever comes first. */
export const areApart = (at: ts.Node, other: ts.Node): boolean =>
  isOnOtherWay(at, other) || isOnOtherWay(other, at);

/** Whether no clause from the first of two on, up to the second, falls through. */
function isOtherClause(clause: ts.CaseOrDefaultClause, all: ts.CaseBlock, other: ts.Node): boolean {
  const at = all.clauses.indexOf(clause);
  const to = all.clauses.findIndex((c) => within(other, c));
  return all.clauses.slice(Math.min(at, to), Math.max(at, to)).some(leaves);
}

/** The `if` whose test an expression is part of. */
export function testAround(node: ts.Node): ts.IfStatement | undefined {
  let at = node;
  while (!ts.isStatement(at.parent)) at = at.parent;
  return ts.isIfStatement(at.parent) && at.parent.expression === at ? at.parent : undefined;
}

/** Whether a branch ends with a way out. */
export function leaves(branch: ts.Node): boolean {
  const list =
    ts.isBlock(branch) || ts.isCaseOrDefaultClause(branch) ? branch.statements : undefined;
  const last = list ? list.at(-1) : branch;
  if (!last) return false;
  if (ts.isBlock(last)) return leaves(last);
  return (
    ts.isReturnStatement(last) ||
    ts.isThrowStatement(last) ||
    ts.isContinueStatement(last) ||
    ts.isBreakStatement(last)
  );
}

/** `if (w === this.w && h === this.h) return;`: leaves where nothing is new. */
export const isForSame = (at: ts.Statement): boolean =>
  ts.isIfStatement(at) && !at.elseStatement && tellsOfChange(at.expression, "=");

/**
 * `w !== this.w || h !== this.h`: whether what is given now is not what a field remembers; with
 * `=`, whether it still is. What was made on another device goes with that.
 */
export function tellsOfChange(test: ts.Expression, sign: "!" | "="): boolean {
  const asked = unwrap(test);
  if (!ts.isBinaryExpression(asked)) return false;
  const { left, right, operatorToken } = asked;
  const operator = operatorToken.getText();
  if (operator === "||" || operator === "&&")
    return tellsOfChange(left, sign) && tellsOfChange(right, sign);
  if (!operator.startsWith(`${sign}=`)) return false;
  const sides = [unwrap(left), unwrap(right)];
  return (
    sides.some((side) => rootOf(side).kind === ts.SyntaxKind.ThisKeyword) &&
    sides.every((side) => ts.isIdentifier(side) || ts.isPropertyAccessExpression(side)) &&
    !sides.some((side) => isNullish(side) || /device|adapter|context/i.test(side.getText()))
  );
}

/**
 * `setCount(n) { this.make(n); }`: whoever runs a function comes to a place in it, or does when
 * what is given is not what it was: `if (n !== this.n) this.make(n);`.
 */
export function isStraight(site: ts.Node, caller: ts.Node): boolean {
  for (let at = site; at.parent !== caller; at = at.parent) {
    const { parent } = at;
    if (ts.isBlock(parent)) {
      const before = parent.statements.filter((s) => s.end <= site.pos && !isForSame(s));
      if (before.some((s) => someWithin(s, ts.isReturnStatement))) return false;
    } else if (ts.isIfStatement(parent) && parent.thenStatement === at) {
      if (!tellsOfChange(parent.expression, "!")) return false;
    } else if (
      (ts.isStatement(parent) && !isPlainStatement(parent)) ||
      ts.isConditionalExpression(parent) ||
      isSkipped(parent, at)
    )
      return false;
  }
  return true;
}

/**
 * `end(); …; use();`: whether whoever comes to the second of two places has been at the first.
 *
 * @param holds a test of which it makes no difference that it fails
 */
export function isAlwaysBefore(
  first: ts.Node,
  then: ts.Node,
  holds: (test: ts.Expression) => boolean = () => false,
): boolean {
  if (first.end > then.pos) return false;
  for (let at = first; ; at = at.parent) {
    const { parent } = at;
    const isAround = within(then, parent);
    if (ts.isSourceFile(parent)) return isAround;
    if (ts.isIfStatement(parent) && at !== parent.expression) {
      if (isAround || parent.elseStatement || !holds(parent.expression)) return false;
    } else if (ts.isConditionalExpression(parent) && at !== parent.condition) return false;
    else if (isAround) return !ts.isCaseBlock(parent) && !ts.isTryStatement(parent);
    else if (!isSurelyRun(parent, at)) return false;
  }
}

/** Whether all of a construct has run where it has, as far as one of its parts goes. */
function isSurelyRun(whole: ts.Node, part: ts.Node): boolean {
  if (ts.isFunctionLike(whole) || ts.isCaseClause(whole) || ts.isCatchClause(whole)) return false;
  if (ts.isIterationStatement(whole, false)) return ts.isDoStatement(whole);
  if (ts.isTryStatement(whole) && part === whole.tryBlock)
    return whole.catchClause === undefined || leaves(whole.catchClause.block);
  return !isSkipped(whole, part);
}

/** The `f()` of `a && f()`. */
const isSkipped = (whole: ts.Node, part: ts.Node): boolean =>
  ts.isBinaryExpression(whole) &&
  whole.right === part &&
  /^(&&|\|\||\?\?)/.test(whole.operatorToken.getText());

/** Whoever comes to it does all of it. */
const isPlainStatement = (node: ts.Statement): boolean =>
  ts.isExpressionStatement(node) || ts.isVariableStatement(node) || ts.isReturnStatement(node);
