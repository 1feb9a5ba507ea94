/**
 * Verb "is fresh", for functions: what a body returns or yields, and what each turn of a loop gets.
 * Used by the summaries and the dataflow.
 */
import ts from "typescript";
import { callSitesOf } from "../program/call-sites.ts";
import { isExported } from "../program/exported.ts";
import { enclosingFunction, fateOf, returnsOf } from "../transfer/fate.ts";
import { effectInside } from "../transfer/mention.ts";
import { guarded, onlyUsed } from "./fresh-variables.ts";
import { isEndKept } from "../transfer/run-ends.ts";
import { givesAway } from "../transfer/gives-away.ts";
import { joinAll } from "./join.ts";
import { isMadeInLoop } from "./made-in-loops.ts";
import { makesParts } from "../transfer/keeps.ts";
import type { Oracle } from "../program/oracle.ts";
import { referencesTo } from "../program/references.ts";
import type { Freshness, Session } from "../session.ts";
import { isStore } from "../flow/slots.ts";
import {
  hasBody,
  isNullish,
  isUsing,
  memberName,
  unwrap,
  valuesOf,
  variableName,
  within,
  type FunctionWithBody,
} from "../program/syntax.ts";
import { areApart } from "../program/ways.ts";

/**
 * What each turn of a `for … of` gets: from a generator with a body what it yields and lets go;
 * from a tensor a new row; from an owner, such as a data loader, what stays the owner's; from an
 * iterator that a function is given what all its callers give; from anything else what it holds.
 */
export function elementFreshness(session: Session, iterated: ts.Expression): Freshness {
  const owned = session.oracle.ownedAt(iterated);
  if (owned?.shape === "one") return makesParts(session, iterated, owned) ? "fresh" : "borrowed";
  const call = unwrap(iterated);
  if (!owned && ts.isIdentifier(call)) return givenFreshness(session, call);
  const callee = ts.isCallExpression(call) ? session.oracle.callee(call) : undefined;
  if (!callee?.body?.asteriskToken) return session.freshness(iterated);
  if (callee.tags.fresh) return "fresh";
  return callee.tags.borrowed ? "borrowed" : yieldedFreshness(session, callee.body);
}

/** What an iterator gives that has a name: a parameter that only this loop asks, or a constant. */
function givenFreshness(session: Session, id: ts.Identifier): Freshness {
  const declaration = session.oracle.declarationAt(id);
  const home = enclosingFunction(id);
  if (!declaration || !home || !hasBody(home) || enclosingFunction(declaration) !== home)
    return session.freshness(id);
  if (!ts.isParameter(declaration) && !ts.isVariableDeclaration(declaration)) return "unknown";
  const { name } = declaration;
  if (!ts.isIdentifier(name) || referencesTo(session.oracle, declaration, name, home).length > 1)
    return "unknown";
  const { expressions } = session.asking;
  if (expressions.has(declaration)) return "never";
  expressions.add(declaration);
  try {
    if (!ts.isParameter(declaration)) {
      const { initializer } = declaration;
      return initializer && ts.isCallExpression(unwrap(initializer))
        ? elementFreshness(session, initializer)
        : "unknown";
    }
    if (isExported(session.oracle.facts, home)) return "borrowed";
    const { calls, values } = callSitesOf(session.oracle, home, "program");
    const index = home.parameters.indexOf(declaration);
    const given = calls.map((c) => c.arguments?.[index]);
    if (values.length > 0) return "unknown";
    return joinAll(given.map((g) => (g ? elementFreshness(session, g) : "unknown")));
  } finally {
    expressions.delete(declaration);
  }
}

function yieldedFreshness(session: Session, fn: FunctionWithBody): Freshness {
  const found: Freshness[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) || ts.isClassLike(node)) return;
    if (ts.isYieldExpression(node))
      found.push(
        node.expression && !node.asteriskToken ? letGo(session, node.expression, fn) : "unknown",
      );
    ts.forEachChild(node, visit);
  };
  ts.forEachChild(fn.body, visit);
  return joinAll(found);
}

/**
 * A yielded value is the consumer's when it is fresh and the generator does nothing else with it on
 * the way there.
 */
function letGo(
  session: Session,
  value: ts.Expression,
  fn: FunctionWithBody,
  over: readonly string[] = [],
): Freshness {
  const bare = unwrap(value);
  if (ts.isObjectLiteralExpression(bare) || ts.isArrayLiteralExpression(bare)) {
    const parts = valuesOf(bare);
    if (parts.some((p) => session.oracle.ownedAt(p) && letGo(session, p, fn) !== "fresh"))
      return "unknown";
    const properties = ts.isObjectLiteralExpression(bare) ? [...bare.properties] : [];
    const spreads = properties.filter(ts.isSpreadAssignment);
    if (spreads.length === 0) return guarded(session, bare);
    // `{ ...batch, image }`
    const names = properties.flatMap((p) => (p.name ? [memberName(p.name)] : []));
    return joinAll(spreads.map((s) => letGo(session, s.expression, fn, names)));
  }
  if (!ts.isIdentifier(bare)) return guarded(session, bare);
  const declaration = session.oracle.declarationAt(bare);
  const name = declaration && variableName(declaration);
  if (!name || ts.isParameter(declaration)) return "unknown";
  if (isUsing(declaration)) return "borrowed";
  const stays = (id: ts.Identifier): boolean => {
    const { kind, member } = fateOf(id);
    if (kind === "yielded" || (kind === "read" && over.includes(member))) return true;
    const effect = effectInside(session, session.transfer(id));
    return effect === "disposes" ? areApart(id, bare) : onlyUsed(session, id);
  };
  const only = referencesTo(session.oracle, declaration, name, fn).every(stays);
  return only ? guarded(session, bare) : "unknown";
}

/**
 * The join over every returned expression; generators and functions without returns give no answer.
 */
export function resultFreshness(
  session: Session,
  fn: ts.FunctionLikeDeclaration & { body: ts.Node },
): Freshness {
  if (fn.asteriskToken || session.oracle.givesNothing(fn) || isDecorated(fn)) return "unknown";
  const isSaid = session.oracle.givesOwned(fn);
  const values = session.oracle.facts.of(fn, returnsOf).filter((v) => {
    const bare = unwrap(v);
    if (isNullish(bare)) return false;
    // a literal may leave out what is owned
    return (isSaid && ts.isCallExpression(bare)) || session.oracle.ownedAt(v) !== null;
  });
  return joinAll(
    values.map((v) => {
      if (isKept(session, fn, v) || isEndKept(session, fn, v)) return "unknown";
      const found = guarded(session, v);
      const isNew = found === "mixed" && isMadeInLoop(session, v);
      return isNew || (found !== "fresh" && givesAway(session, fn, v)) ? "fresh" : found;
    }),
  );
}

/** Whether a decorator stands before a method or getter: it may keep what that gives. */
const isDecorated = (fn: ts.Node): boolean =>
  ts.canHaveDecorators(fn) && (ts.getDecorators(fn)?.length ?? 0) > 0;

/** A variable of the function itself, which is gone with it. */
function isOwnVariable({ oracle }: Session, fn: ts.Node, place: ts.Expression): boolean {
  const source = ts.isIdentifier(place) ? oracle.declarationAt(place) : undefined;
  return source !== undefined && within(source, fn);
}

/** Whether what is returned is also put away, or into somebody's hands: it has an owner then. */
export function isKept(session: Session, fn: ts.Node, value: ts.Expression): boolean {
  const bare = unwrap(value);
  if (ts.isBinaryExpression(bare)) {
    if (bare.operatorToken.kind === ts.SyntaxKind.CommaToken)
      return isKept(session, fn, bare.right);
    if (isStore(bare)) return !isOwnVariable(session, fn, bare.left);
  }
  if (ts.isObjectLiteralExpression(bare) || ts.isArrayLiteralExpression(bare))
    return valuesOf(bare).some((part) => isKept(session, fn, part));
  const owned = ts.isIdentifier(bare) ? session.oracle.ownedAt(bare) : null;
  if (!ts.isIdentifier(bare) || !owned) return false;
  const declaration = session.oracle.declarationAt(bare);
  if (!declaration || !ts.isVariableDeclaration(declaration) || !ts.isIdentifier(declaration.name))
    return false;
  const { initializer } = declaration;
  const isLiteral = initializer && owned.shape !== "one" && !ts.isIdentifier(unwrap(initializer));
  if (isLiteral && enclosingFunction(declaration) === fn && isKept(session, fn, initializer))
    return true;
  const isGeneric = owned.owner.policy === "generic";
  if (isGeneric && owned.shape === "many") return false;
  return referencesTo(session.oracle, declaration, declaration.name, fn).some((id) => {
    const { effect } = session.transfer(id);
    return (effect === "stores" || effect === "takes") && !isGivenAnew(session.oracle, id);
  });
}

/** The `x` of `x = scope.carry(x, next)`: the variable has another value then. */
export function isGivenAnew(oracle: Oracle, id: ts.Expression): boolean {
  const { kind, node: call } = fateOf(id);
  const { node: store } = kind === "argument" ? fateOf(call as ts.Expression) : { node: id };
  return (
    ts.isBinaryExpression(store) &&
    isStore(store) &&
    ts.isIdentifier(store.left) &&
    ts.isIdentifier(id) &&
    oracle.declarationAt(store.left) === oracle.declarationAt(id)
  );
}
