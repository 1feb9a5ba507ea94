/**
 * Named again: whether a function puts values into a table under names that are the same each time
 * it runs, those of a model's state or of a constant list: `for (const [name, p] of
 * this.model.namedParameters()) this.best.set(name, p.clone());`. Used by `replaced-entries.ts`.
 */
import ts from "typescript";
import type { Owner } from "../../owner.ts";
import { callSitesOf } from "../program/call-sites.ts";
import { isOwnList } from "../fresh/fresh-variables.ts";
import type { LostEntry } from "./lost-entries.ts";
import type { Owned } from "../program/oracle.ts";
import { mayLackScope } from "../scopes/open-scopes.ts";
import { samePlace } from "../program/same-place.ts";
import { rootOf, someWithin, unwrap, within, type FunctionWithBody } from "../program/syntax.ts";
import { leaves } from "../program/ways.ts";
import type { Session } from "../session.ts";
import { runsOften } from "../trails/runs-often.ts";
import { loopOfTurn } from "../transfer/fate.ts";
import { isGivenTwice } from "./given-twice.ts";
import type { Put } from "./puts.ts";

/** Whether a key is what a loop goes through, and the loop goes through the same ones again. */
export function isNamedAgain(
  session: Session,
  home: FunctionWithBody,
  key: ts.Expression,
  owner: Owner,
): boolean {
  const loop = loopOfKey(session, key);
  if (!loop || !within(loop, home)) return false;
  const source = sourceOf(session, loop.expression);
  if (isConstantList(source)) return runsOften(session, home, true);
  const holder = holderOf(session, source, owner);
  if (!holder) return false;
  const declaration = ts.isIdentifier(holder) ? session.oracle.declarationAt(holder) : undefined;
  if (declaration && within(declaration, home))
    return ts.isParameter(declaration) && isGivenAgain(session, home, holder);
  return runsOften(session, home, true);
}

/** `if (this.all.size > 0) return;`, `if (this.isSeen) return;`: what is done the first time. */
const isOnce = (home: FunctionWithBody): boolean =>
  someWithin(
    home.body,
    (at) =>
      ts.isIfStatement(at) &&
      /\.(size|length)\b|\.has\(|^!?[\w#$.]+$|===? ?0$/.test(at.expression.getText()),
  );

/** Whether a function may be given a model twice: by the program, or by who knows whom. */
function isGivenAgain(session: Session, home: FunctionWithBody, holder: ts.Expression): boolean {
  const { calls, values } = callSitesOf(session.oracle, home, "program");
  if (calls.length + values.length === 0)
    return !ts.isConstructorDeclaration(home) && !isOnce(home) && runsOften(session, home);
  return isGivenTwice(session.oracle, home, holder);
}

/**
 * `for (;;) { … for (const [name, p] of model.namedParameters()) best.set(name, p.clone()); }` of a
 * table from outside the loop, which nothing in the loop looks at.
 */
export function keptEachTurn(session: Session, put: Put, home: FunctionWithBody): LostEntry[] {
  const { oracle } = session;
  const owned = oracle.ownedAt(put.value);
  if (!owned || owned.shape === "many" || !isKeptEachTurn(session, put, home, owned)) return [];
  return mayLackScope(session, put.node)
    ? [{ call: put.node, table: put.table.getText(), owned }]
    : [];
}

function isKeptEachTurn(
  session: Session,
  put: Put,
  home: FunctionWithBody,
  { owner }: Owned,
): boolean {
  const { oracle } = session;
  const inner = loopOfKey(session, put.key);
  const turns = inner && ts.findAncestor(inner.parent, isTurns);
  if (!turns || !within(turns, home)) return false;
  const source = sourceOf(session, inner.expression);
  const holder = isConstantList(source) ? undefined : holderOf(session, source, owner);
  if (!holder && !isConstantList(source)) return false;
  const isOutside = (at: ts.Expression): boolean => {
    const declaration = ts.isIdentifier(at) ? oracle.declarationAt(at) : undefined;
    return declaration === undefined ? !ts.isIdentifier(at) : !within(declaration, turns);
  };
  if (!isOutside(put.table) || (holder && !isOutside(holder)) || leavesAfter(inner, turns))
    return false;
  if (!isOwnList(session, put.table) || session.freshness(put.value) !== "fresh") return false;
  const speaks = (at: ts.Node): boolean =>
    ts.isIdentifier(at) && samePlace(oracle, at, put.table) && !within(at, put.table);
  return !someWithin(turns, (at) => {
    if (!ts.isCallExpression(at)) return speaks(at);
    const { body } = oracle.callee(at);
    return body !== undefined && someWithin(body, speaks);
  });
}

const isTurns = (node: ts.Node): boolean => ts.isIterationStatement(node, false);

/** Whether a loop ends with the turn in which it comes to a place: `…; break;`. */
function leavesAfter(place: ts.Node, loop: ts.Node): boolean {
  const isLeft = (at: ts.Node): boolean => ts.isBlock(at) && leaves(at);
  const around = ts.findAncestor(place, (n) => (n === loop ? "quit" : isLeft(n)));
  return around !== undefined;
}

/** The loop that gives a key, or part of what a pattern takes apart, in each turn. */
function loopOfKey({ oracle }: Session, key: ts.Expression): ts.ForOfStatement | undefined {
  const root = rootOf(key);
  const declaration = ts.isIdentifier(root) ? oracle.declarationAt(root) : undefined;
  if (!declaration) return undefined;
  const whole = ts.isBindingElement(declaration)
    ? ts.walkUpBindingElementsAndPatterns(declaration)
    : declaration;
  return loopOfTurn(whole);
}

/** What a loop goes through, without its views and the names that a function gives it. */
function sourceOf(session: Session, value: ts.Expression, depth = 0): ts.Expression {
  const bare = unwrap(value);
  const inner = viewed(bare) ?? spreadAlone(bare) ?? constantOf(session, bare);
  return inner && depth < 5 ? sourceOf(session, inner, depth + 1) : bare;
}

/** `x` of `x.entries()`, `x.keys()`, `Object.entries(x)`. */
function viewed(value: ts.Expression): ts.Expression | undefined {
  if (!ts.isCallExpression(value) || !ts.isPropertyAccessExpression(value.expression))
    return undefined;
  const { expression: on, name } = value.expression;
  if (!/^(entries|keys)$/.test(name.text)) return undefined;
  return on.getText() === "Object" ? value.arguments[0] : on;
}

/** `x` of `[...x]`. */
function spreadAlone(value: ts.Expression): ts.Expression | undefined {
  const [first, ...others] = ts.isArrayLiteralExpression(value) ? value.elements : [];
  return first && ts.isSpreadElement(first) && others.length === 0 ? first.expression : undefined;
}

/** What a constant holds. */
function constantOf({ oracle }: Session, value: ts.Expression): ts.Expression | undefined {
  const declaration = ts.isIdentifier(value) ? oracle.declarationAt(value) : undefined;
  if (!declaration || !ts.isVariableDeclaration(declaration)) return undefined;
  const flags = ts.getCombinedNodeFlags(declaration);
  return flags & (ts.NodeFlags.Const | ts.NodeFlags.Using) ? declaration.initializer : undefined;
}

/** `["keys", "values"]`. */
const isConstantList = (value: ts.Expression): boolean =>
  ts.isArrayLiteralExpression(value) &&
  value.elements.length > 0 &&
  value.elements.every((e) => ts.isStringLiteralLike(e) || ts.isNumericLiteral(e));

/** The `this` or `model` of `this.model.stateDict()` and `model.weights` of the library. */
function holderOf(
  { oracle }: Session,
  source: ts.Expression,
  owner: Owner,
): ts.Expression | undefined {
  if (ts.isCallExpression(source)) {
    const isAsked =
      source.arguments.length === 0 && ts.isPropertyAccessExpression(source.expression);
    return isAsked && oracle.fromLibrary(oracle.callee(source), owner)
      ? rootOf(source.expression)
      : undefined;
  }
  if (!ts.isPropertyAccessExpression(source)) return undefined;
  const file = oracle.declarationAt(source.name)?.getSourceFile();
  return file && oracle.isOfLibrary(owner, file) ? rootOf(source) : undefined;
}
