/**
 * Summed entries: values that a table loses where another is made of them and put under the same
 * key: `sums.set(key, sums.get(key).add(x))`, or `const old = sums.get(key); sums.set(key, old ?
 * old.add(x) : x.clone())` of a table that a function makes for itself. Used by the rule about
 * overwritten values; other tables are in `replaced-entries.ts`.
 */
import ts from "typescript";
import { fieldOfThis } from "../objects/members.ts";
import { referencesTo } from "../program/references.ts";
import { samePlace } from "../program/same-place.ts";
import { hasBody, isEmptyContainer, someWithin, unwrap, within } from "../program/syntax.ts";
import { mayLackScope } from "../scopes/open-scopes.ts";
import type { Session } from "../session.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { onlyLooked } from "../transfer/looked-at.ts";
import type { LostEntry } from "./lost-entries.ts";
import { putsIn, type Put } from "./puts.ts";

/** Every such loss of a file. */
export function summedEntries(session: Session, file: ts.SourceFile): LostEntry[] {
  return putsIn(session.oracle.facts, file).flatMap((put) => {
    const home = enclosingFunction(put.node);
    if (!ts.isCallExpression(put.node) || !home || !hasBody(home)) return [];
    const isOwn = isOwnTable(session, put.table);
    if (!isOwn && !fieldOfThis(put.table)) return [];
    const asked = gets(session, put, home.body);
    const isInside = asked.some((got) => within(got, put.value));
    if (!isInside && !(isOwn && asked.some((got) => isNamedIn(session, got, put)))) return [];
    const owned = session.oracle.ownedAt(put.value);
    if (owned?.shape !== "one" || owned.owner.policy === "generic") return [];
    if (session.freshness(put.value) !== "fresh" || !mayLackScope(session, put.node)) return [];
    return asked.every((got) => onlyLooked(session, got, true))
      ? [{ call: put.node, table: put.table.getText(), owned }]
      : [];
  });
}

/** `table.get(key)` of the same key, wherever a function asks for it. */
function gets(session: Session, { table, key }: Put, body: ts.Node): ts.CallExpression[] {
  const found: ts.CallExpression[] = [];
  someWithin(body, (node) => {
    const on = ts.isCallExpression(node) ? node.expression : undefined;
    if (!on || !ts.isPropertyAccessExpression(on) || on.name.text !== "get") return false;
    const [asked] = (node as ts.CallExpression).arguments;
    if (asked?.getText() === key.getText() && samePlace(session.oracle, on.expression, table))
      found.push(node as ts.CallExpression);
    return false;
  });
  return found;
}

/** Whether the value that is put speaks of a name for what was asked for. */
function isNamedIn({ oracle }: Session, got: ts.Expression, { value }: Put): boolean {
  let top: ts.Node = got;
  while (ts.isNonNullExpression(top.parent) || ts.isParenthesizedExpression(top.parent))
    top = top.parent;
  const { parent } = top;
  if (!ts.isVariableDeclaration(parent) || parent.initializer !== top) return false;
  return someWithin(value, (n) => ts.isIdentifier(n) && oracle.declarationAt(n) === parent);
}

/** A table that a function makes, and that nobody else has. */
function isOwnTable({ oracle }: Session, table: ts.Expression): boolean {
  const source = ts.isIdentifier(table) ? oracle.declarationAt(table) : undefined;
  if (!source || !ts.isVariableDeclaration(source) || !ts.isIdentifier(source.name)) return false;
  const home = enclosingFunction(source);
  const { name, initializer } = source;
  if (!home || !initializer || home !== enclosingFunction(table)) return false;
  if (!isEmptyContainer(unwrap(initializer))) return false;
  return referencesTo(oracle, source, name, home).every(
    (id) =>
      id === name ||
      ts.isReturnStatement(id.parent) ||
      (ts.isForOfStatement(id.parent) && id.parent.expression === id) ||
      (ts.isPropertyAccessExpression(id.parent) && id.parent.expression === id),
  );
}
