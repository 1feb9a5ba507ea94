/**
 * What the update rules share: scalars as kernels take them, and rows for options that several of
 * them have.
 */
import { f32Bits } from "../base/bits.ts";
import type { OptionRow } from "../base/options.ts";

/** Numbers as the uniforms of an update kernel hold them. */
export const bits = (values: readonly number[]): number[] => values.map(f32Bits);
/** The factor on gradients: -1 climbs. */
export const sign = (maximize: boolean): number => (maximize ? -1 : 1);

/** A share of what was before, below 1. */
export const share = { type: "number", range: "[0, 1)" } as const;
/** A number that only has to be 0 or more. */
export const amount = { type: "number", range: "[0, Infinity)" } as const;
/** The row of every optimizer's learning rate; rules add their defaults. */
export const learningRate = { ...amount, what: "a learning rate" } as const;
/** The row of weight decay. */
export const decay = { ...amount, what: "a weight decay", default: 0 } as const;

/** The row of two shares of running averages. */
export const betas = {
  type: "list",
  of: "number",
  range: "[0, 1)",
  length: 2,
  remedy: "pass for example [0.9, 0.999]",
} as const satisfies OptionRow;
