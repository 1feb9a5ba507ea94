/**
 * Ways out: what one `return` inside a `try` leaves behind. All ways out join at the `finally`,
 * where one that hands a value on hides another that forgets it; here each is looked at by itself.
 * Used by `flow.ts`.
 */
import ts from "typescript";
import type { Cell } from "./cells.ts";
import type { FunctionPaths, Segment } from "./events.ts";
import { nil, owned, type State, type Value } from "./states.ts";
import { within } from "../program/syntax.ts";

/** A variable that still owns a value where a `return` leaves for a `finally` that ignores it. */
export interface LeftOnWay {
  cell: Cell;
  value: Value;
  exit: ts.Node;
}

/** Every such variable, one for each `return`. */
export function leftOnWays(
  { segments }: FunctionPaths,
  outs: ReadonlyMap<Segment, State>,
): LeftOnWay[] {
  return segments.flatMap((segment) => {
    const { returns } = segment;
    const last = returns && finallyAfter(returns);
    if (!last) return [];
    const ignored = (cell: Cell, { sites }: Value): boolean => {
      const names = new Set([cell, ...[...sites].map((site) => site.cell)]);
      return !segments.some((s) => speaksWithin(s, names, last));
    };
    return [...(outs.get(segment) ?? [])]
      .filter(([cell, v]) => isOwned(v) && cell.kind === "local" && ignored(cell, v))
      .map(([cell, value]) => ({ cell, value, exit: returns }));
  });
}

/** Owned, unless there is nothing. */
const isOwned = ({ bits }: Value): boolean => (bits & ~nil) === owned;

/** The outermost `finally` between a `return` and the end of its function: all lie in its try. */
function finallyAfter(from: ts.Node): ts.TryStatement | undefined {
  let found: ts.TryStatement | undefined;
  for (let at = from; !ts.isFunctionLike(at) && !ts.isSourceFile(at); at = at.parent) {
    const { parent } = at;
    if (ts.isTryStatement(parent) && parent.finallyBlock && at !== parent.finallyBlock)
      found = parent;
  }
  return found;
}

/** Whether a `finally` of a `try`, or of one within it, speaks of some variables. */
function speaksWithin({ events }: Segment, names: Set<Cell>, outer: ts.TryStatement): boolean {
  return events.some((event) => {
    if (!names.has(event.cell)) return false;
    const node = event.kind === "own" ? event.site.node : event.node;
    const block = ts.findAncestor(node, isFinally);
    return block !== undefined && within(block, outer);
  });
}

const isFinally = (node: ts.Node): boolean =>
  !ts.isSourceFile(node) && ts.isTryStatement(node.parent) && node.parent.finallyBlock === node;
