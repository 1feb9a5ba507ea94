/**
 * Normalisation: batch, instance, layer, RMS and group norms against plain means and variances.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { ArgumentError, ShapeError, type Tensor, noGrad, tensor } from "tenure";
import * as nn from "tenure/nn";
import { assertClose, gradcheck } from "tenure/testing";
import { batchNorm } from "../../../src/nn/functional/norm.ts";
import { count, numbers, rejects, setup } from "../../helpers.ts";
import { sum, withModule } from "./modules.ts";

await setup();
const test = suite("norms");

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
          assertClose(layer.batches!, 0, 0), // as in PyTorch: it stands in the state, nothing more
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

/** The elements to normalise, the weights and the biases. */
const x = numbers(24, 24),
  w = numbers(6, 25),
  b = numbers(6, 26);

/** Gives a norm the weights and biases above. */
function set(m: { weight: Tensor | null; bias?: Tensor | null }, shape: readonly number[]): void {
  noGrad(() => {
    m.weight?.copy_(tensor(w.slice(0, count(shape)), { shape }));
    m.bias?.copy_(tensor(b.slice(0, count(shape)), { shape }));
  });
}

test("layer norm", async () => {
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
});

test("RMS norm, group norm", async () => {
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

test.run();
