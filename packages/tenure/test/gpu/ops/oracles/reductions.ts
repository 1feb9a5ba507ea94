/**
 * Statistics, norms and products of tensors, next to their counterparts in TF.js.
 */
import { einsum, outer, varMean } from "tenure";
import { type Oracle } from "./oracle.ts";
import { tf } from "./tfjs.ts";

export const reductionOracles: Readonly<Record<string, Oracle>> = {
  var: { shapes: [[3, 8]], ours: (x) => x.var(1, 0), theirs: (x) => tf.moments(x, 1).variance },
  std: {
    shapes: [[4, 5]],
    ours: (x) => x.std(0, 0, true),
    theirs: (x) => tf.sqrt(tf.moments(x, 0, true).variance),
  },
  varMean: {
    shapes: [[4, 5]],
    ours: (x) => {
      const [v, m] = varMean(x, [0, 1], 0);
      return v.add(m);
    },
    theirs: (x) => {
      const { mean, variance } = tf.moments(x);
      return variance.add(mean);
    },
  },
  norm: {
    shapes: [[3, 4]],
    ours: (x) => x.norm(2, 1),
    theirs: (x) => tf.sqrt(tf.sum(tf.square(x), 1)),
  },
  "norm 1": { shapes: [[3, 4]], ours: (x) => x.norm(1, 1), theirs: (x) => tf.sum(tf.abs(x), 1) },
  "norm 3": {
    shapes: [[3, 4]],
    ours: (x) => x.norm(3),
    theirs: (x) => tf.pow(tf.sum(tf.pow(tf.abs(x), 3)), 1 / 3),
    rel: 1e-3,
  },
  logSumExp: {
    shapes: [[3, 4, 5]],
    ours: (x) => x.logSumExp([0, 2]),
    theirs: (x) => tf.logSumExp(x, [0, 2]),
  },
  prod: { shapes: [[3, 4]], ours: (x) => x.prod(1), theirs: (x) => tf.prod(x, 1) },
  dot: { shapes: [[7], [7]], ours: (a, b) => a.dot(b), theirs: (a, b) => tf.dot(a, b) },
  outer: {
    shapes: [[3], [4]],
    ours: outer,
    theirs: (a, b) => tf.outerProduct(a as tf.Tensor1D, b as tf.Tensor1D),
  },
  "vector times matrix": {
    shapes: [[3], [3, 4]],
    ours: (a, b) => a.matmul(b),
    theirs: (a, b) => tf.matMul(a.expandDims(0), b).squeeze([0]),
  },
  "matrices times vector": {
    shapes: [[2, 3, 4], [4]],
    ours: (a, b) => a.matmul(b),
    theirs: (a, b) => tf.matMul(a, tf.tile(b.reshape([1, 4, 1]), [2, 1, 1])).squeeze([2]),
  },
  bmm: {
    shapes: [
      [2, 3, 4],
      [2, 4, 5],
    ],
    ours: (a, b) => a.bmm(b),
    theirs: (a, b) => tf.matMul(a, b),
  },
  "einsum bij,bjk->bik": {
    shapes: [
      [2, 3, 4],
      [2, 4, 5],
    ],
    ours: (a, b) => einsum("bij,bjk->bik", a, b),
    theirs: (a, b) => tf.einsum("bij,bjk->bik", a, b),
    without: "it has no gradient for einsum",
  },
  "einsum ij,kj->ki": {
    shapes: [
      [3, 4],
      [5, 4],
    ],
    ours: (a, b) => einsum("ij, kj -> ki", a, b),
    theirs: (a, b) => tf.matMul(b, a, false, true),
  },
  "einsum bhqd,bhkd->bhqk": {
    shapes: [
      [2, 2, 3, 4],
      [2, 2, 5, 4],
    ],
    ours: (a, b) => einsum("bhqd,bhkd->bhqk", a, b),
    theirs: (a, b) => tf.matMul(a, b, false, true),
  },
  "einsum ij->": { shapes: [[3, 4]], ours: (a) => einsum("ij->", a), theirs: (a) => tf.sum(a) },
  "einsum ij,j,k->ik": {
    shapes: [[3, 4], [4], [2]],
    ours: (a, b, c) => einsum("ij,j,k->ik", a, b, c),
    theirs: (a, b, c) => tf.matMul(tf.matMul(a, b.expandDims(1)), c.expandDims(0)),
  },
  "einsum ...ij,jk": {
    shapes: [
      [2, 3, 4],
      [4, 5],
    ],
    ours: (a, b) => einsum("...ij,jk->...ik", a, b),
    theirs: (a, b) => tf.matMul(a.reshape([6, 4]), b).reshape([2, 3, 5]),
  },
  "einsum ii->i": {
    shapes: [[3, 3]],
    ours: (a) => einsum("ii->i", a),
    theirs: (a) => tf.sum(tf.mul(a, tf.eye(3)), 1),
  },
};
