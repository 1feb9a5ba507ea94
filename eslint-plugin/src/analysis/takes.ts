/**
 * Verb "takes": what a call does to one argument. Tags and settings first, then the callee's body,
 * then what the owner says about calls nothing is known of. Reached through `session.effect`;
 * unsure is `unknown`, and rules stay silent on it.
 */
import ts from "typescript";
import type { Owner } from "../owner.ts";
import { disposesArguments } from "./disposes.ts";
import { argumentOf, fateOf } from "./fate.ts";
import { keptBy } from "./is-fresh.ts";
import type { Callee, Owned } from "./oracle.ts";
import { hasBody, unwrap, type CallLike } from "./syntax.ts";
import type { Effect, ParameterEffect, Session } from "./session.ts";

const storing = new Set(["push", "unshift", "splice", "set", "add", "fill", "concat", "resolve"]);
const handing = new Set(["all", "from", "of", "assign", "values", "entries", "race", "freeze"]);
const reading = new Set([
  "log",
  "error",
  "warn",
  "info",
  "debug",
  "table",
  "assert",
  "isArray",
  "keys",
  "stringify",
  "includes",
  "indexOf",
  "has",
  "is",
]);

export function effectOf(session: Session, call: CallLike, node: ts.Node): Effect {
  const { oracle } = session;
  const place = argumentOf(call, node);
  const owned = oracle.ownedAt(node);
  if (!place || !owned) return "unknown";
  const callee = oracle.callee(call);
  const { owner } = owned;
  const name = parameterName(callee, place.index);
  if (callee.tags.keeps || (name !== "" && callee.tags.takes.includes(name))) return "takes";
  if (name !== "" && callee.tags.borrows.includes(name)) return "borrows";
  if (disposesArguments(session, call, owned)) return "disposes";
  if (owner.takes.some((t) => t.args.includes(place.index) && oracle.is(callee, [t.callee], owner)))
    return "takes";
  if (ts.isCallExpression(call) && keptBy(session, call, callee, owned))
    return place.index === 0 ? "identity" : "takes";
  if (lentTo(callee, owner.borrowers)) return "borrows";
  if (callee.builtin) return builtinEffect(callee);
  if (callee.member === owner) return "borrows";
  if (callee.body) return bodyEffect(session, callee, place, node, owned);
  return defaultEffect(session, call, callee, owned);
}

/** Methods of types that never keep what they are given (`GPUQueue.writeBuffer`). */
function lentTo(callee: Callee, borrowers: readonly string[]): boolean {
  const holder = callee.declaration?.parent;
  return (
    borrowers.length > 0 &&
    holder !== undefined &&
    ts.isInterfaceDeclaration(holder) &&
    borrowers.some((b) => holder.name.text.startsWith(b))
  );
}

function parameterName(callee: Callee, index: number): string {
  const declaration = callee.declaration as Partial<ts.SignatureDeclaration> | undefined;
  const parameter = declaration?.parameters?.[index];
  return parameter && ts.isIdentifier(parameter.name) ? parameter.name.text : "";
}

function builtinEffect(callee: Callee): Effect {
  if (storing.has(callee.name)) return "takes";
  if (handing.has(callee.name)) return "identity";
  return reading.has(callee.name) ? "borrows" : "unknown";
}

function bodyEffect(
  session: Session,
  callee: Callee,
  place: { argument: ts.Expression; index: number },
  node: ts.Node,
  owned: Owned,
): Effect {
  const body = callee.body;
  if (!body) return "unknown";
  const parameters = body.parameters;
  const last = parameters[parameters.length - 1];
  const index =
    last?.dotDotDotToken && place.index >= parameters.length ? parameters.length - 1 : place.index;
  const parameter = parameters[index];
  if (!parameter) return "borrows"; // more arguments than the function looks at
  if (ts.isObjectLiteralExpression(unwrap(place.argument)) && unwrap(place.argument) !== node)
    return "unknown";
  const effect = session.summary(body).parameters[index];
  return effect ? fromParameter(session, body, effect, owned) : "unknown";
}

function fromParameter(
  session: Session,
  body: ts.FunctionLikeDeclaration & { body: ts.Node },
  effect: ParameterEffect,
  owned: Owned,
): Effect {
  if (effect.disposes) return "disposes";
  if (effect.stores) return "takes";
  if (!effect.returns) return "borrows";
  if (ts.isConstructorDeclaration(body)) return "takes";
  return session.summary(body).result === "borrowed" && owned.shape === "one"
    ? "identity"
    : "unknown";
}

function defaultEffect(session: Session, call: CallLike, callee: Callee, { owner }: Owned): Effect {
  if (owner.args === "transfer" || ts.isNewExpression(call)) return "unknown";
  return owner.policy !== "generic" && session.oracle.fromLibrary(callee, owner)
    ? "borrows"
    : "unknown";
}

/** `p.grad = g`: a property whose every read is fresh keeps an alias of what it is given. */
export const storesAlias = (owner: Owner, left: ts.Expression): boolean =>
  ts.isPropertyAccessExpression(left) && owner.freshProperties.includes(left.name.text);

/** How a call runs a callback argument, when tags and settings or a body tell. */
export function callbackMode(
  session: Session,
  call: CallLike,
  argument: ts.Node,
): "scoped" | "inline" | "later" | "unknown" {
  const { oracle } = session;
  const callee = oracle.callee(call);
  for (const owner of session.settings.owners) {
    const scopes = owner.scopes.flatMap((s) => ("callee" in s ? [s.callee] : []));
    if (oracle.is(callee, scopes, owner) || oracle.is(callee, owner.runsInScope, owner))
      return "scoped";
    if (oracle.is(callee, owner.runsInline, owner)) return "inline";
  }
  if (unwrap(call.expression) === argument) return "inline"; // an immediately called function
  if (callee.builtin) return builtinMode(call, callee);
  if (callee.body) {
    const place = argumentOf(call, argument);
    const mode = place && session.summary(callee.body).parameters[place.index]?.calls;
    return mode ?? "unknown";
  }
  return later.has(callee.name) ? "later" : "unknown";
}

const inline = new Set([
  "map",
  "forEach",
  "filter",
  "reduce",
  "reduceRight",
  "some",
  "every",
  "find",
  "findIndex",
  "findLast",
  "flatMap",
  "sort",
  "from",
  "replace",
  "replaceAll",
  "Promise",
  "keys",
  "entries",
]);
/** Names under which the world over callbacks are kept for later. */
const later = new Set([
  "then",
  "catch",
  "finally",
  "setTimeout",
  "setInterval",
  "setImmediate",
  "queueMicrotask",
  "requestAnimationFrame",
  "addEventListener",
  "requestIdleCallback",
  "nextTick",
  "on",
  "once",
  "addListener",
  "subscribe",
  "useEffect",
  "useLayoutEffect",
  "useInsertionEffect",
  "useCallback",
]);

function builtinMode(call: CallLike, callee: Callee): "inline" | "later" | "unknown" {
  if (later.has(callee.name)) return "later";
  return inline.has(callee.name) || (ts.isNewExpression(call) && callee.name === "Promise")
    ? "inline"
    : "unknown";
}

/**
 * A function expression's own fate: the call it is handed to, when it is handed to one directly.
 */
export function handedTo(fn: ts.Node): ts.CallExpression | ts.NewExpression | undefined {
  if (!ts.isArrowFunction(fn) && !ts.isFunctionExpression(fn)) return undefined;
  const fate = fateOf(fn);
  if ((fate.kind === "argument" || fate.kind === "called") && fate.literal === null && hasBody(fn))
    return fate.node as CallLike;
  return undefined;
}
