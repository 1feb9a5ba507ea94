/**
 * Given names: keys of a table that a function is given from outside: whether each is given once,
 * as far as the program shows, or comes again, since another function takes names out. Used by
 * `replaced-entries.ts`.
 */
import ts from "typescript";
import { callSitesOf } from "../program/call-sites.ts";
import { samePlace } from "../program/same-place.ts";
import { rootOf, someWithin, type FunctionWithBody } from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import type { Put } from "./puts.ts";

/** What is made up for each value, and given once. */
const unique = /\b(id|uuid|ticket|token|handle)$|(Id|ID|Uuid|UUID|Ticket|Token|Handle)$/;

/** `stop(name) { …; this.effects.delete(name); }`: a name that is gone may come again. */
export function comesAndGoes(
  session: Session,
  { table, key: name }: Put,
  home: FunctionWithBody,
): boolean {
  const isName = (["string", "anything"] as const).some((kind) => session.oracle.gives(name, kind));
  if (!isName || unique.test(name.getText()) || !isGiven(session, name, home)) return false;
  if (givesEachOnce(session, home, name)) return false;
  const { oracle } = session;
  const drops = oracle.facts.calls(table.getSourceFile()).flatMap((call) => {
    const { expression: on, arguments: given } = call;
    const [key] = given;
    if (!key || !ts.isPropertyAccessExpression(on) || on.name.text !== "delete") return [];
    const fn = enclosingFunction(call);
    const isDrop = samePlace(oracle, on.expression, table) && fn && isGiven(session, key, fn);
    return isDrop && fn !== home ? [fn] : [];
  });
  const dropsFirst = (node: ts.Node): boolean => {
    const body = ts.isCallExpression(node) ? oracle.callee(node).body : undefined;
    return body !== undefined && drops.includes(body);
  };
  const { calls } = callSitesOf(oracle, home, "program");
  const callers = calls.map((call) => enclosingFunction(call));
  return drops.length > 0 && !callers.some((by) => by && someWithin(by, dropsFirst));
}

/** A name that the function is given, or part of what it is given: `name`, `req.params.id`. */
export function isGiven(session: Session, key: ts.Expression, home: ts.Node): boolean {
  const root = rootOf(key);
  let at: ts.Node | undefined = ts.isIdentifier(root)
    ? session.oracle.declarationAt(root)
    : undefined;
  while (at && !ts.isParameter(at)) {
    if (ts.isSourceFile(at) || ts.isFunctionLike(at)) return false;
    at = at.parent;
  }
  return at?.parent === home;
}

/** Whether all that a program calls a function with are names that it writes, each once. */
export function givesEachOnce(
  { oracle }: Session,
  home: FunctionWithBody,
  key: ts.Expression,
): boolean {
  const parameter = ts.isIdentifier(key) ? oracle.declarationAt(key) : undefined;
  if (!parameter || !ts.isParameter(parameter)) return false;
  const { calls, values } = callSitesOf(oracle, home, "program");
  const index = home.parameters.indexOf(parameter);
  const given = calls.map((c) => c.arguments?.[index]);
  const texts = given.flatMap((g) => (g && ts.isStringLiteralLike(g) ? [g.text] : []));
  if (values.length > 0 || calls.length === 0) return false;
  return texts.length === calls.length && new Set(texts).size === texts.length;
}
