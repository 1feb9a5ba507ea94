/**
 * Gathers: lists and tables written with variables in them (`[a, b]`, `{ a, b }`), which take over
 * what the variables own, and other ways to write one variable again (`isArray(t) ? t : [t]`).
 * Used where events are read.
 */
import ts from "typescript";
import type { Cell } from "./cells.ts";
import type { Frame } from "./events.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { isPresenceFilter } from "../program/containers.ts";
import { endsByName } from "../transfer/looked-at.ts";
import type { Session } from "../session.ts";
import { referencesTo } from "../program/references.ts";
import { isNullish, isTarget, memberName, unwrap, valuesOf } from "../program/syntax.ts";

type Literal = ts.ArrayLiteralExpression | ts.ObjectLiteralExpression;

/** What a literal is made of: variables, and values made in it. */
export interface Gathered {
  from: Cell[];
  made: ts.Expression[];
}

/**
 * The parts of a literal that a local list or table is given, when all of them are variables of
 * this function or new; null when somebody else may own one of them.
 */
export function gathered(
  session: Session,
  frame: Frame,
  cell: Cell,
  value: ts.Expression,
): Gathered | null {
  const literal = unwrap(value);
  if (!isLiteral(literal) || cell.kind !== "local" || cell.owned.shape !== "many") return null;
  const values = valuesOf(literal);
  if (!ts.isArrayLiteralExpression(literal) && values.length < literal.properties.length)
    return null;
  const from: Cell[] = [];
  const made: ts.Expression[] = [];
  for (const part of values) {
    const bare = unwrap(part);
    const named = ts.isIdentifier(bare) ? frame.cells.at(bare) : undefined;
    if (named) {
      const follows = named.kind === "local" && named.owned.shape === "one";
      if (!follows || from.includes(named)) return null;
      from.push(named);
    } else if (ts.isSpreadElement(part)) return null;
    else if (session.oracle.ownedAt(part)) {
      if (session.freshness(part) !== "fresh") return null;
      made.push(part);
    }
  }
  return from.length > 0 ? { from, made } : null;
}

const isLiteral = (node: ts.Node): node is Literal =>
  ts.isArrayLiteralExpression(node) || ts.isObjectLiteralExpression(node);

/** The value an object literal gives a field, as it stands there. */
export function partGiven(literal: ts.Expression, field: string): ts.Expression | undefined {
  if (!ts.isObjectLiteralExpression(literal)) return undefined;
  for (const p of literal.properties) {
    if (!p.name || memberName(p.name) !== field) continue;
    if (ts.isPropertyAssignment(p)) return unwrap(p.initializer);
    if (ts.isShorthandPropertyAssignment(p)) return p.name;
  }
  return undefined;
}

/** The variable that a declaration or assignment gives its value to. */
export function receiverOf(frame: Frame, node: ts.Node): Cell | undefined {
  if (ts.isVariableDeclaration(node))
    return ts.isIdentifier(node.name) ? frame.cells.of(node) : undefined;
  return ts.isBinaryExpression(node) && ts.isIdentifier(node.left)
    ? frame.cells.at(node.left)
    : undefined;
}

/** The value that a declaration or assignment gives. */
export const givenBy = (node: ts.Node): ts.Expression | undefined =>
  ts.isVariableDeclaration(node)
    ? node.initializer
    : ts.isBinaryExpression(node)
      ? node.right
      : undefined;

/**
 * The first mention of the one variable that a value is, whichever way it is taken: `t`, `[t]`,
 * `isArray(t) ? t : [t]`, `ts.sort()`, `ts.filter(Boolean)`.
 */
export function soleName(value: ts.Expression): ts.Identifier | undefined {
  const bare = unwrap(value);
  if (ts.isIdentifier(bare)) return bare;
  if (ts.isArrayLiteralExpression(bare)) {
    const [only] = bare.elements;
    return only && bare.elements.length === 1
      ? soleName(ts.isSpreadElement(only) ? only.expression : only)
      : undefined;
  }
  if (ts.isCallExpression(bare) && ts.isPropertyAccessExpression(bare.expression))
    return /^(sort|reverse)$/.test(bare.expression.name.text) || isPresenceFilter(bare)
      ? soleName(bare.expression.expression)
      : undefined;
  if (!ts.isConditionalExpression(bare)) return undefined;
  const first = soleName(bare.whenTrue);
  return first?.text === soleName(bare.whenFalse)?.text ? first : undefined;
}

/** The `b` and `c` of `a ? b : c`, `b ?? c` and `b || c`: one of two values. */
export function choiceArms(node: ts.Expression): [ts.Expression, ts.Expression] | undefined {
  if (ts.isConditionalExpression(node)) return [node.whenTrue, node.whenFalse];
  const isChoice =
    ts.isBinaryExpression(node) &&
    (node.operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken ||
      node.operatorToken.kind === ts.SyntaxKind.BarBarToken);
  return isChoice ? [node.left, node.right] : undefined;
}

/**
 * `n > 1 ? a : b`, `isArray(ts) ? ts[0] : ts`, `new Set([a, b])`: variables, of which the function
 * ends those by their names that hold what it made.
 */
export function isOfEnded(session: Session, value: ts.Expression): boolean {
  const made = namesIn(value).filter((id) => session.freshness(id) === "fresh");
  const home = enclosingFunction(value) ?? value.getSourceFile();
  return made.length > 0 && made.every((id) => endsByName(session, id, home));
}

/** The names that a choice between names, or a set or table, is made of. */
function namesIn(value: ts.Expression): ts.Identifier[] {
  const arms = choiceArms(value)?.map((arm) => nameOrElement(unwrap(arm)));
  if (arms) return arms.every((id) => id !== undefined) ? arms : [];
  if (!ts.isNewExpression(value) || !/^(Map|Set)$/.test(value.expression.getText())) return [];
  const found: ts.Identifier[] = [];
  const visit = (at: ts.Node): void => {
    if (ts.isIdentifier(at)) found.push(at);
    else if (!ts.isFunctionLike(at)) ts.forEachChild(at, visit);
  };
  value.arguments?.forEach(visit);
  return found;
}

/** The `ts` of `ts` and `ts[0]`, which stay the list's. */
const nameOrElement = (arm: ts.Expression): ts.Identifier | undefined => {
  const list = ts.isElementAccessExpression(arm) ? unwrap(arm.expression) : arm;
  return ts.isIdentifier(list) ? list : undefined;
};

/** Whether a variable is given more than what it is declared with, which the dataflow follows. */
export function isWrittenAgain(session: Session, id: ts.Expression): boolean {
  const source = ts.isIdentifier(id) ? session.oracle.declarationAt(id) : undefined;
  if (!source || !ts.isVariableDeclaration(source) || !ts.isIdentifier(source.name)) return true;
  const isTurn = ts.isForOfStatement(source.parent.parent); // `for (const t of table.values())`
  if (!isTurn && (!source.initializer || isNullish(unwrap(source.initializer)))) return true;
  const home = enclosingFunction(source) ?? source.getSourceFile();
  return referencesTo(session.oracle, source, source.name, home).some(isTarget);
}
