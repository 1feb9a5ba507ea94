/**
 * Ended first: whether a function ends something before it takes a value out of a list, which may
 * be that very value under its own name. Used by `removals.ts`.
 */
import ts from "typescript";
import { referencesTo } from "../program/references.ts";
import { someWithin, unwrap } from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";

/** `t.dispose(); order.pop();`: what a function ends first may be what it takes out then. */
export function endsBefore(session: Session, node: ts.Node): boolean {
  const ends = (at: ts.Node): boolean =>
    at.pos < node.pos &&
    ts.isIdentifier(at) &&
    session.oracle.ownedAt(at) !== null &&
    session.transfer(at).effect === "disposes" &&
    !isPassing(session, at);
  return someWithin(enclosingFunction(node) ?? node, ends);
}

/** `const half = x.slice(0, 2); …; half.dispose();`: a value that no list has ever had. */
function isPassing(session: Session, id: ts.Identifier): boolean {
  const made = session.oracle.declarationAt(id);
  if (!made || !ts.isVariableDeclaration(made) || !ts.isIdentifier(made.name)) return false;
  const home = enclosingFunction(made);
  const value = made.initializer;
  if (!home || home !== enclosingFunction(id) || !value) return false;
  if (!ts.isCallExpression(unwrap(value)) || session.freshness(value) !== "fresh") return false;
  return referencesTo(session.oracle, made, made.name, home).every((at) => {
    const { effect } = session.transfer(at);
    return at === made.name || onlyLooksAt(effect) || effect === "disposes";
  });
}
