/**
 * Sorting, repeating, turning round and running totals as methods, named as in PyTorch.
 * Intermediates are freed here.
 */
import { promote } from "../../base/dtype.ts";
import { ArgumentError, calledAs } from "../../base/errors.ts";
import { checkArray, describeValue } from "../../base/options.ts";
import { type Shape, formatShape, normalizeAxes, normalizeAxis } from "../../base/shape.ts";
import { concat, flip } from "../../ops/concat.ts";
import { firstOf, orderOf } from "../../ops/sorting.ts";
import { cumProd, cumSum } from "../../ops/scan.ts";
import { composed } from "../../ownership/scoped.ts";
import { call, live } from "../call.ts";
import { GatherMethods } from "./gather.ts";
import { alongAxis } from "./reduce.ts";
import { dims } from "./views.ts";

/** Values with the positions they came from. */
export interface SortedOf<T> {
  readonly values: T;
  readonly indices: T;
}

/** Tensors that one dispatch can concatenate: every device binds 8 buffers, one is the result. */
const mostInputs = 7;

/** Tensors one after the other along an axis, in the dtype that holds them all. */
export function concatenate<T extends GatherMethods>(tensors: readonly T[], axis: number): T {
  const dtype = tensors.map((t) => t.dtype).reduce(promote);
  return composed(() => {
    let list = tensors.map((t) => t.to(dtype));
    while (list.length > mostInputs)
      list = Array.from({ length: Math.ceil(list.length / mostInputs) }, (_, k) =>
        call(concat, list.slice(k * mostInputs, (k + 1) * mostInputs), { axis }),
      );
    return call(concat, list, { axis });
  }, "concat");
}

/** Elements in another order, or more than once. */
export abstract class RearrangeMethods extends GatherMethods {
  /**
   * Elements of an axis in order, and where they were. Stable; NaN counts as the largest value.
   * @throws ShapeError for an axis out of range
   */
  sort(axis = -1, descending = false): SortedOf<this> {
    return composed(() => {
      const indices = this.argSort(axis, descending);
      return this.rank === 0
        ? { values: this.clone(), indices }
        : { values: this.gather(axis, indices), indices };
    }, "sort");
  }

  /**
   * Positions that sort an axis, int32. Stable; NaN counts as the largest value.
   * @throws ShapeError for an axis out of range
   */
  argSort(axis = -1, descending = false): this {
    const { shape } = live(this, "argSort").layout;
    if (shape.length === 0)
      return composed(() => this.reshape(1).argSort(0, descending).reshape(), "argSort");
    const at = normalizeAxis("argSort", axis, shape.length);
    return composed(() => orderOf<this>(call, this, { axis: at, descending }), "argSort");
  }

  /**
   * The `k` largest (or smallest) elements of an axis in order, and where they were.
   * @throws ArgumentError for a k larger than the axis, ShapeError for an axis out of range
   */
  topK(k: number, axis = -1, largest = true): SortedOf<this> {
    const { shape } = live(this, "topK").layout;
    if (shape.length === 0)
      return composed(() => {
        const { values, indices } = this.reshape(1).topK(k, 0, largest);
        return { values: values.sum(), indices: indices.sum() };
      }, "topK");
    const at = normalizeAxis("topK", axis, shape.length);
    if (!Number.isInteger(k) || k < 0 || k > shape[at]!)
      throw new ArgumentError(
        "topK",
        `a number from 0 to ${shape[at]}`,
        describeValue(k),
        "take fewer elements, or another axis",
      );
    return composed(() => {
      const indices = firstOf<this>(call, this, { axis: at, descending: largest }, k);
      return { values: this.gather(at, indices), indices };
    }, "topK");
  }

  /**
   * Elements in reverse order along the axes.
   * @throws ShapeError for an axis out of range or given twice
   * @example
   * ```ts
   * using x = tensor([1, 2, 3]);
   * using y = x.flip(0);
   * console.log(await y.toArray()); // → [ 3, 2, 1 ]
   * ```
   */
  flip(...axes: readonly number[] | [readonly number[]]): this {
    const list = normalizeAxes("flip", dims(axes), live(this, "flip").layout.shape.length);
    return composed(
      () => list.reduce<this>((t, axis) => call(flip, [t], { axis }), this.alias()),
      "flip",
    );
  }

  /**
   * Elements moved on along axes, from the end back to the beginning. Without axes: of the
   * flattened tensor.
   * @throws ArgumentError for fractions, or another number of shifts than of axes, ShapeError for
   *   an axis out of range
   */
  roll(shifts: number | readonly number[], axes?: number | readonly number[]): this {
    const { shape } = live(this, "roll").layout,
      by = typeof shifts === "number" ? [shifts] : shifts;
    checkArray("roll", "shifts", by);
    if (by.some((n) => !Number.isInteger(n)))
      throw new ArgumentError(
        "roll",
        "whole numbers",
        formatShape(by),
        "pass integers; negative ones move towards the front",
      );
    if (axes === undefined) {
      if (by.length !== 1)
        throw new ArgumentError(
          "roll",
          "one shift without axes",
          String(by.length),
          "name the axes",
        );
      return composed(() => this.reshape(-1).roll(by, 0).reshape(shape), "roll");
    }
    const named = typeof axes === "number" ? [axes] : axes;
    checkArray("roll", "axes", named);
    const along = named.map((a) => normalizeAxis("roll", a, shape.length));
    if (along.length !== by.length)
      throw new ArgumentError(
        "roll",
        "as many shifts as axes",
        `${by.length} and ${along.length}`,
        "name an axis for each shift",
      );
    return composed(
      () =>
        along.reduce<this>((t, axis, i) => {
          const dim = shape[axis]!,
            cut = dim === 0 ? 0 : ((-by[i]! % dim) + dim) % dim;
          return cut === 0 ? t : concatenate([t.slice(axis, cut), t.slice(axis, 0, cut)], axis);
        }, this.alias()),
      "roll",
    );
  }

  /**
   * The tensor so many times along each dimension; more counts than dimensions add dimensions in
   * front.
   * @throws ArgumentError for a count below 0 or fewer counts than dimensions, ShapeError for a
   *   result of 2^31 elements or more
   */
  repeat(...given: readonly number[] | [readonly number[]]): this {
    const counts = dims(given);
    const { shape } = live(this, "repeat").layout;
    if (counts.length < shape.length || counts.some((n) => !Number.isInteger(n) || n < 0))
      throw new ArgumentError(
        "repeat",
        `at least ${shape.length} counts of 0 or more`,
        formatShape(counts),
        "use tile to leave out leading ones",
      );
    const padded: Shape = [...Array<number>(counts.length - shape.length).fill(1), ...shape];
    return composed(
      () =>
        this.reshape(padded.flatMap((d) => [1, d]))
          .expand(padded.flatMap((d, i) => [counts[i]!, d]))
          .reshape(padded.map((d, i) => d * counts[i]!)),
      "repeat",
    );
  }

  /** `repeat`, with missing leading counts taken as 1: dimensions stay or get longer. */
  tile(...counts: readonly number[] | [readonly number[]]): this {
    const given = dims(counts),
      missing = live(this, "tile").layout.shape.length - given.length;
    return calledAs("tile", () =>
      this.repeat([...Array<number>(Math.max(0, missing)).fill(1), ...given]),
    );
  }

  /**
   * Each element `count` times in place, along an axis.
   * @throws ArgumentError for a count below 0, ShapeError for an axis out of range
   */
  repeatInterleave(count: number, axis?: number): this {
    const { shape } = live(this, "repeatInterleave").layout;
    if (!Number.isInteger(count) || count < 0)
      throw new ArgumentError(
        "repeatInterleave",
        "a count of 0 or more",
        describeValue(count),
        "pass how often each element should come",
      );
    if (axis === undefined)
      return composed(() => this.reshape(-1).repeatInterleave(count, 0), "repeatInterleave");
    const at = normalizeAxis("repeatInterleave", axis, shape.length),
      wide = [...shape.slice(0, at + 1), count, ...shape.slice(at + 1)];
    return composed(
      () =>
        this.unsqueeze(at + 1)
          .expand(wide)
          .reshape(shape.map((d, i) => (i === at ? d * count : d))),
      "repeatInterleave",
    );
  }

  /**
   * Sum of all elements up to each position of an axis.
   * @throws ShapeError for an axis out of range
   */
  cumSum(axis: number): this {
    return alongAxis("cumSum", this, axis, (x, at) =>
      call(cumSum, [x], { axis: at, reverse: false }),
    );
  }

  /**
   * Product of all elements up to each position of an axis.
   * @throws ShapeError for an axis out of range
   */
  cumProd(axis: number): this {
    return alongAxis("cumProd", this, axis, (x, at) => call(cumProd, [x], { axis: at }));
  }
}
