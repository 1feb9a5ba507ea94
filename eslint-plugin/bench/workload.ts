/**
 * Runs as much of the library as calls for tensors, outside of any scope, and frees what it is
 * given: on unchanged sources every section leaves nothing behind. `mutation.ts` bundles it with
 * one source changed and looks at what is left. The null device computes nothing, so only ownership
 * is exercised.
 */
import {
  type Tensor,
  bernoulli,
  checkpoint,
  einsum,
  enableGrad,
  grad,
  init,
  linspace,
  memory,
  newDisposeScope,
  noGrad,
  oneHot,
  ones,
  rand,
  randn,
  randperm,
  stack,
  tensor,
  where,
  zeros,
} from "tenure";
import {
  ArrayDataset,
  DataLoader,
  packCheckpoint,
  toSafetensors,
  unpackCheckpoint,
} from "tenure/data";
import * as nn from "tenure/nn";
import {
  Adam,
  AdamW,
  Adagrad,
  Lion,
  RMSprop,
  SGD,
  clipGradNorm,
  clipGradValue,
} from "tenure/optim";
import { gradcheck } from "tenure/testing";

type Owned = Tensor | readonly Owned[] | { readonly [name: string]: Owned } | null | undefined;
/** Frees every tensor in a value. */
function free(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  if ("isDisposed" in value) (value as Tensor).dispose();
  else for (const part of Object.values(value)) free(part);
}
/** Calls functions that give fresh tensors, and frees these. */
function each(...calls: (() => Owned)[]): void {
  for (const call of calls) free(call());
}
const ints = (values: number[], shape?: number[]): Tensor =>
  tensor(Int32Array.from(values), shape === undefined ? {} : { shape });
/** A module's answer and its gradients. */
function train(module: nn.AnyModule, ...inputs: Tensor[]): void {
  using m = module;
  for (let round = 0; round < 2; round++) {
    const out = (m as nn.Module<Tensor[]>).call(...inputs);
    using total = out.sum();
    out.dispose();
    if (total.requiresGrad) total.backward();
  }
}
const leaf = (shape: number[]): Tensor => {
  const t = randn(shape);
  t.requiresGrad = true;
  return t;
};
/** One parameter, one gradient, one step. */
function optimise(
  make: (parameters: Tensor[]) => {
    step(): void;
    zeroGrad(): void;
    dispose(): void;
    stateDict(): unknown;
    loadStateDict(s: never): void;
  },
): void {
  using p = leaf([3]),
    q = leaf([2, 2]);
  const optimizer = make([p, q]);
  for (let step = 0; step < 3; step++) {
    {
      using square = p.mul(p);
      using s = square.sum();
      using r = q.sum();
      using loss = s.add(r);
      loss.backward();
    }
    free(clipGradNorm([p, q], 1));
    clipGradValue([p, q], 0.5);
    optimizer.step();
    optimizer.zeroGrad();
  }
  const state = optimizer.stateDict();
  optimizer.loadStateDict(state as never);
  free(
    (state as { tensors?: unknown }).tensors instanceof Map
      ? [...(state as { tensors: Map<string, Tensor> }).tensors.values()]
      : null,
  );
  optimizer.dispose();
}

/** What is run, by name; each section leaves nothing behind. */
export const sections: Readonly<Record<string, () => unknown>> = {
  losses() {
    const F = nn.functional;
    using a = leaf([4, 3]),
      b = rand([4, 3]),
      classes = ints([0, 2, 1, 0]),
      signs = tensor([1, -1, 1, -1]),
      weight = ones([3]),
      p = rand([4, 3]);
    for (const reduction of ["mean", "sum", "none"] as const) {
      each(
        () => F.mseLoss(a, b, reduction),
        () => F.l1Loss(a, b, reduction),
        () => F.huberLoss(a, b, { reduction }),
        () => F.smoothL1Loss(a, b, { reduction }),
        () => F.smoothL1Loss(a, b, { reduction, beta: 0 }),
        () => F.crossEntropy(a, classes, { reduction }),
        () => F.crossEntropy(a, classes, { reduction, weight }),
        () => F.crossEntropy(a, classes, { reduction, labelSmoothing: 0.1 }),
        () => F.crossEntropy(a, b, { reduction }),
        () => F.nllLoss(a, classes, { reduction }),
        () => F.nllLoss(a, classes, { reduction, weight }),
        () => F.bce(p, b, { reduction }),
        () => F.bceWithLogits(a, b, { reduction }),
        () => F.bceWithLogits(a, b, { reduction, posWeight: weight }),
        () => F.cosineEmbedding(a, b, signs, { reduction }),
        () => F.klDiv(a, p, { reduction }),
      );
    }
    train(new nn.MSELoss(), a, b);
    train(new nn.CrossEntropyLoss(), a, classes);
  },
  functions() {
    const F = nn.functional;
    using x = leaf([2, 4, 6, 6]),
      w = leaf([8, 4, 3, 3]),
      bias = leaf([8]),
      s = leaf([2, 4, 6]),
      w1 = leaf([8, 4, 3]),
      up = leaf([4, 8, 3, 3]),
      q = leaf([2, 5, 4]),
      gain = ones([4]),
      shift = zeros([4]),
      mean = zeros([4]),
      spread = ones([4]);
    using up1 = leaf([4, 8, 3]),
      row = leaf([6]),
      wide = leaf([8, 6]);
    each(
      () => F.linear(row, wide, bias),
      () => F.conv2d(x, w, bias, { padding: 1 }),
      () => F.conv2d(x, w),
      () => F.maxPool2d(x, 2),
      () => F.avgPool2d(x, 2),
      () => F.dropout(x, 0.5),
      () => F.dropout(x, 0.5, false),
      () => F.conv1d(s, w1, bias),
      () => F.convTranspose2d(x, up, bias),
      () => F.convTranspose1d(s, up1),
      () => F.maxPool1d(s, 2),
      () => F.avgPool1d(s, 2),
      () => F.adaptiveAvgPool2d(x, 2),
      () => F.adaptiveAvgPool1d(s, 2),
      () => F.upsample(x, { scaleFactor: 2 }),
      () => F.pad(x, [1, 1]),
      () => F.pad(x, [1, 1, 2, 2], "reflect"),
      () => F.pad(x, [1, 1], "replicate"),
      () => F.scaledDotProductAttention(q, q, q),
      () => F.scaledDotProductAttention(q, q, q, { causal: true }),
      () => F.layerNorm(q, 4, gain, shift),
      () => F.rmsNorm(q, 4, gain),
      () => F.groupNorm(x, 2, gain, shift),
      () => F.instanceNorm(x),
      () =>
        F.batchNorm(x, {
          weight: gain,
          bias: shift,
          runningMean: mean,
          runningVar: spread,
          training: true,
        }),
    );
  },
  layers() {
    using x = randn([4, 6]),
      image = randn([2, 4, 6, 6]),
      sequence = randn([2, 4, 6]),
      words = ints([1, 2, 0, 3], [2, 2]);
    for (const make of [
      () => new nn.Linear(6, 2),
      () => new nn.ReLU(),
      () => new nn.Softsign(),
      () => new nn.PReLU(),
      () => new nn.GLU(),
      () => new nn.GELU(),
      () => new nn.Softmax(),
      () => new nn.Dropout(0.5),
      () => new nn.Identity(),
      () => new nn.Hardtanh(),
      () => new nn.LayerNorm(6),
      () => new nn.RMSNorm(6),
      () => new nn.BatchNorm1d(6),
      () =>
        new nn.Sequential(
          new nn.Linear(6, 5),
          new nn.Identity(),
          new nn.ReLU(),
          new nn.Linear(5, 2),
        ),
    ])
      train(make(), x);
    for (const make of [
      () => new nn.Conv2d(4, 2, 3),
      () => new nn.BatchNorm2d(4),
      () => new nn.GroupNorm(2, 4),
      () => new nn.MaxPool2d(2),
      () => new nn.AvgPool2d(2),
      () => new nn.Flatten(),
      () => new nn.PReLU(4),
    ])
      train(make(), image);
    train(new nn.Conv1d(4, 2, 3), sequence);
    train(new nn.Embedding(4, 3), words);
    train(new nn.Embedding(4, 3, { paddingIdx: 0 }), words);
    {
      using m = new nn.BatchNorm1d(6);
      m.eval();
      free(m.call(x));
    }
    const net = (): nn.Module => new nn.Sequential(new nn.Linear(6, 2), new nn.BatchNorm1d(2));
    {
      using one = net(),
        other = net();
      const state = one.stateDict();
      other.loadStateDict(state);
      free([...state.values()]);
    }
    {
      using m = net();
      nn.summary(m, [4, 6]);
    }
  },
  sequences() {
    using x = randn([2, 3, 4]),
      memoryOf = randn([2, 5, 4]);
    for (const make of [
      () => new nn.RNN(4, 6),
      () => new nn.RNN(4, 6, { nonlinearity: "relu" }),
      () => new nn.LSTM(4, 6),
      () => new nn.GRU(4, 6),
    ]) {
      using m = make() as unknown as nn.Module<[Tensor], unknown>;
      const out = m.call(x) as { output: Tensor };
      using total = out.output.sum();
      total.backward();
      free(out);
    }
    using attention = new nn.MultiheadAttention(4, 2, { batchFirst: true }),
      encoder = new nn.TransformerEncoderLayer(4, 2, { dimFeedforward: 8 }),
      first = new nn.TransformerEncoderLayer(4, 2, { normFirst: true }),
      decoder = new nn.TransformerDecoderLayer(4, 2, { batchFirst: true });
    each(
      () => attention.call(x, memoryOf, memoryOf),
      () => attention.call(x, x, x, { causal: true }),
      () => encoder.call(x),
      () => first.call(x),
      () => decoder.call(x, memoryOf),
    );
    using layers = new nn.TransformerEncoder(() => new nn.TransformerEncoderLayer(4, 2), 2);
    free(layers.call(x));
  },
  initialisers() {
    each(
      () => nn.init.constant([2, 2], 1),
      () => nn.init.uniform([2, 2], 1),
      () => nn.init.normal([2, 2], 1, 2),
      () => nn.init.kaimingNormal([2, 2]),
      () => nn.init.kaimingUniform([2, 2]),
      () => nn.init.xavierUniform([2, 2]),
      () => nn.init.xavierNormal([2, 2]),
      () => nn.init.truncNormal([2, 2], {}),
      () => nn.init.orthogonal([3, 2]),
      () => nn.init.orthogonal([2, 3]),
    );
  },
  tensors() {
    using x = leaf([2, 3]),
      y = randn([2, 3]),
      v = randn([3]),
      i = ints([0, 1]),
      more = ints([2, 0], [1, 2]),
      c = y.gt(0),
      chances = rand([2]);
    each(
      () => stack([x, y]),
      () => x.index(i),
      () => x.gather(1, more),
      () => x.argSort(),
      () => x.sort() as unknown as Owned,
      () => x.topK(2) as unknown as Owned,
      () => x.flip([0, 1]),
      () => x.roll(1),
      () => x.roll([1, 1], [0, 1]),
      () => x.repeatInterleave(2),
      () => x.var(),
      () => x.std(1),
      () => x.norm(),
      () => x.norm(1),
      () => x.norm(Infinity),
      () => x.norm(3),
      () => x.logSumExp(1),
      () => v.dot(v),
      () => v.outer(v),
      () => x.matmul(v),
      () => v.matmul(v),
      () => x.lerp(y, y),
      () => x.lerp(y, 0.5),
      () => where(c, x, y),
      () => oneHot(i, 3),
      () => linspace(0, 1, 3),
      () => randperm(4),
      () => bernoulli(chances),
      () => einsum("ij,kj->ik", x, y),
      () => x.pow(y),
    );
  },
  gradients() {
    using x = leaf([3]),
      y = leaf([3]);
    const f = (a: Tensor, b: Tensor): Tensor => {
      using c = a.mul(b);
      using d = c.exp();
      return d.sum();
    };
    free(grad(f)(x, y));
    free(grad((a: Tensor) => f(a, a))(x));
    using kept = checkpoint((a: Tensor) => {
      using b = a.exp();
      return b.mul(a);
    }, x);
    using total = kept.sum();
    total.backward();
    using z = leaf([3]);
    using twice = z.mul(z);
    twice.registerHook((g) => g.mul(2));
    using sum = twice.sum();
    sum.backward();
    free(noGrad(() => x.neg()));
    free(enableGrad(() => x.neg()));
  },
  optimizers() {
    optimise((p) => new SGD(p, { lr: 0.1, momentum: 0.9, nesterov: true }));
    for (const Rule of [SGD, Adam, AdamW, Adagrad, Lion, RMSprop])
      optimise((p) => new Rule(p, { lr: 0.1 }));
  },
  async data() {
    const set = new ArrayDataset({
      x: { data: new Float32Array(12), shape: [2] },
      y: { data: new Int32Array(6), shape: [], dtype: "int32" },
    });
    using loader = new DataLoader(set, { batchSize: 2, shuffle: true });
    for (const { x } of loader) free(x.neg());
    for (const { y } of loader) {
      if (y.size > 0) break;
    }
    for await (const { x } of loader) free(x.neg());
    using model = new nn.Linear(2, 2),
      optimizer = new Adam(model.parameters());
    const bytes = await packCheckpoint({ model, optimizer: optimizer });
    unpackCheckpoint(bytes, { model, optimizer: optimizer });
    let saved: Promise<unknown>;
    {
      using _scope = newDisposeScope("saving");
      saved = toSafetensors(model.stateDict());
    }
    await saved;
  },
  async gradcheck() {
    // the null device's numbers do not agree, and need not
    await gradcheck((a) => a.mul(a), [{ shape: [2], values: [1, 2] }]).catch(() => undefined);
  },
};

/**
 * What each section leaves behind: tensors still alive or found by the garbage collector; -1 for
 * one that threw.
 */
export async function run(only?: string): Promise<Record<string, number>> {
  await init({ device: "null" });
  const left: Record<string, number> = {};
  const count = (): number => {
    const s = memory.stats();
    return s.threadTotalLiveCount + s.finalized;
  };
  for (const [name, section] of Object.entries(sections)) {
    if (only !== undefined && name !== only) continue;
    const before = count();
    try {
      await section();
      left[name] = count() - before;
    } catch (error) {
      left[name] = -1;
      if (process.env["WORKLOAD_ERRORS"] !== undefined) console.error(name, error);
    }
    await new Promise((done) => setImmediate(done));
  }
  return left;
}
