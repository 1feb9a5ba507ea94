/**
 * What a chart shows per column of pixels, and where blocks lie in it. Every column shows the
 * moment with most bytes in it, so that no peak falls between pixels; what is clicked is what is
 * shown. Called at each change of the view. Pure.
 */
import { type Axis, type View } from "./zoom.ts";
import type { Block, Model } from "./model.ts";

/** Per column: the event that is shown, -1 for none, and the most bytes on the device. */
export interface Columns {
  readonly shown: Int32Array;
  readonly device: Float64Array;
}

/** The columns of a view. */
export function columnsOf(model: Model, axis: Axis, view: View, count: number): Columns {
  const { sum, device } = model;
  const shown = new Int32Array(count).fill(-1);
  const most = new Float64Array(count);
  const each = (view.to - view.from) / count;
  let i = axis.indexAt(view.from);
  for (let x = 0; x < count; x++) {
    const until = view.from + (x + 1) * each;
    let best = i;
    let held = device[i] ?? 0;
    while (i + 1 < sum.length && axis.of(i + 1) <= until) {
      i++;
      if (best === -1 || (sum[i] ?? 0) >= (sum[best] ?? 0)) best = i;
      held = Math.max(held, device[i] ?? 0);
    }
    shown[x] = best;
    most[x] = held;
  }
  return { shown, device: most };
}

/** A block while one kind owns it: between two events, the second exclusive. */
export interface Stay {
  readonly block: Block;
  readonly from: number;
  readonly to: number;
}

/** Per kind, by beginning: who owned which block from when to when. */
export function staysOf({ blocks, bytes }: Model): readonly Stay[][] {
  const stays: Stay[][] = bytes.map(() => []);
  for (const block of blocks)
    for (const [k, { index, kind }] of block.owners.entries())
      stays[kind]?.push({ block, from: index, to: block.owners[k + 1]?.index ?? Infinity });
  for (const list of stays) list.sort((a, b) => a.from - b.from);
  return stays;
}

/** A block's rectangle: columns from and to, and bytes below it. */
export interface Rectangle {
  readonly block: Block;
  readonly from: number;
  to: number;
  readonly below: number;
}

/** More blocks than this at one time are too thin to be told apart. */
const manyBlocks = 3000;

/**
 * The rectangles of blocks that are as large as `least` bytes, and those of `selected`. `stays`:
 * see `staysOf`.
 */
export function rectanglesOf(
  model: Model,
  stays: readonly Stay[][],
  { shown }: Columns,
  least: number,
  selected: Block | null,
): Rectangle[] {
  const found: Rectangle[] = [];
  const base = new Float64Array(shown.length);
  for (const [kind, list] of stays.entries()) {
    const series = model.bytes[kind];
    let open = new Map<Block, Rectangle>();
    let active: Stay[] = [];
    let next = 0;
    for (const [x, i] of shown.entries()) {
      if (x === 0 || i !== shown[x - 1]) {
        active = active.filter(({ to }) => to > i);
        const before = active.length;
        for (let stay = list[next]; stay !== undefined && stay.from <= i; stay = list[++next])
          if (stay.to > i) active.push(stay);
        if (active.length > before) active.sort((a, b) => a.block.order - b.block.order);
      }
      const still = new Map<Block, Rectangle>();
      let below = base[x] ?? 0;
      base[x] = below + (series?.[i] ?? 0);
      for (const { block } of active) {
        if (block === selected || (block.bytes >= least && active.length < manyBlocks)) {
          let rectangle = open.get(block);
          if (rectangle?.below !== below) {
            rectangle = { block, from: x, to: x, below };
            found.push(rectangle);
          }
          rectangle.to = x + 1;
          still.set(block, rectangle);
        }
        below += block.bytes;
      }
      open = still;
    }
  }
  return found;
}
