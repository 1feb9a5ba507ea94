/**
 * Shape arithmetic: sizes, broadcasting, axis normalisation. Pure functions on number arrays,
 * called by every op's `infer`. Owns nothing.
 */
import { ShapeError } from "./errors.ts";
import { describeValue } from "./options.ts";

/** Dimensions of a tensor, outermost first. `[]` is a scalar. */
export type Shape = readonly number[];

/** Number of elements: the product of the dimensions, 1 for a scalar. */
export function sizeOf(shape: Shape): number {
  let n = 1;
  for (let i = 0; i < shape.length; i++) n *= shape[i]!;
  return n;
}

/** `[2,3]`, as error messages and reports print a shape; also of what turned out to be none. */
export function formatShape(shape: Shape): string {
  if (!Array.isArray(shape)) return describeValue(shape);
  const shown = shape.length > 32 ? shape.slice(0, 32) : shape;
  const dimensions = Array.from(shown as readonly unknown[], (d) =>
    typeof d === "number" ? String(d) : describeValue(d),
  );
  return `[${dimensions.join(",")}${shown === shape ? "" : `, … ${shape.length} in all`}]`;
}

/** Whether two shapes have the same dimensions. */
export function sameShape(a: Shape, b: Shape): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/**
 * The shape two operands broadcast to, by NumPy's rule: dimensions are compared from the right, and
 * one of 1 repeats.
 * @throws ShapeError when a pair of dimensions differs and neither is 1.
 */
export function broadcastShapes(op: string, a: Shape, b: Shape): Shape {
  if (sameShape(a, b)) return a;
  const rank = Math.max(a.length, b.length);
  const out = new Array<number>(rank);
  for (let i = 1; i <= rank; i++) {
    const x = a[a.length - i] ?? 1,
      y = b[b.length - i] ?? 1;
    if (x !== y && x !== 1 && y !== 1) {
      throw new ShapeError(
        op,
        "shapes that broadcast together (equal from the right, or 1)",
        `${formatShape(a)} and ${formatShape(b)}`,
        "reshape or transpose one of them",
      );
    }
    out[rank - i] = x === 1 ? y : x;
  }
  return out;
}

/**
 * An axis counted from the front, `-1` meaning the last.
 * @throws ShapeError when it lies outside `[-rank, rank)`.
 */
export function normalizeAxis(op: string, axis: number, rank: number): number {
  if (!Number.isInteger(axis) || axis < -rank || axis >= rank) {
    throw new ShapeError(
      op,
      rank === 0 ? "no axis for a scalar" : `an axis in [${-rank}, ${rank - 1}]`,
      describeValue(axis),
      "count axes from 0, or from -1 backwards",
    );
  }
  return axis < 0 ? axis + rank : axis;
}

/**
 * The set of reduced axes, sorted; all axes when `axes` is undefined or null.
 * @throws ShapeError for an axis out of range or named twice.
 */
export function normalizeAxes(
  op: string,
  axes: number | readonly number[] | null | undefined,
  rank: number,
): number[] {
  if (axes === undefined || axes === null) return Array.from({ length: rank }, (_, i) => i);
  if (typeof axes !== "number" && !(Array.isArray as (value: unknown) => boolean)(axes))
    throw new ShapeError(
      op,
      "an axis or an array of axes",
      describeValue(axes),
      "pass for example 0, [0, 1], or nothing for all axes",
    );
  const list = (typeof axes === "number" ? [axes] : [...axes])
    .map((a) => normalizeAxis(op, a, rank))
    .sort((a, b) => a - b);
  for (let i = 1; i < list.length; i++)
    if (list[i] === list[i - 1])
      throw new ShapeError(op, "each axis once", `axis ${list[i]} twice`, "drop the duplicate");
  return list;
}

/** The shape after reducing `axes` (sorted, non-negative). */
export function reducedShape(shape: Shape, axes: readonly number[], keepDims: boolean): Shape {
  const out: number[] = [];
  for (let i = 0, k = 0; i < shape.length; i++) {
    if (axes[k] === i) {
      k++;
      if (keepDims) out.push(1);
    } else out.push(shape[i]!);
  }
  return out;
}

/** @throws ShapeError unless every dimension is a non-negative integer small enough to index. */
export function checkShape(op: string, shape: Shape): Shape {
  if (!(Array.isArray as (value: unknown) => boolean)(shape))
    throw new ShapeError(
      op,
      "an array of dimensions",
      describeValue(shape),
      "write for example [2, 3]",
    );
  for (const d of shape)
    if (!Number.isInteger(d) || d < 0)
      throw new ShapeError(
        op,
        "dimensions that are integers of 0 or more",
        formatShape(shape),
        "check how the shape was computed",
      );
  if (sizeOf(shape) > 0x7fff_ffff)
    throw new ShapeError(op, "at most 2^31 - 1 elements", formatShape(shape), "split the tensor");
  return shape;
}
