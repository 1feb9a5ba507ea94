/**
 * Functions that join, pick, move and sort elements, next to their counterparts in TF.js.
 */
import { concat, stack } from "tenure";
import { functional as F } from "tenure/nn";
import { type Oracle, ints } from "./oracle.ts";
import { tf } from "./tfjs.ts";

export const movingOracles: Readonly<Record<string, Oracle>> = {
  concat: {
    shapes: [
      [2, 3],
      [2, 1],
      [2, 4],
    ],
    ours: (...x) => concat(x, -1),
    theirs: (...x) => tf.concat(x, 1),
  },
  "concat of many": {
    shapes: Array.from({ length: 9 }, (_, k) => [k + 1, 2]),
    ours: (...x) => concat(x),
    theirs: (...x) => tf.concat(x, 0),
  },
  stack: {
    shapes: [
      [2, 3],
      [2, 3],
    ],
    ours: (...x) => stack(x, 1),
    theirs: (...x) => tf.stack(x, 1),
  },
  split: {
    shapes: [[2, 7]],
    ours: (x) => x.split([2, 4, 1], 1)[1]!,
    theirs: (x) => tf.split(x, [2, 4, 1], 1)[1]!,
  },
  chunk: { shapes: [[6, 2]], ours: (x) => x.chunk(3)[2]!, theirs: (x) => tf.split(x, 3)[2]! },
  unbind: { shapes: [[2, 3]], ours: (x) => x.unbind(1)[1]!, theirs: (x) => tf.unstack(x, 1)[1]! },
  index: {
    shapes: [[5, 3]],
    ours: (x) => x.index(ints([1, 4, 1, 0], [2, 2])),
    theirs: (x) =>
      tf.gather(
        x,
        tf.tensor2d(
          [
            [1, 4],
            [1, 0],
          ],
          undefined,
          "int32",
        ),
      ),
  },
  indexSelect: {
    shapes: [[3, 5]],
    ours: (x) => x.indexSelect(1, ints([1, 4, 1])),
    theirs: (x) => tf.gather(x, tf.tensor1d([1, 4, 1], "int32"), 1),
  },
  "sorted embedding": {
    shapes: [[5, 4]],
    ours: (x) => F.embedding(ints(Array.from({ length: 300 }, (_, i) => (i * i) % 5)), x),
    theirs: (x) =>
      tf.gather(
        x,
        tf.tensor1d(
          Array.from({ length: 300 }, (_, i) => (i * i) % 5),
          "int32",
        ),
      ),
    rel: 1e-3,
  },
  scatterAdd: {
    shapes: [
      [4, 3],
      [5, 3],
    ],
    ours: (x, v) => x.scatterAdd(0, ints([1, 3, 1, 0, 1]).unsqueeze(1).expand(5, 3), v),
    theirs: (x, v) => x.add(tf.unsortedSegmentSum(v, tf.tensor1d([1, 3, 1, 0, 1], "int32"), 4)),
  },
  flip: { shapes: [[2, 3, 4]], ours: (x) => x.flip(0, 2), theirs: (x) => tf.reverse(x, [0, 2]) },
  tile: {
    shapes: [[2, 3]],
    ours: (x) => x.tile(2, 1, 3),
    theirs: (x) => tf.tile(x.expandDims(0), [2, 1, 3]),
  },
  cumSum: { shapes: [[3, 40]], ours: (x) => x.cumSum(-1), theirs: (x) => tf.cumsum(x, 1) },
  "sort by topK": {
    shapes: [[3, 9]],
    ours: (x) => x.topK(4).values,
    theirs: (x) => tf.topk(x, 4).values,
    without: "it has no gradient for topk",
  },
  sort: {
    shapes: [[2, 6]],
    ours: (x) => x.sort(-1, true).values,
    theirs: (x) => tf.topk(x, 6).values,
    without: "it has no gradient for topk",
  },
};
