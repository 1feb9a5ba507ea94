/**
 * Turns: what one turn of a loop leaves behind. The ways to the next turn join at its head, where
 * one that hands a value on hides another that forgets it; here each is looked at by itself. Used
 * by `flow.ts`.
 */
import ts from "typescript";
import type { Cell } from "./cells.ts";
import type { FunctionPaths, Segment } from "./events.ts";
import { leakIsOneWay, nil, none, owned, type State, type Value } from "./states.ts";

/** A variable of a loop's body that still owns a value when the next turn begins. */
export interface LeftByTurn {
  cell: Cell;
  value: Value;
  /** The `break` that leaves it. */
  exit: ts.Node | undefined;
}

/** Every such variable, one for each way back. */
export function leftByTurns(
  { segments }: FunctionPaths,
  outs: ReadonlyMap<Segment, State>,
): LeftByTurn[] {
  const found: LeftByTurn[] = [];
  const places = new Map(segments.map((segment, at) => [segment, at]));
  for (const [at, head] of segments.entries()) {
    const loop = head.first && ts.findAncestor(head.first, isLoop);
    if (!loop) continue;
    for (const way of head.previous) {
      if ((places.get(way) ?? 0) < at) continue;
      for (const [cell, value] of outs.get(way) ?? [])
        if ((isOwned(value) || leakIsOneWay(value.bits, cell)) && isOf(cell, loop))
          found.push({ cell, value, exit: undefined });
    }
  }
  return [...found, ...leftByBreaks(segments, outs)];
}

/** `if (done) break; w = next;`: what the last turn made and did not hand on. */
function leftByBreaks(
  segments: readonly Segment[],
  outs: ReadonlyMap<Segment, State>,
): LeftByTurn[] {
  return segments.flatMap((segment) => {
    const way = segment.last ?? segment.first;
    const loop = way && ts.isBreakStatement(way) ? ts.findAncestor(way, isLoopOrSwitch) : undefined;
    if (!loop || !isLoop(loop)) return [];
    return [...(outs.get(segment) ?? [])].flatMap(([cell, value]) =>
      isOwned(value) && isOf(cell, loop) ? [{ cell, value, exit: way }] : [],
    );
  });
}

const isLoopOrSwitch = (node: ts.Node): boolean => isLoop(node) || ts.isSwitchStatement(node);

const isLoop = (node: ts.Node): node is ts.IterationStatement =>
  ts.isIterationStatement(node, false);

/** Owned, or nothing at all. */
const isOwned = ({ bits }: Value): boolean =>
  (bits & owned) !== 0 && (bits & ~(owned | none | nil)) === 0;

/** Whether a variable is declared in the body of a loop, or is what it walks with. */
function isOf({ declaration, kind }: Cell, loop: ts.IterationStatement): boolean {
  if (!declaration || kind !== "local") return false;
  if (ts.isForStatement(loop) && loop.initializer && declaration.pos < loop.initializer.end)
    return false; // lives as long as the loop
  return declaration.pos >= loop.pos && declaration.end <= loop.end;
}
