/**
 * States: what the dataflow knows of each variable at one point: a set of possibilities, the places
 * that made what it owns, and whose other name it is. Used by `flow.ts` alone.
 */
import ts from "typescript";
import { hasProtocol } from "../../owner.ts";
import type { Cell } from "./cells.ts";
import type { Fact } from "./conditions.ts";
import type { Site } from "./events.ts";
import { isNullish, someWithin, unwrap, within } from "../program/syntax.ts";
import { isOnOtherWay } from "../program/ways.ts";

/** Possibilities, one bit each. */
export const none = 1,
  owned = 2,
  disposed = 4,
  escaped = 8,
  nil = 16,
  unknown = 32;

/** What is known of one variable. */
export interface Value {
  bits: number;
  sites: ReadonlySet<Site>;
  /** The cell that owns what this one also names. */
  link: Cell | undefined;
  /** Where it was disposed. */
  at: ts.Node | undefined;
}
/** What is known of all of them. */
export type State = Map<Cell, Value>;
/** Made nowhere. */
export const noSites: ReadonlySet<Site> = new Set();
/** A value by its possibilities. */
export const value = (bits: number, sites = noSites, link?: Cell, at?: ts.Node): Value => ({
  bits,
  sites,
  link,
  at,
});

/** What is known where two paths meet. */
export function joinValue(a: Value, b: Value): Value {
  if (a === b) return a;
  const sites =
    a.sites.size === 0 ? b.sites : b.sites.size === 0 ? a.sites : new Set([...a.sites, ...b.sites]);
  const conflict = a.link !== b.link && a.link !== undefined && b.link !== undefined;
  return {
    bits: a.bits | b.bits | (conflict ? unknown : 0),
    sites,
    link: a.link ?? b.link,
    at: a.at ?? b.at,
  };
}
/** Whether two values say the same. */
export const sameValue = (a: Value | undefined, b: Value): boolean =>
  a !== undefined &&
  a.bits === b.bits &&
  a.link === b.link &&
  a.sites.size === b.sites.size &&
  [...a.sites].every((s) => b.sites.has(s));

/**
 * Owned alone, or owned where another path disposed. Together with null or "never ours" and a
 * disposal elsewhere the two conditions may well be the same one, so nothing is said.
 */
export function leakIsSure(bits: number): boolean {
  if (bits & (unknown | escaped)) return false;
  return !(bits & disposed) || !(bits & (nil | none));
}

/**
 * Owned where another path handed it on, and a way around all places that do so leaves the value
 * behind: each of them lies on a way of its own. Inside a `try` what throws may have taken it.
 */
export function leakIsOneWay(bits: number, cell: Cell): boolean {
  const { owner, shape, mixed } = cell.owned;
  const places = [...cell.endings];
  if ((bits & ~nil) !== (owned | escaped) || places.length === 0) return false;
  // a class that ends what it holds
  const isOfProgram = Array.isArray(owner.types) && owner.types.length === 0;
  if (!(hasProtocol(owner) || isOfProgram) || shape !== "one" || mixed) return false;
  return (
    (!(bits & nil) || places.every((at) => isTestedAt(at, cell))) &&
    !places.some(isTried) &&
    places.every((at, i) => places.slice(i + 1).every((other) => isOnOtherWay(at, other)))
  );
}

const isTried = (at: ts.Node): boolean =>
  ts.findAncestor(at, (n) => (ts.isFunctionLike(n) ? "quit" : ts.isTryStatement(n))) !== undefined;

/**
 * `const t = find(); if (t && wanted) keep(t);`: whether there is a value is asked where it is
 * handed on, so that another condition keeps it from going there.
 */
function isTestedAt(ending: ts.Node, { declaration, name }: Cell): boolean {
  if (!name || !declaration || !ts.isVariableDeclaration(declaration)) return false;
  const isConst = ts.getCombinedNodeFlags(declaration) & ts.NodeFlags.Const;
  const made = declaration.initializer && unwrap(declaration.initializer);
  if (!isConst || !made || !ts.isCallExpression(made)) return false;
  const test = ts.findAncestor(ending, (n) =>
    ts.isFunctionLike(n) ? "quit" : ts.isIfStatement(n),
  );
  return (
    test !== undefined &&
    ts.isIfStatement(test) &&
    someWithin(test.expression, (n) => ts.isIdentifier(n) && n.text === name.text)
  );
}

/**
 * `if (timed) query = make(); … if (timed) { …; query.destroy(); return; }`: ended under the test
 * that made it; `const query = timed ? make() : null; if (!timed) return;`: left where it is none.
 */
export function isEndedUnderSameTest(
  { endings }: Cell,
  { value }: Site,
  exit: ts.Node | undefined,
): boolean {
  const made = testOf(value) ?? choiceOf(value);
  if (!made) return false;
  if (exit && testOf(exit)?.getText() === `!${made.getText()}`) return true;
  return [...endings].some((at) => {
    const test = testOf(at);
    return test && test.pos > made.end && test.getText() === made.getText();
  });
}

/** What is asked where a value is one of two, in the same statement, and the other is none. */
function choiceOf(value: ts.Node): ts.Expression | undefined {
  const choice = ts.findAncestor(value, (n) =>
    ts.isStatement(n) ? "quit" : ts.isConditionalExpression(n),
  );
  if (!choice || !ts.isConditionalExpression(choice)) return undefined;
  return isNullish(unwrap(choice.whenFalse)) ? choice.condition : undefined;
}

/** What the innermost `if` asks whose first branch a node stands in. */
function testOf(node: ts.Node): ts.Expression | undefined {
  const test = ts.findAncestor(node, (n) => {
    if (ts.isFunctionLike(n)) return "quit";
    return ts.isIfStatement(n) && within(node, n.thenStatement);
  });
  return test && ts.isIfStatement(test) ? test.expression : undefined;
}

/** The possibilities a fact leaves. */
export function keepBits(bits: number, fact: Exclude<Fact["is"], "distinct">): number {
  switch (fact) {
    case "null":
      return bits & (nil | unknown | none | escaped);
    case "present":
      return bits & ~nil;
    case "disposed":
      return bits & owned ? (bits & ~owned) | disposed : bits;
    case "undisposed":
      return bits & ~disposed;
    case "other":
      return bits & ~owned;
    case "same":
      return bits & owned ? (bits & ~owned) | none : bits;
  }
}

/** `dispose([a, b])` where `b` is another name of `a` is careless, not wrong. */
export function sameCall(a: ts.Node, b: ts.Node): boolean {
  const call = ts.findAncestor(a, ts.isCallExpression);
  return call !== undefined && call === ts.findAncestor(b, ts.isCallExpression);
}
