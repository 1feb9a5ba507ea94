/**
 * Same keys: `table.set("last", x.clone())`, by which each turn of a loop, or each call of a
 * function that remembers what it is given, puts a value where the one before is. Used by
 * `replaced-entries.ts`.
 */
import ts from "typescript";
import { isExported } from "../program/exported.ts";
import type { Put } from "./puts.ts";
import { surelyRunsOften } from "../trails/runs-often.ts";
import { rootOf, someWithin, within, type FunctionWithBody } from "../program/syntax.ts";
import type { Session } from "../session.ts";

/**
 * The loop, or the body of a function, of which each turn or call puts something under one key.
 *
 * @param remembers whether the function says by its name that it puts what it is given somewhere
 */
export function repeatedPut(
  session: Session,
  put: Put,
  home: FunctionWithBody,
  remembers: boolean,
): ts.Node | undefined {
  const { key, node, table, value } = put;
  if (!ts.isStringLiteralLike(key) && !ts.isNumericLiteral(key)) return undefined;
  const root = rootOf(table);
  const held = ts.isIdentifier(root) ? session.oracle.declarationAt(root) : undefined;
  const loop = ts.findAncestor(node, (at) =>
    at === home ? "quit" : ts.isIterationStatement(at, false),
  );
  if (loop && !(held && within(held, loop)) && !mayLeave(loop)) return loop;
  const isGiven = (at: ts.Node): boolean => {
    const source = ts.isIdentifier(at) ? session.oracle.declarationAt(at) : undefined;
    return source !== undefined && ts.isParameter(source) && source.parent === home;
  };
  const test = ts.findAncestor(node, (at) => (at === home ? "quit" : ts.isIfStatement(at)));
  if (!test && surelyRunsOften(session, home)) return home.body;
  const isOfCall =
    remembers && isExported(session.oracle.facts, home) && someWithin(value, isGiven);
  return isOfCall && !someWithin(home.body, ts.isIfStatement) ? home.body : undefined;
}

/** A loop that something leaves may have one turn. */
const mayLeave = (loop: ts.Node): boolean =>
  someWithin(loop, (at) => ts.isBreakStatement(at) || ts.isReturnStatement(at));
