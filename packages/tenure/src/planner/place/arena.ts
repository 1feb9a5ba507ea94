/**
 * Planners that pack one arena: NNTrainer's three, and first fit by size. WebGPU cannot run them
 * (one buffer may not be bound read-only and writable in a dispatch); reports show them beside the
 * slots that do run, and tests hold all to the same check. Pure.
 */
import { at, last } from "../../base/access.ts";
import { type Item, type Placed, type Placer, duration, indices, overlap } from "./items.ts";

const finish = (name: string, items: readonly Item[], offsets: readonly number[]): Placed => ({
  name,
  offsets,
  bytes: items.reduce((top, item, i) => Math.max(top, at(offsets, i) + item.bytes), 0),
});

/** No reuse: one behind the other. */
const basic: Placer = (items) => {
  let top = 0;
  const offsets = items.map(({ bytes }) => {
    const offset = top;
    top += bytes;
    return offset;
  });
  return finish("basic", items, offsets);
};

/**
 * A stack in order of begin and end: what expired is popped from its top, or reused in the middle
 * by an item of exactly its size.
 */
function stack(items: readonly Item[], chosen: readonly number[], offsets: number[]): void {
  const order = [...chosen].sort((a, b) => {
    const first = at(items, a);
    const second = at(items, b);
    return first.begin - second.begin || first.end - second.end;
  });
  const placed: number[] = []; // by rising offset
  for (const i of order) {
    const item = at(items, i);
    const expired = (j: number): boolean => at(items, j).end <= item.begin;
    while (placed.length > 0 && expired(last(placed))) placed.pop();
    const reused = placed.findLastIndex((j) => expired(j) && at(items, j).bytes === item.bytes);
    if (reused !== -1) {
      offsets[i] = at(offsets, at(placed, reused));
      placed[reused] = i;
      continue;
    }
    const top = placed.at(-1);
    offsets[i] = top === undefined ? 0 : at(offsets, top) + at(items, top).bytes;
    placed.push(i);
  }
}

const v1: Placer = (items) => {
  const offsets = items.map(() => 0);
  stack(items, indices(items), offsets);
  return finish("v1", items, offsets);
};

/**
 * V1 for all but weight gradients; those lie behind it, largest first, merged wherever half-open
 * intervals do not meet (NNTrainer's own test misses cases).
 */
const v2: Placer = (items) => {
  const offsets = items.map(() => 0);
  const isGradient = (i: number): boolean => at(items, i).gradient;
  const others = indices(items).filter((i) => !isGradient(i));
  stack(items, others, offsets);
  let top = others.reduce((most, i) => Math.max(most, at(offsets, i) + at(items, i).bytes), 0);
  const gradients = indices(items)
    .filter(isGradient)
    .sort((a, b) => at(items, b).bytes - at(items, a).bytes);
  const groups: { offset: number; members: Item[] }[] = [];
  for (const i of gradients) {
    const item = at(items, i);
    const group = groups.find((g) => !g.members.some((m) => overlap(m, item)));
    if (group !== undefined) {
      group.members.push(item);
      offsets[i] = group.offset;
      continue;
    }
    groups.push({ offset: top, members: [item] });
    offsets[i] = top;
    top += item.bytes;
  }
  return finish("v2", items, offsets);
};

/** The first gap that fits, or the smallest, among what overlaps in time. */
function fitGaps(
  name: string,
  items: readonly Item[],
  order: readonly number[],
  which: "first" | "smallest",
): Placed {
  const offsets = items.map(() => 0);
  const placed: number[] = []; // by rising offset
  for (const i of order) {
    const item = at(items, i);
    let from = 0;
    let found = -1;
    let room = Infinity;
    for (const j of placed) {
      const other = at(items, j);
      if (!overlap(other, item)) continue;
      const offset = at(offsets, j);
      const gap = offset - from;
      if (gap >= item.bytes && gap < room) {
        found = from;
        room = gap;
        if (which === "first") break;
      }
      from = Math.max(from, offset + other.bytes);
    }
    const offset = found === -1 ? from : found;
    offsets[i] = offset;
    let k = placed.length;
    while (k > 0 && at(offsets, at(placed, k - 1)) > offset) k--;
    placed.splice(k, 0, i);
  }
  return finish(name, items, offsets);
}

const v3: Placer = (items) => {
  const order = indices(items).sort((a, b) => at(items, a).begin - at(items, b).begin);
  return fitGaps("v3", items, order, "first");
};

/** Largest first, smallest gap that fits (TFLite, XLA). */
const arena: Placer = (items) => {
  const order = indices(items).sort((a, b) => {
    const first = at(items, a);
    const second = at(items, b);
    return second.bytes - first.bytes || duration(second) - duration(first);
  });
  return fitGaps("arena", items, order, "smallest");
};

/** Planners by the names that reports give them. */
export const arenaPlanners: Readonly<Record<"basic" | "v1" | "v2" | "v3" | "arena", Placer>> = {
  basic,
  v1,
  v2,
  v3,
  arena,
};
