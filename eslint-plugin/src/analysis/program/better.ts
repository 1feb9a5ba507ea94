/**
 * Better ones: whether an arm of an `if` is taken for what is better than what a place holds, so
 * that it is taken again and again, or only where the place is empty, or only where it is not. Pure
 * questions about syntax; used by the verbs about what assignments lose.
 */
import ts from "typescript";
import { isNullish, isTarget, someWithin, unwrap, within } from "./syntax.ts";
import { leaves } from "./ways.ts";

/**
 * `if (best === null || score > best.score) best = x`: whether an arm of an `if` comes again and
 * again, for it compares numbers, and not only where the variable is empty.
 */
export function isBetter(
  test: ts.IfStatement,
  arm: ts.Node,
  ids: readonly ts.Expression[],
): boolean {
  const parts = partsOf(test.expression, arm === test.thenStatement ? "||" : "&&");
  const isOfEmptiness = (part: ts.Expression): boolean =>
    ids.some((id) => within(id, part) && !isRead(id));
  const [compared, ...more] = parts.filter((part) => !isOfEmptiness(part));
  if (!compared || more.length > 0 || !isOrder(compared)) return false;
  return (
    ids.some((id) => within(id, compared)) ||
    [compared.left, compared.right].some((side) => isSetIn(arm, side))
  );
}

const isRead = ({ parent }: ts.Expression): boolean => ts.isPropertyAccessExpression(parent);

const isOrder = (test: ts.Expression): test is ts.BinaryExpression =>
  ts.isBinaryExpression(test) && /^[<>]=?$/.test(test.operatorToken.getText());

/** The `highest` of `if (score > highest) { highest = score; … }`. */
const isSetIn = (arm: ts.Node, side: ts.Expression): boolean =>
  someWithin(arm, (at) => isTarget(at) && at.getText() === side.getText());

function partsOf(test: ts.Expression, operator: string): readonly ts.Expression[] {
  const bare = unwrap(test);
  return ts.isBinaryExpression(bare) && bare.operatorToken.getText() === operator
    ? [...partsOf(bare.left, operator), ...partsOf(bare.right, operator)]
    : [bare];
}

/**
 * Whether a place holds something at a node, where all tests of it in the function are given: in
 * `if (x) …`, and after `if (x === null) return;`.
 */
export function isFilledAt(tests: readonly ts.Expression[], node: ts.Node): boolean {
  return tests.every((test) => {
    const at = ts.findAncestor(test, ts.isIfStatement);
    if (!at || !within(test, at.expression)) return false;
    const part = partsOf(at.expression, "&&").find((p) => within(test, p));
    const sign = part && signOf(part, test);
    if (sign === "filled") return within(node, at.thenStatement);
    const isSole = part === unwrap(at.expression);
    if (sign !== "empty" || !isSole) return false;
    if (at.elseStatement && within(node, at.elseStatement)) return true;
    return node.pos >= at.end && within(node, at.parent) && leaves(at.thenStatement);
  });
}

/** What a test says of a place when it holds: `x`, `x !== null`, `!x`, `x === null`. */
function signOf(test: ts.Expression, place: ts.Expression): "filled" | "empty" | undefined {
  const bare = unwrap(test);
  if (bare === unwrap(place)) return "filled";
  if (ts.isPrefixUnaryExpression(bare))
    return unwrap(bare.operand) === unwrap(place) ? "empty" : undefined;
  if (!ts.isBinaryExpression(bare) || !isNullish(unwrap(bare.right))) return undefined;
  if (unwrap(bare.left) !== unwrap(place)) return undefined;
  const operator = bare.operatorToken.getText();
  return /^!==?$/.test(operator) ? "filled" : /^===?$/.test(operator) ? "empty" : undefined;
}

/** Whether all tests of a place, and what is read of it there, ask for something better. */
export function isForBetter(tests: readonly ts.Expression[], node: ts.Node): boolean {
  return tests.every((test) => {
    const at = ts.findAncestor(test, ts.isIfStatement);
    if (!at || !within(test, at.expression)) return false;
    const arm = [at.thenStatement, at.elseStatement].find((a) => a && within(node, a));
    return arm !== undefined && isBetter(at, arm, tests);
  });
}
