/**
 * Stores on ways: what an assignment writes over on one way to it, `if (wanted) all.push(h);
 * h = next;`. The ways join before it, where the one that hands the value on hides the other; here
 * each is looked at by itself. Used by `flow.ts`.
 */
import ts from "typescript";
import type { Cell } from "./cells.ts";
import type { Event, FunctionPaths, Segment, Site } from "./events.ts";
import { handBack } from "./heirs.ts";
import { escaped, owned, type State } from "./states.ts";
import { someWithin, within } from "../program/syntax.ts";

/** An assignment to a variable that owns a value on one way to it. */
export interface StoreOnWay {
  cell: Cell;
  site: Site;
  node: ts.Node;
}

/** Every such assignment, where `stateInto` tells what is known when a segment begins. */
export function storesOnWays(
  { segments }: FunctionPaths,
  outs: ReadonlyMap<Segment, State>,
  stateInto: (segment: Segment) => State,
): StoreOnWay[] {
  return segments.flatMap((segment) => {
    if (segment.previous.length < 2) return [];
    const stores = segment.events.flatMap((event, at) => storeOf(event, segment, at) ?? []);
    const joined = stores.length > 0 ? stateInto(segment) : undefined;
    return stores.flatMap(({ cell, node }) => {
      if (joined?.get(cell)?.bits !== (owned | escaped)) return [];
      if (![...cell.endings].every((at) => isOnWayOfItsOwn(at, cell))) return [];
      return segment.previous.flatMap((way) => {
        const state = new Map(outs.get(way));
        const before = state.get(cell);
        if (before?.bits !== owned) return [];
        const { bits, sites } = handBack(state, cell, before, node);
        return bits === owned ? [...sites].map((site) => ({ cell, site, node })) : [];
      });
    });
  });
}

/** The assignment that is the first of a segment to do more than look at a variable. */
function storeOf(
  event: Event,
  { events }: Segment,
  at: number,
): { cell: Cell; node: ts.Node } | undefined {
  const { cell, kind } = event;
  if (kind !== "own" && kind !== "alias") return undefined;
  const node = kind === "own" ? event.site.node : event.node;
  const { owner, shape, mixed } = cell.owned;
  if (!ts.isBinaryExpression(node) || cell.kind !== "local" || cell.fields) return undefined;
  if (owner.policy !== "protocol" || shape !== "one" || mixed) return undefined;
  const isAlone = events.every((e, i) => i >= at || e.cell !== cell || e.kind === "use");
  return isAlone ? { cell, node } : undefined;
}

/** Whether no test that speaks of the variable leads to a place, and nothing there is tried. */
function isOnWayOfItsOwn(place: ts.Node, { name }: Cell): boolean {
  const decides = (at: ts.Node): boolean => {
    if (ts.isTryStatement(at)) return true;
    if (!ts.isIfStatement(at) || within(place, at.expression)) return false;
    return someWithin(at.expression, (n) => ts.isIdentifier(n) && n.text === name?.text);
  };
  return !ts.findAncestor(place, (at) => (ts.isFunctionLike(at) ? "quit" : decides(at)));
}
