/**
 * Lent values: what a function of the program gives that may have it in a table of its own. Used by
 * the slots: such a value is not lost with the place it was put in.
 */
import ts from "typescript";
import type { Session } from "../session.ts";
import { fateOf } from "../transfer/fate.ts";
import { someWithin, unwrap } from "../program/syntax.ts";

/** `await this.load(url)`, `const t = load(url)`: of a function that may have it in a cache. */
export function mayBeLent(session: Session, value: ts.Expression): boolean {
  const given = unwrap(value);
  const named = ts.isIdentifier(given) ? session.oracle.declarationAt(given) : undefined;
  const source = named && ts.isVariableDeclaration(named) ? named.initializer : given;
  const awaited = source && unwrap(source);
  const call = awaited && ts.isAwaitExpression(awaited) ? unwrap(awaited.expression) : awaited;
  if (!call || !ts.isCallExpression(call)) return false;
  const { body } = session.oracle.callee(call);
  return body !== undefined && session.summary(body).result === "unknown" && looksUp(body);
}

/** `const known = this.cache.get(key); if (known) return known;` */
const looksUp = (body: ts.Node): boolean =>
  someWithin(
    body,
    (at) =>
      ts.isCallExpression(at) &&
      ts.isPropertyAccessExpression(at.expression) &&
      at.expression.name.text === "get" &&
      fateOf(at).kind === "bound",
  );
