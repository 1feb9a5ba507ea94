/**
 * Layouts of elementwise ops laid over the elements of a kernel: their dimensions in another order,
 * their shape refined. Called by draft.ts. Pure.
 */
import {
  type Layout,
  permuteLayout,
  refineShapes,
  reshapeLayout,
  stridedLayout,
} from "../../base/layout.ts";
import type { Shape } from "../../base/shape.ts";

/** What two shapes refine; most often they are the same. */
export function refined(a: Shape, b: Shape): Shape | undefined {
  const same = a.length === b.length && a.every((d, k) => d === b[k] && d > 1);
  return same ? a : refineShapes(a, b);
}

/** Layouts with their dimensions in another order; undefined for the order they have. */
export function inOrder(
  layouts: readonly Layout[],
  order: readonly number[] | undefined,
): readonly Layout[] {
  return order === undefined ? layouts : layouts.map((l) => permuteLayout(l, order));
}

/** Whether each layout can be laid over the shape of a section. */
export function mayLayOver(layouts: readonly Layout[], space: Shape, small: boolean): boolean {
  for (const l of layouts)
    if (!l.contiguous && layOver(l, space, small) === undefined) return false;
  return true;
}

/** A layout over the shape of a section; a small one repeats its number. */
export function layOver(layout: Layout, space: Shape, small: boolean): Layout | undefined {
  if (!small) return reshapeLayout(layout, space);
  return stridedLayout(
    space,
    space.map(() => 0),
    layout.offset,
  );
}

/**
 * The order of the dimensions of `layout` in which it visits the elements as `like` does; null when
 * there is none.
 */
export function reordered(layout: Layout, like: Layout): number[] | null {
  if (layout.size !== like.size || layout.offset !== like.offset) return null;
  const left = layout.shape
    .map((length, dimension) => ({ length, stride: layout.strides[dimension], dimension }))
    .filter(({ length }) => length !== 1);
  const order: number[] = [];
  for (const [k, length] of like.shape.entries()) {
    if (length === 1) continue;
    const found = left.findIndex((d) => d.length === length && d.stride === like.strides[k]);
    if (found === -1) return null;
    for (const { dimension } of left.splice(found, 1)) order.push(dimension);
  }
  return left.length === 0 ? order : null;
}
