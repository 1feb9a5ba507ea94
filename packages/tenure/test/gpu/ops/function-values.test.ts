/**
 * The functions composed from ops where no oracle says enough: values written out, gradients by
 * differences, draws, and the arguments they refuse.
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
  multinomial,
  rand,
  randn,
  randperm,
  scoped,
  scopedAsync,
  stack,
  tensor,
  zeros,
} from "tenure";
import { functional as F } from "tenure/nn";
import { assertClose, gradcheck } from "tenure/testing";
import { count, numbers, rejects, setup } from "../../helpers.ts";
import { ints } from "./oracles/oracle.ts";

await setup();
const test = suite("function values");

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

test("draws by weight: as often as the weights say, without a class twice", async () => {
  await scopedAsync(async () => {
    manualSeed(11);
    const weights = tensor([
      [1, 0, 3, 4],
      [0, 6, 2, 0],
    ]);
    const drawn = multinomial(weights, 4000, { replacement: true });
    assert.equal([drawn.dtype, drawn.shape], ["int32", [2, 4000]]);
    const shares = [0, 1, 2, 3].map((c) => drawn.eq(c).float().mean(1));
    const wanted = [
      [0.125, 0, 0.375, 0.5],
      [0, 0.75, 0.25, 0],
    ];
    await assertClose(stack(shares, 1), wanted, 0.03);
    // The first of two draws without replacement is a draw; the second is from what is left.
    const pairs = multinomial(weights.select(0, 0).expand(4000, 4), 2);
    const [first, second] = [pairs.select(1, 0), pairs.select(1, 1)];
    assert.is(await first.eq(second).any().item(), 0);
    await assertClose(first.eq(3).float().mean(), 0.5, 0.03);
    // P(second is 3) = P(first 0) · 4/7 + P(first 2) · 4/5
    await assertClose(second.eq(3).float().mean(), 0.125 * (4 / 7) + 0.375 * (4 / 5), 0.03);
    const all = await multinomial(tensor([1, 2, 3]), 3).data();
    assert.equal([...all].sort(), [0, 1, 2]);
    const half = tensor([0, 1], { requiresGrad: true });
    const one = multinomial(half, 1);
    assert.is(one.requiresGrad, false);
    assert.is(await one.item(), 1);
  });
});

test("draws from values out of range are what the docs say", async () => {
  await scopedAsync(async () => {
    const odd = tensor([-1, 2, 0, NaN]);
    assert.equal(await multinomial(odd, 4).toArray(), [3, 1, 2, 0]);
    assert.equal(await multinomial(odd, 2, { replacement: true }).toArray(), [3, 3]);
    assert.equal(await bernoulli(tensor([NaN, -1, 1, 2, 0])).toArray(), [0, 0, 1, 1, 0]);
  });
});

test(
  "topK agrees with the stable sort, however it picks, and its gradient goes back " +
    "to what was picked",
  async () => {
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
  },
);

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
