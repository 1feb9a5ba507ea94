/**
 * The functions composed from ops, with TF.js on the CPU as the oracle for values and gradients
 * where it has them, and plain JavaScript where it has not. Both sides compute in float32:
 * tolerances are 1e-4 of the largest sums, exact for what only moves elements.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  ArgumentError,
  DTypeError,
  ShapeError,
  type NestedArray,
  type Tensor,
  arange,
  bernoulli,
  concat,
  einsum,
  eye,
  manualSeed,
  newDisposeScope,
  outer,
  rand,
  randn,
  randperm,
  scoped,
  scopedAsync,
  stack,
  tensor,
  varMean,
  zeros,
} from "tenure";
import * as nn from "tenure/nn";
import { assertClose, gradcheck } from "tenure/testing";
import { count, numbers, rejects, setup } from "../../helpers.ts";
import { tf } from "./oracle.ts";

await setup();
const F = nn.functional,
  test = suite("functions");

interface Oracle {
  readonly shapes: readonly (readonly number[])[];
  readonly ours: (...x: Tensor[]) => Tensor;
  readonly theirs: (...x: tf.Tensor[]) => tf.Tensor;
  readonly rel?: number;
  /** Values only, with the reason: then the gradient is checked by differences. */
  readonly without?: string;
}

const weight = (i: number): number => Math.sin(1.3 * i + 0.2) + 1.1;

/** Values, and gradients of a weighted sum for every input. */
async function compare(
  label: string,
  { shapes, ours, theirs, rel = 1e-4, without }: Oracle,
): Promise<void> {
  const data = shapes.map((s, k) => numbers(count(s), 700 + k));
  const expected = tf.tidy(() => {
    const inputs = shapes.map((s, k) => tf.tensor(data[k]!, [...s])),
      value = theirs(...inputs),
      w = tf.tensor(
        Array.from({ length: value.size }, (_, i) => weight(i)),
        value.shape,
      );
    const grads =
      without === undefined
        ? tf.grads((...x: tf.Tensor[]) =>
            theirs(...x)
              .mul(w)
              .sum(),
          )(inputs)
        : [];
    return {
      shape: value.shape,
      value: [...value.dataSync()],
      grads: grads.map((g) => [...g.dataSync()]),
    };
  });
  const checks: Promise<unknown>[] = [];
  {
    using _ = newDisposeScope(label);
    const inputs = shapes.map((s, k) => tensor(data[k]!, { shape: s, requiresGrad: true })),
      value = ours(...inputs);
    assert.equal([...value.shape], expected.shape, label);
    checks.push(assertClose(value, expected.value, rel));
    value
      .mul(
        tensor(
          Array.from({ length: value.size }, (_x, i) => weight(i)),
          { shape: value.shape },
        ),
      )
      .sum()
      .backward();
    if (without === undefined)
      inputs.forEach((x, k) => checks.push(assertClose(x.grad!, expected.grads[k]!, rel)));
  }
  for (const r of await Promise.allSettled(checks))
    if (r.status === "rejected") throw new Error(`${label}: ${(r.reason as Error).message}`);
  if (without !== undefined)
    await gradcheck(
      ours,
      shapes.map((shape, k) => ({ shape, values: data[k]! })),
      { step: 2e-3, tolerance: 2e-2 },
    );
}

const ints = (values: readonly number[], shape: readonly number[] = [values.length]): Tensor =>
  tensor(values, { shape, dtype: "int32" });
const nhwc = (x: tf.Tensor): tf.Tensor4D => x.transpose<tf.Tensor4D>([0, 2, 3, 1]),
  nchw = (x: tf.Tensor): tf.Tensor => x.transpose([0, 3, 1, 2]);

const oracles: Readonly<Record<string, Oracle>> = {
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
  "pad constant": {
    shapes: [[2, 3]],
    ours: (x) => F.pad(x, [1, 2, 0, 1], "constant", 0.5),
    theirs: (x) =>
      tf.pad(
        x,
        [
          [0, 1],
          [1, 2],
        ],
        0.5,
      ),
  },
  "pad reflect": {
    shapes: [[2, 3, 4]],
    ours: (x) => F.pad(x, [2, 3, 1, 0], "reflect"),
    theirs: (x) =>
      tf.mirrorPad(
        x as tf.Tensor3D,
        [
          [0, 0],
          [1, 0],
          [2, 3],
        ],
        "reflect",
      ),
    without: "its gradient forgets the mirrored border",
  },
  conv1d: {
    shapes: [[2, 3, 9], [4, 3, 3], [4]],
    ours: (x, w, b) => F.conv1d(x, w, b, { stride: 2, padding: 1 }),
    theirs: (x, w, b) =>
      tf
        .add(
          tf.conv1d(
            tf.pad(x.transpose<tf.Tensor3D>([0, 2, 1]), [
              [0, 0],
              [1, 1],
              [0, 0],
            ]),
            w.transpose<tf.Tensor3D>([2, 1, 0]),
            2,
            "valid",
          ),
          b,
        )
        .transpose([0, 2, 1]),
  },
  convTranspose2d: {
    shapes: [
      [2, 3, 4, 4],
      [3, 5, 3, 3],
    ],
    ours: (x, w) => F.convTranspose2d(x, w, null, { stride: 2 }),
    theirs: (x, w) =>
      nchw(
        tf.conv2dTranspose(
          nhwc(x),
          w.transpose<tf.Tensor4D>([2, 3, 1, 0]),
          [2, 9, 9, 5],
          2,
          "valid",
        ),
      ),
  },
  maxPool1d: {
    shapes: [[2, 3, 8]],
    ours: (x) => F.maxPool1d(x, 2),
    theirs: (x) => nchw(tf.maxPool(nhwc(x.expandDims(2)), [1, 2], [1, 2], "valid")).squeeze([2]),
  },
  avgPool1d: {
    shapes: [[2, 3, 8]],
    ours: (x) => F.avgPool1d(x, 3, { stride: 1 }),
    theirs: (x) => nchw(tf.avgPool(nhwc(x.expandDims(2)), [1, 3], [1, 1], "valid")).squeeze([2]),
  },
  adaptiveAvgPool2d: {
    shapes: [[2, 3, 4, 6]],
    ours: (x) => F.adaptiveAvgPool2d(x, 2),
    theirs: (x) => nchw(tf.avgPool(nhwc(x), [2, 3], [2, 3], "valid")),
  },
  "upsample nearest": {
    shapes: [[1, 2, 3, 4]],
    ours: (x) => F.upsample(x, { scaleFactor: 2 }),
    theirs: (x) => nchw(tf.image.resizeNearestNeighbor(nhwc(x), [6, 8])),
  },
  "upsample corners": {
    shapes: [[1, 2, 3, 4]],
    ours: (x) => F.upsample(x, { size: [5, 7], mode: "bilinear", alignCorners: true }),
    theirs: (x) => nchw(tf.image.resizeBilinear(nhwc(x), [5, 7], true)),
    without: "its gradient has the shape of the untransposed input",
  },
  layerNorm: {
    shapes: [[4, 6], [6], [6]],
    ours: (x, w, b) => F.layerNorm(x, 6, w, b),
    theirs: (x, w, b) => {
      const { mean, variance } = tf.moments(x, 1, true);
      return x.sub(mean).div(variance.add(1e-5).sqrt()).mul(w).add(b);
    },
    rel: 1e-3,
  },
  "layerNorm of two dimensions": {
    shapes: [
      [3, 2, 4],
      [2, 4],
    ],
    ours: (x, w) => F.layerNorm(x, [2, 4], w),
    theirs: (x, w) => {
      const { mean, variance } = tf.moments(x, [1, 2], true);
      return x.sub(mean).div(variance.add(1e-5).sqrt()).mul(w);
    },
    rel: 1e-3,
  },
  rmsNorm: {
    shapes: [[4, 6], [6]],
    ours: (x, w) => F.rmsNorm(x, [6], w, 1e-5),
    theirs: (x, w) => x.div(tf.mean(tf.square(x), 1, true).add(1e-5).sqrt()).mul(w),
    rel: 1e-3,
  },
  groupNorm: {
    shapes: [[2, 4, 3], [4], [4]],
    ours: (x, w, b) => F.groupNorm(x, 2, w, b),
    rel: 1e-3,
    theirs: (x, w, b) => {
      const g = x.reshape([2, 2, 6]),
        { mean, variance } = tf.moments(g, 2, true);
      return g
        .sub(mean)
        .div(variance.add(1e-5).sqrt())
        .reshape([2, 4, 3])
        .mul(w.reshape([1, 4, 1]))
        .add(b.reshape([1, 4, 1]));
    },
  },
  instanceNorm: {
    shapes: [[2, 3, 4, 2]],
    ours: (x) => F.instanceNorm(x),
    theirs: (x) => {
      const { mean, variance } = tf.moments(x, [2, 3], true);
      return x.sub(mean).div(variance.add(1e-5).sqrt());
    },
    rel: 1e-3,
  },
  "batchNorm in training": {
    shapes: [[3, 2, 2, 2], [2], [2]],
    ours: (x, weight_, bias) => F.batchNorm(x, { training: true, weight: weight_, bias }),
    rel: 1e-3,
    theirs: (x, w, b) => {
      const { mean, variance } = tf.moments(x, [0, 2, 3], true);
      return x
        .sub(mean)
        .div(variance.add(1e-5).sqrt())
        .mul(w.reshape([1, 2, 1, 1]))
        .add(b.reshape([1, 2, 1, 1]));
    },
  },
  "batchNorm without weight": {
    shapes: [[5, 3]],
    ours: (x) => F.batchNorm(x, { training: true }),
    theirs: (x) => {
      const { mean, variance } = tf.moments(x, 0, true);
      return x.sub(mean).div(variance.add(1e-5).sqrt());
    },
    rel: 1e-3,
  },
  "batchNorm in evaluation": {
    shapes: [[3, 2, 4], [2], [2]],
    ours: (x, w, b) =>
      F.batchNorm(x, {
        runningMean: tensor([0.5, -1]),
        runningVar: tensor([2, 0.5]),
        weight: w,
        bias: b,
      }),
    rel: 1e-3,
    theirs: (x, w, b) =>
      x
        .sub(tf.tensor([0.5, -1], [1, 2, 1]))
        .div(tf.tensor([2, 0.5], [1, 2, 1]).add(1e-5).sqrt())
        .mul(w.reshape([1, 2, 1]))
        .add(b.reshape([1, 2, 1])),
  },
  attention: {
    shapes: [
      [2, 3, 4],
      [2, 5, 4],
      [2, 5, 3],
    ],
    ours: (q, k, v) => F.scaledDotProductAttention(q, k, v),
    theirs: (q, k, v) => tf.matMul(tf.softmax(tf.matMul(q, k, false, true).mul(0.5)), v),
  },
  "causal attention": {
    shapes: [
      [2, 4, 4],
      [2, 4, 4],
      [2, 4, 3],
    ],
    ours: (q, k, v) => F.scaledDotProductAttention(q, k, v, { causal: true }),
    theirs: (q, k, v) =>
      tf.matMul(
        tf.softmax(
          tf
            .matMul(q, k, false, true)
            .mul(0.5)
            .add(
              tf.tensor2d([
                [0, -1e9, -1e9, -1e9],
                [0, 0, -1e9, -1e9],
                [0, 0, 0, -1e9],
                [0, 0, 0, 0],
              ]),
            ),
        ),
        v,
      ),
  },
  maskedFill: {
    shapes: [[2, 3]],
    ours: (x) => x.maskedFill(tensor([true, false, true]), -2),
    theirs: (x) =>
      tf.where(
        tf.tensor2d(
          [
            [1, 0, 1],
            [1, 0, 1],
          ],
          undefined,
          "bool",
        ),
        tf.fill([2, 3], -2),
        x,
      ),
  },
  elu: { shapes: [[3, 4]], ours: (x) => x.elu(), theirs: (x) => tf.elu(x) },
  selu: { shapes: [[3, 4]], ours: (x) => x.selu(), theirs: (x) => tf.selu(x) },
  leakyRelu: {
    shapes: [[3, 4]],
    ours: (x) => x.leakyRelu(0.2),
    theirs: (x) => tf.leakyRelu(x, 0.2),
  },
  clamp: {
    shapes: [[3, 4]],
    ours: (x) => x.clamp(-1, 0.5),
    theirs: (x) => tf.clipByValue(x, -1, 0.5),
  },
  "gelu by erf": {
    shapes: [[3, 4]],
    ours: (x) => x.gelu(),
    theirs: (x) => x.mul(0.5).mul(tf.erf(x.div(Math.SQRT2)).add(1)),
  },
  atan2: {
    shapes: [[3, 4], [4]],
    ours: (a, b) => a.atan2(b),
    theirs: (a, b) => tf.atan2(a, b),
    rel: 1e-3,
  },
};

for (const [label, oracle] of Object.entries(oracles)) test(label, () => compare(label, oracle));

/** Runs `fn` in a scope and compares what it returns. */
async function gives(fn: () => Tensor, want: NestedArray, tolerance = 1e-6): Promise<void> {
  await scopedAsync(() => assertClose(fn(), want, tolerance));
}

test("pieces are views in order, the last one shorter", async () => {
  await scopedAsync(async () => {
    const x = arange(7);
    assert.equal(
      x.split(3).map((t) => t.shape),
      [[3], [3], [1]],
    );
    assert.equal(
      x.chunk(3).map((t) => t.shape),
      [[3], [3], [1]],
    );
    await assertClose(x.split(3)[2]!, [6]);
    assert.equal(
      zeros([2, 0])
        .split(2, 1)
        .map((t) => t.shape),
      [[2, 0]],
    );
  });
});

test("positions: negative, out of range, of many shapes", async () => {
  await scopedAsync(async () => {
    const x = tensor([
      [1, 2],
      [3, 4],
      [5, 6],
    ]);
    await assertClose(x.index(ints([-1, 0])), [
      [5, 6],
      [1, 2],
    ]);
    await assertClose(x.index(ints([3])), [[NaN, NaN]]);
    assert.equal(x.index(ints([])).shape, [0, 2]);
    await assertClose(x.index(tensor(2, { dtype: "int32" })), [5, 6]);
    await assertClose(x.gather(1, ints([0, 1, 1], [3, 1])), [[1], [4], [6]]);
    await assertClose(
      zeros([3, 3]).scatterAdd(
        1,
        ints([0, 1, 0, 2], [2, 2]),
        tensor([
          [1, 2],
          [3, 4],
        ]),
      ),
      [
        [1, 2, 0],
        [3, 0, 4],
        [0, 0, 0],
      ],
    );
  });
});

test("long rows sort as JavaScript does, stably", async () => {
  await scopedAsync(async () => {
    const values = numbers(3000, 720, 0, 200).map(Math.floor),
      x = ints(values),
      want = values.map((_, i) => i).sort((a, b) => values[a]! - values[b]!);
    const { values: sorted, indices } = x.sort();
    await Promise.all([
      assertClose(indices, want, 0),
      assertClose(
        sorted,
        want.map((i) => values[i]!),
        0,
      ),
    ]);
    await assertClose(
      x.argSort(0, true),
      values.map((_, i) => i).sort((a, b) => values[b]! - values[a]!),
      0,
    );
  });
});

test("moving and repeating", async () => {
  await scopedAsync(async () => {
    const x = tensor([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    await assertClose(x.roll(1, 1), [
      [3, 1, 2],
      [6, 4, 5],
    ]);
    await assertClose(x.roll([1, -1], [0, 1]), [
      [5, 6, 4],
      [2, 3, 1],
    ]);
    await assertClose(x.roll(2), [
      [5, 6, 1],
      [2, 3, 4],
    ]);
    await assertClose(x.repeat(2, 1), [
      [1, 2, 3],
      [4, 5, 6],
      [1, 2, 3],
      [4, 5, 6],
    ]);
    await assertClose(x.repeatInterleave(2, 0), [
      [1, 2, 3],
      [1, 2, 3],
      [4, 5, 6],
      [4, 5, 6],
    ]);
    await assertClose(x.tril(), [
      [1, 0, 0],
      [4, 5, 0],
    ]);
    await assertClose(x.triu(1), [
      [0, 2, 3],
      [0, 0, 6],
    ]);
    await assertClose(concat([x.int(), x]), [
      [1, 2, 3],
      [4, 5, 6],
      [1, 2, 3],
      [4, 5, 6],
    ]);
  });
});

test("in place", async () => {
  await scopedAsync(async () => {
    const x = tensor([-2, 0.5, 3]),
      y = x.clone();
    y.clamp_(-1, 1);
    await assertClose(y, [-1, 0.5, 1]);
    y.maskedFill_(tensor([true, false, false]), 4).pow_(2);
    await assertClose(y, [16, 0.25, 1]);
    y.lerp_(x, 0.5);
    await assertClose(y, [7, 0.375, 2]);
    y.addcmul_(x, x, 2).sub_(1).abs_().sqrt_();
    await assertClose(y, [Math.sqrt(14), Math.sqrt(0.125), Math.sqrt(19)]);
  });
});

test("running statistics follow the batch", async () => {
  await scopedAsync(async () => {
    const x = tensor([
        [1, 10],
        [3, 30],
      ]),
      mean = zeros([2]),
      variance = tensor([1, 1]);
    F.batchNorm(x, { runningMean: mean, runningVar: variance, training: true, momentum: 0.5 });
    await assertClose(mean, [1, 10]);
    await assertClose(variance, [1.5, 100.5]);
  });
});

test("a query with no key gives zeros; masks of both kinds agree", async () => {
  await scopedAsync(async () => {
    const [q, k, v] = [randn([2, 3]), randn([4, 3]), randn([4, 5])] as const;
    const kept = tensor([
      [1, 0, 1, 0],
      [0, 0, 0, 0],
    ]).bool();
    await assertClose(
      F.scaledDotProductAttention(q, k, v, { mask: kept }).select(0, 1),
      [0, 0, 0, 0, 0],
    );
    const added = zeros([2, 4]).maskedFill(kept.logicalNot(), -Infinity);
    await assertClose(
      F.scaledDotProductAttention(q, k, v, { mask: added }),
      await F.scaledDotProductAttention(q, k, v, { mask: kept }).toArray(),
    );
  });
});

test("replicated borders, cuts, one-dimensional and uneven resampling", async () => {
  await gives(() => F.pad(tensor([[1, 2, 3]]), [2, 1], "replicate"), [[1, 1, 1, 2, 3, 3]]);
  await gives(() => F.pad(tensor([1, 2, 3, 4]), [-1, 2]), [2, 3, 4, 0, 0]);
  await gives(
    () => F.upsample(tensor([[[0, 2]]]), { size: 4, mode: "linear" }),
    [[[0, 0.5, 1.5, 2]]],
  );
  await gives(() => F.adaptiveAvgPool1d(tensor([[[1, 2, 3, 4, 5]]]), 2), [[[2, 4]]]);
  await gives(
    () =>
      F.convTranspose1d(tensor([[[1, 2]]]), tensor([[[1, 10, 100]]]), tensor([1]), { stride: 2 }),
    [[[2, 11, 103, 21, 201]]],
  );
  await gives(
    () =>
      F.convTranspose1d(tensor([[[1, 2]]]), tensor([[[1, 10, 100]]]), null, {
        stride: 2,
        outputPadding: 1,
        padding: 1,
      }),
    [[[10, 102, 20, 200]]],
  );
});

test("gradients where there is no oracle", async () => {
  const point = (...shape: number[]): { shape: number[]; values: number[] } => ({
    shape,
    values: numbers(count(shape), 730),
  });
  await gradcheck((x) => x.cumProd(1), [point(2, 4)], { tolerance: 2e-2 });
  await gradcheck((x) => x.roll(1, 1).tril(), [point(3, 3)]);
  await gradcheck(
    (x, w) => F.convTranspose2d(x, w, null, { stride: 2, padding: 1, outputPadding: 1, groups: 2 }),
    [point(1, 2, 2, 2), point(2, 1, 3, 3)],
    { tolerance: 2e-2 },
  );
  await gradcheck((x) => F.upsample(x, { scaleFactor: 2, mode: "bilinear" }), [point(1, 1, 2, 3)]);
  await gradcheck((x, y) => x.lerp(y, 0.25).addcmul(x, y, 2), [point(2, 2), point(2, 2)], {
    tolerance: 2e-2,
  });
});

test("random choices: the same for the same seed, and fair", async () => {
  await scopedAsync(async () => {
    manualSeed(7);
    const p = await randperm(1000).data(),
      q = await randperm(1000).data();
    assert.equal(
      [...p].sort((a, b) => a - b),
      Array.from({ length: 1000 }, (_, i) => i),
    );
    assert.not.equal(p, q);
    manualSeed(7);
    assert.equal(await randperm(1000).data(), p);
    const share = await bernoulli(zeros([4000]).add(0.25))
      .mean()
      .item();
    assert.ok(Math.abs(share - 0.25) < 0.03, `${share}`);
    assert.is(
      await bernoulli(rand([9]).mul(0))
        .sum()
        .item(),
      0,
    );
    assert.equal((await randperm(0).data()).length, 0);
  });
});

test("topK agrees with the stable sort, however it picks, and its gradient goes back to what was picked", async () => {
  await scopedAsync(async () => {
    const n = 30_000,
      // many ties
      values = numbers(2 * n, 77, -50, 50).map((v, i) => (i === 12_345 ? NaN : Math.round(v)));
    const x = tensor(values, { shape: [2, n] });
    for (const [k, largest] of [
      [1, true],
      [10, true],
      [10, false],
      [32, false],
      [33, true],
    ] as const) {
      const { values: got, indices } = x.topK(k, -1, largest),
        order = x.argSort(-1, largest).slice(-1, 0, k);
      await assertClose(indices, await order.data(), 0);
      await assertClose(got, await x.gather(1, order).data(), 0);
    }
    await assertClose(
      x.permute(1, 0).topK(3, 0).indices,
      await x.argSort(1, true).slice(1, 0, 3).permute(1, 0).data(),
      0,
    );
    const p = tensor(
      [
        [3, 1, 4, 1],
        [5, 9, 2, 6],
      ],
      { requiresGrad: true },
    );
    p.topK(2).values.sum().backward();
    await assertClose(
      p.grad!,
      [
        [1, 0, 1, 0],
        [0, 1, 0, 1],
      ],
      0,
    );
    assert.equal(p.topK(0).indices.shape, [2, 0]);
    const single = tensor(7).topK(1);
    assert.equal(
      [single.values.shape, await single.values.item(), await single.indices.item()],
      [[], 7, 0],
    );
  });
});

test("arguments that do not fit are refused, naming the function", async () => {
  const cases: readonly (readonly [() => unknown, new (...args: never[]) => Error, RegExp])[] = [
    [() => concat([]), ArgumentError, /^concat: /],
    [() => concat([zeros([2, 3]), zeros([3, 2])]), ShapeError, /^concat: .*\[2,3\] and \[3,2\]/],
    [() => concat([zeros([2]), zeros([2, 2])]), ShapeError, /^concat: /],
    [() => stack([zeros([2]), zeros([3])]), ShapeError, /^stack: /],
    [() => zeros([5]).split(0), ArgumentError, /^split: /],
    [() => zeros([5]).split([2, 2]), ShapeError, /^split: .*add up to 5/],
    [() => zeros([5]).chunk(0), ArgumentError, /^chunk: /],
    [() => zeros([5]).index(zeros([2])), DTypeError, /^index: .*int32/],
    [() => zeros([5]).index(tensor([true, false])), DTypeError, /^index: .*mask/],
    [() => zeros([3, 3]).gather(0, ints([1])), ShapeError, /^gather: /],
    [() => zeros([3]).indexSelect(0, ints([1], [1, 1])), ShapeError, /^indexSelect: /],
    [() => zeros([3]).scatterAdd(0, ints([1, 2]), zeros([1])), ShapeError, /^scatterAdd: /],
    [() => zeros([3]).topK(4), ArgumentError, /^topK: /],
    [() => zeros([3]).roll([1, 2]), ArgumentError, /^roll: /],
    [() => zeros([2, 2]).repeat(2), ArgumentError, /^repeat: /],
    [() => zeros([3]).tril(), ShapeError, /^tril: /],
    [() => zeros([3]).clamp(), ArgumentError, /^clamp: /],
    [() => ints([1]).clamp_(0.5), DTypeError, /^clamp_: /],
    [() => zeros([2]).dot(zeros([3])), ShapeError, /^dot: /],
    [() => ints([1]).var(), DTypeError, /^var: /],
    [() => einsum("ij,jk->ik", zeros([2, 3])), ArgumentError, /^einsum: /],
    [() => einsum("ij,jk->ik", zeros([2, 3]), zeros([4, 5])), ShapeError, /^einsum: .*"j"/],
    [() => einsum("ij->k", zeros([2, 3])), ArgumentError, /^einsum: /],
    [() => einsum("i", zeros([2, 3])), ShapeError, /^einsum: /],
    [() => F.pad(zeros([3]), [1]), ArgumentError, /^pad: /],
    [() => F.pad(zeros([3]), [3, 0], "reflect"), ShapeError, /^pad: /],
    [() => F.conv1d(zeros([2, 2]), zeros([1, 2, 1])), ShapeError, /^conv1d: /],
    [
      () => F.convTranspose2d(zeros([1, 2, 3, 3]), zeros([3, 1, 2, 2])),
      ShapeError,
      /^convTranspose2d: /,
    ],
    [() => F.upsample(zeros([1, 1, 2, 2]), {}), ArgumentError, /^upsample: /],
    [() => F.layerNorm(zeros([2, 3]), 4), ShapeError, /^layerNorm: /],
    [() => F.groupNorm(zeros([2, 3, 4]), 2), ArgumentError, /^groupNorm: /],
    [() => F.batchNorm(zeros([2, 3])), ArgumentError, /^batchNorm: /],
    [() => F.batchNorm(zeros([1, 3]), { training: true }), ShapeError, /^batchNorm: /],
    [
      () => F.scaledDotProductAttention(zeros([2, 3]), zeros([2, 4]), zeros([2, 3])),
      ShapeError,
      /^scaledDotProductAttention: /,
    ],
    [
      () => F.scaledDotProductAttention(eye(2), eye(2), eye(2), { mask: zeros([3]) }),
      ShapeError,
      /^scaledDotProductAttention: /,
    ],
    [() => randperm(-1), ArgumentError, /^randperm: /],
    [() => bernoulli(ints([1])), DTypeError, /^bernoulli: /],
    [() => zeros([2]).bmm(zeros([2])), ShapeError, /^bmm: /],
  ];
  for (const [fn, type, text] of cases)
    await rejects(
      () =>
        scoped(() => {
          fn();
        }),
      type,
      text,
    );
});

test.run();
