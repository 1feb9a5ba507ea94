/**
 * Placement: which storages share a slot. A slot is one GPU buffer; its tenants never overlap in time (WebGPU forbids one buffer bound both read-only and
 * writable in a dispatch, so sharing is over time only). Greedy by size, the largest first, into the slot whose nearest tenant is closest in time
 * (Pisarchyk & Lee 2001.03288, "shared objects"). Pure; second pass of the pipeline.
 */
import type { Program } from "../graph/program.ts";
import type { LiveRange } from "./liveness.ts";

export interface Slot {
  /** Bytes of the buffer: the largest tenant. */
  readonly bytes: number;
  /** Storages that live in it, in order of time. */
  readonly tenants: readonly number[];
  /** The tenant that brings its buffer along at entry, or -1. */
  readonly entry: number;
  /** The tenant that keeps the buffer after the program, or -1: the buffer goes back to the pool. */
  readonly exit: number;
}

export interface Placement {
  readonly slots: readonly Slot[];
  /** Slot of each storage; -1 when it never needs memory. */
  readonly slotOf: readonly number[];
}

interface OpenSlot { bytes: number; tenants: number[]; entry: number; exit: number; fixed: boolean }

/**
 * @param ranges live range of each storage
 * @param atEntry storages that arrive with a buffer of their own, which has exactly their bytes
 * @param granule bytes a buffer really takes for a request: pinned storages only share a slot of their own size class, since they keep the buffer
 */
export function placeSlots(program: Program, ranges: readonly LiveRange[], atEntry: (storage: number) => boolean, granule: (bytes: number) => number): Placement {
  const slots: OpenSlot[] = [];
  const slotOf = program.storages.map(() => -1);
  const last = Math.max(0, ...ranges.map((r) => r.end));
  const isExit = (i: number): boolean => program.storages[i]!.pinned;

  // Buffers that arrive with a storage: it is their first tenant, and their size is given.
  const rest: number[] = [];
  ranges.forEach((r, i) => {
    if (atEntry(i)) { slotOf[i] = slots.length; slots.push({ bytes: program.storages[i]!.bytes, tenants: [i], entry: i, exit: isExit(i) ? i : -1, fixed: true }); }
    else if (r.begin < r.end || isExit(i)) rest.push(i);
  });

  // Everything else, largest first; among equals the longest.
  const length = (i: number): number => ranges[i]!.end - ranges[i]!.begin;
  rest.sort((a, b) => program.storages[b]!.bytes - program.storages[a]!.bytes || length(b) - length(a) || a - b);
  for (const i of rest) {
    const bytes = program.storages[i]!.bytes, range = ranges[i]!;
    let best = -1, bestGap = Infinity;
    slots.forEach((slot, k) => {
      if (slot.bytes < bytes || slot.exit !== -1 && isExit(i)) return;
      if (isExit(i) && granule(slot.bytes) !== granule(bytes)) return;
      if (!isExit(i) && slot.exit === -1 && slot.fixed && granule(slot.bytes) > 4 * granule(bytes)) return;
      const gap = gapTo(slot, range, ranges, last, isExit);
      if (gap < bestGap) { best = k; bestGap = gap; }
    });
    if (best === -1) { best = slots.length; slots.push({ bytes, tenants: [], entry: -1, exit: -1, fixed: false }); }
    const slot = slots[best]!;
    slot.tenants.push(i);
    if (isExit(i)) slot.exit = i;
    slotOf[i] = best;
  }
  for (const slot of slots) slot.tenants.sort((a, b) => ranges[a]!.begin - ranges[b]!.begin);
  return { slots: slots.map(({ bytes, tenants, entry, exit }) => ({ bytes, tenants, entry, exit })), slotOf };
}

/** Distance in positions to the nearest tenant, Infinity when one overlaps. A pinned tenant stays for ever. */
function gapTo(slot: OpenSlot, range: LiveRange, ranges: readonly LiveRange[], last: number, isExit: (i: number) => boolean): number {
  let gap = Number.MAX_SAFE_INTEGER;
  for (const t of slot.tenants) {
    const other = ranges[t]!;
    const end = isExit(t) ? last + 1 : other.end;
    if (range.begin < end && other.begin < range.end) return Infinity;
    gap = Math.min(gap, range.begin >= end ? range.begin - end : other.begin - range.end);
  }
  return gap;
}
