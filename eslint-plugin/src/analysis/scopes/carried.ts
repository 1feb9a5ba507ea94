/**
 * Carried values: `acc = scope.carry(acc, acc.add(x))` ends the old value and puts the new one in
 * the place where that stood. What replaces a value from outside of the scope outlives the scope as
 * that did; what replaces one of the scope's own ends with it. Used by `escapes.ts` and where
 * places are followed.
 */
import ts from "typescript";
import { choiceArms } from "../flow/gathers.ts";
import { elementFreshness } from "../fresh/fresh-results.ts";
import { functionHanded } from "../program/callee.ts";
import { referencesTo } from "../program/references.ts";
import { samePlace } from "../program/same-place.ts";
import {
  elementsGiven,
  isNullish,
  isTarget,
  rootOf,
  unwrap,
  valuesOf,
  variableName,
} from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { handedTo } from "../transfer/callbacks.ts";
import { returnsOf } from "../transfer/fate.ts";
import { isCarry, isDeclaredOutside, type OpenScope } from "./open-scopes.ts";
import { makerKeeps } from "./rescues.ts";

/** Whether a value stands in the place of one from outside of the scope. */
export const isCarriedOut = (session: Session, value: ts.Expression, scope: OpenScope): boolean =>
  new Places(session, scope).isCarriedOut(value);

/** Which values were there before a scope was opened, or stand where such a value stood. */
class Places {
  readonly #session: Session;
  readonly #scope: OpenScope;
  readonly #asked = new Set<ts.Declaration>();

  constructor(session: Session, scope: OpenScope) {
    this.#session = session;
    this.#scope = scope;
  }

  /** Of a list each that a callback gives: `list.map((t) => scope.carry(t, t.mul(2)))`. */
  isCarriedOut(value: ts.Expression): boolean {
    const bare = unwrap(value);
    if (ts.isConditionalExpression(bare))
      return [bare.whenTrue, bare.whenFalse].every((arm) => this.#leaves(arm));
    if (ts.isArrayLiteralExpression(bare) || ts.isObjectLiteralExpression(bare)) {
      const parts = valuesOf(bare);
      return parts.length > 0 && parts.every((part) => this.#leaves(part));
    }
    if (!ts.isCallExpression(bare)) return false;
    if (isCarry(this.#session, bare)) return this.isOutside(bare.arguments[0]);
    const [callback, start] = bare.arguments;
    const fn = callback && functionHanded(this.#session.oracle, callback);
    if (!fn || this.#session.callback(bare, callback) !== "inline") return false;
    const given = returnsOf(fn);
    const starts = start === undefined || this.isOutside(start);
    return starts && given.length > 0 && given.every((part) => this.#leaves(part));
  }

  /** Whether an expression gives what its scope does not free. */
  #leaves(part: ts.Expression): boolean {
    const owned = this.#session.oracle.ownedAt(part);
    if (!owned || isNullish(unwrap(part)) || makerKeeps(this.#session, part, owned, this.#scope))
      return true;
    return this.isCarriedOut(part);
  }

  isOutside(value: ts.Expression | undefined): boolean {
    const bare = value && unwrap(value);
    if (!bare || isNullish(bare)) return true;
    const parts = choiceArms(bare);
    if (parts) return parts.every((part) => this.isOutside(part));
    if (ts.isIdentifier(bare)) return this.#isNameOutside(bare);
    if (ts.isCallExpression(bare)) return this.#isResultOutside(bare);
    if (ts.isPropertyAccessExpression(bare) || ts.isElementAccessExpression(bare)) {
      const root = rootOf(bare);
      return root === bare || this.isOutside(root);
    }
    return !this.#isMade(bare);
  }

  /** `table.get(name)`, `list.entries()`: what a container gives stands where that stands. */
  #isResultOutside(call: ts.CallExpression): boolean {
    const { oracle } = this.#session;
    if (isCarry(this.#session, call)) return this.isOutside(call.arguments[0]);
    const owned = oracle.ownedAt(call);
    if (owned && makerKeeps(this.#session, call, owned, this.#scope)) return true;
    if (this.isCarriedOut(call)) return true;
    if (this.#isMade(call)) return false;
    const { builtin, receiver } = oracle.callee(call);
    const source = receiver && oracle.ownedAt(receiver) ? receiver : call.arguments[0];
    return !builtin || this.isOutside(source);
  }

  #isNameOutside(id: ts.Identifier): boolean {
    const { oracle } = this.#session;
    const declaration = oracle.declarationAt(id);
    if (!declaration || this.#asked.has(declaration)) return true;
    this.#asked.add(declaration);
    const given = this.#givenInside(declaration);
    if (isDeclaredOutside(this.#session, id, this.#scope))
      return given.every((v) => this.isOutside(v));
    const holder = ts.isBindingElement(declaration)
      ? ts.walkUpBindingElementsAndPatterns(declaration)
      : declaration;
    if (ts.isParameter(holder)) return this.#isGivenOutside(holder);
    if (!ts.isVariableDeclaration(holder)) return !this.#isMade(id);
    const loop = holder.parent.parent;
    if (ts.isForOfStatement(loop)) return this.#areElementsOutside(loop.expression);
    if (holder.initializer && elementsGiven(holder.initializer)) return !this.#isMade(id);
    return [holder.initializer, ...given].every((v) => this.isOutside(v));
  }

  /** What a variable is given inside of the scope. */
  #givenInside(declaration: ts.Declaration): ts.Expression[] {
    const name = variableName(declaration);
    if (!name) return [];
    return referencesTo(this.#session.oracle, declaration, name, this.#scope.region).flatMap(
      ({ parent }) =>
        ts.isBinaryExpression(parent) && isTarget(parent.left) ? [parent.right] : [],
    );
  }

  /** `list.forEach((t) => …)`, `list.reduce((acc, t) => …, start)`: what a callback gets. */
  #isGivenOutside(parameter: ts.ParameterDeclaration): boolean {
    const host = handedTo(parameter.parent);
    if (!host || !ts.isCallExpression(host)) return true;
    const { builtin, name, receiver } = this.#session.oracle.callee(host);
    if (!builtin || !receiver) return true;
    const isSum = /^reduce(Right)?$/.test(name) && parameter.parent.parameters[0] === parameter;
    const [, start] = host.arguments;
    return isSum && start ? this.isOutside(start) : this.#areElementsOutside(receiver);
  }

  /** What goes through a list gets what that holds; what goes through a tensor, new rows. */
  #areElementsOutside(list: ts.Expression): boolean {
    const isNew = this.#session.oracle.ownedAt(list)?.shape === "one";
    return !(isNew && elementFreshness(this.#session, list) === "fresh") && this.isOutside(list);
  }

  /** Whether what an expression gives is made by it, as far as anybody can tell. */
  #isMade(value: ts.Expression): boolean {
    const found = this.#session.freshness(value);
    return found === "fresh" || found === "mixed";
  }
}

/** The call in `still = scope.carry(still, next)`: the place has the next one instead. */
export function isCarriedBack(session: Session, call: ts.Node): call is ts.CallExpression {
  if (!ts.isCallExpression(call) || !isCarry(session, call)) return false;
  const { parent: store } = call;
  const [old] = call.arguments;
  return (
    ts.isBinaryExpression(store) &&
    store.right === call &&
    store.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
    old !== undefined &&
    samePlace(session.oracle, store.left, unwrap(old))
  );
}
