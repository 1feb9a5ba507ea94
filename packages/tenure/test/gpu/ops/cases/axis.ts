/**
 * Indices along one axis, and inputs of whole numbers, for the ops that pick along an axis.
 */
import type { DType } from "../../../../src/base/dtype.ts";
import { count, numbers } from "../../../helpers.ts";
import { type Host, host } from "../host.ts";

export const whole = (
  shape: readonly number[],
  seed: number,
  low: number,
  high: number,
  dtype: DType = "int32",
): Host =>
  host(
    shape,
    numbers(count(shape), seed, low, high).map((x) => Math.floor(x)),
    dtype,
  );

export const withAt = (i: readonly number[], axis: number, v: number): number[] =>
  i.map((x, k) => (k === axis ? v : x));

export const resized = (shape: readonly number[], axis: number, n: number): number[] =>
  shape.map((d, k) => (k === axis ? n : d));

export const list = (shape: readonly number[], values: readonly number[]): Host =>
  host(shape, values, "int32");
