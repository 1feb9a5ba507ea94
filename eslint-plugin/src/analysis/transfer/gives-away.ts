/**
 * Giving away: functions that return what they take out of a place which somebody ends, so that it
 * is the caller's from then on: `const t = this.last; this.last = null; return t;`,
 * `return this.waiting.shift();`, what was there before another took its place. Used by
 * `fresh-results.ts`.
 */
import ts from "typescript";
import { ownsElements } from "../objects/ended-elements.ts";
import { enclosingFunction } from "./fate.ts";
import { accessesByName, elementsByName } from "../program/field-index.ts";
import { fieldOfThis } from "../objects/members.ts";
import { boundNames, referencesTo } from "../program/references.ts";
import { samePlace } from "../program/same-place.ts";
import type { Session } from "../session.ts";
import { someWithin, unwrap, type FunctionWithBody } from "../program/syntax.ts";

/** Whether a returned value is one that its function has taken out of where it was. */
export function givesAway(session: Session, fn: FunctionWithBody, value: ts.Expression): boolean {
  const bare = unwrap(value);
  if (session.oracle.ownedAt(bare)?.shape !== "one") return false;
  if (isTakenOut(session, bare)) return true;
  const source = ts.isIdentifier(bare) ? session.oracle.declarationAt(bare) : undefined;
  if (!source || !ts.isVariableDeclaration(source) || !source.initializer) return false;
  if (enclosingFunction(source) !== fn || !ts.isIdentifier(source.name)) return false;
  const from = unwrap(source.initializer);
  const ids = referencesTo(session.oracle, source, source.name, fn);
  if (ids.some((id) => session.transfer(id).effect === "disposes")) return false;
  return isTakenOut(session, from) || isReplaced(session, fn, from, source.end);
}

/** `this.waiting.pop()` of a list whose elements its class ends. */
function isTakenOut(session: Session, value: ts.Expression): boolean {
  if (!ts.isCallExpression(value) || !ts.isPropertyAccessExpression(value.expression)) return false;
  const { name, expression } = value.expression;
  return (
    /^(pop|shift)$/.test(name.text) &&
    fieldOfThis(expression) !== undefined &&
    session.oracle.callee(value).builtin &&
    ownsElements(session, expression)
  );
}

/** Whether a function writes over a place, or empties it, behind a position. */
function isReplaced(
  session: Session,
  fn: FunctionWithBody,
  place: ts.Expression,
  from: number,
): boolean {
  if (!isEnded(session, fn, place)) return false;
  const container = ts.isCallExpression(place)
    ? tableOf(place)
    : ts.isElementAccessExpression(place)
      ? place.expression
      : undefined;
  return someWithin(fn.body, (node) => {
    if (node.pos < from || enclosingFunction(node) !== fn) return false;
    if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken)
      return node.left.getText() === place.getText();
    const table = ts.isCallExpression(node) ? tableOf(node, "delete") : undefined;
    return (
      table !== undefined &&
      container !== undefined &&
      samePlace(session.oracle, table, container) &&
      argumentText(node) === argumentText(place)
    );
  });
}

const argumentText = (node: ts.Node): string =>
  ts.isCallExpression(node) ? (node.arguments[0]?.getText() ?? "") : "";

/** The `table` of `table.get(key)`. */
function tableOf({ expression }: ts.CallExpression, method = "get"): ts.Expression | undefined {
  return ts.isPropertyAccessExpression(expression) && expression.name.text === method
    ? expression.expression
    : undefined;
}

/** Whether the program ends what is in a place, as who owns it does. */
function isEnded(session: Session, fn: FunctionWithBody, place: ts.Expression): boolean {
  const { oracle } = session;
  const ends = (node: ts.Expression): boolean => session.transfer(node).effect === "disposes";
  if (ts.isIdentifier(place)) {
    const declaration = oracle.declarationAt(place);
    if (!declaration || !ts.isVariableDeclaration(declaration)) return false;
    const home = enclosingFunction(declaration);
    return (
      home !== undefined &&
      home !== fn &&
      ts.isIdentifier(declaration.name) &&
      referencesTo(oracle, declaration, declaration.name, home).some(ends)
    );
  }
  const table = ts.isCallExpression(place) ? tableOf(place) : undefined;
  const list = ts.isElementAccessExpression(place) ? place.expression : table;
  if (list) return fieldOfThis(list) !== undefined && ownsElements(session, list);
  if (!ts.isPropertyAccessExpression(place)) return false;
  const field = oracle.declarationAt(place.name);
  const file = place.getSourceFile();
  const accesses = oracle.facts.of(file, accessesByName).get(place.name.text) ?? [];
  if (accesses.some((at) => oracle.declarationAt(at.name) === field && ends(at))) return true;
  return (oracle.facts.of(file, elementsByName).get(place.name.text) ?? []).some((element) =>
    boundNames(element.name, element).some(({ id, declaration }) =>
      referencesTo(oracle, declaration, id, enclosingFunction(element) ?? file).some(ends),
    ),
  );
}
