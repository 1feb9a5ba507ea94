/**
 * The functions of layers: borders, windows, normalisation, attention and activations, next to
 * their
 * counterparts in TF.js.
 */
import { tensor } from "tenure";
import { functional as F } from "tenure/nn";
import { type Oracle, nchw, nhwc } from "./oracle.ts";
import { tf } from "./tfjs.ts";

export const layerOracles: Readonly<Record<string, Oracle>> = {
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
