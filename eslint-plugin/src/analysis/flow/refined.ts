/**
 * Refined: what is known of variables and slots on the way from one segment to the next, where a
 * test has sent control: what it found to be null is, and a record of which it leaves only variants
 * that hold nothing is empty. Used by `flow.ts` alone.
 */
import ts from "typescript";
import type { Cell, Cells } from "./cells.ts";
import { answerBetween, factsBetween } from "./conditions.ts";
import type { Segment } from "./events.ts";
import { setApart } from "./heirs.ts";
import { keepBits, nil, none, noSites, owned, value, type State } from "./states.ts";
import { leavesNothing } from "./variants.ts";

/** What is left of a state on the way between two segments. */
export function refined(cells: Cells, out: State, from: Segment, to: Segment): State {
  const facts = factsBetween(from, to);
  const emptied = emptiedBetween(cells, from, to);
  if (facts.length + emptied.length === 0) return out;
  const state = new Map(out);
  for (const { id, is, field, from: other } of facts) {
    const cell = (ts.isIdentifier(id) ? cells.at(id) : undefined) ?? cells.slotAt(id);
    if (!cell) continue;
    if (is === "distinct") {
      if (other) setApart(state, cell, cells.at(other));
      continue;
    }
    const named =
      field === undefined
        ? [cell, ...(cell.nameOf ? [cell.nameOf] : (cell.fields?.values() ?? []))]
        : [cell.fields?.get(field)].filter((c) => c !== undefined);
    for (const target of named) {
      const v = state.get(target);
      if (!v) continue;
      const bits = keepBits(v.bits, is);
      state.set(target, { ...v, bits, sites: bits & owned ? v.sites : noSites });
      if (is === "null" && v.link) lacks(state, v.link, target);
    }
  }
  for (const cell of emptied) state.set(cell, value(nil));
  return state;
}

/** `last = b; … if (b === null)`: what was made for `b` the later name does not have, either. */
function lacks(state: State, holder: Cell, cell: Cell): void {
  const v = state.get(holder);
  const others = v && [...v.sites].filter((site) => site.cell !== cell);
  if (!others || others.length === v.sites.size) return;
  const bits = others.length > 0 ? v.bits : (v.bits & ~owned) | none;
  state.set(holder, { ...v, bits, sites: new Set(others) });
}

/** The slots of which a test leaves only variants that hold nothing. */
function emptiedBetween(cells: Cells, from: Segment, to: Segment): Cell[] {
  const followed = cells.slots.filter(({ variants }) => variants !== undefined);
  const answer = followed.length > 0 ? answerBetween(from, to) : undefined;
  if (!answer) return [];
  return followed.filter((cell) => {
    const isSlot = (place: ts.Expression): boolean =>
      cells.slotAt(place) === cell || (ts.isIdentifier(place) && cells.at(place)?.nameOf === cell);
    return cell.variants !== undefined && leavesNothing(cell.variants, answer, isSlot);
  });
}
