/**
 * A wrong call and the error it must raise, and the shortest ways to tensors for wrong calls.
 */
import { type Tensor, zeros } from "tenure";

type ErrorType = new (...args: never[]) => Error;

/**
 * What is wrong, the error it must be, and what the text must say: op, expectation, what came,
 * remedy.
 */
export type Misuse = readonly [label: string, call: () => unknown, type: ErrorType, text: RegExp];

export const f = (...shape: number[]): Tensor => zeros(shape);
export const i = (...shape: number[]): Tensor => zeros(shape, { dtype: "int32" });
export const b = (...shape: number[]): Tensor => zeros(shape, { dtype: "bool" });
