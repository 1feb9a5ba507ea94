/**
 * The rows in jax-js, under `jit`, which is its fastest way. Called by `worker.ts`; a program's
 * arrays are its own until `dispose`. In jax-js each use of an array consumes it: `.ref` is one
 * more use.
 */
import { type Program, type Spec, type Values, adam, rates, spread, startOf } from "./rows.ts";

/** An array of jax-js, as far as it is used here. */
export interface JaxArray {
  readonly ref: this;
  add(other: JaxArray | number): JaxArray;
  sub(other: JaxArray | number): JaxArray;
  mul(other: JaxArray | number): JaxArray;
  div(other: JaxArray | number): JaxArray;
  reshape(shape: readonly number[]): JaxArray;
  data(): Promise<Float32Array>;
  blockUntilReady(): Promise<JaxArray>;
  dispose(): void;
}

type Loss = (weights: JaxArray[], x: JaxArray, labels: JaxArray) => JaxArray;

/** What is used of jax-js. */
export interface Jax {
  init(device: "webgpu"): Promise<readonly string[]>;
  defaultDevice(device: "webgpu"): unknown;
  getWebGPUDevice(): GPUDevice;
  jit<A extends unknown[], R>(fn: (...args: A) => R): (...args: A) => R;
  valueAndGrad(fn: Loss): (...args: Parameters<Loss>) => [JaxArray, JaxArray[]];
  readonly lax: {
    conv(x: JaxArray, w: JaxArray, strides: readonly number[], padding: string): JaxArray;
  };
  readonly nn: {
    relu(x: JaxArray): JaxArray;
    softmax(x: JaxArray, axis: number): JaxArray;
    logSoftmax(x: JaxArray, axis: number): JaxArray;
    oneHot(x: JaxArray, classes: number): JaxArray;
    standardize(x: JaxArray, axis: number): JaxArray;
  };
  readonly numpy: {
    readonly int32: string;
    array(data: Float32Array | Int32Array, o?: { shape?: number[]; dtype?: string }): JaxArray;
    matmul(a: JaxArray, b: JaxArray): JaxArray;
    max(x: JaxArray, axis: number): JaxArray;
    mean(x: JaxArray): JaxArray;
    sqrt(x: JaxArray): JaxArray;
    sum(x: JaxArray, axis: number): JaxArray;
    zerosLike(x: JaxArray): JaxArray;
  };
}

type Training = Extract<Spec, { kind: "mlp" | "lenet" }>;

/** What rows without training compute; consumes its inputs. */
function forward(jax: Jax, spec: Spec, inputs: readonly JaxArray[]): JaxArray {
  const [x, b, c] = inputs as readonly [JaxArray, JaxArray, JaxArray];
  switch (spec.kind) {
    case "matmul":
      return jax.numpy.matmul(x, b);
    case "softmax":
      return jax.nn.softmax(x, 1);
    case "layerNorm":
      return jax.nn.standardize(x, 1).mul(b).add(c);
    case "chain": {
      let y = x;
      for (let i = 0; i < spec.ops; i++)
        y = spec.multiply && i % 2 === 0 ? y.mul(c.ref) : y.add(b.ref);
      b.dispose();
      if (spec.multiply) c.dispose();
      return y;
    }
    case "mlp":
    case "lenet":
      throw new Error(`forward: expected a row without training, got ${spec.kind}`);
  }
}

/** x → logits [batch, 10]; consumes all. */
function logits(jax: Jax, spec: Training, weights: readonly JaxArray[], x: JaxArray): JaxArray {
  const { lax, nn, numpy } = jax;
  const [w1, b1, w2, b2, ...linears] = weights as readonly [
    JaxArray,
    JaxArray,
    JaxArray,
    JaxArray,
    ...JaxArray[],
  ];
  const linear = (input: JaxArray, w: JaxArray, b: JaxArray): JaxArray =>
    numpy.matmul(input, w).add(b);
  if (spec.kind === "mlp") return linear(nn.relu(linear(x, w1, b1)), w2, b2);
  /** Convolution, bias [c], relu, and the greatest of each 2×2. */
  const block = (
    input: JaxArray,
    w: JaxArray,
    b: JaxArray,
    channels: number,
    side: number,
    padding: "SAME" | "VALID",
  ): JaxArray => {
    const y = lax.conv(input, w, [1, 1], padding).add(b.reshape([1, channels, 1, 1]));
    const windows = nn.relu(y).reshape([spec.batch, channels, side / 2, 2, side / 2, 2]);
    return numpy.max(numpy.max(windows, 5), 3);
  };
  const half = spec.side / 2;
  const images = block(block(x, w1, b1, 6, spec.side, "SAME"), w2, b2, 16, half - 4, "VALID");
  const [w3, b3, w4, b4, w5, b5] = linears as [
    JaxArray,
    JaxArray,
    JaxArray,
    JaxArray,
    JaxArray,
    JaxArray,
  ];
  const flat = images.reshape([spec.batch, -1]);
  return linear(nn.relu(linear(nn.relu(linear(flat, w3, b3)), w4, b4)), w5, b5);
}

/** Weights, and Adam's two averages of each. */
type State = [weights: JaxArray[], first: JaxArray[], second: JaxArray[]];

/** One step under `jit`; `corrections` [2] are 1 − β₁ᵗ and 1 − β₂ᵗ, and are ignored by SGD. */
function stepOf(
  jax: Jax,
  spec: Training,
): (state: State, x: JaxArray, labels: JaxArray, c1: JaxArray, c2: JaxArray) => [JaxArray, State] {
  const lossOf: Loss = (weights, x, labels) => {
    const likelihood = jax.nn.logSoftmax(logits(jax, spec, weights, x), -1).mul(labels);
    return jax.numpy.mean(jax.numpy.sum(likelihood, -1)).mul(-1);
  };
  const { beta1, beta2, epsilon } = adam;
  const useAdam = spec.kind === "mlp" && spec.optimizer === "Adam";
  return jax.jit((state: State, x: JaxArray, labels: JaxArray, c1: JaxArray, c2: JaxArray) => {
    const [weights, first, second] = state;
    const [loss, gradients] = jax.valueAndGrad(lossOf)(
      weights.map((w) => w.ref),
      x,
      labels,
    );
    const next: State = [[], [], []];
    weights.forEach((w, i) => {
      const g = gradients[i]!;
      if (!useAdam) {
        next[0].push(w.sub(g.mul(rates.SGD)));
        return;
      }
      const m = first[i]!.mul(beta1).add(g.ref.mul(1 - beta1));
      const v = second[i]!.mul(beta2).add(g.ref.mul(g).mul(1 - beta2));
      next[1].push(m.ref);
      next[2].push(v.ref);
      const root = jax.numpy.sqrt(v.div(c2.ref)).add(epsilon);
      next[0].push(w.sub(m.div(c1.ref).div(root).mul(rates.Adam)));
    });
    c1.dispose();
    c2.dispose();
    return [loss, next] as [JaxArray, State];
  });
}

function training(jax: Jax, spec: Training): Program {
  const start = startOf(spec);
  const { numpy } = jax;
  const put = ({ shape, data }: Values): JaxArray => numpy.array(data, { shape: [...shape] });
  const x = start.inputs.map(put);
  const labels = jax.nn.oneHot(numpy.array(start.labels, { dtype: numpy.int32 }), 10);
  const weights = start.weights.map(put);
  const useAdam = spec.kind === "mlp" && spec.optimizer === "Adam";
  const zeros = (): JaxArray[] => (useAdam ? weights.map((w) => numpy.zerosLike(w.ref)) : []);
  let state: State = [weights, zeros(), zeros()];
  const compiled = stepOf(jax, spec);
  let steps = 0;
  const number = (value: number): JaxArray => numpy.array(new Float32Array([value])).reshape([]);
  const step = async (): Promise<number> => {
    steps++;
    const [loss, next] = compiled(
      state,
      x[0]!.ref,
      labels.ref,
      number(1 - adam.beta1 ** steps),
      number(1 - adam.beta2 ** steps),
    );
    state = next;
    const [value = Number.NaN] = await loss.data();
    return value;
  };
  return {
    run: async () => {
      await step();
    },
    values: async () => [await step(), await step(), await step()],
    dispose: () => {
      for (const owned of [labels, ...x, ...state.flat()]) owned.dispose();
    },
  };
}

/** Sets a row up. */
export function jaxProgram(jax: Jax, spec: Spec): Program {
  if (spec.kind === "mlp" || spec.kind === "lenet") return training(jax, spec);
  const inputs = startOf(spec).inputs.map(({ shape, data }) =>
    jax.numpy.array(data, { shape: [...shape] }),
  );
  const used = spec.kind === "chain" && !spec.multiply ? inputs.slice(0, 2) : inputs;
  const compiled = jax.jit((...args: JaxArray[]) => forward(jax, spec, args));
  const compute = (): JaxArray => compiled(...used.map((x) => x.ref));
  return {
    run: async () => {
      const y = compute();
      await y.blockUntilReady();
      y.dispose();
    },
    values: async () => spread(await compute().data()),
    dispose: () => {
      for (const x of inputs) x.dispose();
    },
  };
}
