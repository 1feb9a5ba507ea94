/**
 * Embedding, activations and initial values.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  ArgumentError,
  ShapeError,
  type Tensor,
  manualSeed,
  noGrad,
  scopedAsync,
  tensor,
} from "tenure";
import * as nn from "tenure/nn";
import { assertClose, assertNoLeaks } from "tenure/testing";
import { rejects, setup } from "../../helpers.ts";
import { sum, values, withModule } from "./modules.ts";

await setup();
const test = suite("layers");

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
        /paddingIdx to be an integer in \[-5, 5\), got 5/,
      );
      using plain = new nn.Embedding(2, 1);
      assert.equal(plain.call(tensor(Int32Array.of(0, 1, 1))).shape, [3, 1]);
    },
  ));

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
      await rejects(
        () => init.gain("swish" as never),
        ArgumentError,
        /nonlinearity to be "linear", /,
      );
    }),
  ));

test.run();
