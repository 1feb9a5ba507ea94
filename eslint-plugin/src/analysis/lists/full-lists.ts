/**
 * Full lists: whether a list has a value at each place, or at the one that a function puts another
 * into: what is made with `Array.from`, rings, lists that `push` fills alone. Used by
 * `replaced-entries.ts`.
 */
import ts from "typescript";
import { enclosingFunction } from "../transfer/fate.ts";
import { fieldOfThis } from "../objects/members.ts";
import type { Put } from "./puts.ts";
import { samePlace } from "../program/same-place.ts";
import type { Session } from "../session.ts";
import { isTarget, someWithin, unwrap, within } from "../program/syntax.ts";

/** `this.images = Array.from({ length: 4 }, make)`: every place has a value from the first on. */
export function isMadeFull({ oracle }: Session, table: ts.Expression): boolean {
  const field = fieldOfThis(table)?.name.text;
  const home = ts.findAncestor(table, ts.isClassLike);
  const isFull = (value: ts.Expression): boolean => {
    const made = unwrap(value);
    return ts.isCallExpression(made) && /^Array\.from$|\.map$/.test(made.expression.getText());
  };
  return (
    field !== undefined &&
    home !== undefined &&
    (oracle.facts
      .assignments(home.getSourceFile())
      .some(
        ({ left, right }) =>
          fieldOfThis(left)?.name.text === field && within(left, home) && isFull(right),
      ) ||
      home.members.some(
        (m) =>
          ts.isPropertyDeclaration(m) &&
          m.name.getText() === field &&
          m.initializer !== undefined &&
          isFull(m.initializer),
      ))
  );
}

/** `items[next] = t` where `next = (next + 1) % most`: the places of a ring, one by one. */
export function goesRound(session: Session, { key, node }: Put): boolean {
  if (!ts.isBinaryExpression(node)) return false;
  if (isRemainder(key) && fieldOfThis(key.left)) return true;
  const home = ts.findAncestor(node, ts.isClassLike);
  return session.oracle.facts.assignments(node.getSourceFile()).some((store) => {
    if (!isRemainder(unwrap(store.right)) || ts.findAncestor(store, ts.isClassLike) !== home)
      return false;
    return samePlace(session.oracle, store.left, key);
  });
}

/** `next % most`. */
const isRemainder = (node: ts.Expression): node is ts.BinaryExpression =>
  ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PercentToken;

/**
 * `if (xs.length < most) xs.push(x); else xs[i] = x`, `if (count < most) xs[count++] = x; else …`:
 * what is put where every place of a list has a value.
 */
export function isForFull(session: Session, { node, table }: Put): boolean {
  const home = enclosingFunction(node);
  for (let at = node.parent; at !== home && !ts.isSourceFile(at); at = at.parent) {
    const { parent } = at;
    if (!ts.isIfStatement(parent) || !parent.elseStatement || at === parent.expression) continue;
    if (!isOfCounts(unwrap(parent.expression))) continue;
    const other = at === parent.elseStatement ? parent.thenStatement : parent.elseStatement;
    if (someWithin(other, (inner) => isAppended(session, inner, table))) return true;
  }
  return false;
}

/** `xs.length < most`; `found < 0` speaks of a place in a list. */
const isOfCounts = (test: ts.Expression): boolean =>
  ts.isBinaryExpression(test) &&
  /^[<>]=?$/.test(test.operatorToken.getText()) &&
  ![test.left, test.right].some((side) => /^-?[01]$/.test(side.getText()));

/** `xs.push(x)`, `xs[count++] = x`. */
function isAppended({ oracle }: Session, node: ts.Node, table: ts.Expression): boolean {
  if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
    const { name, expression } = node.expression;
    return name.text === "push" && samePlace(oracle, expression, table);
  }
  if (!ts.isElementAccessExpression(node) || !isTarget(node)) return false;
  const key = unwrap(node.argumentExpression);
  return ts.isPostfixUnaryExpression(key) && samePlace(oracle, node.expression, table);
}

/**
 * `this.all[at] = x`, where `at` is a place that was found in the list, or where each method that
 * makes it longer pushes. A loop that counts may fill the list anew.
 */
export function isAtPlaceOf(session: Session, put: Put, home: ts.Node): boolean {
  const { node, table, key } = put;
  const field = fieldOfThis(table)?.name.text;
  const place = ts.findAncestor(node, ts.isClassLike);
  if (!ts.isBinaryExpression(node) || field === undefined || !place) return false;
  if (session.oracle.typeName(table) !== "Array" || !ts.isIdentifier(key)) return false;
  const source = session.oracle.declarationAt(key);
  if (!source || enclosingFunction(source) !== home) return false;
  if (ts.isVariableDeclaration(source)) {
    const { initializer } = source;
    if (!(ts.getCombinedNodeFlags(source) & ts.NodeFlags.Const) || !initializer) return false;
    const call = unwrap(initializer);
    const method = ts.isCallExpression(call) ? call.expression : undefined;
    if (!method || !ts.isPropertyAccessExpression(method)) return false;
    if (!/^(findIndex|findLastIndex|indexOf|lastIndexOf)$/.test(method.name.text)) return false;
    if (samePlace(session.oracle, method.expression, table)) return true;
  } else if (!ts.isParameter(source)) return false;
  return isPushedElsewhere(place, home, field);
}

/** Whether other methods of a class push into a list, and none fills it by places. */
function isPushedElsewhere(place: ts.Node, home: ts.Node, field: string): boolean {
  const isOf = (at: ts.Node): boolean => fieldOfThis(at)?.name.text === field && !within(at, home);
  const isEntry = ({ parent }: ts.Node): boolean => ts.isElementAccessExpression(parent);
  const isPushed = (at: ts.Node): boolean =>
    isOf(at) && ts.isPropertyAccessExpression(at.parent) && at.parent.name.text === "push";
  const isAsked = (at: ts.Node): boolean => isOf(at) && isEntry(at) && !isTarget(at.parent);
  const isFilled = (at: ts.Node): boolean =>
    isOf(at) &&
    isEntry(at) &&
    isTarget(at.parent) &&
    !someWithin(enclosingFunction(at) ?? place, isAsked);
  return someWithin(place, isPushed) && !someWithin(place, isFilled);
}
