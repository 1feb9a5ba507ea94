/**
 * A layer with two inputs, for the tree of `search.ts`. Its results are the caller's.
 */
import { type Tensor, scoped } from "tenure";
import { Linear, Module } from "tenure/nn";

/** `tanh(A·left + B·right)` */
export class Bilinear extends Module<[left: Tensor, right: Tensor]> {
  readonly a = new Linear(4, 4);
  readonly b = new Linear(4, 4, { bias: false });

  forward(left: Tensor, right: Tensor): Tensor {
    return scoped(() => this.a.call(left).add(this.b.call(right)).tanh());
  }
}
