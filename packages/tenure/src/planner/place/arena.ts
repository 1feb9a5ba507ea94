/**
 * Planners that pack one arena: NNTrainer's three, and first fit by size. WebGPU cannot run them
 * (one buffer may not be bound read-only and writable in a dispatch); reports show them beside the
 * slots that do run, and tests hold all to the same check. Pure.
 */
import { type Item, type Placed, type Planner, overlap } from "./place.ts";

const finish = (name: string, items: readonly Item[], offsets: readonly number[]): Placed => ({
  name,
  offsets,
  bytes: items.reduce((top, item, i) => Math.max(top, offsets[i]! + item.bytes), 0),
});
const length = (i: Item): number => i.end - i.begin;

/** No reuse: one behind the other. */
const basic: Planner = (items) => {
  let top = 0;
  return finish(
    "basic",
    items,
    items.map(({ bytes }) => {
      const at = top;
      top += bytes;
      return at;
    }),
  );
};

/**
 * A stack in order of begin and end: what expired is popped from its top, or reused in the middle
 * by an item of exactly its size.
 */
function stack(items: readonly Item[], chosen: readonly number[], offsets: number[]): void {
  const order = [...chosen].sort(
    (a, b) => items[a]!.begin - items[b]!.begin || items[a]!.end - items[b]!.end,
  );
  const placed: number[] = []; // by rising offset
  for (const i of order) {
    const item = items[i]!,
      expired = (j: number): boolean => items[j]!.end <= item.begin;
    while (placed.length > 0 && expired(placed.at(-1)!)) placed.pop();
    let at = -1;
    for (let k = placed.length - 1; k >= 0 && at === -1; k--)
      if (expired(placed[k]!) && items[placed[k]!]!.bytes === item.bytes) at = k;
    if (at !== -1) {
      offsets[i] = offsets[placed[at]!]!;
      placed[at] = i;
      continue;
    }
    const top = placed.at(-1);
    offsets[i] = top === undefined ? 0 : offsets[top]! + items[top]!.bytes;
    placed.push(i);
  }
}

const v1: Planner = (items) => {
  const offsets = new Array<number>(items.length).fill(0);
  stack(
    items,
    items.map((_, i) => i),
    offsets,
  );
  return finish("v1", items, offsets);
};

/**
 * V1 for all but weight gradients; those lie behind it, largest first, merged wherever half-open
 * intervals do not meet (NNTrainer's own test misses cases).
 */
const v2: Planner = (items) => {
  const offsets = new Array<number>(items.length).fill(0);
  stack(
    items,
    items.map((_, i) => i).filter((i) => !items[i]!.gradient),
    offsets,
  );
  let top = items.reduce(
    (most, item, i) => (item.gradient ? most : Math.max(most, offsets[i]! + item.bytes)),
    0,
  );
  const groups: { offset: number; members: number[] }[] = [];
  for (const i of items
    .map((_, k) => k)
    .filter((k) => items[k]!.gradient)
    .sort((a, b) => items[b]!.bytes - items[a]!.bytes)) {
    const group = groups.find((g) => !g.members.some((m) => overlap(items[m]!, items[i]!)));
    if (group === undefined) {
      groups.push({ offset: top, members: [i] });
      offsets[i] = top;
      top += items[i]!.bytes;
    } else {
      group.members.push(i);
      offsets[i] = group.offset;
    }
  }
  return finish("v2", items, offsets);
};

/** The first gap that fits, among what overlaps in time. */
function firstFit(
  items: readonly Item[],
  order: readonly number[],
  name: string,
  best: boolean,
): Placed {
  const offsets = new Array<number>(items.length).fill(0),
    placed: number[] = []; // by rising offset
  for (const i of order) {
    const item = items[i]!;
    let from = 0,
      at = -1,
      room = Infinity;
    for (const j of placed) {
      if (!overlap(items[j]!, item)) continue;
      const gap = offsets[j]! - from;
      if (gap >= item.bytes && gap < room) {
        at = from;
        room = gap;
        if (!best) break;
      }
      from = Math.max(from, offsets[j]! + items[j]!.bytes);
    }
    offsets[i] = at === -1 ? from : at;
    let k = placed.length;
    while (k > 0 && offsets[placed[k - 1]!]! > offsets[i]) k--;
    placed.splice(k, 0, i);
  }
  return finish(name, items, offsets);
}

const v3: Planner = (items) =>
  firstFit(
    items,
    items.map((_, i) => i).sort((a, b) => items[a]!.begin - items[b]!.begin),
    "v3",
    false,
  );

/** Largest first, smallest gap that fits (TFLite, XLA). */
const arena: Planner = (items) =>
  firstFit(
    items,
    items
      .map((_, i) => i)
      .sort((a, b) => items[b]!.bytes - items[a]!.bytes || length(items[b]!) - length(items[a]!)),
    "arena",
    true,
  );

export const arenaPlanners: Readonly<Record<"basic" | "v1" | "v2" | "v3" | "arena", Planner>> = {
  basic,
  v1,
  v2,
  v3,
  arena,
};
