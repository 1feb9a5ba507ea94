/**
 * The rows in TF.js. Called by `worker.ts` on its WebGPU backend, and by the test on its CPU
 * backend; a program's tensors are its own until `dispose`. Images are [batch, height, width,
 * channels] here, because the WebGPU backend has gradients for no other order.
 */
import type { tf as TF } from "../../tenure/test/gpu/ops/oracles/tfjs.ts";
import {
  type Program,
  type Spec,
  type Values,
  adam,
  lenetSide,
  rates,
  spread,
  startOf,
  transposed,
} from "./rows.ts";

/** TF.js, typed by the repository's copy: two copies of its types would not fit each other. */
export type Library = typeof TF;
type Tensor = ReturnType<Library["tensor"]>;
type Variable = ReturnType<Library["variable"]>;
type Image = ReturnType<Library["tensor4d"]>;
type Scalar = ReturnType<Library["scalar"]>;
type Training = Extract<Spec, { kind: "mlp" | "lenet" }>;

/** What rows without training compute. */
function forward(tf: Library, spec: Spec, inputs: readonly Tensor[]): Tensor {
  const [x, b, c] = inputs as readonly [Tensor, Tensor, Tensor];
  switch (spec.kind) {
    case "matmul":
      return tf.matMul(x, b);
    case "softmax":
      return tf.softmax(x);
    case "layerNorm": {
      const { mean, variance } = tf.moments(x, 1, true);
      const scale = tf.mul(tf.rsqrt(tf.add(variance, 1e-5)), b);
      return tf.add(tf.mul(tf.sub(x, mean), scale), c);
    }
    case "chain": {
      let y = x;
      for (let i = 0; i < spec.ops; i++)
        y = spec.multiply && i % 2 === 0 ? tf.mul(y, c) : tf.add(y, b);
      return y;
    }
    case "mlp":
    case "lenet":
      throw new Error(`forward: expected a row without training, got ${spec.kind}`);
  }
}

/** x → logits [batch, 10]. */
function logits(tf: Library, spec: Training, x: Tensor, weights: readonly Variable[]): Tensor {
  const [w1, b1, w2, b2, w3, b3, w4, b4, w5, b5] = weights as readonly [
    Variable,
    Variable,
    Variable,
    Variable,
    Variable,
    Variable,
    Variable,
    Variable,
    Variable,
    Variable,
  ];
  const linear = (input: Tensor, w: Tensor, b: Tensor): Tensor => tf.add(tf.matMul(input, w), b);
  if (spec.kind === "mlp") return linear(tf.relu(linear(x, w1, b1)), w2, b2);
  const block = (input: Tensor, w: Tensor, b: Tensor, padding: "same" | "valid"): Tensor =>
    tf.maxPool(
      tf.relu<Image>(tf.add(tf.conv2d(input as Image, w as Image, 1, padding), b)),
      2,
      2,
      "valid",
    );
  const images = block(block(x, w1, b1, "same"), w2, b2, "valid");
  const flat = tf.reshape(images, [spec.batch, -1]);
  return linear(tf.relu(linear(tf.relu(linear(flat, w3, b3)), w4, b4)), w5, b5);
}

/** A weight in TF.js's order: convolutions [height, width, in, out], what follows them likewise. */
function ordered(spec: Training, weight: Values, index: number): Values {
  if (weight.shape.length === 4) return transposed(weight, [2, 3, 1, 0]);
  if (spec.kind === "mlp" || index !== 4) return weight;
  const side = lenetSide(spec.side);
  const out = weight.shape[1] ?? 0;
  const split = { shape: [16, side, side, out], data: weight.data };
  return { shape: weight.shape, data: transposed(split, [1, 2, 0, 3]).data };
}

function training(tf: Library, spec: Training): Program {
  const start = startOf(spec);
  const put = ({ shape, data }: Values): Tensor => tf.tensor(data, [...shape]);
  const x = start.inputs.map((v) => put(spec.kind === "lenet" ? transposed(v, [0, 2, 3, 1]) : v));
  const weights = start.weights.map((w, i) => {
    const initial = put(ordered(spec, w, i));
    const variable = tf.variable(initial);
    initial.dispose();
    return variable;
  });
  const labels = tf.tidy(() =>
    tf.cast(tf.oneHot(tf.tensor1d(start.labels, "int32"), 10), "float32"),
  );
  const optimizer =
    spec.kind === "mlp" && spec.optimizer === "Adam"
      ? tf.train.adam(rates.Adam, adam.beta1, adam.beta2, adam.epsilon)
      : tf.train.sgd(rates.SGD);
  const [input] = x as [Tensor];
  const step = async (): Promise<number> => {
    const loss = optimizer.minimize(
      () =>
        tf.tidy(() =>
          tf.neg<Scalar>(
            tf.mean(tf.sum(tf.mul(tf.logSoftmax(logits(tf, spec, input, weights)), labels), 1)),
          ),
        ),
      true,
      weights,
    );
    if (loss === null) throw new Error("minimize: expected the loss, got null");
    const [value = Number.NaN] = await loss.data();
    loss.dispose();
    return value;
  };
  return {
    run: async () => {
      await step();
    },
    values: async () => [await step(), await step(), await step()],
    dispose: () => {
      for (const owned of [optimizer, labels, ...x, ...weights]) owned.dispose();
    },
  };
}

/** Sets a row up. @param finished settles when the device has done what was asked of it */
export function tfjsProgram(tf: Library, spec: Spec, finished: () => Promise<void>): Program {
  if (spec.kind === "mlp" || spec.kind === "lenet") return training(tf, spec);
  const inputs = startOf(spec).inputs.map(({ shape, data }) => tf.tensor(data, [...shape]));
  const compute = (): Tensor => tf.tidy(() => forward(tf, spec, inputs));
  return {
    run: async () => {
      const y = compute();
      await finished();
      y.dispose();
    },
    values: async () => {
      const y = compute();
      const values = spread(await y.data());
      y.dispose();
      return values;
    },
    dispose: () => {
      for (const x of inputs) x.dispose();
    },
  };
}
