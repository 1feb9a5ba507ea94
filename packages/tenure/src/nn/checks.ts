/**
 * Checks that constructors of layers share.
 */
import { ArgumentError } from "../base/errors.ts";
import { type OptionRow, checkArgument, describeValue } from "../base/options.ts";
import type { Pair } from "./functional/spatial.ts";

/** The row of a number of features, channels, layers, … */
export const count = {
  type: "integer",
  range: "[1, Infinity)",
  remedy: "pass how many there are",
} as const satisfies OptionRow;

/** The row of a probability to drop. */
export const dropoutShare = {
  type: "number",
  range: "[0, 1)",
  what: "a dropout",
  remedy: "pass the share to drop, for example 0.1",
} as const satisfies OptionRow;

/** @throws ArgumentError unless `value` is a positive integer */
export function checkCount(layer: string, what: string, value: number): void {
  checkArgument(layer, what, value, count);
}

/** @throws ArgumentError unless `value` is a positive integer or a pair of them */
export function checkPair(layer: string, what: string, value: Pair): void {
  const list: unknown = typeof value === "number" ? [value, value] : value;
  const fits = Array.isArray(list) && list.length === 2;
  if (fits && list.every((n) => Number.isInteger(n) && n >= 1)) return;
  throw new ArgumentError(
    layer,
    `${what} to be a positive integer or a pair of them`,
    Array.isArray(value) ? `[${value.join(",")}]` : describeValue(value),
    "pass for example 3",
  );
}

/** @throws ArgumentError unless the counts are positive and the groups divide both of channels */
export function checkChannels(
  layer: string,
  inChannels: number,
  outChannels: number,
  groups: number,
): void {
  checkCount(layer, "inChannels", inChannels);
  checkCount(layer, "outChannels", outChannels);
  checkCount(layer, "groups", groups);
  if (inChannels % groups === 0 && outChannels % groups === 0) return;
  throw new ArgumentError(
    layer,
    "groups that divide both channel counts",
    `${groups} for ${inChannels} and ${outChannels}`,
    "use a divisor of both",
  );
}

/** @throws ArgumentError unless `p` is a share that leaves something */
export function checkDropout(op: string, p: number): void {
  checkArgument(op, "dropout", p, dropoutShare);
}
