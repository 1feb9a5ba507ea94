/**
 * What a function of ours is held against: the same computation in TF.js, on the same inputs.
 */
import { type Tensor, tensor } from "tenure";
import type { tf } from "./tfjs.ts";

export interface Oracle {
  readonly shapes: readonly (readonly number[])[];
  readonly ours: (...x: Tensor[]) => Tensor;
  readonly theirs: (...x: tf.Tensor[]) => tf.Tensor;
  readonly rel?: number;
  /** Values only, with the reason: then the gradient is checked by differences. */
  readonly without?: string;
}

export const ints = (
  values: readonly number[],
  shape: readonly number[] = [values.length],
): Tensor => tensor(values, { shape, dtype: "int32" });
export const nhwc = (x: tf.Tensor): tf.Tensor4D => x.transpose<tf.Tensor4D>([0, 2, 3, 1]);
export const nchw = (x: tf.Tensor): tf.Tensor => x.transpose([0, 3, 1, 2]);
