/**
 * Layout: how a tensor's elements lie in its storage (shape, strides, offset, all in elements).
 * Views share a storage and differ only in layout. Pure values, never mutated; read by ops, kernels
 * and runtime. Owns nothing.
 */
import { ShapeError } from "./errors.ts";
import { describeValue } from "./options.ts";
import { type Shape, formatShape, sizeOf } from "./shape.ts";

/**
 * Geometry of a view. Element `i` lies at `offset + Σ i[k]·strides[k]` of the storage. A stride of
 * 0 repeats.
 */
export interface Layout {
  readonly shape: Shape;
  /** One stride per dimension, in elements. */
  readonly strides: readonly number[];
  /** Index of the first element in the storage. */
  readonly offset: number;
  /** Number of elements. */
  readonly size: number;
  /** True when the elements are exactly `offset … offset + size` in row-major order. */
  readonly contiguous: boolean;
}

/** Row-major strides of a shape. */
export function rowMajor(shape: Shape): number[] {
  const strides = new Array<number>(shape.length);
  let step = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    strides[i] = step;
    step *= shape[i]!;
  }
  return strides;
}

/** A fresh row-major layout at offset 0. */
export function contiguousLayout(shape: Shape): Layout {
  return { shape, strides: rowMajor(shape), offset: 0, size: sizeOf(shape), contiguous: true };
}

/** A layout with explicit strides; finds out by itself whether it is contiguous. */
export function stridedLayout(shape: Shape, strides: readonly number[], offset: number): Layout {
  let contiguous = true;
  const size = sizeOf(shape);
  if (size > 0) {
    for (let i = shape.length - 1, step = 1; i >= 0; i--) {
      if (shape[i] !== 1 && strides[i] !== step) {
        contiguous = false;
        break;
      }
      step *= shape[i]!;
    }
  }
  return { shape, strides, offset, size, contiguous };
}

/**
 * The same elements repeated to `shape` by stride 0, aligned at the right. The caller has checked
 * that they broadcast.
 */
export function broadcastLayout(layout: Layout, shape: Shape): Layout {
  const pad = shape.length - layout.shape.length;
  const strides = shape.map((_, i) =>
    i < pad || layout.shape[i - pad] === 1 ? 0 : layout.strides[i - pad]!,
  );
  return stridedLayout(shape, strides, layout.offset);
}

/** The dimensions of a layout in another order: dimension i of the result is `order[i]`. */
export function permuteLayout(layout: Layout, order: readonly number[]): Layout {
  return stridedLayout(
    order.map((i) => layout.shape[i]!),
    order.map((i) => layout.strides[i]!),
    layout.offset,
  );
}

/**
 * The layout of `shape` over the same elements in the same order, or `undefined` when strides
 * cannot express it and a copy is needed. Dimensions are grouped greedily: a group of old
 * dimensions that is contiguous within itself can be split any way.
 */
export function reshapeLayout(layout: Layout, shape: Shape): Layout | undefined {
  if (layout.contiguous) return { ...contiguousLayout(shape), offset: layout.offset };
  if (layout.size === 0) return { ...contiguousLayout(shape), offset: layout.offset };
  const oldDims: number[] = [],
    oldStrides: number[] = [];
  layout.shape.forEach((d, i) => {
    if (d !== 1) {
      oldDims.push(d);
      oldStrides.push(layout.strides[i]!);
    }
  });
  const strides = new Array<number>(shape.length).fill(0);
  let oi = 0,
    ni = 0;
  while (oi < oldDims.length && ni < shape.length) {
    let oldSize = oldDims[oi]!,
      newSize = shape[ni]!;
    let oEnd = oi + 1,
      nEnd = ni + 1;
    while (oldSize !== newSize) {
      if (oldSize < newSize) oldSize *= oldDims[oEnd++]!;
      else newSize *= shape[nEnd++]!;
    }
    for (let k = oi; k < oEnd - 1; k++)
      if (oldStrides[k] !== oldStrides[k + 1]! * oldDims[k + 1]!) return undefined;
    let step = oldStrides[oEnd - 1]!;
    for (let k = nEnd - 1; k >= ni; k--) {
      strides[k] = step;
      step *= shape[k]!;
    }
    oi = oEnd;
    ni = nEnd;
  }
  for (; ni < shape.length; ni++) strides[ni] = 1; // only dimensions of 1 are left
  return stridedLayout(shape, strides, layout.offset);
}

/**
 * `start ≤ i < end` by `step` along `axis`. Negative positions count from the end, as in NumPy;
 * positions are clamped to the dimension.
 * @throws ShapeError when `step` is not a positive integer.
 */
export function sliceLayout(
  op: string,
  layout: Layout,
  axis: number,
  start: number,
  end: number,
  step: number,
): Layout {
  if (!Number.isInteger(step) || step < 1)
    throw new ShapeError(
      op,
      "a step that is a positive integer",
      describeValue(step),
      "use flip() to go backwards",
    );
  if (!Number.isInteger(start) || !Number.isInteger(end))
    throw new ShapeError(
      op,
      "integer positions",
      `${describeValue(start)}:${describeValue(end)}`,
      `of ${formatShape(layout.shape)}`,
    );
  const dim = layout.shape[axis]!;
  const clamp = (p: number): number => Math.min(Math.max(p < 0 ? p + dim : p, 0), dim);
  const from = clamp(start),
    to = Math.max(clamp(end), from);
  const shape = layout.shape.slice(),
    strides = layout.strides.slice();
  shape[axis] = Math.ceil((to - from) / step);
  strides[axis] = layout.strides[axis]! * step;
  return stridedLayout(
    shape,
    strides,
    layout.offset + (shape[axis] === 0 ? 0 : from * layout.strides[axis]!),
  );
}

/**
 * The same view with neighbouring dimensions merged wherever every given layout allows it, and
 * dimensions of 1 dropped: kernels then do the least index arithmetic. All layouts must have the
 * same shape; at least one dimension remains.
 */
export function collapse(layouts: readonly Layout[]): { shape: number[]; strides: number[][] } {
  const shape: number[] = [],
    strides: number[][] = layouts.map(() => []);
  const first = layouts[0]!;
  for (let i = 0; i < first.shape.length; i++) {
    const d = first.shape[i]!;
    if (d === 1) continue;
    const last = shape.length - 1;
    const mergeable = last >= 0 && layouts.every((l, k) => strides[k]![last] === l.strides[i]! * d);
    if (mergeable) {
      shape[last]! *= d;
      layouts.forEach((l, k) => {
        strides[k]![last] = l.strides[i]!;
      });
    } else {
      shape.push(d);
      layouts.forEach((l, k) => strides[k]!.push(l.strides[i]!));
    }
  }
  if (shape.length === 0) {
    shape.push(1);
    strides.forEach((s) => s.push(0));
  }
  return { shape, strides };
}

/**
 * The coarsest shape whose dimensions split those of both: every layout over either has one over
 * it. `undefined` when there is none, or the sizes differ.
 */
export function refineShapes(a: Shape, b: Shape): number[] | undefined {
  if (sizeOf(a) !== sizeOf(b)) return undefined;
  if (sizeOf(a) <= 1) return [...a];
  const products = new Set<number>();
  for (const shape of [a, b])
    for (let i = shape.length - 1, step = 1; i >= 0; i--) {
      step *= shape[i]!;
      products.add(step);
    }
  products.delete(1);
  const dims: number[] = [];
  let below = 1;
  for (const step of [...products].sort((x, y) => x - y)) {
    if (step % below !== 0) return undefined;
    dims.unshift(step / below);
    below = step;
  }
  return dims;
}

/**
 * Whether two layouts over shapes of one size visit the same elements of a storage in the same
 * order.
 */
export function sameElements(a: Layout, b: Layout): boolean {
  if (a.size !== b.size || a.offset !== b.offset) return false;
  if (a.contiguous && b.contiguous) return true;
  const x = merged(a),
    y = merged(b);
  return x.length === y.length && x.every(([d, s], i) => d === y[i]![0] && s === y[i]![1]);
}

/**
 * Dimensions and strides of a layout with neighbours merged wherever possible: equal walks have
 * equal lists.
 */
function merged(layout: Layout): [size: number, stride: number][] {
  const { shape, strides } = collapse([layout]);
  return shape.map((d, i) => [d, strides[0]![i]!]);
}

/** Whether two layouts have the same shape and put every element in the same place. */
export function sameView(a: Layout, b: Layout): boolean {
  return (
    a.offset === b.offset &&
    a.shape.length === b.shape.length &&
    a.shape.every((d, i) => d === b.shape[i] && (d === 1 || a.strides[i] === b.strides[i]))
  );
}
