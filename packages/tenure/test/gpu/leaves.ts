/** Leaves for the tests of autograd, and their gradients read. Tests only. */
import { type Tensor, tensor } from "tenure";

/** A tensor of float32 values that wants a gradient. */
export function leaf(values: number[], name?: string): Tensor {
  return tensor(values, { requiresGrad: true, ...(name === undefined ? {} : { name }) });
}

/** The gradient of a leaf, read; empty without one. */
export async function gradOf(x: Tensor): Promise<number[]> {
  using g = x.grad;
  return g === null ? [] : [...(await g.data())];
}
