/**
 * Checks that constructors of layers share.
 */
import type * as F from "./functional/index.ts";
import { ArgumentError } from "../base/errors.ts";
import { describeValue } from "../base/options.ts";

export function checkCount(layer: string, what: string, value: number): void {
  if (!Number.isInteger(value) || value < 1)
    throw new ArgumentError(
      layer,
      `${what} to be a positive integer`,
      describeValue(value),
      "pass how many there are",
    );
}

export function checkPair(layer: string, what: string, value: F.Pair): void {
  const list: unknown = typeof value === "number" ? [value, value] : value;
  if (!Array.isArray(list) || list.length !== 2 || list.some((n) => !Number.isInteger(n) || n < 1))
    throw new ArgumentError(
      layer,
      `${what} to be a positive integer or a pair of them`,
      Array.isArray(list) && typeof value !== "number"
        ? `[${list.join(",")}]`
        : describeValue(value),
      "pass for example 3",
    );
}

export function checkChannels(
  layer: string,
  inChannels: number,
  outChannels: number,
  groups: number,
): void {
  checkCount(layer, "inChannels", inChannels);
  checkCount(layer, "outChannels", outChannels);
  checkCount(layer, "groups", groups);
  if (inChannels % groups !== 0 || outChannels % groups !== 0)
    throw new ArgumentError(
      layer,
      "groups that divide both channel counts",
      `${groups} for ${inChannels} and ${outChannels}`,
      "use a divisor of both",
    );
}

export function checkDropout(op: string, p: number): void {
  if (!(p >= 0 && p < 1))
    throw new ArgumentError(
      op,
      "a dropout in [0, 1)",
      describeValue(p),
      "pass the share to drop, for example 0.1",
    );
}
