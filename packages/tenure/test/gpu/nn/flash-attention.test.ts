/**
 * Attention without stored scores: its memory grows with the length and not with its square, and
 * what it computes is what attention with stored weights computes, in every way of writing it.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type Tensor, manualSeed, noGrad, scoped, tensor } from "tenure";
import { functional as F } from "tenure/nn";
import { Scheduler } from "tenure/scheduler";
import { assertClose } from "tenure/testing";
import { runtime } from "../../../src/runtime/runtime.ts";
import { count, numbers, setup } from "../../helpers.ts";

await setup();
const test = suite("flash attention");

const put = (shape: number[], seed: number, requiresGrad = true): Tensor =>
  tensor(numbers(count(shape), seed, -1, 1), { shape, requiresGrad });

type Attend = (q: Tensor, k: Tensor, v: Tensor) => Tensor;

/** Peak of a training step of attention over `length` positions. */
async function peakOf(length: number, attend: Attend): Promise<number> {
  using scheduler = new Scheduler();
  const inputs = [1, 2, 3].map((seed) => put([2, length, 8], seed));
  for (let k = 0; k < 3; k++) {
    using loss = await scheduler.step(() => {
      const [q, k, v] = inputs as [Tensor, Tensor, Tensor];
      for (const x of inputs) x.grad = null;
      const loss = attend(q, k, v).square().sum();
      loss.backward();
      return loss;
    });
    await loss.item();
  }
  const { predictedPeakBytes, measuredPeakBytes } = scheduler.report();
  assert.is(measuredPeakBytes, predictedPeakBytes);
  for (const x of inputs) x.dispose();
  return measuredPeakBytes;
}

test("memory grows with the length, forward and backward, as predicted", async () => {
  const flash: Attend = (q, k, v) => F.scaledDotProductAttention(q, k, v, { causal: true });
  const stored: Attend = (q, k, v) => F.attentionWithWeights(q, k, v, { causal: true }).output;
  const [short, long] = [await peakOf(128, flash), await peakOf(256, flash)];
  assert.ok(long <= 2.1 * short, `${short} bytes, and ${long} for twice the length`);
  const scores = 4 * 2 * 256 * 256;
  assert.ok(long < scores, "less than the scores alone would take");
  assert.ok((await peakOf(256, stored)) > scores);
});

/** Result and gradients of two ways of attending, in one program each. */
async function compare(attend: Attend, other: Attend): Promise<void> {
  const shapes = [
    [2, 2, 7, 4],
    [2, 2, 9, 4],
    [2, 2, 9, 8],
  ];
  const run = async (fn: Attend): Promise<number[][]> => {
    const reads = scoped(() => {
      const [q, k, v] = shapes.map((shape, i) => put(shape, i + 1)) as [Tensor, Tensor, Tensor];
      const y = fn(q, k, v);
      y.square().sum().backward();
      return [y, q.grad!, k.grad!, v.grad!].map((t) => t.data());
    });
    return (await Promise.all(reads)).map((values) => [...values]);
  };
  const { choices } = runtime().device!;
  const wanted = await run(other);
  for (const turn of [0, 1, 2]) {
    choices.turn = turn;
    runtime().caches.clear();
    for (const [i, values] of (await run(attend)).entries())
      await assertClose(values, wanted[i]!, { rel: 1e-4, abs: 1e-5 });
  }
  choices.turn = null;
  runtime().caches.clear();
}

const added = numbers(7 * 9, 9, -1, 1);

for (const [name, options] of Object.entries({
  "causal and scaled": () => ({ causal: true, scale: 0.3 }),
  "an added mask that is not learned": () => ({ mask: tensor(added, { shape: [7, 9] }) }),
  "dropped weights": () => {
    manualSeed(5);
    return { dropout: 0.4, causal: true };
  },
}))
  test(`${name}: every way gives what stored weights give`, () =>
    compare(
      (q, k, v) => F.scaledDotProductAttention(q, k, v, options()),
      (q, k, v) => F.attentionWithWeights(q, k, v, options()).output,
    ));

test("a mask that is learned gets its gradient", async () => {
  const of = (attend: typeof F.scaledDotProductAttention): Promise<ArrayLike<number>> => {
    const [read] = scoped(() => {
      const [q, k, v] = [put([7, 4], 1), put([9, 4], 2), put([9, 8], 3)];
      const mask = tensor(added, { shape: [7, 9], requiresGrad: true });
      attend(q, k, v, { mask }).square().sum().backward();
      return [mask.grad!.data()];
    });
    return read;
  };
  const wanted = await of((q, k, v, o) => F.attentionWithWeights(q, k, v, o).output);
  await assertClose(
    [...Array.from(await of(F.scaledDotProductAttention))],
    Array.from(wanted),
    1e-5,
  );
});

test("without features keys weigh the same, and values without any give nothing", async () => {
  const { choices } = runtime().device!;
  for (const turn of [0, 1, 2]) {
    choices.turn = turn;
    runtime().caches.clear();
    const reads = scoped(() => {
      const [q, k, v] = [put([2, 0], 1), put([3, 0], 2), put([3, 4], 3)];
      const y = F.scaledDotProductAttention(q, k, v, { scale: 1 });
      y.sum().backward();
      const none = F.scaledDotProductAttention(put([2, 4], 4), put([3, 4], 5), put([3, 0], 6));
      return [y.sub(v.mean(0)).abs().max().data(), v.grad!.data(), q.grad!.data(), none.data()];
    });
    const [off, ofValue, ofQuery, nothing] = (await Promise.all(reads)).map((r) => [...r]);
    await assertClose(off!, [0], 1e-6);
    await assertClose(ofValue!, Array<number>(12).fill(2 / 3), 1e-6);
    assert.equal([ofQuery, nothing], [[], []]);
  }
  choices.turn = null;
  runtime().caches.clear();
});

test("what is no number shows in its own row, and large scores do not overflow", async () => {
  const { choices } = runtime().device!;
  for (const turn of [0, 1, 2]) {
    choices.turn = turn;
    runtime().caches.clear();
    const [y, large] = scoped(() => {
      const q = tensor([1, NaN, 1, 1, 1, Infinity], { shape: [6, 1] });
      const k = tensor([1, 2, 3, 4, 5], { shape: [5, 1] });
      const v = tensor([1, 2, 3, 4, 5], { shape: [5, 1] });
      const at = (x: Tensor): Tensor => noGrad(() => F.scaledDotProductAttention(x, k, v));
      return [at(q).data(), at(tensor([1e4, -1e4], { shape: [2, 1] })).data()];
    });
    const rows = [...(await y)];
    assert.equal(
      rows.map((value) => Number.isNaN(value)),
      [false, true, false, false, false, true],
    );
    await assertClose([...(await large)], [5, 1], 1e-6);
  }
  choices.turn = null;
  runtime().caches.clear();
});

test.run();
