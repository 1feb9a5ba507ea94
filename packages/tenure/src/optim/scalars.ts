/**
 * What the update rules share: scalars as kernels take them, and rows for options that several of
 * them have.
 */
import { f32Bits } from "../base/bits.ts";
import { ArgumentError } from "../base/errors.ts";
import { type OptionRow, checkArgument, describeValue } from "../base/options.ts";

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
/** The row of a switch that is off. */
export const off = { type: "flag", default: false } as const;

/** Two shares of running averages, each in [0, 1). */
export const betas = { type: "any", check: checkBetas } as const satisfies OptionRow;

function checkBetas(op: string, value: unknown): void {
  if (!Array.isArray(value) || value.length !== 2)
    throw new ArgumentError(
      op,
      "betas to be two numbers",
      describeValue(value),
      "pass for example [0.9, 0.999]",
    );
  checkArgument(op, "beta1", value[0], share);
  checkArgument(op, "beta2", value[1], share);
}
