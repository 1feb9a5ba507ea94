/**
 * Layers against plain float64 references and PyTorch's documented formulas and parameter names:
 * normalisation with its running statistics, embedding, activations, containers, initial values,
 * summaries. Every module is checked for leaks.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  ArgumentError,
  ShapeError,
  type Tensor,
  TenureError,
  manualSeed,
  memory,
  newDisposeScope,
  noGrad,
  scopedAsync,
  tensor,
} from "tenure";
import { fromSafetensors, packCheckpoint } from "tenure/data";
import * as nn from "tenure/nn";
import { assertClose, assertNoLeaks, gradcheck } from "tenure/testing";
import { batchNorm } from "../../../src/nn/functional/norm.ts";
import { numbers, rejects, setup } from "../../helpers.ts";

await setup();
const test = suite("layers");

const sum = (v: readonly number[]): number => v.reduce((x, y) => x + y, 0);
const values = async (t: Tensor): Promise<number[]> => [...(await t.data())];
/**
 * Runs `fn` with a module, in a scope, and checks that only the module stays, until it is disposed.
 */
function withModule<M extends Disposable>(
  make: () => M,
  fn: (module: M) => Promise<void> | void,
): Promise<void> {
  return assertNoLeaks(() =>
    scopedAsync(async () => {
      using module = make();
      await fn(module);
    }),
  );
}

// === Normalisation ===

/** Elements in groups (by `group(i)`), each scaled to mean 0 and variance 1. */
function normalised(
  x: readonly number[],
  group: (i: number) => number,
  eps = 1e-5,
): { out: number[]; mean: number[]; variance: number[]; count: number } {
  const groups = new Map<number, number[]>();
  x.forEach((v, i) => {
    groups.set(group(i), [...(groups.get(group(i)) ?? []), v]);
  });
  const mean: number[] = [],
    variance: number[] = [];
  for (const [g, list] of groups) {
    mean[g] = sum(list) / list.length;
    variance[g] = sum(list.map((v) => (v - mean[g]!) ** 2)) / list.length;
  }
  return {
    out: x.map((v, i) => (v - mean[group(i)]!) / Math.sqrt(variance[group(i)]! + eps)),
    mean,
    variance,
    count: x.length / groups.size,
  };
}

for (const [name, make, shape] of [
  ["BatchNorm1d [N, C]", () => new nn.BatchNorm1d(3), [4, 3]],
  ["BatchNorm1d [N, C, L]", () => new nn.BatchNorm1d(3), [4, 3, 5]],
  ["BatchNorm2d", () => new nn.BatchNorm2d(3), [2, 3, 2, 4]],
] as const) {
  test(`${name}: batch statistics in training, running ones in evaluation`, () =>
    withModule(make as () => nn.BatchNorm2d, async (bn) => {
      assert.equal(
        [...bn.stateDict().keys()],
        ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"],
      );
      noGrad(() => {
        bn.weight!.copy_(tensor([1, 2, 3]));
        bn.bias!.copy_(tensor([0, -1, 0.5]));
      });
      const inner = shape.slice(2).reduce((n, d) => n * d, 1),
        channel = (i: number): number => Math.floor(i / inner) % 3,
        [w, c] = [
          [1, 2, 3],
          [0, -1, 0.5],
        ];
      const running = { mean: [0, 0, 0], variance: [1, 1, 1] };
      for (const seed of [20, 21]) {
        const x = numbers(
            shape.reduce((n, d) => n * d, 1),
            seed,
          ),
          { out, mean, variance, count } = normalised(x, channel);
        await assertClose(
          bn.call(tensor(x, { shape })),
          out.map((v, i) => v * w[channel(i)]! + c[channel(i)]!),
          1e-4,
        );
        for (let k = 0; k < 3; k++) {
          running.mean[k] = 0.9 * running.mean[k]! + 0.1 * mean[k]!;
          running.variance[k] =
            0.9 * running.variance[k]! + (0.1 * variance[k]! * count) / (count - 1);
        }
      }
      await assertClose(bn.runningMean!, running.mean);
      await assertClose(bn.runningVar!, running.variance);
      assert.is(await bn.batches!.item(), 2);
      bn.eval();
      const x = numbers(
        shape.reduce((n, d) => n * d, 1),
        22,
      );
      await assertClose(
        bn.call(tensor(x, { shape })),
        x.map(
          (v, i) =>
            ((v - running.mean[channel(i)]!) / Math.sqrt(running.variance[channel(i)]! + 1e-5)) *
              w[channel(i)]! +
            c[channel(i)]!,
        ),
        1e-4,
      );
      await assertClose(bn.runningMean!, running.mean); // evaluation changes nothing
      assert.is(await bn.batches!.item(), 2);
    }));
}

for (const [name, make, shape] of [
  ["InstanceNorm1d", nn.InstanceNorm1d, [3, 2, 5]],
  ["InstanceNorm2d", nn.InstanceNorm2d, [2, 2, 2, 3]],
] as const) {
  test(`${name}: each channel of each sample by itself, running statistics if wanted`, async () => {
    const inner = shape.slice(2).reduce((n, d) => n * d, 1),
      size = inner * shape[0] * 2,
      channel = (i: number): number => Math.floor(i / inner) % 2;
    await withModule(
      () => new make(2) as nn.InstanceNorm2d,
      async (layer) => {
        assert.is(
          layer.stateDict().size,
          0,
          "PyTorch's default has neither weights nor statistics",
        );
        const x = numbers(size, 23),
          want = normalised(x, (i) => Math.floor(i / inner)).out;
        await assertClose(layer.call(tensor(x, { shape })), want, 1e-4);
        layer.eval();
        await assertClose(layer.call(tensor(x, { shape })), want, 1e-4);
        await assertClose(
          layer.call(tensor(x.slice(0, 2 * inner), { shape: shape.slice(1) })),
          want.slice(0, 2 * inner),
          1e-4,
        );
        await rejects(
          () => layer.call(tensor([1, 2])),
          ShapeError,
          /expected a tensor \[N, 2, …\]/,
        );
      },
    );
    await withModule(
      () =>
        new make(2, { affine: true, trackRunningStats: true, momentum: 0.2 }) as nn.InstanceNorm2d,
      async (layer) => {
        assert.equal(
          [...layer.stateDict().keys()],
          ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"],
        );
        noGrad(() => {
          layer.weight!.copy_(tensor([1, 2]));
          layer.bias!.copy_(tensor([0, -1]));
        });
        const x = numbers(size, 24),
          { out, mean, variance } = normalised(x, (i) => Math.floor(i / inner)),
          of = (list: readonly number[], c: number): number =>
            sum(list.filter((_, k) => k % 2 === c)) / shape[0];
        await assertClose(
          layer.call(tensor(x, { shape })),
          out.map((v, i) => v * [1, 2][channel(i)]! + [0, -1][channel(i)]!),
          1e-4,
        );
        const running = [0, 1].map(
          (c) => [0.2 * of(mean, c), 0.8 + (0.2 * of(variance, c) * inner) / (inner - 1)] as const,
        );
        await Promise.all([
          assertClose(
            layer.runningMean!,
            running.map(([m]) => m),
          ),
          assertClose(
            layer.runningVar!,
            running.map(([, v]) => v),
          ),
          assertClose(layer.batches!, 1, 0),
        ]);
        layer.eval();
        await assertClose(
          layer.call(tensor(x, { shape })),
          x.map((v, i) => {
            const [m, s] = running[channel(i)]!;
            return ((v - m) / Math.sqrt(s + 1e-5)) * [1, 2][channel(i)]! + [0, -1][channel(i)]!;
          }),
          1e-4,
        );
      },
    );
  });
}

test("batch norm: options", async () => {
  await withModule(
    () => new nn.BatchNorm1d(2, { momentum: null, affine: false }),
    async (bn) => {
      assert.equal(
        [...bn.stateDict().keys()],
        ["running_mean", "running_var", "num_batches_tracked"],
      );
      for (const x of [
        [
          [1, 2],
          [3, 6],
        ],
        [
          [5, 0],
          [7, 0],
        ],
        [
          [0, 1],
          [2, 3],
        ],
      ])
        bn.call(tensor(x));
      await assertClose(bn.runningMean!, [(2 + 6 + 1) / 3, (4 + 0 + 2) / 3]);
      await assertClose(bn.runningVar!, [2, (8 + 0 + 2) / 3]);
    },
  );
  await withModule(
    () => new nn.BatchNorm1d(1, { trackRunningStats: false, affine: false }),
    async (bn) => {
      bn.eval();
      assert.is(bn.stateDict().size, 0);
      await assertClose(bn.call(tensor([[1], [3]])), [[-1], [1]], 1e-4);
    },
  );
  await withModule(
    () => new nn.BatchNorm1d(2),
    async (bn) => {
      await rejects(() => bn.call(tensor([[1, 2]])), ShapeError, /more than one value per channel/);
      await rejects(() => bn.call(tensor([[[[1]]]])), ShapeError, /rank 2 or 3/);
      await rejects(() => bn.call(tensor([[1], [2]])), ShapeError, /channel/);
    },
  );
  await rejects(() => new nn.BatchNorm2d(0), ArgumentError, /BatchNorm2d: expected numFeatures/);
});

test("batch norm trains: gradients reach input, weight and bias", () =>
  gradcheck(
    (x, w, b) => {
      return batchNorm(x, { weight: w, bias: b, training: true });
    },
    [
      { shape: [4, 2], values: numbers(8, 23) },
      { shape: [2], values: [1, 2] },
      { shape: [2], values: [0, 1] },
    ],
    { tolerance: 2e-2 },
  ));

test("layer norm, RMS norm, group norm", async () => {
  const x = numbers(24, 24),
    w = numbers(6, 25),
    b = numbers(6, 26);
  const set = (
    m: { weight: Tensor | null; bias?: Tensor | null },
    shape: readonly number[],
  ): void =>
    noGrad(() => {
      m.weight?.copy_(
        tensor(
          w.slice(
            0,
            shape.reduce((n, d) => n * d, 1),
          ),
          { shape },
        ),
      );
      m.bias?.copy_(
        tensor(
          b.slice(
            0,
            shape.reduce((n, d) => n * d, 1),
          ),
          { shape },
        ),
      );
    });
  await withModule(
    () => new nn.LayerNorm([2, 3]),
    async (layer) => {
      set(layer, [2, 3]);
      assert.equal(
        [...layer.namedParameters()].map(([n, p]) => [n, p.shape]),
        [
          ["weight", [2, 3]],
          ["bias", [2, 3]],
        ],
      );
      await assertClose(
        layer.call(tensor(x, { shape: [4, 2, 3] })),
        normalised(x, (i) => Math.floor(i / 6)).out.map((v, i) => v * w[i % 6]! + b[i % 6]!),
        1e-4,
      );
      await rejects(
        () => layer.call(tensor(x, { shape: [4, 6] })),
        ShapeError,
        /last dimensions are \[2,3\]/,
      );
    },
  );
  await withModule(
    () => new nn.LayerNorm(4, { elementwiseAffine: false }),
    (layer) =>
      assertClose(
        layer.call(tensor(x, { shape: [6, 4] })),
        normalised(x, (i) => Math.floor(i / 4)).out,
        1e-4,
      ),
  );
  await withModule(
    () => new nn.LayerNorm(4, { bias: false }),
    (layer) => {
      assert.equal([...layer.stateDict().keys()], ["weight"]);
    },
  );
  await withModule(
    () => new nn.RMSNorm(4, { eps: 1e-3 }),
    async (layer) => {
      set(layer, [4]);
      await assertClose(
        layer.call(tensor(x, { shape: [6, 4] })),
        x.map((v, i) => {
          const row = x.slice(Math.floor(i / 4) * 4, Math.floor(i / 4) * 4 + 4);
          return (v / Math.sqrt(sum(row.map((r) => r * r)) / 4 + 1e-3)) * w[i % 4]!;
        }),
        1e-4,
      );
    },
  );
  await withModule(
    () => new nn.GroupNorm(2, 6),
    async (layer) => {
      set(layer, [6]);
      await assertClose(
        layer.call(tensor(x, { shape: [2, 6, 2] })),
        normalised(x, (i) => Math.floor(i / 6)).out.map(
          (v, i) => v * w[Math.floor(i / 2) % 6]! + b[Math.floor(i / 2) % 6]!,
        ),
        1e-4,
      );
    },
  );
  await rejects(() => new nn.GroupNorm(4, 6), ArgumentError, /groups that divide 6/);
});

// === Embedding ===

test("embedding, and a padding row that never learns", () =>
  withModule(
    () => new nn.Embedding(5, 3, { paddingIdx: -1 }),
    async (layer) => {
      const table = await values(layer.weight);
      assert.equal(table.slice(12), [0, 0, 0]);
      const out = layer.call(tensor(Int32Array.of(1, 4, 1, 0), { shape: [2, 2] }));
      assert.equal(out.shape, [2, 2, 3]);
      await assertClose(
        out,
        [1, 4, 1, 0].flatMap((i) => table.slice(3 * i, 3 * i + 3)),
        0,
      );
      out.sum().backward();
      await assertClose(
        layer.weight.grad!,
        [
          [1, 1, 1],
          [2, 2, 2],
          [0, 0, 0],
          [0, 0, 0],
          [0, 0, 0],
        ],
        0,
      );
      await rejects(
        () => new nn.Embedding(5, 3, { paddingIdx: 5 }),
        ArgumentError,
        /paddingIdx in \[-5, 5\)/,
      );
      using plain = new nn.Embedding(2, 1);
      assert.equal(plain.call(tensor(Int32Array.of(0, 1, 1))).shape, [3, 1]);
    },
  ));

// === Activations ===

const softplus = (x: number): number => Math.log1p(Math.exp(x)),
  sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));
/** Φ(x) by Simpson's rule. */
function phi(x: number): number {
  const n = 400,
    h = x / n;
  let s = 1 + Math.exp((-x * x) / 2);
  for (let i = 1; i < n; i++) s += (i % 2 === 1 ? 4 : 2) * Math.exp(-((i * h) ** 2) / 2);
  return 0.5 + (s * h) / 3 / Math.sqrt(2 * Math.PI);
}

test("activations", () =>
  assertNoLeaks(() =>
    scopedAsync(async () => {
      const x = [-5, -2.5, -1, -0.3, 0, 0.2, 1, 2.5, 3, 7];
      const cases: readonly [nn.Module, (v: number) => number][] = [
        [new nn.Identity(), (v) => v],
        [new nn.ReLU(), (v) => Math.max(v, 0)],
        [new nn.ReLU6(), (v) => Math.min(Math.max(v, 0), 6)],
        [new nn.Sigmoid(), sigmoid],
        [new nn.Tanh(), Math.tanh],
        [new nn.Softplus(), softplus],
        [new nn.Softsign(), (v) => v / (1 + Math.abs(v))],
        [new nn.LogSigmoid(), (v) => -softplus(-v)],
        [new nn.SiLU(), (v) => v * sigmoid(v)],
        [new nn.Mish(), (v) => v * Math.tanh(softplus(v))],
        [
          new nn.SELU(),
          (v) => 1.0507009873554805 * (v > 0 ? v : 1.6732632423543772 * Math.expm1(v)),
        ],
        [new nn.Hardswish(), (v) => (v * Math.min(Math.max(v + 3, 0), 6)) / 6],
        [new nn.Hardsigmoid(), (v) => Math.min(Math.max(v + 3, 0), 6) / 6],
        [new nn.GELU(), (v) => v * phi(v)],
        [
          new nn.GELU({ approximate: "tanh" }),
          (v) => 0.5 * v * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (v + 0.044715 * v ** 3))),
        ],
        [new nn.ELU(0.7), (v) => (v > 0 ? v : 0.7 * Math.expm1(v))],
        [new nn.LeakyReLU(0.2), (v) => (v > 0 ? v : 0.2 * v)],
        [new nn.Hardtanh(-2, 1.5), (v) => Math.min(Math.max(v, -2), 1.5)],
        [new nn.PReLU(), (v) => (v > 0 ? v : 0.25 * v)],
      ];
      for (const [module, f] of cases) {
        try {
          await assertClose(module.call(tensor(x)), x.map(f), { rel: 2e-5, abs: 2e-5 });
        } catch (error) {
          throw new Error(`${module.constructor.name}: ${String(error)}`);
        }
        module.dispose();
      }
      const rows = [
          [1, 2, 3, 0],
          [-1, 0, 4, 4],
        ],
        soft = rows.map((r) => r.map((v) => Math.exp(v) / sum(r.map(Math.exp))));
      await assertClose(new nn.Softmax().call(tensor(rows)), soft);
      await assertClose(
        new nn.LogSoftmax(1).call(tensor(rows)),
        soft.map((r) => r.map(Math.log)),
        1e-5,
      );
      await assertClose(
        new nn.GLU().call(tensor(rows)),
        rows.map((r) => [r[0]! * sigmoid(r[2]!), r[1]! * sigmoid(r[3]!)]),
      );
      using slopes = new nn.PReLU(2);
      noGrad(() => {
        slopes.weight.copy_(tensor([0.5, 0.1]));
      });
      const y = slopes.call(
        tensor([
          [
            [-2, 2],
            [-10, 10],
          ],
        ]),
      );
      await assertClose(y, [
        [
          [-1, 2],
          [-1, 10],
        ],
      ]);
      y.sum().backward();
      await assertClose(slopes.weight.grad!, [-2, -10]);
    }),
  ));

// === Containers and arguments ===

class Branches extends nn.Module<[x: Tensor, names: readonly string[]], Tensor[]> {
  readonly heads = new nn.ModuleDict({ left: new nn.Linear(2, 1), right: new nn.Linear(2, 3) });
  readonly blocks = new nn.ModuleList([new nn.Linear(2, 2), new nn.ReLU()]);
  forward(x: Tensor, names: readonly string[]): Tensor[] {
    let out = x;
    for (const block of this.blocks) out = block.call(out);
    return names.map((name) => this.heads.get(name)!.call(out));
  }
}

test("lists, dictionaries and modules of any arguments", () =>
  withModule(
    () => new Branches(),
    async (net) => {
      assert.equal(
        [...net.namedParameters()].map(([n]) => n),
        [
          "heads.left.weight",
          "heads.left.bias",
          "heads.right.weight",
          "heads.right.bias",
          "blocks.0.weight",
          "blocks.0.bias",
        ],
      );
      const out: Tensor[] = net.call(tensor([[1, 2]]), ["right", "left"]);
      assert.equal(
        out.map((t) => t.shape),
        [
          [1, 3],
          [1, 1],
        ],
      );
      assert.equal(
        [
          net.blocks.length,
          net.blocks.at(-1)?.constructor.name,
          net.heads.size,
          [...net.heads.keys()].join(),
          net.heads.has("up"),
        ],
        [2, "ReLU", 2, "left,right", false],
      );
      net.eval();
      assert.not(net.blocks.at(0)!.training);
      await rejects(() => net.blocks.forward(), TenureError, /one by one/);
      await rejects(() => net.heads.forward(), TenureError, /by name/);
      await rejects(
        () => net.heads.set("left", net.heads.get("right")!),
        ArgumentError,
        /not taken/,
      );
      await rejects(
        () => net.heads.set("a.b", new nn.ReLU() as never),
        ArgumentError,
        /without dots/,
      );
      await rejects(() => new nn.ModuleList([3 as never]), ArgumentError, /modules, got number/);
    },
  ));

test("loading parts of a state, and looking before", () =>
  withModule(
    () => new nn.Sequential(new nn.Linear(2, 2), new nn.BatchNorm1d(2)),
    async (net) => {
      const before = await values(net.parameters()[0]!);
      const state = new Map<string, Tensor>([
        ["0.bias", tensor([5, 6])],
        ["extra", tensor([1])],
      ]);
      await rejects(
        () => net.loadStateDict(state),
        ArgumentError,
        /no 0\.weight, 1\.weight, 1\.bias, 1\.running_mean.*unknown extra/,
      );
      const { missing, unexpected } = net.loadStateDict(state, { strict: false });
      assert.equal(
        [missing, unexpected],
        [
          [
            "0.weight",
            "1.weight",
            "1.bias",
            "1.running_mean",
            "1.running_var",
            "1.num_batches_tracked",
          ],
          ["extra"],
        ],
      );
      await assertClose(net.parameters()[1]!, [5, 6], 0);
      assert.equal(await values(net.parameters()[0]!), before);
      await rejects(
        () => net.checkStateDict(new Map([["0.bias", tensor([1])]]), { strict: false }),
        ShapeError,
        /0\.bias of shape \[2\], got \[1\]/,
      );
    },
  ));

test("a PyTorch file with a batch norm loads: its count of batches is a 64-bit scalar", () =>
  withModule(
    () => new nn.BatchNorm1d(1),
    async (bn) => {
      const f32 = (v: number): number[] => [...new Uint8Array(Float32Array.of(v).buffer)],
        entry = (dtype: string, shape: number[], from: number, to: number): object => ({
          dtype,
          shape,
          data_offsets: [from, to],
        });
      const header = new TextEncoder().encode(
        JSON.stringify({
          num_batches_tracked: entry("I64", [], 0, 8),
          bias: entry("F32", [1], 8, 12),
          running_mean: entry("F32", [1], 12, 16),
          running_var: entry("F32", [1], 16, 20),
          weight: entry("F32", [1], 20, 24),
        }),
      );
      const file = Uint8Array.of(
        ...new Uint8Array(BigUint64Array.of(BigInt(header.length)).buffer),
        ...header,
        ...new Uint8Array(BigInt64Array.of(7n).buffer),
        ...[1, 2, 3, 4].flatMap(f32),
      );
      bn.loadStateDict(fromSafetensors(file));
      assert.equal(
        [
          await bn.batches!.item(),
          await values(bn.bias!),
          await values(bn.runningMean!),
          await values(bn.runningVar!),
          await values(bn.weight!),
        ],
        [7, [1], [2], [3], [4]],
      );
      const written = fromSafetensors(await packCheckpoint({ model: bn }));
      assert.equal([...written].map(([name, t]) => [name, t.dtype, t.shape]).sort(), [
        ["bias", "float32", [1]],
        ["num_batches_tracked", "int32", []],
        ["running_mean", "float32", [1]],
        ["running_var", "float32", [1]],
        ["weight", "float32", [1]],
      ]);
    },
  ));

// === Initial values ===

test("initial values have the spread their formulas say", () =>
  assertNoLeaks(() =>
    scopedAsync(async () => {
      manualSeed(11);
      const { init } = nn,
        shape = [64, 16, 3, 3],
        spread = async (t: Tensor): Promise<[mean: number, std: number, most: number]> => {
          const v = await values(t),
            m = sum(v) / v.length;
          return [
            m,
            Math.sqrt(sum(v.map((x) => (x - m) ** 2)) / v.length),
            Math.max(...v.map(Math.abs)),
          ];
        };
      for (const [t, std, bound] of [
        [init.kaimingUniform(shape), Math.sqrt(2 / 144), Math.sqrt(6 / 144)],
        [
          init.kaimingUniform(shape, { mode: "fanOut", nonlinearity: "tanh" }),
          5 / 3 / Math.sqrt(576),
          Infinity,
        ],
        [init.kaimingNormal(shape, { a: 1 }), Math.sqrt(1 / 144), Infinity],
        [init.xavierUniform(shape, 2), 2 * Math.sqrt(2 / 720), 2 * Math.sqrt(6 / 720)],
        [init.xavierNormal(shape), Math.sqrt(2 / 720), Infinity],
        [init.truncNormal([100, 100]), 0.8796, 2],
        [init.truncNormal([100, 100], { mean: 1, std: 0.1, low: 0.9, high: 1.3 }), 0.0789, 1.3],
      ] as const) {
        const [, got, most] = await spread(t);
        assert.ok(Math.abs(got - std) < 0.03 * std, `${got}, not ${std}`);
        assert.ok(most <= bound * (1 + 1e-6), `${most} above ${bound}`);
      }
      assert.equal(await values(init.constant([2], 3)), [3, 3]);
      assert.equal([...(await values(init.zeros([1]))), ...(await values(init.ones([1])))], [0, 1]);
      for (const [rows, columns] of [
        [4, 9],
        [9, 4],
        [6, 6],
        [1, 1],
      ] as const) {
        const q = init.orthogonal([rows, columns], 2),
          small = Math.min(rows, columns),
          product = rows <= columns ? q.matmul(q.transpose()) : q.transpose().matmul(q);
        await assertClose(
          product,
          Array.from({ length: small }, (_, i) =>
            Array.from({ length: small }, (_unused, j) => (i === j ? 4 : 0)),
          ),
          1e-4,
        );
      }
      assert.equal(init.orthogonal([4, 2, 3]).shape, [4, 2, 3]);
      await rejects(() => init.orthogonal([3]), ShapeError, /two dimensions/);
      await rejects(() => init.truncNormal([1], { low: 2, high: 1 }), ArgumentError, /low < high/);
      await rejects(() => init.gain("swish" as never), ArgumentError, /known nonlinearity/);
    }),
  ));

// === Summary ===

test("summary", () =>
  withModule(
    () =>
      new nn.Sequential(
        new nn.Conv2d(1, 4, 3),
        new nn.BatchNorm2d(4),
        new nn.ReLU(),
        new nn.Flatten(),
        new nn.Sequential(new nn.Linear(144, 10), new nn.Dropout()),
      ),
    async (net) => {
      const before = await values(net.parameters()[0]!),
        mark = memory.mark();
      net.layers[2]!.eval(); // modes are put back as they were
      const table = nn.summary(net, [2, 1, 8, 8]);
      assert.is(memory.since(mark).toString().includes("still"), false);
      assert.equal(
        net.layers.map((l) => l.training),
        [true, true, false, true, true],
      );
      assert.equal(
        table.rows.map((r) => [r.name, r.type, r.depth, r.output, r.parameters, r.bytes]),
        [
          ["Sequential", "Sequential", 0, "[2,10]", 0, 0],
          ["0", "Conv2d", 1, "[2,4,6,6]", 40, 160],
          ["1", "BatchNorm2d", 1, "[2,4,6,6]", 8, 68],
          ["2", "ReLU", 1, "[2,4,6,6]", 0, 0],
          ["3", "Flatten", 1, "[2,144]", 0, 0],
          ["4", "Sequential", 1, "[2,10]", 0, 0],
          ["4.0", "Linear", 2, "[2,10]", 1450, 5800],
          ["4.1", "Dropout", 2, "[2,10]", 0, 0],
        ],
      );
      assert.equal([table.parameters, table.trainable, table.bytes], [1498, 1498, 6028]);
      assert.is(
        table.toString(),
        `
layer             output     parameters  bytes
──────────────────────────────────────────────
Sequential        [2,10]
  0: Conv2d       [2,4,6,6]          40    160
  1: BatchNorm2d  [2,4,6,6]           8     68
  2: ReLU         [2,4,6,6]
  3: Flatten      [2,144]
  4: Sequential   [2,10]
    0: Linear     [2,10]          1,450  5,800
    1: Dropout    [2,10]
──────────────────────────────────────────────
1,498 parameters, 6,028 bytes`.slice(1),
      );
      assert.equal(await values(net.parameters()[0]!), before);
      const bn = net.layers[1] as nn.BatchNorm2d;
      assert.is(await bn.batches!.item(), 0);
      await rejects(() => nn.summary(net, [2, 3, 8, 8]), ShapeError, /channels/);
      assert.equal(
        net.layers.map((l) => l.training),
        [true, true, false, true, true],
      );
    },
  ));

test("summary of modules of several tensors, of integers, with frozen parameters", () =>
  withModule(
    () => new nn.Embedding(10, 4),
    (embedding) => {
      embedding.weight.requiresGrad = false;
      const one = nn.summary(embedding, [2, 3], { dtype: "int32" });
      assert.equal([one.rows[0]!.output, one.parameters, one.trainable], ["[2,3,4]", 40, 0]);
      assert.match(one.toString(), /40 parameters \(40 frozen\), 160 bytes/);
      using attention = new nn.MultiheadAttention(4, 2);
      assert.is(
        nn.summary(attention, [
          [3, 1, 4],
          [5, 1, 4],
          [5, 1, 4],
        ]).rows[0]!.output,
        "[3,1,4]",
      );
      using lstm = new nn.LSTM(4, 3);
      assert.is(
        nn.summary(lstm, [5, 2, 4]).rows[0]!.output,
        "output [5,2,3] hidden [1,2,3] cell [1,2,3]",
      );
      assert.throws(
        () => nn.summary(lstm, [[5, 2, 4]], { dtype: [] }),
        /a dtype for each of 1 inputs/,
      );
    },
  ));

test("a disposed module and its scope", async () => {
  const layer = new nn.LayerNorm(2);
  layer.dispose();
  await rejects(() => layer.call(null as never), TenureError, /disposed/);
  {
    using _ = newDisposeScope("outer");
    using inner = new nn.GRU(2, 2);
    assert.is(inner.parameters().length, 4);
  }
});

test.run();
