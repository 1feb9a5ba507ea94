/**
 * Generators: whether somebody in the program goes through what one gives and leaves before it has
 * come to its end, `for (const x of parts()) if (done(x)) break;`. What it holds at a `yield` is
 * then only ended in a `finally`. Used by `paths.ts`.
 */
import ts from "typescript";
import { callSitesOf } from "../program/call-sites.ts";
import { hasBody, isPatternOfPlaces } from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { fateOf } from "../transfer/fate.ts";

/** Whether a loop over what a generator gives, or a pattern, takes some of it and leaves. */
export function isLeftEarly({ oracle }: Session, fn: ts.Node): boolean {
  if (!hasBody(fn) || fn.asteriskToken === undefined) return false;
  return callSitesOf(oracle, fn, "program").calls.some((call) => {
    const { kind, node } = fateOf(call);
    if (kind === "iterated" && ts.isForOfStatement(node)) return leaves(node.statement, node);
    return kind === "bound" && ts.isVariableDeclaration(node) && isPatternOfPlaces(node.name);
  });
}

/** Whether a way out of a loop stands in a part of its body. */
function leaves(node: ts.Node, loop: ts.ForOfStatement): boolean {
  if (ts.isFunctionLike(node)) return false;
  if (ts.isReturnStatement(node)) return true;
  if (ts.isBreakStatement(node)) return node.label !== undefined || targetOf(node) === loop;
  return ts.forEachChild(node, (child) => leaves(child, loop) || undefined) ?? false;
}

/** What a `break` without a label leaves. */
const targetOf = (node: ts.BreakStatement): ts.Node | undefined =>
  ts.findAncestor(node, (n) => ts.isIterationStatement(n, false) || ts.isSwitchStatement(n));
