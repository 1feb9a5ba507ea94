/**
 * Then endings: values that only the callback of a `then` ends, so that nobody does where the
 * promise rejects: `buffer.mapAsync(1).then(() => { read(buffer); buffer.destroy(); })`. Used by
 * the rule about disposal where rejections count.
 */
import ts from "typescript";
import type { Owned } from "../program/oracle.ts";
import { referencesTo } from "../program/references.ts";
import { calleeNameNode, variableName, within, type CallLike } from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { handedTo } from "../transfer/callbacks.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";
import { isKept } from "./rejections.ts";

/** A variable whose value a rejection leaves behind. */
export interface EndedByThen {
  name: ts.Identifier;
  value: ts.Expression;
  owned: Owned;
  /** The `then` whose callback ends it. */
  then: ts.CallExpression;
}

/** Every such variable of a file. */
export const endedByThen = (session: Session, file: ts.SourceFile): EndedByThen[] =>
  session.oracle.facts.variables(file).flatMap((declaration) => {
    const name = variableName(declaration);
    const { initializer: value } = declaration;
    const home = enclosingFunction(declaration);
    if (!name || !value || !home || !isNew(session, value)) return [];
    const owned = session.oracle.ownedAt(name);
    if (owned?.shape !== "one") return [];
    const uses = referencesTo(session.oracle, declaration, name, home).filter((id) => id !== name);
    const ends = uses.filter((id) => !onlyLooksAt(session.transfer(id).effect));
    const [end] = ends;
    const then = end && thenAround(end, home);
    if (!then || !ends.every((id) => isEnd(session, id) && within(id, then))) return [];
    return mayMiss(session, then, uses) ? [{ name, value, owned, then }] : [];
  });

/** A call that makes something new; types are asked for after that. */
const isNew = (session: Session, value: ts.Expression): boolean =>
  (ts.isCallExpression(value) || ts.isNewExpression(value)) && session.freshness(value) === "fresh";

const isEnd = (session: Session, id: ts.Identifier): boolean =>
  session.transfer(id).effect === "disposes";

/** The `then` of a function that runs the callback which a mention stands in. */
function thenAround(mention: ts.Node, home: ts.Node): ts.CallExpression | undefined {
  const fn = enclosingFunction(mention);
  const host = fn && handedTo(fn);
  if (!host || enclosingFunction(host) !== home || !ts.isCallExpression(host)) return undefined;
  return nameOf(host) === "then" && host.arguments.length === 1 ? host : undefined;
}

const nameOf = (call: CallLike): string | undefined => calleeNameNode(call)?.text;

/** Whether the promise may reject, and nothing that is told of it speaks of the value. */
function mayMiss(
  { oracle }: Session,
  then: ts.CallExpression,
  uses: readonly ts.Identifier[],
): boolean {
  const { expression } = then;
  if (!ts.isPropertyAccessExpression(expression) || isKept(oracle, expression.expression))
    return false;
  let outer: ts.Node = then;
  while (ts.isPropertyAccessExpression(outer.parent) && ts.isCallExpression(outer.parent.parent))
    outer = outer.parent.parent;
  const isTold = uses.some((id) => within(id, outer) && !within(id, then));
  const attempt = ts.findAncestor(then, ts.isTryStatement);
  const isGuarded = attempt && uses.some((id) => speaksAfter(attempt, id));
  return !isTold && !isGuarded;
}

const speaksAfter = ({ catchClause, finallyBlock }: ts.TryStatement, id: ts.Node): boolean =>
  [catchClause, finallyBlock].some((at) => at !== undefined && within(id, at));
