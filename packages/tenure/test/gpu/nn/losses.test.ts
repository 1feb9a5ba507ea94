/**
 * Losses against PyTorch's documented formulas in float64: every option, their gradients, and who
 * owns class weights.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  ArgumentError,
  DTypeError,
  ShapeError,
  type Tensor,
  newDisposeScope,
  scopedAsync,
  tensor,
} from "tenure";
import {
  BCELoss,
  BCEWithLogitsLoss,
  CosineEmbeddingLoss,
  CrossEntropyLoss,
  HuberLoss,
  KLDivLoss,
  L1Loss,
  MSELoss,
  NLLLoss,
  SmoothL1Loss,
  functional as F,
} from "tenure/nn";
import { assertClose, assertNoLeaks, gradcheck } from "tenure/testing";
import { numbers, rejects, setup } from "../../helpers.ts";

await setup();
const test = suite("losses");

const a = numbers(12, 1),
  b = numbers(12, 2),
  sum = (v: readonly number[]): number => v.reduce((x, y) => x + y, 0);
const probabilities = (seed: number): number[] => numbers(12, seed, 0.02, 0.98);

/** Checks the three reductions of a loss against per-element values. */
async function reductions(
  loss: (reduction: F.Reduction) => Tensor,
  expected: readonly number[],
  tolerance = 1e-5,
): Promise<void> {
  await assertNoLeaks(async () => {
    const checks: Promise<void>[] = [];
    {
      using _ = newDisposeScope("losses");
      checks.push(
        assertClose(loss("none"), expected as number[], tolerance),
        assertClose(loss("sum"), sum(expected), { rel: tolerance, abs: tolerance }),
        assertClose(loss("mean"), sum(expected) / expected.length, tolerance),
      );
    }
    await Promise.all(checks);
  });
}

const t = (values: readonly number[], shape: readonly number[] = [3, 4]): Tensor =>
  tensor(values, { shape });

test("regression", async () => {
  const d = a.map((v, i) => v - b[i]!);
  await reductions(
    (r) => F.mseLoss(t(a), t(b), r),
    d.map((x) => x * x),
  );
  await reductions((r) => F.l1Loss(t(a), t(b), r), d.map(Math.abs));
  for (const delta of [0.5, 1, 1.3])
    await reductions(
      (reduction) => F.huberLoss(t(a), t(b), { delta, reduction }),
      d.map((x) => (Math.abs(x) <= delta ? (x * x) / 2 : delta * (Math.abs(x) - delta / 2))),
    );
  for (const beta of [0, 0.5, 1])
    await reductions(
      (reduction) => F.smoothL1Loss(t(a), t(b), { beta, reduction }),
      d.map((x) => (Math.abs(x) < beta ? (x * x) / 2 / beta : Math.abs(x) - beta / 2)),
    );
  for (const loss of [F.mseLoss, F.l1Loss, F.huberLoss, F.smoothL1Loss] as ((
    x: Tensor,
    y: Tensor,
  ) => Tensor)[])
    await gradcheck(loss, [
      { shape: [4], values: [0.1, -3, 2, 0.7] },
      { shape: [4], values: [0.5, 1, -1, 0.9] },
    ]);
});

const scores = numbers(15, 3),
  labels = [2, 0, 1, 4, 2],
  weights = [0.5, 1, 2, 0.25, 1.5],
  rowsOf = (v: readonly number[], c: number): number[][] =>
    Array.from({ length: v.length / c }, (_, i) => v.slice(i * c, (i + 1) * c));
const logSoftmax = (row: readonly number[]): number[] => {
  const m = Math.max(...row),
    z = Math.log(sum(row.map((x) => Math.exp(x - m)))) + m;
  return row.map((x) => x - z);
};

/** PyTorch's cross entropy per row, and the weight of each row in a mean. */
function entropyRows(
  smoothing: number,
  weight: readonly number[] | null,
  ignore: number | null,
): { losses: number[]; counts: number[] } {
  const n = 3,
    rows = rowsOf(scores, 5).slice(0, n),
    w = (c: number): number => weight?.[c] ?? 1;
  const losses = rows.map((row, i) => {
    const log = logSoftmax(row),
      y = labels[i]!;
    return y === ignore
      ? 0
      : (1 - smoothing) * -w(y) * log[y]! + (smoothing / 5) * sum(log.map((l, c) => -w(c) * l));
  });
  return { losses, counts: rows.map((_, i) => (labels[i] === ignore ? 0 : w(labels[i]!))) };
}

for (const labelSmoothing of [0, 0.2])
  for (const weight of [null, weights])
    for (const ignoreIndex of [null, 0, -100]) {
      const how = `${weight === null ? "no weights" : "weights"}, ignoring ${ignoreIndex}`;
      test(`cross entropy: smoothing ${labelSmoothing}, ${how}`, async () => {
        const { losses, counts } = entropyRows(labelSmoothing, weight, ignoreIndex),
          targets = labels.slice(0, 3);
        await assertNoLeaks(async () => {
          const checks: Promise<void>[] = [];
          {
            using _ = newDisposeScope("entropy");
            const x = t(scores.slice(0, 15), [3, 5]),
              y = tensor(Int32Array.from(targets)),
              w = weight === null ? null : tensor(weight);
            const loss = (reduction: F.Reduction): Tensor =>
              F.crossEntropy(x, y, {
                reduction,
                labelSmoothing,
                weight: w,
                ...(ignoreIndex === null ? {} : { ignoreIndex }),
              });
            checks.push(
              assertClose(loss("none"), losses),
              assertClose(loss("sum"), sum(losses)),
              assertClose(loss("mean"), sum(losses) / sum(counts)),
            );
            if (labelSmoothing === 0) {
              const nll = (reduction: F.Reduction): Tensor =>
                F.nllLoss(x.logSoftmax(1), y, {
                  reduction,
                  weight: w,
                  ...(ignoreIndex === null ? {} : { ignoreIndex }),
                });
              checks.push(
                assertClose(nll("none"), losses),
                assertClose(nll("mean"), sum(losses) / sum(counts)),
              );
            }
          }
          await Promise.all(checks);
        });
      });
    }

test("cross entropy of images, of one sample, of probabilities", () =>
  assertNoLeaks(() =>
    scopedAsync(async () => {
      // [N, C, H] = [1, 5, 3]: the class dimension is the second.
      const image = t(scores, [3, 5]).transpose().unsqueeze(0),
        y = tensor(Int32Array.of(2, 0, 1)),
        { losses } = entropyRows(0, null, null);
      const each = F.crossEntropy(image, y.unsqueeze(0), { reduction: "none" });
      assert.equal(each.shape, [1, 3]);
      await assertClose(each, [losses]);
      await assertClose(F.nllLoss(image.logSoftmax(1), y.unsqueeze(0), { reduction: "none" }), [
        losses,
      ]);
      await assertClose(
        F.crossEntropy(t(scores.slice(0, 5), [5]), tensor(2, { dtype: "int32" })),
        losses[0]!,
      );
      const soft = rowsOf(numbers(15, 4, 0, 1), 5),
        log = rowsOf(scores, 5).map(logSoftmax),
        s = 0.1;
      const want = log.map(
        (row, i) => -sum(row.map((l, c) => weights[c]! * (soft[i]![c]! * (1 - s) + s / 5) * l)),
      );
      await assertClose(
        F.crossEntropy(t(scores, [3, 5]), tensor(soft), {
          weight: tensor(weights),
          labelSmoothing: s,
        }),
        sum(want) / 3,
      );
      // log 0 stays out of the sum.
      await assertClose(
        F.nllLoss(tensor([[0, -Infinity, -Infinity]]), tensor(Int32Array.of(0))),
        0,
      );
    }),
  ));

test("gradients of classification", async () => {
  const y = (): Tensor => tensor(Int32Array.of(2, 0, 1)),
    point = [{ shape: [3, 5], values: scores }];
  await gradcheck(
    (x) => F.crossEntropy(x, y(), { labelSmoothing: 0.2, weight: tensor(weights), ignoreIndex: 0 }),
    point,
  );
  await gradcheck((x) => F.nllLoss(x, y(), { weight: tensor(weights) }), point);
  await gradcheck((x) => F.crossEntropy(x, tensor(numbers(15, 4, 0, 1), { shape: [3, 5] })), point);
});

test("binary", async () => {
  const p = probabilities(5),
    y = probabilities(6),
    w = numbers(12, 7, 0.5, 2),
    positive = [2, 0.5, 1, 3];
  const entropy = p.map((v, i) => -(y[i]! * Math.log(v) + (1 - y[i]!) * Math.log(1 - v)));
  await reductions((reduction) => F.bce(t(p), t(y), { reduction }), entropy);
  await reductions(
    (reduction) => F.bce(t(p), t(y), { reduction, weight: t(w) }),
    entropy.map((v, i) => v * w[i]!),
  );
  const logits = a.map(
    (v, i) =>
      -(
        positive[i % 4]! * y[i]! * -Math.log1p(Math.exp(-v)) +
        (1 - y[i]!) * -(v + Math.log1p(Math.exp(-v)))
      ),
  );
  await reductions(
    (reduction) => F.bceWithLogits(t(a), t(y), { reduction, posWeight: tensor(positive) }),
    logits,
  );
  await reductions(
    (reduction) => F.bceWithLogits(t(a), t(y), { reduction, weight: t(w) }),
    a.map((v, i) => w[i]! * ((1 - y[i]!) * v + Math.log1p(Math.exp(-v)))),
  );
  await scopedAsync(async () => {
    await assertClose(
      F.bce(tensor([0, 1, 0, 1]), tensor([1, 0, 0, 1]), { reduction: "none" }),
      [100, 100, 0, 0],
    ); // bounded, as PyTorch's
    await assertClose(
      F.bceWithLogits(tensor([200, -200]), tensor([0, 1]), { reduction: "none" }),
      [200, 200],
    );
  });
  await gradcheck(
    (x, z) => F.bce(x, z),
    [
      { shape: [4], values: p.slice(0, 4).map((v) => 0.2 + v / 2) },
      { shape: [4], values: y.slice(0, 4) },
    ],
  );
  await gradcheck(
    (x) => F.bceWithLogits(x, tensor(y.slice(0, 4)), { posWeight: tensor([3]) }),
    [{ shape: [4], values: a.slice(0, 4) }],
  );
});

test("divergence", async () => {
  const p = [...probabilities(8).slice(0, 10), 0, 0],
    q = probabilities(9).map(Math.log),
    losses = p.map((v, i) => (v === 0 ? 0 : v * (Math.log(v) - q[i]!)));
  await reductions((reduction) => F.klDiv(t(q), t(p), { reduction }), losses);
  const logs = probabilities(10).map(Math.log);
  await reductions(
    (reduction) => F.klDiv(t(q), t(logs), { reduction, logTarget: true }),
    logs.map((v, i) => Math.exp(v) * (v - q[i]!)),
  );
  await scopedAsync(() =>
    assertClose(F.klDiv(t(q), t(p), { reduction: "batchMean" }), sum(losses) / 3),
  );
  await gradcheck(
    (x) => F.klDiv(x, tensor([0.5, 0, 0.2])),
    [{ shape: [3], values: [-1, -2, -0.5] }],
  );
});

test("cosine embedding", async () => {
  const x = rowsOf(a, 4),
    y = rowsOf(b, 4),
    cos = x.map(
      (r, i) =>
        sum(r.map((v, k) => v * y[i]![k]!)) /
        Math.sqrt(sum(r.map((v) => v * v)) * sum(y[i]!.map((v) => v * v))),
    );
  const signs = [1, -1, -1];
  for (const margin of [0, -0.9])
    await reductions(
      (reduction) => F.cosineEmbedding(t(a), t(b), tensor(signs), { reduction, margin }),
      cos.map((c, i) => (signs[i] === 1 ? 1 - c : Math.max(0, c - margin))),
    );
  await scopedAsync(() =>
    assertClose(F.cosineEmbedding(tensor([0, 0]), tensor([1, 1]), tensor(1)), 1),
  ); // no direction, no NaN
  await gradcheck(
    (u, v) => F.cosineEmbedding(u, v, tensor([1, -1]), { margin: -1 }),
    [
      { shape: [2, 3], values: numbers(6, 11) },
      { shape: [2, 3], values: numbers(6, 12) },
    ],
  );
});

test("modules do what the functions do, and own their weights", () =>
  assertNoLeaks(() =>
    scopedAsync(async () => {
      const x = t(a),
        y = t(b),
        p = t(probabilities(5)),
        q = t(probabilities(6)),
        n = tensor(Int32Array.of(0, 3, 1)),
        w = (): Tensor => tensor([1, 2, 3, 4]);
      const pairs: readonly [Disposable & { call(...args: Tensor[]): Tensor }, Tensor[], Tensor][] =
        [
          [new MSELoss({ reduction: "sum" }), [x, y], F.mseLoss(x, y, "sum")],
          [new L1Loss(), [x, y], F.l1Loss(x, y)],
          [new HuberLoss({ delta: 2 }), [x, y], F.huberLoss(x, y, { delta: 2 })],
          [new SmoothL1Loss({ beta: 2 }), [x, y], F.smoothL1Loss(x, y, { beta: 2 })],
          [
            new CrossEntropyLoss({ weight: w(), labelSmoothing: 0.1 }),
            [x, n],
            F.crossEntropy(x, n, { weight: w(), labelSmoothing: 0.1 }),
          ],
          [new NLLLoss({ weight: w() }), [x, n], F.nllLoss(x, n, { weight: w() })],
          [new BCELoss({ weight: w() }), [p, q], F.bce(p, q, { weight: w() })],
          [
            new BCEWithLogitsLoss({ posWeight: w() }),
            [x, q],
            F.bceWithLogits(x, q, { posWeight: w() }),
          ],
          [
            new KLDivLoss({ reduction: "batchMean" }),
            [x, p],
            F.klDiv(x, p, { reduction: "batchMean" }),
          ],
          [
            new CosineEmbeddingLoss({ margin: 0.1 }),
            [x, y, tensor([1, -1, 1])],
            F.cosineEmbedding(x, y, tensor([1, -1, 1]), { margin: 0.1 }),
          ],
        ];
      for (const [module, args, want] of pairs)
        await assertClose(module.call(...args), [...(await want.data())], 1e-6);
      for (const [module] of pairs) module[Symbol.dispose]();
      using weighted = new BCEWithLogitsLoss({ weight: w(), posWeight: w() });
      assert.equal([...weighted.stateDict().keys()], ["weight", "pos_weight"]);
    }),
  ));

test("what does not fit is refused", () =>
  scopedAsync(async () => {
    const x = t(a),
      column = tensor([1, 2, 3], { shape: [3, 1] }),
      n = tensor(Int32Array.of(0, 1, 2));
    for (const loss of [
      F.mseLoss,
      F.l1Loss,
      F.huberLoss,
      F.smoothL1Loss,
      F.bce,
      F.bceWithLogits,
      F.klDiv,
    ] as ((x: Tensor, y: Tensor) => Tensor)[])
      await rejects(
        () => loss(column, tensor([1, 2, 3])),
        ShapeError,
        /a target of the input's shape \[3,1\], got \[3\]/,
      );
    await rejects(
      () => F.crossEntropy(x, tensor(Int32Array.of(1, 2))),
      ShapeError,
      /class numbers \[3\] for scores \[3,4\], got \[2\]/,
    );
    await rejects(
      () => F.crossEntropy(x, n, { weight: tensor([1, 2]) }),
      ShapeError,
      /a weight per class, \[4\]/,
    );
    await rejects(
      () => F.crossEntropy(x, n, { labelSmoothing: 2 }),
      ArgumentError,
      /labelSmoothing/,
    );
    await rejects(() => F.crossEntropy(x, t(b), { ignoreIndex: 1 }), ArgumentError, /ignoreIndex/);
    await rejects(() => F.nllLoss(x, tensor([true, false, true])), DTypeError, /class numbers/);
    await rejects(() => F.nllLoss(x, tensor([1, 2, 3])), DTypeError, /\.int\(\)/);
    await rejects(
      () => F.huberLoss(x, x, { delta: 0 }),
      ArgumentError,
      /a delta in \(0, Infinity\]/,
    );
    await rejects(() => F.smoothL1Loss(x, x, { beta: -1 }), ArgumentError, /beta/);
    await rejects(() => F.cosineEmbedding(x, x, tensor([1])), ShapeError, /targets \[N\]/);
    await rejects(() => F.mseLoss(x, x, "avg" as never), ArgumentError, /reduction/);
  }));

test("what PyTorch refuses is no number, where it takes the device to see it", () =>
  scopedAsync(async () => {
    const none = { reduction: "none" } as const;
    const half = (n: number): Tensor => tensor(Array<number>(n).fill(0.5));
    const p = tensor([-0.5, 1.5, NaN, 0, 1]);
    await assertClose(F.bce(p, tensor([1, 0, 1, 0, 1]), none), [NaN, NaN, NaN, 0, 0]);
    await assertClose(F.bce(p, tensor([0, 1, 0, 1, 0]), none), [NaN, NaN, NaN, 100, 100]);
    await assertClose(F.klDiv(tensor([1, 1, 1]), tensor([-0.5, 0, 1]), none), [NaN, 0, -1]);
    const labels = tensor([0, 3, -1, -100], { dtype: "int32" });
    const rows = tensor(Array<number>(12).fill(-2), { shape: [4, 3] });
    await assertClose(F.nllLoss(rows, labels, none), [2, NaN, NaN, 0]);
    await assertClose(F.nllLoss(rows, labels, { ...none, ignoreIndex: 3 }), [2, 0, NaN, NaN]);
    const v = tensor([1, 0, 1, 0, 1, 0, 1, 0], { shape: [4, 2] });
    const pairs = F.cosineEmbedding(v, v, tensor([1, -1, 0, 0.5]), none);
    await assertClose(pairs, [0, 1, 0, 0], 1e-6);
    // factors make no more losses than there are
    const grown = tensor([1, 1, 1, 1], { shape: [2, 2] });
    await rejects(() => F.bce(half(2), half(2), { weight: grown }), ShapeError, /bce: .*weight/);
    for (const name of ["weight", "posWeight"] as const)
      await rejects(
        () => F.bceWithLogits(half(2), half(2), { [name]: grown }),
        ShapeError,
        new RegExp(`bceWithLogits: expected a ${name} that broadcasts to the losses \\[2\\]`),
      );
    await rejects(() => F.bce(half(2), half(2), { weight: half(3) }), ShapeError, /bce: .*\[3\]/);
  }));

test.run();
