/**
 * Rejected entries: what a table forgets where the promise that it holds under a key is rejected,
 * `const p = load(url); table.set(url, p); p.catch(() => table.delete(url));`: such a promise holds
 * nothing. Used by `removals.ts`.
 */
import ts from "typescript";
import { puts } from "../program/containers.ts";
import { samePlace } from "../program/same-place.ts";
import { calleeNameNode, isTarget, someWithin, unwrap, valueGiven } from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { handedTo } from "../transfer/callbacks.ts";
import { enclosingFunction, fateOf } from "../transfer/fate.ts";
import { entryOf } from "../transfer/looked-at.ts";

/** Whether a table is known to hold a rejected promise under the key that it forgets. */
export function isRejected(
  session: Session,
  node: ts.Node,
  table: ts.Expression,
  key: ts.Expression,
): boolean {
  const call = rejectionAround(node);
  const home = call && enclosingFunction(call);
  if (!call || !home) return false;
  const { oracle } = session;
  const promise = unwrap((call.expression as ts.PropertyAccessExpression).expression);
  const isSame = (one: ts.Expression, two: ts.Expression): boolean => samePlace(oracle, one, two);
  const isEntry = (at: ts.Node): boolean => {
    const entry = entryAt(at);
    return entry !== undefined && isSame(entry.table, table) && isSame(entry.key, key);
  };
  if (isEntry(promise)) return true; // `table.get(url)?.catch(…)`
  const names = [promise, ...placesGiven(call)].filter((at) => ts.isIdentifier(at));
  return someWithin(home, (at) => {
    const value = valuePut(at);
    if (!value || !isEntry(at)) return false;
    const given = unwrap(value);
    return given === call || names.some((name) => isSame(name, given));
  });
}

/** The `p.catch(…)` or `p.then(use, …)` that runs the function around a place on a rejection. */
function rejectionAround(node: ts.Node): ts.CallExpression | undefined {
  const fn = enclosingFunction(node);
  const host = fn && handedTo(fn);
  if (!host || !ts.isCallExpression(host) || !ts.isPropertyAccessExpression(host.expression))
    return undefined;
  const name = calleeNameNode(host)?.text;
  const at = host.arguments.findIndex((given) => given === fn);
  return (name === "catch" && at === 0) || (name === "then" && at === 1) ? host : undefined;
}

/** `q = p.catch(…)`: the names for what is left of the promise. */
function placesGiven(call: ts.Expression): readonly ts.Expression[] {
  const { kind, node } = fateOf(call);
  if (kind === "bound" && ts.isVariableDeclaration(node) && ts.isIdentifier(node.name))
    return [node.name];
  return kind === "assigned" && ts.isBinaryExpression(node) ? [node.left] : [];
}

/** The place of a table that an expression asks for or fills. */
function entryAt(at: ts.Node): { table: ts.Expression; key: ts.Expression } | undefined {
  if (ts.isBinaryExpression(at) && isTarget(at.left)) return entryAt(at.left);
  if (ts.isElementAccessExpression(at)) return { table: at.expression, key: at.argumentExpression };
  if (!ts.isCallExpression(at) || !ts.isPropertyAccessExpression(at.expression)) return undefined;
  const { expression: table, name } = at.expression;
  const [key] = at.arguments;
  const isOfKey = entryOf(table) === at || puts(name.text);
  return key && isOfKey ? { table, key } : undefined;
}

/** What an expression puts there. */
function valuePut(at: ts.Node): ts.Expression | undefined {
  if (ts.isBinaryExpression(at)) return isTarget(at.left) ? valueGiven(at) : undefined;
  if (!ts.isCallExpression(at) || calleeNameNode(at)?.text !== "set") return undefined;
  const [, value] = at.arguments;
  const given = value && unwrap(value);
  return given && ts.isBinaryExpression(given) && isTarget(given.left) ? given.left : value;
}
