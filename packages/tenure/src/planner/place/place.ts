/**
 * Placement: which residencies share memory. Every planner here sees the same items and answers
 * with offsets, checked by the same `checkPlacement`. The ones that make slots are what runs: a
 * slot is one GPU buffer, its tenants never overlap in time (WebGPU forbids one buffer bound both
 * read-only and writable in a dispatch, so sharing is over time only). The others pack one arena,
 * as NNTrainer and TFLite do, and stand beside them for comparison. Pure.
 */
import { internal } from "../../base/errors.ts";

/** A residency to be placed: positions `begin` inclusive, `end` exclusive. */
export interface Item {
  readonly storage: number;
  readonly bytes: number;
  readonly begin: number;
  readonly end: number;
  /** Holds a value from the start. */
  readonly resident: boolean;
  /** Arrives with a buffer of exactly its bytes. */
  readonly entry: boolean;
  /** Keeps its buffer after the program. */
  readonly exit: boolean;
  /** A weight's gradient, which V2 treats apart. */
  readonly gradient: boolean;
  /**
   * Items that some op writes while it reads this one, or reads while it writes this one: never in
   * one buffer with it.
   */
  readonly apart?: ReadonlySet<number>;
}

export interface Placed {
  readonly name: string;
  /** Bytes of the arena, or of all slots. */
  readonly bytes: number;
  /** Offset of each item; with slots, one lies behind the other. */
  readonly offsets: readonly number[];
  /** Offset of each item in its slot, where that is not 0 for all. */
  readonly inSlot?: readonly number[];
  /** Slot of each item; absent for arenas. */
  readonly slotOf?: readonly number[];
  /** Bytes of each slot. */
  readonly slots?: readonly number[];
  /** Positions before and up to which each slot has a buffer, where that is not always. */
  readonly spans?: readonly (readonly [number, number])[];
}

export type Planner = (items: readonly Item[]) => Placed;

/** Half-open overlap in time; an item without duration overlaps nothing. */
export function overlap(a: Item, b: Item): boolean {
  return a.begin < b.end && b.begin < a.end && a.begin < a.end && b.begin < b.end;
}

/**
 * Checks that no two items share memory while both live, and that everything fits. @throws Error
 * (internal) at the first breach.
 */
export function checkPlacement(items: readonly Item[], placed: Placed): void {
  const order = items.map((_, i) => i).sort((a, b) => items[a]!.begin - items[b]!.begin);
  const live: number[] = [];
  for (const i of order) {
    const item = items[i]!,
      low = placed.offsets[i]!,
      high = low + item.bytes;
    if (low < 0 || high > placed.bytes)
      throw internal(`${placed.name}: item ${i} lies outside the memory`);
    for (let k = live.length - 1; k >= 0; k--) {
      const j = live[k]!,
        other = items[j]!;
      if (!overlap(item, other)) {
        if (other.end <= item.begin) live.splice(k, 1);
        continue;
      }
      if (low < placed.offsets[j]! + other.bytes && placed.offsets[j]! < high)
        throw internal(`${placed.name}: items ${j} and ${i} overlap in time and memory`);
    }
    live.push(i);
  }
}

// === Slots ===

interface OpenSlot {
  bytes: number;
  tenants: number[];
  exit: boolean;
  fixed: boolean;
}

/** How a policy picks a slot: among those free for the item's time, or -1 for a new one. */
type Choose = (
  item: Item,
  free: readonly { slot: number; bytes: number; gap: number; fixed: boolean }[],
) => number;

function packSlots(
  name: string,
  items: readonly Item[],
  order: readonly number[],
  mayGrow: boolean,
  choose: Choose,
): Placed {
  const slots: OpenSlot[] = [],
    slotOf = new Array<number>(items.length).fill(-1);
  items.forEach((item, i) => {
    if (item.entry) {
      slotOf[i] = slots.length;
      slots.push({
        bytes: item.bytes,
        tenants: item.begin < item.end ? [i] : [],
        exit: item.exit,
        fixed: true,
      });
    }
  });
  const open = openSlots(slots, items);
  for (const i of order) {
    const item = items[i]!;
    if (item.entry) continue;
    const free: { slot: number; bytes: number; gap: number; fixed: boolean }[] = [];
    for (const k of open) {
      const slot = slots[k]!;
      if (!takes(slot, item, mayGrow)) continue;
      const gap = gapTo(slot, item, items);
      if (gap !== Infinity) free.push({ slot: k, bytes: slot.bytes, gap, fixed: slot.fixed });
    }
    let best = choose(item, free);
    if (best === -1) {
      best = slots.length;
      open.push(best);
      slots.push({ bytes: item.bytes, tenants: [], exit: false, fixed: false });
    }
    const slot = slots[best]!;
    slot.bytes = Math.max(slot.bytes, item.bytes);
    slot.exit ||= item.exit;
    let at = slot.tenants.length;
    while (at > 0 && items[slot.tenants[at - 1]!]!.begin > item.begin) at--;
    slot.tenants.splice(at, 0, i);
    slotOf[i] = best;
  }
  return slotted(
    name,
    slots.map((s) => s.bytes),
    slotOf,
  );
}

function slotted(name: string, slots: readonly number[], slotOf: readonly number[]): Placed {
  const starts: number[] = [];
  let bytes = 0;
  for (const b of slots) {
    starts.push(bytes);
    bytes += b;
  }
  return { name, bytes, offsets: slotOf.map((s) => starts[s]!), slotOf, slots };
}

/** Slots that are not taken from beginning to end, as those of most parameters are. */
function openSlots(slots: readonly OpenSlot[], items: readonly Item[]): number[] {
  const end = items.reduce((last, i) => Math.max(last, i.end), 0);
  return slots.flatMap(({ tenants }, k) =>
    tenants.some((t) => items[t]!.begin === 0 && items[t]!.end === end) ? [] : [k],
  );
}

/**
 * Whether an item may live in a slot at all: a buffer that arrived has its size, and one that stays
 * has its owner's.
 */
function takes(
  slot: { readonly bytes: number; readonly exit: boolean; readonly fixed: boolean },
  item: Item,
  mayGrow: boolean,
): boolean {
  if (item.exit && slot.exit) return false;
  if (slot.bytes < item.bytes && (!mayGrow || slot.fixed || slot.exit)) return false;
  return !item.exit || slot.bytes === item.bytes;
}

/**
 * Distance in positions to the nearest tenant, Infinity when one overlaps. Tenants are sorted by
 * time and not empty.
 */
function gapTo(slot: OpenSlot, item: Item, items: readonly Item[]): number {
  const { tenants } = slot;
  let low = 0,
    high = tenants.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (items[tenants[mid]!]!.begin < item.begin) low = mid + 1;
    else high = mid;
  }
  const next = tenants[low],
    before = tenants[low - 1],
    { end } = item;
  let gap = Number.MAX_SAFE_INTEGER;
  if (next !== undefined) {
    if (overlap(item, items[next]!)) return Infinity;
    gap = Math.min(gap, items[next]!.begin - end);
  }
  if (before !== undefined) {
    if (overlap(item, items[before]!)) return Infinity;
    gap = Math.min(gap, item.begin - items[before]!.end);
  }
  return gap;
}

const duration = (i: Item): number => i.end - i.begin;
const sorted = (items: readonly Item[], by: (a: Item, b: Item) => number): number[] =>
  items.map((_, i) => i).sort((a, b) => by(items[a]!, items[b]!) || a - b);
const closest: Choose = (_, free) =>
  free.reduce((best, f) => (f.gap < best.gap ? f : best), { slot: -1, gap: Infinity }).slot;

const tightest: Choose = (item, free) => {
  let fit = -1,
    fitBytes = Infinity,
    grow = -1,
    growBytes = -1;
  for (const { slot, bytes } of free) {
    if (bytes >= item.bytes) {
      if (bytes < fitBytes) {
        fit = slot;
        fitBytes = bytes;
      }
    } else if (bytes > growBytes) {
      grow = slot;
      growBytes = bytes;
    }
  }
  return fit !== -1 ? fit : grow;
};

/**
 * As they begin, into the smallest free slot that is large enough, else the largest, which grows.
 * One pass over time, so programs of any length are placed.
 * @param waste how much larger a slot may be than its tenant, as a factor; slots don't grow when it
 *   is given
 */
function packInOrder(name: string, items: readonly Item[], waste = Infinity): Placed {
  const slots: OpenSlot[] = [],
    slotOf = new Array<number>(items.length).fill(-1),
    ends: number[][] = [],
    free: number[] = [];
  const take = (i: number, slot: number): void => {
    slotOf[i] = slot;
    if (!items[i]!.exit) (ends[items[i]!.end] ??= []).push(slot);
  };
  items.forEach((item, i) => {
    if (item.entry)
      take(i, slots.push({ bytes: item.bytes, tenants: [], exit: item.exit, fixed: true }) - 1);
  });
  let now = 0;
  for (const i of sorted(items, (a, b) => a.begin - b.begin || b.bytes - a.bytes)) {
    const item = items[i]!;
    if (item.entry) continue;
    for (; now <= item.begin; now++) for (const slot of ends[now] ?? []) free.push(slot);
    let at = -1,
      bytes = Infinity,
      grow = -1,
      growBytes = -1;
    for (let k = 0; k < free.length; k++) {
      const slot = free[k]!,
        size = slots[slot]!.bytes;
      if (size > waste * item.bytes || !takes(slots[slot]!, item, waste === Infinity)) continue;
      if (size >= item.bytes) {
        if (size < bytes || (size === bytes && slot < free[at]!)) {
          at = k;
          bytes = size;
        }
      } else if (size > growBytes || (size === growBytes && slot < free[grow]!)) {
        grow = k;
        growBytes = size;
      }
    }
    if (at === -1) at = grow;
    let best = free[at] ?? -1;
    if (best === -1)
      best = slots.push({ bytes: item.bytes, tenants: [], exit: item.exit, fixed: false }) - 1;
    else {
      free[at] = free.at(-1)!;
      free.pop();
    }
    slots[best]!.bytes = Math.max(slots[best]!.bytes, item.bytes);
    slots[best]!.exit ||= item.exit;
    take(i, best);
  }
  return slotted(
    name,
    slots.map((s) => s.bytes),
    slotOf,
  );
}

/** Every storage keeps memory of its own. */
function own(items: readonly Item[]): Placed {
  const first = new Map<number, number>(),
    slots: number[] = [];
  const slotOf = items.map((item) => {
    const known = first.get(item.storage);
    if (known !== undefined && !item.entry) {
      slots[known] = Math.max(slots[known]!, item.bytes);
      return known;
    }
    first.set(item.storage, slots.length);
    return slots.push(item.bytes) - 1;
  });
  return slotted("own", slots, slotOf);
}

/** Planners whose result can run. */
export const slotPlanners: Readonly<
  Record<"bySize" | "byBreadth" | "inOrder" | "alike" | "shared" | "own", Planner>
> = {
  // Largest first, into the slot whose nearest tenant is closest in time (Pisarchyk & Lee
  // 2001.03288).
  bySize: (items) =>
    packSlots(
      "bySize",
      items,
      sorted(items, (a, b) => b.bytes - a.bytes || duration(b) - duration(a)),
      false,
      closest,
    ),
  // Positions by live bytes, their items by size; the smallest slot that is large enough, else the
  // largest, which grows.
  byBreadth: (items) => {
    const live = new Float64Array(items.reduce((most, i) => Math.max(most, i.begin, i.end), 0) + 1);
    for (const { begin, end, bytes } of items)
      if (begin < end) {
        live[begin]! += bytes;
        live[end]! -= bytes;
      }
    for (let t = 1; t < live.length; t++) live[t]! += live[t - 1]!;
    return packSlots(
      "byBreadth",
      items,
      sorted(items, (a, b) => live[b.begin]! - live[a.begin]! || b.bytes - a.bytes),
      true,
      tightest,
    );
  },
  inOrder: (items) => packInOrder("inOrder", items),
  // As an allocator with size classes does.
  alike: (items) => packInOrder("alike", items, 1.25),
  // No order is always best.
  shared: (items) =>
    sharedOrders
      .map((by) => packShared(items, by))
      .reduce((best, next) => (next.bytes < best.bytes ? next : best)),
  own,
};

/** Largest first; among equals the longest, the first to begin, the last to end. */
const sharedOrders: readonly ((a: Item, b: Item) => number)[] = [
  (a, b) => b.bytes - a.bytes || duration(b) - duration(a),
  (a, b) => b.bytes - a.bytes || a.begin - b.begin,
  (a, b) => b.bytes - a.bytes || b.end - a.end,
];

/** WebGPU's alignment of bindings inside a buffer. */
export const bindingAlignment = 256;
const aligned = (bytes: number): number => Math.ceil(bytes / bindingAlignment) * bindingAlignment;

/**
 * Slots that hold several small tenants side by side, where an old large one was: largest first,
 * into the smallest gap of any slot. Items of one op of which one is written never share a buffer,
 * since WebGPU refuses a buffer that is bound read-only and writable in one dispatch; what stays
 * has its buffer alone.
 *
 *     slot 0   |######### a #########|== b ==|== c ==|  |######### d #########|     over time; b and c lie at different offsets
 */
function packShared(items: readonly Item[], by: (a: Item, b: Item) => number): Placed {
  const slots: (OpenSlot & { at: number[] })[] = [],
    slotOf = new Array<number>(items.length).fill(-1),
    at = new Array<number>(items.length).fill(0);
  items.forEach((item, i) => {
    if (item.entry) {
      slotOf[i] = slots.length;
      slots.push({
        bytes: item.bytes,
        tenants: item.begin < item.end ? [i] : [],
        exit: item.exit,
        fixed: true,
        at: [],
      });
    }
  });
  const open = openSlots(slots, items);
  for (const i of sorted(items, by)) {
    const item = items[i]!;
    if (item.entry) continue;
    let best = -1,
      offset = 0,
      gap = Infinity;
    for (const k of open) {
      if (gap === item.bytes) break;
      const slot = slots[k]!;
      if (!takes(slot, item, false)) continue;
      const found = gapIn(slot, item, items, at);
      if (found !== null && found.room < gap) {
        best = k;
        offset = found.offset;
        gap = found.room;
      }
    }
    if (best === -1) {
      best = slots.length;
      open.push(best);
      slots.push({ bytes: item.bytes, tenants: [], exit: false, fixed: false, at: [] });
    }
    slots[best]!.tenants.push(i);
    slots[best]!.exit ||= item.exit;
    slotOf[i] = best;
    at[i] = offset;
  }
  const placed = slotted(
    "shared",
    slots.map((s) => s.bytes),
    slotOf,
  );
  return { ...placed, offsets: placed.offsets.map((start, i) => start + at[i]!), inSlot: at };
}

/**
 * The smallest gap of a slot that an item fits into during its whole life. Uploads and what stays
 * lie at the front, and what stays lies alone.
 */
function gapIn(
  slot: OpenSlot,
  item: Item,
  items: readonly Item[],
  at: readonly number[],
): { offset: number; room: number } | null {
  const beside: number[] = [];
  for (const t of slot.tenants) {
    if (!overlap(items[t]!, item)) continue;
    if (item.exit || items[t]!.exit || item.resident || item.apart?.has(t) === true) return null;
    beside.push(t);
  }
  beside.sort((a, b) => at[a]! - at[b]!);
  let from = 0,
    best: { offset: number; room: number } | null = null;
  const consider = (to: number): void => {
    const room = to - from;
    if (room >= item.bytes && (best === null || room < best.room)) best = { offset: from, room };
  };
  for (const t of beside) {
    consider(at[t]!);
    from = Math.max(from, aligned(at[t]! + items[t]!.bytes));
  }
  consider(slot.bytes);
  return best;
}

/**
 * Items up to which the quadratic planners are tried, and up to which those are that take time with
 * each slot.
 */
const manyItems = 2500,
  veryManyItems = 8000;

/** The slot planners that share buffers, as far as they are worth their time for so many items. */
export function sharingPlanners(items: readonly Item[]): Planner[] {
  const { inOrder, alike, bySize, byBreadth, shared } = slotPlanners;
  return [
    inOrder,
    alike,
    ...(items.length <= veryManyItems ? [bySize] : []),
    ...(items.length <= manyItems ? [byBreadth, shared] : []),
  ];
}

/**
 * The best of all slot planners, and an exact search when that does not fit into the budget and the
 * items are few.
 */
export function placeSlots(items: readonly Item[], budgetBytes = Infinity, lowerBound = 0): Placed {
  const [first, ...others] = sharingPlanners(items);
  let best = first!(items);
  for (const next of [...others, slotPlanners.own]) {
    if (best.bytes <= lowerBound) return best;
    const placed = next(items);
    if (placed.bytes < best.bytes) best = placed;
  }
  return best.bytes > budgetBytes && best.bytes <= tight * budgetBytes && items.length <= fewItems
    ? searchSlots(items, best)
    : best;
}

/**
 * An exact search is tried when the best planner misses the budget by no more than this factor, and
 * the items are few.
 */
const tight = 1.25;
export const fewItems = 64;

/** Steps an exact search may take. */
const searchSteps = 2000;

/**
 * Depth-first search over all ways to share slots, largest items first, so that slots never grow;
 * cut where the sum is no better than the best known.
 */
export function searchSlots(items: readonly Item[], best: Placed): Placed {
  const order = sorted(
    items,
    (a, b) => Number(b.entry) - Number(a.entry) || b.bytes - a.bytes || duration(b) - duration(a),
  );
  const slots: { bytes: number; tenants: Item[]; exit: boolean; fixed: boolean }[] = [],
    slotOf = new Array<number>(items.length).fill(-1);
  let found = best,
    steps = 0;
  const visit = (k: number, sum: number): void => {
    if (sum >= found.bytes || ++steps > searchSteps) return;
    const i = order[k];
    if (i === undefined) {
      found = slotted(
        "search",
        slots.map((s) => s.bytes),
        [...slotOf],
      );
      return;
    }
    const item = items[i]!;
    if (!item.entry) {
      for (let s = 0; s < slots.length; s++) {
        const slot = slots[s]!;
        if (!takes(slot, item, false) || slot.tenants.some((t) => overlap(t, item))) continue;
        const { exit } = slot;
        slot.tenants.push(item);
        slot.exit ||= item.exit;
        slotOf[i] = s;
        visit(k + 1, sum);
        slot.tenants.pop();
        slot.exit = exit;
      }
    }
    slotOf[i] = slots.length;
    slots.push({ bytes: item.bytes, tenants: [item], exit: item.exit, fixed: item.entry });
    visit(k + 1, sum + item.bytes);
    slots.pop();
  };
  visit(0, 0);
  return found;
}
