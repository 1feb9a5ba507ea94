/**
 * Verb "disposes": calls that free a value: its own `dispose()` (or the owner's word for it),
 * `x[Symbol.dispose]()`, and free functions such as `tf.dispose(x)`. Used by the effects, the
 * dataflow and the member rule.
 */
import ts from "typescript";
import type { Fate } from "./fate.ts";
import type { Owned } from "../program/oracle.ts";
import { calleeNameNode, unwrapCallee, wellKnownSymbol, type CallLike } from "../program/syntax.ts";
import type { Session } from "../session.ts";

/** Whether a method name frees the receiver. */
export const isDisposer = (owned: Owned, member: string): boolean =>
  owned.owner.dispose.methods.includes(member);

/** Whether a call frees its arguments. */
export const disposesArguments = (session: Session, call: CallLike, owned: Owned): boolean =>
  owned.owner.dispose.functions.length > 0 &&
  session.oracle.is(session.oracle.callee(call), owned.owner.dispose.functions, owned.owner);

/** Whether `x[Symbol.dispose]()` or `x[Symbol.asyncDispose]()`; `fate.kind` is then "element". */
export function callsDisposeSymbol(fate: Fate): boolean {
  const access = fate.node;
  return (
    fate.kind === "element" &&
    ts.isElementAccessExpression(access) &&
    /^(asyncD|d)ispose$/.test(wellKnownSymbol(access.argumentExpression) ?? "") &&
    ts.isCallExpression(access.parent) &&
    access.parent.expression === access
  );
}

/**
 * Whether a name reads like the end of something's life; functions so named may free what they are
 * given.
 */
export const soundsLikeDisposal = (name: string): boolean =>
  endingWords.test(name) || /Dispose|AndFree/.test(name);

/** What a call is called by: `dispose` of `x.dispose()`, `dispose(x)` and `x[Symbol.dispose]()`. */
export function calledBy(call: CallLike): string {
  const access = unwrapCallee(call.expression);
  const isKey = ts.isElementAccessExpression(access);
  const symbol = isKey ? wellKnownSymbol(access.argumentExpression) : undefined;
  return symbol?.replace(/^asyncD/, "d") ?? calleeNameNode(call)?.text ?? "";
}

const endingWords = new RegExp(
  "^(_|#)?(dispose|free|release|destroy|cleanup|cleanUp|clear|close|reset|teardown|tearDown|" +
    "unload|delete|consume|drop|end(?![a-z]))",
);
