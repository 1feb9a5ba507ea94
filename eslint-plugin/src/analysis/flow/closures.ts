/**
 * Closures: whether a nested function runs only while the one around it does, so that what it
 * captures does not outlive that one. Used by the summaries and where values are lent.
 */
import ts from "typescript";
import { callbackMode, handedTo, runsThere } from "../transfer/callbacks.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { effectInside } from "../transfer/mention.ts";
import { referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";

/** Whether a function is handed to a call that runs it before it returns. */
export function isInline(session: Session, closure: ts.SignatureDeclaration): boolean {
  const host = handedTo(closure);
  return host !== undefined && ["inline", "scoped"].includes(callbackMode(session, host, closure));
}

/** Whether what a nested function captures may be used when the function around it has returned. */
export function outlivesMaker(
  session: Session,
  maker: ts.Node,
  closure: ts.SignatureDeclaration,
): boolean {
  let current: ts.SignatureDeclaration | undefined = closure;
  while (current && current !== maker) {
    const host = handedTo(current);
    if (!host)
      return !(
        ts.isFunctionDeclaration(current) ||
        (ts.isVariableDeclaration(current.parent) && onlyRuns(session, current.parent, maker))
      );
    if (!isInline(session, current)) return true;
    current = enclosingFunction(host);
  }
  return false;
}

/**
 * Whether a value that a nested function captures is that one's from then on. Where functions only
 * borrow what they are given, one that only looks at it leaves it to who gave it.
 */
export function isLeftTo(
  session: Session,
  maker: ts.Node,
  closure: ts.SignatureDeclaration,
  id: ts.Expression,
): boolean {
  if (!outlivesMaker(session, maker, closure)) return false;
  const isProtocol = session.oracle.ownedAt(id)?.owner.policy === "protocol";
  if (!isProtocol) return true;
  let found = session.transfer(id);
  // `use(Object.values(record))`
  for (let hops = 0; hops < 3 && found.effect === "passes" && found.next; hops++)
    found = session.transfer(found.next);
  return !onlyLooksAt(effectInside(session, found));
}

function onlyRuns(session: Session, declaration: ts.VariableDeclaration, fn: ts.Node): boolean {
  const { name } = declaration;
  return (
    ts.isIdentifier(name) &&
    referencesTo(session.oracle, declaration, name, fn).every((id) => runsThere(session, id))
  );
}
