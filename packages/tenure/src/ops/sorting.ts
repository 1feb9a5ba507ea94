/**
 * The stable order of the elements along an axis, and the first few of it. Run by `tensor/run.ts`;
 * records own nothing.
 */
import type { View } from "../kernels/kernel.ts";
import { at } from "../base/access.ts";
import { pickGroups, pickLimit, sortBlock } from "../kernels/shapes.ts";
import { copy } from "./casting.ts";
import { withSize } from "./concat.ts";
import { type OpDef, type Value, defineOp } from "./op.ts";
import { slice } from "./views.ts";

/** Runs ops on gradient values or on tensors. */
export type RunOf<V extends Value> = <A>(
  op: OpDef<A>,
  inputs: readonly V[],
  attrs: A,
  scalars?: readonly number[],
) => V;

/** The axis that is sorted, and in which order. */
export interface SortAttrs {
  readonly axis: number;
  readonly descending: boolean;
}

/**
 * Positions along an axis that sort each block of 32 elements, stable; NaN counts as largest.
 * Sorted within blocks of `sortBlock` elements; `mergeBlocks` does the rest.
 */
export const sortBlocks: OpDef<SortAttrs> = defineOp<SortAttrs, [View]>({
  name: "sortBlocks",
  facts: {},
  family: "sequences",
  infer: ([x]) => [{ shape: x.layout.shape, dtype: "int32" }],
  key: ({ axis, descending }) => [axis, descending ? 1 : 0],
  kernel: ([x], _, { axis, descending }, caps, kernels) =>
    kernels.sortBlocksKernel({ input: x, axis, descending }, caps),
  flops: ([x], _, { axis }) => x.layout.size * Math.min(at(x.layout.shape, axis), sortBlock),
});

/**
 * Merges pairs of sorted blocks: inputs are the elements and their positions in order within blocks
 * of a width.
 */
export const mergeBlocks: OpDef<SortAttrs & { readonly width: number }> = defineOp<
  SortAttrs & { readonly width: number },
  [View, View]
>({
  name: "mergeBlocks",
  facts: {},
  family: "sequences",
  infer: ([x]) => [{ shape: x.layout.shape, dtype: "int32" }],
  key: ({ axis, descending, width }) => [axis, descending ? 1 : 0, width],
  kernel: ([x, order], _, attrs, caps, kernels) =>
    kernels.mergeBlocksKernel({ ...attrs, input: x, order }, caps),
  flops: ([x], _, { width }) => x.layout.size * Math.ceil(Math.log2(width)),
});

/** How many elements each group of positions keeps, and how many groups there are. */
export interface PickAttrs extends SortAttrs {
  readonly count: number;
  readonly groups: number;
}

/**
 * Positions of the first few of each group of an axis in sorted order, stable; NaN counts as
 * largest. Candidate j belongs to group j mod groups. Inputs: x, and the candidates' positions
 * unless all are.
 */
export const pick: OpDef<PickAttrs> = defineOp<PickAttrs, [View, View?]>({
  name: "pick",
  facts: {},
  family: "sequences",
  infer: ([x], { axis, count, groups }) => [
    { shape: withSize(x.layout.shape, axis, count * groups), dtype: "int32" },
  ],
  key: ({ axis, descending, count, groups }) => [axis, descending ? 1 : 0, count, groups],
  kernel: ([x, candidates], _, attrs, caps, kernels) =>
    kernels.pickKernel(
      { ...attrs, input: x, ...(candidates === undefined ? {} : { candidates }) },
      caps,
    ),
  flops: ([x, candidates]) => (candidates ?? x).layout.size,
});

/**
 * The first `count` positions in the stable order along an axis, int32. Sorts everything only for
 * many of them.
 */
export function firstOf<V extends Value>(run: RunOf<V>, x: V, attrs: SortAttrs, count: number): V {
  const { axis } = attrs,
    size = at(x.shape, axis);
  if (count === 0 || count > pickLimit)
    return run(
      copy,
      [run(slice, [orderOf(run, x, attrs)], { axis, start: 0, end: count, step: 1 })],
      undefined,
    );
  let groups = pickGroups(size, count),
    best = run(pick, [x], { ...attrs, count, groups });
  while (groups > 1) {
    groups = pickGroups(groups * count, count);
    best = run(pick, [x, best], { ...attrs, count, groups });
  }
  return best;
}

/** The stable order along an axis: int32 positions. */
export function orderOf<V extends Value>(run: RunOf<V>, x: V, attrs: SortAttrs): V {
  let order = run(sortBlocks, [x], attrs);
  for (let width = sortBlock; width < at(x.shape, attrs.axis); width *= 2)
    order = run(mergeBlocks, [x, order], { ...attrs, width });
  return order;
}
