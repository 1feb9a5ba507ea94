/**
 * What the update rules share: scalars as kernels take them, and options as users give them.
 */
import { f32Bits } from "../base/bits.ts";
import { ArgumentError } from "../base/errors.ts";
import { checkOptions, describeValue } from "../base/options.ts";
import { checkNumber } from "./optimizer.ts";

export const bits = (values: readonly number[]): number[] => values.map(f32Bits);

/** The factor on gradients. */
export const sign = (maximize: boolean): number => (maximize ? -1 : 1);

/** Options without the `undefined`s a caller may pass, so that defaults win. */
export function given<O extends object>(
  op: string,
  options: O,
  names: readonly string[],
): Partial<O> {
  checkOptions(op, options, names);
  return Object.fromEntries(
    Object.entries(options).filter(([, v]) => v !== undefined),
  ) as Partial<O>;
}

export function checkBetas(op: string, betas: readonly [number, number]): void {
  if (!(Array.isArray as (value: unknown) => boolean)(betas) || betas.length !== 2)
    throw new ArgumentError(
      op,
      "betas to be two numbers",
      describeValue(betas),
      "pass for example [0.9, 0.999]",
    );
  const [b1, b2] = betas;
  checkNumber(op, "beta1", b1, 0, 1);
  checkNumber(op, "beta2", b2, 0, 1);
}
