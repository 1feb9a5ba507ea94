/**
 * Left out: expressions that give part of what a place holds, `xs.filter(…)`, `xs.slice(1)`,
 * `[...xs.slice(0, i), ...xs.slice(i + 1)]`, or a function of the program that does so with a
 * parameter. When such a part takes the place of the whole, the rest is out of reach. Used by
 * `lost-stores.ts`.
 */
import ts from "typescript";
import { functionHanded } from "../program/callee.ts";
import { isPresenceFilter } from "../program/containers.ts";
import { enclosingFunction, fateOf, returnsOf } from "../transfer/fate.ts";
import { onlyLooks } from "../transfer/looked-at.ts";
import { asksForEnded } from "./ended-signs.ts";
import { effectInside } from "../transfer/mention.ts";
import { visitVerb } from "../flow/mention-events.ts";
import { referencesTo } from "../program/references.ts";
import { samePlace } from "../program/same-place.ts";
import { spreads } from "./spread-back.ts";
import type { Session } from "../session.ts";
import {
  assigns,
  calleeNameNode,
  isUsing,
  literalUnder,
  someWithin,
  unwrap,
  type FunctionWithBody,
} from "../program/syntax.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";

/** Whether an expression gives some of the values a list holds, and does nothing to the rest. */
export function givesPart(session: Session, value: ts.Expression, list: ts.Expression): boolean {
  const node = unwrap(value);
  if (ts.isArrayLiteralExpression(node))
    return (
      node.elements.length > 0 &&
      node.elements.every((e) => ts.isSpreadElement(e) && givesPart(session, e.expression, list))
    );
  if (!ts.isCallExpression(node)) return false;
  if (picksSome(session, node, list)) return true;
  const target = node.expression;
  if (ts.isPropertyAccessExpression(target) && isWhole(session, target.expression, list))
    return leavesSome(session, node);
  const at = node.arguments.findIndex((a) => samePlace(session.oracle, a, list));
  const { body } = session.oracle.callee(node);
  const parameter = body?.parameters[at]?.name;
  if (!body || !parameter || !ts.isIdentifier(parameter)) return false;
  const [only, ...others] = returnsOf(body);
  return only !== undefined && others.length === 0 && givesPart(session, only, parameter);
}

/** `xs`, and `[...xs, x].sort(f)`, which has more, under another name, too. */
function isWhole(session: Session, value: ts.Expression, list: ts.Expression): boolean {
  const { oracle } = session;
  const literal = literalUnder(value) ?? literalUnder(copiedFor(session, value) ?? value);
  return samePlace(oracle, value, list) || (literal ? spreads(oracle, literal, list) : false);
}

/**
 * The `[...xs, x]` of `const all = [...xs, x]; all.sort(f); xs = all.slice(0, n)`, where nothing
 * else but looks is done with `all`.
 */
function copiedFor(session: Session, value: ts.Expression): ts.Expression | undefined {
  const { oracle } = session;
  const bare = unwrap(value);
  const copy = ts.isIdentifier(bare) ? oracle.declarationAt(bare) : undefined;
  const home = copy && enclosingFunction(copy);
  if (!copy || !ts.isVariableDeclaration(copy) || !home || !ts.isIdentifier(copy.name))
    return undefined;
  const isConstant = (ts.getCombinedNodeFlags(copy) & ts.NodeFlags.Const) !== 0;
  const leaves = (id: ts.Identifier): boolean => {
    if (id === copy.name || id === bare) return true;
    const { kind, member, node } = fateOf(id);
    const isOrdered = kind === "receiver" && /^(sort|reverse|push|unshift)$/.test(member);
    if (isOrdered) return fateOf(node as ts.Expression).kind === "dropped";
    return onlyLooksAt(session.transfer(id).effect);
  };
  const all = referencesTo(oracle, copy, copy.name, home);
  return isConstant && all.every(leaves) ? copy.initializer : undefined;
}

/** `kept.map((i) => xs[i])`, where `kept` is what a filter leaves of places. */
function picksSome(session: Session, call: ts.CallExpression, list: ts.Expression): boolean {
  const { oracle } = session;
  const [given] = call.arguments;
  const target = unwrap(call.expression);
  const fn = given && functionHanded(oracle, given);
  if (!fn || !ts.isPropertyAccessExpression(target) || target.name.text !== "map") return false;
  const [only, ...others] = returnsOf(fn);
  const element = only && unwrap(only);
  const place = fn.parameters[0]?.name;
  if (!element || !place || others.length > 0 || !ts.isElementAccessExpression(element))
    return false;
  const index = unwrap(element.argumentExpression);
  return (
    samePlace(oracle, element.expression, list) &&
    ts.isIdentifier(index) &&
    oracle.declarationAt(index) === place.parent &&
    isFiltered(session, target.expression)
  );
}

/** `places.filter(…)`, or a constant that is given that. */
function isFiltered({ oracle }: Session, places: ts.Expression): boolean {
  const bare = unwrap(places);
  const named = ts.isIdentifier(bare) ? oracle.declarationAt(bare) : undefined;
  const isConstant = named && (ts.getCombinedNodeFlags(named) & ts.NodeFlags.Const) !== 0;
  const made = isConstant && ts.isVariableDeclaration(named) ? named.initializer : undefined;
  const call = made ? unwrap(made) : bare;
  return (
    ts.isCallExpression(call) &&
    oracle.callee(call).builtin &&
    calleeNameNode(call)?.text === "filter"
  );
}

/**
 * Whether a call gives some of what a list holds: `slice()` and `slice(0)` give all; a test may
 * free what it rejects, and one that asks which element it is knows the others.
 */
export function leavesSome(session: Session, call: ts.CallExpression): boolean {
  const callee = session.oracle.callee(call);
  const [first] = call.arguments;
  if (!callee.builtin || !first) return false;
  if (callee.name === "slice") return call.arguments.length > 1 || first.getText() !== "0";
  if (callee.name !== "filter" || isPresenceFilter(call)) return false;
  const test = functionHanded(session.oracle, first);
  if (!test || knowsElements(session, test) || asksForEnded(session, test)) return false;
  return onlyAsks(test) || !speaksOfEnding(session, test);
}

/** `xs.map((t) => t.mul(2))` of a list: others in the place of all it holds, which go nowhere. */
export function givesOthers(session: Session, value: ts.Expression, list: ts.Expression): boolean {
  const node = unwrap(value);
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return false;
  const callee = session.oracle.callee(node);
  const { expression } = node.expression;
  if (callee.name !== "map" || !callee.builtin) return false;
  if (!samePlace(session.oracle, expression, list)) return false;
  const fn = node.arguments[0] && functionHanded(session.oracle, node.arguments[0]);
  if (!fn || fn.parameters.length !== 1 || speaksOfEnding(session, fn)) return false;
  const { result, parameters } = session.summary(fn);
  return result === "fresh" && parameters[0]?.returns === false;
}

/** `(t) => t !== null`, `(t) => !kept.has(t)`: which element it is decides. */
function knowsElements(session: Session, fn: FunctionWithBody): boolean {
  const { oracle } = session;
  const name = fn.parameters[0]?.name;
  if (!name || !ts.isIdentifier(name)) return false;
  return referencesTo(oracle, fn.parameters[0]!, name, fn).some((id) => {
    const { kind, node, member } = fateOf(id);
    if (kind === "operand") return !isOfPassingName(session, id);
    if (kind === "read" || kind === "receiver") return /^(isDisposed|disposed)$/.test(member);
    if (kind !== "argument" || !ts.isCallExpression(node)) return false;
    return (
      /^(has|includes|indexOf)$/.test(calleeNameNode(node)?.text ?? "") &&
      !(
        ts.isPropertyAccessExpression(node.expression) &&
        isForgotten(session, node.expression.expression)
      )
    );
  });
}

/** `each !== old`, where the function has `old` for its turn or its time, and only looks at it. */
const isOfPassingName = (session: Session, { parent }: ts.Identifier): boolean =>
  ts.isBinaryExpression(parent) &&
  [parent.left, parent.right].some((side) => isForgotten(session, side));

/** Whether an expression names a variable of this function that is only looked at. */
function isForgotten(session: Session, value: ts.Expression): boolean {
  const { oracle } = session;
  const declaration = ts.isIdentifier(value) ? oracle.declarationAt(value) : undefined;
  if (!declaration || !ts.isVariableDeclaration(declaration) || isUsing(declaration)) return false;
  const { name } = declaration;
  const home = enclosingFunction(declaration);
  if (!home || !ts.isIdentifier(name)) return false;
  return referencesTo(oracle, declaration, name, home).every((id) => {
    if (id === name) return true;
    const found = session.transfer(id);
    const effect = effectInside(session, found);
    if (effect === "visits") return visitVerb(session, found.fate) === "use";
    return onlyLooksAt(effect);
  });
}

/**
 * `(b) => b.alive`: what a test gives is forgotten, and it does nothing else. One that asks for
 * what is `destroyed` leaves out what has been ended.
 */
const onlyAsks = ({ body }: FunctionWithBody): boolean =>
  !/destroy|dispos|clos|releas|free/i.test(body.getText()) &&
  !someWithin(
    body,
    (node) =>
      ts.isCallExpression(node) ||
      ts.isDeleteExpression(node) ||
      ts.isNewExpression(node) ||
      (ts.isBinaryExpression(node) && assigns(node.operatorToken.kind)),
  );

/** Whether a function ends anything, or hands what it is given to somebody else. */
function speaksOfEnding(
  session: Session,
  fn: ts.FunctionLikeDeclaration & { body: ts.Node },
): boolean {
  const effect = session.summary(fn).parameters[0];
  if (effect?.disposes === true || effect?.stores === true) return true;
  return someWithin(
    fn.body,
    (node) =>
      ts.isPropertyAccessExpression(node) && /^(dispose|destroy|close)/.test(node.name.text),
  );
}

/** `const all = [...this.table.values()]`, where `all` is only looked at. */
export function isCopied(session: Session, container: ts.Expression): boolean {
  const { kind, member, node, literal } = fateOf(container);
  const isView = kind === "receiver" && member === "values";
  const whole = isView ? fateOf(node as ts.Expression) : { kind, node, literal };
  if (whole.kind !== "bound" || !whole.literal || !ts.isArrayLiteralExpression(whole.literal))
    return false;
  const { node: at } = whole;
  if (!ts.isVariableDeclaration(at) || !ts.isIdentifier(at.name)) return false;
  return onlyLooks(session, at.name, true) || isCutAfter(session, at.name);
}

/** `this.best = all.slice(0, n)`, where no more is done with `all` but to order it. */
function isCutAfter(session: Session, name: ts.Identifier): boolean {
  const home = enclosingFunction(name);
  const ids = home ? referencesTo(session.oracle, name.parent as ts.Declaration, name, home) : [];
  return ids.some((id) => fateOf(id).member === "slice" && copiedFor(session, id) !== undefined);
}
