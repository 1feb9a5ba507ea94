/**
 * Transient buffers: the placement for budgets that no set of buffers kept for the whole program
 * meets. A slot is opened right before its first tenant arrives and closed right behind its last,
 * so what is resident is exactly what is live, and parameters that wait on the host make room for
 * activations of any size. It costs making buffers while the program runs, and waiting for the
 * device to let the old ones go; so it is only used where that is cheaper than recomputing or
 * moving more. Pure.
 *
 *     slot 0   |== w ==|                         |== w ==|        closed while w is on the host
 *     slot 1            |######### a #########|                   in its place
 */
import { append, at, lookup } from "../../base/access.ts";
import type { Deadline } from "../deadline.ts";
import { type Item, type Placed, indices } from "./items.ts";

/** Seconds that opening one slot is thought to take. */
export const openingSeconds = 1e-4;

/** A slot: its bytes, and the positions between which it has a buffer. */
interface Span {
  readonly bytes: number;
  readonly begin: number;
  end: number;
}

/**
 * A slot per residency, except that one follows another of equal size in the same slot when keeping
 * it open in between fits into the budget.
 * @param length positions of the schedule
 */
export function placeSpans(
  items: readonly Item[],
  length: number,
  budgetBytes: number,
  deadline?: Deadline,
): Placed & { readonly spans: readonly (readonly [number, number])[] } {
  const curve = new Float64Array(length + 1);
  for (const { begin, end, bytes } of items) addBytes(curve, bytes, begin, end);
  const slots: Span[] = [];
  const slotOf = items.map(() => -1);
  /** Slots that may be used again, by their size. */
  const reusable = new Map<number, number[]>();
  const byTime = indices(items).sort((a, b) => {
    const first = at(items, a);
    const second = at(items, b);
    return first.begin - second.begin || first.end - second.end;
  });
  for (const i of byTime) {
    const { begin, end, bytes, entry, exit } = at(items, i);
    deadline?.check();
    const latest = entry || begin === 0 ? -1 : closedLast(reusable.get(bytes) ?? [], slots, begin);
    let slot = -1;
    if (latest !== -1) {
      const span = at(slots, latest);
      if (fits(curve, bytes, span.end, begin, budgetBytes)) {
        addBytes(curve, bytes, span.end, begin);
        slot = latest;
        span.end = end;
      }
    }
    if (slot === -1) {
      slot = slots.push({ bytes, begin, end }) - 1;
      append(reusable, bytes, slot);
    }
    if (exit) {
      const same = lookup(reusable, bytes);
      same.splice(same.indexOf(slot), 1); // its owner keeps it
    }
    slotOf[i] = slot;
  }
  return {
    name: "spans",
    bytes: mostBytes(items, curve),
    offsets: items.map(() => 0),
    slotOf,
    slots: slots.map((s) => s.bytes),
    spans: slots.map((s) => [s.begin, s.end]),
  };
}

/** Of the slots that are closed by a position, the last: the gaps of all others contain its gap. */
function closedLast(same: readonly number[], slots: readonly Span[], begin: number): number {
  let latest = -1;
  let latestEnd = -1;
  for (const slot of same) {
    const { end } = at(slots, slot);
    if (end > begin || end <= latestEnd) continue;
    latest = slot;
    latestEnd = end;
  }
  return latest;
}

function addBytes(curve: Float64Array, bytes: number, begin: number, end: number): void {
  for (let t = begin; t < end; t++) curve[t]! += bytes;
}

function fits(
  curve: Float64Array,
  bytes: number,
  begin: number,
  end: number,
  budgetBytes: number,
): boolean {
  for (let t = begin; t < end; t++) if (at(curve, t) + bytes > budgetBytes) return false;
  return true;
}

/**
 * Most bytes of open slots: before the first step those that arrive, whether or not anybody needs
 * them.
 */
function mostBytes(items: readonly Item[], curve: Float64Array): number {
  let most = 0;
  for (const { bytes, entry, resident } of items) if (entry || resident) most += bytes;
  for (const bytes of curve) if (bytes > most) most = bytes;
  return most;
}
