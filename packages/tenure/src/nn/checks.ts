/**
 * Rows for the options and arguments that functions and layers share, and the checks of how
 * channels divide. Called where the public API begins; pure.
 */
import { ArgumentError } from "../base/errors.ts";
import { type OptionRow, checkArgument } from "../base/options.ts";
import { probability } from "../tensor/create.ts";
import { type Tensor, live } from "../tensor/tensor.ts";

/** The row of a number of features, channels, layers, … */
export const count = {
  type: "integer",
  range: "[1, Infinity)",
  remedy: "pass how many there are",
} as const satisfies OptionRow;

/** The row of a number of layers on top of each other: each is made at once. */
export const depth = { ...count, range: "[1, 1000]" } as const satisfies OptionRow;

/** The row of a length along one axis: a kernel, a stride, a dilation. */
export const extent = { ...count, remedy: "pass for example 3" } as const satisfies OptionRow;

/** The row of a width that may be nothing: padding along one axis. */
export const margin = {
  type: "integer",
  range: "[0, Infinity)",
  remedy: "pass for example 1",
} as const satisfies OptionRow;

const pair = { type: "list", of: "integer", length: 2, single: true } as const;
/** The row of lengths in both directions: a kernel, a stride, a dilation. */
export const extents = {
  ...pair,
  range: extent.range,
  remedy: extent.remedy,
} as const satisfies OptionRow;
/** The row of widths in both directions that may be nothing. */
export const margins = {
  ...pair,
  range: margin.range,
  remedy: margin.remedy,
} as const satisfies OptionRow;

/** The row of a probability to drop. */
export const dropoutShare = {
  ...probability,
  what: "a dropout",
  default: 0,
} as const satisfies OptionRow;

/** The row of what is added to a variance, so that nothing divides by zero. */
export const epsilon = {
  type: "number",
  range: "[0, Infinity)",
  default: 1e-5,
  remedy: "pass for example 1e-5",
} as const satisfies OptionRow;

/** The row of any finite number. */
export const finite = {
  type: "number",
  range: "(-Infinity, Infinity)",
  remedy: "pass a plain number",
} as const satisfies OptionRow;

/** The row of an axis, counted from either end. */
export const axisRow = {
  type: "integer",
  what: "an axis",
  remedy: "count axes from 0, or from -1 backwards",
} as const satisfies OptionRow;

/** The row of a tensor. */
export const tensorRow = {
  type: "any",
  check: (op, value) => {
    live(value as Tensor, op);
  },
} as const satisfies OptionRow;

/** The row of a tensor that may be null. */
export const operand = { ...tensorRow, orNull: true } as const satisfies OptionRow;

/** @throws ArgumentError unless an argument that may be left out is a live tensor */
export function checkOperand(op: string, value: Tensor | null | undefined): void {
  if (value != null) live(value, op);
}

/** @throws ArgumentError unless the counts are positive and the groups divide both of channels */
export function checkChannels(
  layer: string,
  inChannels: number,
  outChannels: number,
  groups: number,
): void {
  checkArgument(layer, "inChannels", inChannels, count);
  checkArgument(layer, "outChannels", outChannels, count);
  if (inChannels % groups === 0 && outChannels % groups === 0) return;
  throw new ArgumentError(
    layer,
    "groups that divide both channel counts",
    `${groups} for ${inChannels} and ${outChannels}`,
    "use a divisor of both",
  );
}
