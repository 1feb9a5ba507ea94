/**
 * Kept for callers: what a function makes and keeps in a table, `known.set(key, x)`, while all who
 * call it have a scope open, which frees it: the next who asks gets a dead value. The table was
 * made where no scope was, and who has it ends what it holds by hand, also where no scope is. Used
 * by `escapes.ts`, which itself looks at the scopes of the function alone.
 */
import ts from "typescript";
import {
  emptyAtFirst,
  endsElements,
  endsElementsOfFile,
  endsOwnElements,
  ownsElements,
} from "../objects/ended-elements.ts";
import { fieldOfThis } from "../objects/members.ts";
import { putsIn, type Put } from "../lists/puts.ts";
import { makersOf } from "../program/class-makers.ts";
import type { Owned } from "../program/oracle.ts";
import { referencesTo } from "../program/references.ts";
import { someWithin, unwrap, variableName } from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { scopeAround } from "./open-scopes.ts";
import { keptInside, makerKeeps } from "./rescues.ts";

/** A value that the scopes of callers free. */
export interface KeptForCallers {
  value: ts.Expression;
  table: ts.Expression;
  owned: Owned;
  /** The function that all call with a scope open. */
  fn: ts.Node;
}

/** Every such value of a file. */
export function keptForCallers(session: Session, file: ts.SourceFile): KeptForCallers[] {
  return putsIn(session.oracle.facts, file).flatMap((put): KeptForCallers[] => {
    const fn = enclosingFunction(put.node);
    const owned = fn && session.oracle.ownedAt(put.value);
    if (!fn || !owned || owned.shape !== "one" || owned.owner.scopes.length === 0) return [];
    if (!isUnmoved(session, put, owned, fn) || asksForEnded(put.node)) return [];
    if (session.scopeAt(put.node) !== "in" || scopeAround(session, put.node)) return [];
    return isOfLongerLife(session, put.table) ? [{ ...put, owned, fn }] : [];
  });
}

/** `if (found && !found.isDisposed) return found;`: who finds what a scope has freed knows it. */
const asksForEnded = (node: ts.Node): boolean =>
  someWithin(
    ts.findAncestor(node, ts.isClassLike) ?? node.getSourceFile(),
    (at) => ts.isPropertyAccessExpression(at) && at.name.text === "isDisposed",
  );

/** Whether a value is new and stays in the scope in which it is made. */
function isUnmoved(session: Session, { value }: Put, owned: Owned, fn: ts.Node): boolean {
  const { oracle } = session;
  if (session.freshness(value) !== "fresh" || makerKeeps(session, value, owned)) return false;
  const bare = unwrap(value);
  const source = ts.isIdentifier(bare) ? oracle.declarationAt(bare) : undefined;
  if (!source) return !ts.isIdentifier(bare);
  const name = variableName(source);
  if (!ts.isVariableDeclaration(source) || !name || enclosingFunction(source) !== fn) return false;
  if (source.initializer && makerKeeps(session, source.initializer, owned)) return false;
  return referencesTo(oracle, source, name, fn).every(
    (id) => id === bare || id === name || !keptInside(session, id, owned, "pushed"),
  );
}

/** Whether a table was made where no scope is, and is ended by hand where none is. */
function isOfLongerLife(session: Session, table: ts.Expression): boolean {
  const { oracle } = session;
  const isOut = (at: ts.Node): boolean => session.scopeAt(at) === "out";
  if (fieldOfThis(table)) {
    const holder = ts.findAncestor(table, ts.isClassLike);
    const makers = holder ? makersOf(oracle, holder) : [];
    if (!holder || makers.length === 0 || !makers.every(isOut)) return false;
    const name = fieldOfThis(table)?.name.text;
    const isEnd = (at: ts.Node): boolean =>
      fieldOfThis(at)?.name.text === name && endsElements(session, at as ts.Expression);
    return ownsElements(session, table) && !someWithin(holder, (at) => isEnd(at) && !isOut(at));
  }
  const source = emptyAtFirst(session, table);
  if (!source || (enclosingFunction(source) && !isOut(source))) return false;
  if (!endsOwnElements(session, table) && !endsElementsOfFile(session, table)) return false;
  const root = enclosingFunction(source) ?? source.getSourceFile();
  return referencesTo(oracle, source, source.name, root).every(
    (id) => !endsElements(session, id) || isOut(id),
  );
}
