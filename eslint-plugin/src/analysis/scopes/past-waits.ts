/**
 * Past waits: where a callback has waited, so that the synchronous scopes around it are gone. Used
 * by `scope-context.ts`.
 */
import ts from "typescript";
import { hasBody, isAsync } from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { handedTo } from "../transfer/callbacks.ts";

/**
 * Behind an `await` of an async callback that something unknown calls: a synchronous scope around
 * that call is gone by now.
 */
export function afterAwait(session: Session, node: ts.Node, fn: ts.SignatureDeclaration): boolean {
  const host = handedTo(fn);
  if (!host || !hasBody(fn) || !isAsync(fn) || session.oracle.callee(host).body) return false;
  return (
    waitsBefore(fn.body, node) &&
    session.settings.owners.every(
      (o) => o.policy === "generic" || !session.oracle.fromLibrary(session.oracle.callee(host), o),
    )
  );
}

/** Behind an `await` of `tf.tidy(async () => …)`: that scope, and any around it, is gone by now. */
export function isPastScope(session: Session, node: ts.Node, fn: ts.SignatureDeclaration): boolean {
  const host = handedTo(fn);
  if (!host || !hasBody(fn) || !isAsync(fn) || !waitsBefore(fn.body, node)) return false;
  const callee = session.oracle.callee(host);
  return session.settings.owners.some((owner) =>
    owner.scopes.some(
      (s) =>
        "callee" in s &&
        session.oracle.is(callee, [s.callee], owner) &&
        owner.scopes.every((other) => !("callee" in other) || other.async !== true),
    ),
  );
}

/** Whether a body waits before it comes to a node, on some path. */
export const waitsBefore = (inner: ts.Node, node: ts.Node): boolean =>
  inner.pos < node.pos &&
  !ts.isFunctionLike(inner) &&
  ((ts.isAwaitExpression(inner) && inner.end <= node.pos) ||
    (ts.isForOfStatement(inner) && inner.awaitModifier !== undefined) ||
    (ts.forEachChild(inner, (c) => waitsBefore(c, node) || undefined) ?? false));
