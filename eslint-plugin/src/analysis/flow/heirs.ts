/**
 * Heirs: of two names for one value the later owns it. When that is given another value, or a test
 * tells the two apart, the value is the earlier name's again. Used by `flow.ts`.
 */
import ts from "typescript";
import type { Cell } from "./cells.ts";
import { disposed, none, noSites, owned, type State, type Value } from "./states.ts";

/** Gives back what a cell owns under the names that it was made for; what is left is the cell's. */
export function handBack(state: State, cell: Cell, v: Value, node: ts.Node): Value {
  let rest = v;
  if (!(v.bits & owned)) return v;
  for (const heir of new Set([...v.sites].map((site) => site.cell)))
    if (heir !== cell && state.get(heir)?.link === cell && isSeenAt(heir, node))
      rest = moved(state, heir, cell, rest);
  return rest;
}

/** Where two names mean different values, neither is the other's: `if (t !== a) t.dispose()`. */
export function setApart(state: State, cell: Cell, other: Cell | undefined): void {
  const v = state.get(cell);
  if (!v || !other || v.link !== other) return;
  const holder = state.get(other);
  const isMixed = holder && [...holder.sites].some((site) => site.cell === cell);
  if (isMixed) return void state.set(other, moved(state, cell, other, holder));
  state.set(cell, { ...v, link: undefined, bits: v.bits & owned ? v.bits & ~none : v.bits });
}

/** What a name that may mean a value or another one knows when the first is disposed. */
export function mayBeDisposed(v: Value, cell: Cell): Value | undefined {
  const others = [...v.sites].filter((site) => site.cell !== cell);
  if (others.length === 0 || others.length === v.sites.size) return undefined;
  return { bits: v.bits | disposed, sites: new Set(others), link: undefined, at: undefined };
}

/** Moves what was made for a name back to it, and gives what is left to the holder. */
function moved(state: State, heir: Cell, holder: Cell, v: Value): Value {
  const own = [...v.sites].filter((site) => site.cell === heir);
  const others = [...v.sites].filter((site) => site.cell !== heir);
  const before = state.get(heir);
  state.set(heir, {
    bits: ((before?.bits ?? 0) & ~none) | v.bits,
    sites: new Set([...(before?.sites ?? noSites), ...own]),
    link: undefined,
    at: before?.at,
  });
  if (others.length > 0) return { ...v, sites: new Set(others) };
  for (const [cell, other] of state)
    if (cell !== heir && other.link === holder) state.set(cell, { ...other, link: heir });
  return { ...v, bits: (v.bits & ~owned) | none, sites: noSites };
}

/** Whether a name of a single value is in scope at a node, to be ended there or later. */
function isSeenAt(
  { declaration, owned: { shape }, kind, fields, seen }: Cell,
  at: ts.Node,
): boolean {
  const block = declaration && ts.findAncestor(declaration.parent, ts.isBlock);
  if (!block || fields || shape !== "one" || kind !== "local") return false;
  const isEnded = seen.has("dispose") || seen.has("escape") || seen.has("return");
  return isEnded && block.pos <= at.pos && at.end <= block.end;
}
