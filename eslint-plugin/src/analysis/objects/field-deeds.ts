/**
 * Field deeds: what methods of a class do to all that one of its fields holds: end it, or leave the
 * field empty. Syntax only, so that it can be asked while types are still being classified. Used by
 * `holders.ts`.
 */
import ts from "typescript";
import { puts } from "../program/containers.ts";
import { soundsLikeDisposal } from "../transfer/disposes.ts";
import type { Owned } from "../program/ownership.ts";
import {
  isEmptyContainer,
  isNullish,
  isTarget,
  someWithin,
  unwrap,
  wellKnownSymbol,
  within,
} from "../program/syntax.ts";

/** Whether methods end all that a field holds: `this.x.dispose()`, a loop over `this.x`. */
export const meansToEnd = (run: ReadonlySet<ts.Node>, field: string, owned: Owned): boolean =>
  [...run].some((method) => mentionsOf(method, field).some((at) => endsAt(at, method, owned)));

/** Whether a function ends all of what it speaks of there. */
export const endsAt = (at: ts.Expression, fn: ts.Node, owned: Owned): boolean =>
  isWhole(at) && isEndedAt(at, fn, owned);

/**
 * Whether no method gives a field another value to hold.
 *
 * @param emptied whether one must leave it empty, too: `this.x = null`, `this.x.clear()`
 */
export function isLeft(run: ReadonlySet<ts.Node>, field: string, emptied: boolean): boolean {
  const all = [...run].flatMap((method) => mentionsOf(method, field));
  const stores = all.filter(isTarget);
  if (!stores.every(getsNothing) || all.some(isFilled)) return false;
  return !emptied || stores.length > 0 || all.some(isEmptied);
}

function mentionsOf(method: ts.Node, field: string): readonly ts.Expression[] {
  const found: ts.Expression[] = [];
  const visit = (n: ts.Node): void => {
    if (ts.isPropertyAccessExpression(n) && n.name.text === field && isThis(n.expression))
      found.push(n);
    ts.forEachChild(n, visit);
  };
  visit(method);
  return found;
}
const isThis = (node: ts.Node): boolean => node.kind === ts.SyntaxKind.ThisKeyword;

/** Whether a place is left empty: `this.x = null`, `this.x = this.y = []`. */
export function getsNothing(target: ts.Node): boolean {
  const { parent } = target;
  if (!ts.isBinaryExpression(parent)) return false;
  const value = unwrap(parent.right);
  if (ts.isBinaryExpression(value) && isTarget(value.left)) return getsNothing(value.left);
  return isNullish(value) || isEmptyContainer(value);
}

/** `this.x.push(t)`, `this.x.set(key, t)`. */
const isFilled = ({ parent }: ts.Node): boolean =>
  ts.isPropertyAccessExpression(parent) && puts(parent.name.text);

/** `this.x.clear()`, `this.x.splice(0)`, `this.x.length = 0`. */
function isEmptied({ parent }: ts.Node): boolean {
  if (!ts.isPropertyAccessExpression(parent)) return false;
  const { text } = parent.name;
  return text === "clear" || text === "splice" || (text === "length" && isTarget(parent));
}

/** Not `this.x.get(key)`, `this.x[0]`: one of what it holds. */
function isWhole(at: ts.Expression): boolean {
  const { parent } = at;
  if (ts.isElementAccessExpression(parent) && parent.expression === at)
    return wellKnownSymbol(parent.argumentExpression) !== undefined;
  if (!ts.isPropertyAccessExpression(parent)) return !isTarget(at);
  const { text } = parent.name;
  if (/^(pop|shift)$/.test(text)) return isInLoop(at);
  return !/^(get|at|has|delete|size|length|find|indexOf)$/.test(text);
}

const isInLoop = (at: ts.Node): boolean =>
  ts.findAncestor(at, (n) => ts.isIterationStatement(n, false)) !== undefined;

/** Whether the statement around a mention, or what is done to its new name, ends values. */
function isEndedAt(at: ts.Expression, method: ts.Node, owned: Owned): boolean {
  const ends = (n: ts.Node): boolean => ts.isCallExpression(n) && isEnd(n, at, owned);
  const statement = ts.findAncestor(at, (n) => (n === method ? "quit" : isOwnStatement(n, at)));
  const place = statement ?? resultOf(method);
  if (place && ts.isForOfStatement(place) && within(at, place.expression)) {
    const names = namesOfTurn(place);
    return someWithin(place.statement, (n) => ends(n) && someWithin(n, names));
  }
  if (place && someWithin(place, ends)) return true;
  const renamed = ts.findAncestor(at, ts.isVariableDeclaration);
  if (!renamed?.initializer || unwrap(renamed.initializer) !== at) return false;
  const name = renamed.name.getText();
  const speaks = (n: ts.Node): boolean => ts.isIdentifier(n) && n.text === name;
  return someWithin(method, (n) => ends(n) && someWithin(n, speaks));
}

/** Whether a node is a name for what a turn of a loop is about, or for a part of it. */
function namesOfTurn({ initializer, statement }: ts.ForOfStatement): (node: ts.Node) => boolean {
  const names = new Set<string>();
  const speaks = (n: ts.Node): boolean => ts.isIdentifier(n) && names.has(n.text);
  const add = (n: ts.Node): void => {
    if (ts.isIdentifier(n)) names.add(n.text);
    ts.forEachChild(n, add);
  };
  add(initializer);
  const visit = (n: ts.Node): void => {
    if (ts.isVariableDeclaration(n) && n.initializer && someWithin(n.initializer, speaks))
      add(n.name);
    ts.forEachChild(n, visit);
  };
  visit(statement);
  return speaks;
}

/** All that `() => x.dispose()` does. */
const resultOf = (fn: ts.Node): ts.Node | undefined =>
  ts.isArrowFunction(fn) && !ts.isBlock(fn.body) ? fn.body : undefined;

/** `t.dispose()`, `t[Symbol.dispose]()`, `disposeAll(this.x)`. */
function isEnd(call: ts.CallExpression, at: ts.Node, { owner, shape }: Owned): boolean {
  const called = call.expression;
  if (ts.isElementAccessExpression(called))
    return wellKnownSymbol(called.argumentExpression) !== undefined;
  if (ts.isIdentifier(called)) return soundsLikeDisposal(called.text);
  if (!ts.isPropertyAccessExpression(called)) return false;
  const { text } = called.name;
  if (owner.dispose.methods.includes(text)) return shape === "one" || called.expression !== at;
  const [first] = call.arguments;
  if (text === "forEach" && called.expression === at && first && ts.isIdentifier(first))
    return soundsLikeDisposal(first.text);
  return /dispose|destroy|release|free/i.test(text) && call.arguments.some((a) => within(at, a));
}

/** The statement that an expression stands in: of a block, none; of a loop, the loop. */
const isOwnStatement = (n: ts.Node, at: ts.Node): boolean =>
  ts.isStatement(n) && !ts.isBlock(n) && !(ts.isIfStatement(n) && within(at, n.expression));
