/**
 * Buffers that come and go: the placement for budgets that no set of buffers kept for the whole
 * program meets. A slot is opened right before its first tenant arrives and closed right behind its
 * last, so what is resident is exactly what is live, and parameters that wait on the host make room
 * for activations of any size. It costs making buffers while the program runs, and waiting for the
 * device to let the old ones go; so it is only used where that is cheaper than computing or moving
 * more. Pure.
 *
 *     slot 0   |== w ==|                         |== w ==|        closed while w is on the host
 *     slot 1            |######### a #########|                   in its place
 */
import type { Item, Placed } from "./place.ts";

/** Seconds that opening one slot is thought to take. */
export const openingSeconds = 1e-4;

/**
 * A slot per residency, except that one follows another of equal size in the same slot when keeping
 * it open in between fits into the budget.
 * @param length positions of the schedule
 */
export function placeSpans(
  items: readonly Item[],
  length: number,
  budgetBytes: number,
): Placed & { readonly spans: readonly (readonly [number, number])[] } {
  const curve = new Float64Array(length + 1);
  for (const { begin, end, bytes } of items) for (let t = begin; t < end; t++) curve[t]! += bytes;
  const slots: number[] = [],
    spans: [number, number][] = [],
    slotOf = new Array<number>(items.length).fill(-1),
    closed = new Map<number, number[]>();
  const waiting = items
    .map((_, i) => i)
    .sort((a, b) => items[a]!.begin - items[b]!.begin || items[a]!.end - items[b]!.end);
  for (const i of waiting) {
    const { begin, end, bytes, entry, exit } = items[i]!,
      same = closed.get(bytes) ?? [];
    if (same.length === 0) closed.set(bytes, same);
    // The one closed last: the gaps of all others contain its gap.
    const latest = same.reduce(
      (best, s) =>
        spans[s]![1] <= begin && (best === -1 || spans[s]![1] > spans[best]![1]) ? s : best,
      -1,
    );
    let slot = -1;
    if (latest !== -1 && !entry && begin > 0) {
      const from = spans[latest]![1];
      let fits = true;
      for (let t = from; t < begin && fits; t++) fits = curve[t]! + bytes <= budgetBytes;
      if (fits) {
        for (let t = from; t < begin; t++) curve[t]! += bytes;
        slot = latest;
        spans[slot]![1] = end;
      }
    }
    if (slot === -1) {
      slot = slots.push(bytes) - 1;
      spans.push([begin, end]);
      same.push(slot);
    }
    if (exit) same.splice(same.indexOf(slot), 1); // its owner keeps it
    slotOf[i] = slot;
  }
  return {
    name: "spans",
    bytes: spanBytes(items, curve),
    offsets: items.map(() => 0),
    slotOf,
    slots,
    spans,
  };
}

/**
 * Most bytes of open slots: before the first step those that arrive, whether or not anybody needs
 * them.
 */
function spanBytes(items: readonly Item[], curve: Float64Array): number {
  let most = 0;
  for (const { bytes, entry, resident } of items) if (entry || resident) most += bytes;
  for (const bytes of curve) if (bytes > most) most = bytes;
  return most;
}
