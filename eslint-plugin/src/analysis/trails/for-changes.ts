/**
 * For changes: whether a place is there for what has become another, `if (w !== canvas.width)`, so
 * that what is made there is made each time. The test remembers by what it compares, as the
 * function then sets one side of it. Used by
 * `runs-often.ts`, and for views by `holding.ts`.
 */
import ts from "typescript";
import { declares, isNullish, isTarget, someWithin, unwrap } from "../program/syntax.ts";

/** Whether a function comes to a place in it each time that what it remembers is another. */
export function isForChange(at: ts.Node, place: ts.Node): boolean {
  for (let node = at; node !== place && node.parent !== undefined; node = node.parent) {
    const { parent } = node;
    const isHere =
      ts.isIfStatement(parent) &&
      parent.thenStatement === node &&
      tells(parent.expression, /^(!==?|<=?|>=?)$/, place);
    if (isHere || (ts.isBlock(parent) && leavesForSame(parent, node, place))) return true;
  }
  return false;
}

/** `if (w === canvas.width) return;` before a place. */
const leavesForSame = ({ statements }: ts.Block, node: ts.Node, place: ts.Node): boolean =>
  statements.some(
    (s) =>
      s.end <= node.pos &&
      ts.isIfStatement(s) &&
      !s.elseStatement &&
      someWithin(s.thenStatement, ts.isReturnStatement) &&
      tells(s.expression, /^===?$/, place),
  );

/** Whether a test compares two things, of which the function then sets one to be compared again. */
function tells(test: ts.Expression, signs: RegExp, place: ts.Node): boolean {
  const asked = unwrap(test);
  if (!ts.isBinaryExpression(asked)) return false;
  const { left, right, operatorToken } = asked;
  const sign = operatorToken.getText();
  if (sign === "||" || sign === "&&")
    return tells(left, signs, place) || tells(right, signs, place);
  const sides = [unwrap(left), unwrap(right)];
  const isNamed = (side: ts.Expression): boolean =>
    (ts.isIdentifier(side) || ts.isPropertyAccessExpression(side)) &&
    !isNullish(side) &&
    !/device|adapter|context/i.test(side.getText()); // all goes with those
  return (
    signs.test(sign) && sides.every(isNamed) && sides.some((side) => isSetIn(place, side, asked))
  );
}

/** Whether a function sets what is no variable of its own, after a test. */
const isSetIn = (place: ts.Node, side: ts.Expression, test: ts.Node): boolean =>
  !(ts.isIdentifier(side) && declares(place, side.text)) &&
  someWithin(
    place,
    (inner) =>
      inner.pos > test.end &&
      (ts.isIdentifier(inner) || ts.isPropertyAccessExpression(inner)) &&
      isTarget(inner) &&
      inner.getText() === side.getText(),
  );
