/**
 * Callbacks: how a call runs the functions it is given: in a scope, before it returns, or later.
 * Settings first, then names the world over, then the callee's body. Reached through
 * `session.callback`.
 */
import ts from "typescript";
import { isPromiseMember } from "../program/containers.ts";
import { argumentOf, enclosingFunction, fateOf } from "./fate.ts";
import type { Callee } from "../program/oracle.ts";
import type { Session } from "../session.ts";
import { hasBody, unwrap, type CallLike } from "../program/syntax.ts";

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

/** Whether a mention of a function calls it, or hands it to what does before it returns. */
export function runsThere(session: Session, mention: ts.Expression): boolean {
  const { kind, node, literal } = fateOf(mention);
  if (kind === "called") return true;
  if (kind !== "argument" || literal !== null) return false;
  return ["inline", "scoped"].includes(callbackMode(session, node as CallLike, mention));
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
 * `button.onclick = click`, `<Button onClick={() => …}>`: whether a function is what the event loop
 * calls for each event, and not for one that comes once.
 */
export const isEventHandler = (fn: ts.Node): boolean => {
  const event = eventOf(fn);
  return event !== undefined && !comesOnce.test(event);
};
const comesOnce =
  /^on(un|load|ready|init|mount|start|open|connect|create|finish|complete|success|err|close|end)/i;

/** The value that a mention of a function stands for: `this.click`, `this.click.bind(this)`. */
export function functionValue(site: ts.Node): ts.Expression {
  let value = site as ts.Expression;
  if (ts.isPropertyAccessExpression(site.parent) && site.parent.name === site) value = site.parent;
  const access = value.parent;
  const isBound =
    ts.isPropertyAccessExpression(access) &&
    access.name.text === "bind" &&
    ts.isCallExpression(access.parent) &&
    access.parent.expression === access;
  return isBound ? access.parent : value;
}

/** The event that a function is given for: `onclick`. */
export function eventOf(fn: ts.Node): string | undefined {
  const { parent } = fn;
  if (ts.isJsxExpression(parent)) {
    const name = ts.isJsxAttribute(parent.parent) ? parent.parent.name.getText() : "";
    return /^on[A-Z]/.test(name) ? name : undefined;
  }
  if (!ts.isBinaryExpression(parent) || parent.right !== fn) return undefined;
  const { left } = parent;
  const name = ts.isPropertyAccessExpression(left) ? left.name.text : "";
  return /^on[a-zA-Z]/.test(name) ? name : undefined;
}

/**
 * The function that comes to a place: around the scopes that the place stands in, and the promises
 * that it waits for.
 */
export function functionAround(session: Session, node: ts.Node): ts.Node | undefined {
  const fn = enclosingFunction(node);
  const call = fn && handedTo(fn);
  if (!call) return fn;
  const waits = isPromiseMember(session.oracle.callee(call).name);
  return waits || session.callback(call, fn) === "scoped" ? functionAround(session, call) : fn;
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
