/**
 * Guarded alike: a count or a flag that decides both when a place is filled and when what it holds
 * is ended, and that both change: `if (users++ === 0) table = make();` beside
 * `if (--users === 0) table.dispose();`. A function that fills it finds it ended. Used by the verbs
 * about what assignments lose.
 */
import ts from "typescript";
import { leaves } from "../program/ways.ts";
import { assigns, someWithin, within } from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { enclosingFunction } from "../transfer/fate.ts";

/** Whether one flag decides about a store and about an end of the place, and both change it. */
export function isGuardedAlike(
  session: Session,
  store: ts.Node,
  ends: readonly ts.Node[],
): boolean {
  const flags = flagsOf(session, store);
  return (
    flags.size > 0 && ends.some((end) => [...flagsOf(session, end)].some((flag) => flags.has(flag)))
  );
}

/** What is asked on the way to a node and changed in its function, as it is written. */
function flagsOf({ oracle }: Session, node: ts.Node): ReadonlySet<string> {
  const home = enclosingFunction(node);
  if (!home) return new Set();
  const changed = changedIn(home);
  const asked = testsBefore(node, home);
  return new Set(
    [...changed].filter((text) =>
      asked.some((test) =>
        someWithin(test, (at) => isName(at) && at.getText() === text && !oracle.ownedAt(at)),
      ),
    ),
  );
}

const isName = (node: ts.Node): node is ts.Expression =>
  ts.isIdentifier(node) || ts.isPropertyAccessExpression(node);

/** The tests around a node, `place ??=` too, and those of ways out before it. */
function testsBefore(node: ts.Node, home: ts.Node): ts.Expression[] {
  const tests: ts.Expression[] = [];
  for (let at = node; at !== home && !ts.isSourceFile(at); at = at.parent) {
    const { parent } = at;
    if (ts.isIfStatement(parent) && at !== parent.expression) tests.push(parent.expression);
    if (ts.isBinaryExpression(parent) && at === parent.right) tests.push(parent.left);
    if (!ts.isBlock(parent)) continue;
    for (const statement of parent.statements)
      if (ts.isIfStatement(statement) && statement.end <= at.pos && leaves(statement.thenStatement))
        tests.push(statement.expression);
  }
  return tests;
}

/** The names and fields that a function assigns, counts up or down. */
function changedIn(home: ts.Node): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isBinaryExpression(node) && assigns(node.operatorToken.kind))
      found.add(node.left.getText());
    if (ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node))
      if (/^(\+\+|--)/.test(ts.tokenToString(node.operator) ?? ""))
        found.add(node.operand.getText());
    if (!ts.isFunctionLike(node) || within(home, node)) ts.forEachChild(node, visit);
  };
  visit(home);
  return found;
}

/**
 * `if (this.x) return; load().then((d) => { this.x = make(d); })`, `this.ready ??= load().then(…)`:
 * whether the function around a callback comes to it only for a place that is empty, or for a
 * promise that nobody has asked for.
 */
export function isGuardedAround(node: ts.Node, around: ts.Node, place: string): boolean {
  const start = enclosingFunction(node);
  if (!start || start === around) return false;
  const asked = [place]; // and what the promise is put in
  for (let at = start.parent; at !== around; at = at.parent)
    if (ts.isBinaryExpression(at) && assigns(at.operatorToken.kind)) asked.push(at.left.getText());
  return testsBefore(start, around).some(
    (test) => !isGiven(test) && someWithin(test, (at) => asked.includes(at.getText())),
  );
}

/** `place = …`, which goes on whatever the place held, as `place ??= …` does not. */
const isGiven = ({ parent }: ts.Node): boolean =>
  ts.isBinaryExpression(parent) && parent.operatorToken.kind === ts.SyntaxKind.EqualsToken;
