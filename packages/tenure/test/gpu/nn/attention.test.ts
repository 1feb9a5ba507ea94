/**
 * Multi-head attention against a plain one: masks, causal order, sizes of keys and values, and
 * what is refused.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { ArgumentError, ShapeError, scopedAsync, type Tensor, tensor, zeros } from "tenure";
import { MultiheadAttention } from "tenure/nn";
import { assertClose, assertNoLeaks } from "tenure/testing";
import { numbers, rejects, setup } from "../../helpers.ts";
import {
  E,
  HEADS,
  L,
  type Matrix,
  N,
  S,
  attend,
  rows,
  sampleOf,
  timeFirst,
  weightsOf,
} from "./sequences.ts";

await setup();
const test = suite("attention");

/** An attention layer, its weights, three inputs, and what it should give under a mask. */
async function samples(attention: MultiheadAttention) {
  const w = await weightsOf(attention);
  const q = numbers(L * N * E, 50),
    k = numbers(S * N * E, 51),
    v = numbers(S * N * E, 52);
  const [tq, tk, tv] = [
    tensor(q, { shape: [L, N, E] }),
    tensor(k, { shape: [S, N, E] }),
    tensor(v, { shape: [S, N, E] }),
  ];
  const want = (
    hidden: (n: number, h: number, l: number, s: number) => boolean,
    added?: (l: number, s: number) => number,
  ): number[] =>
    timeFirst(
      [0, 1].map((n) =>
        attend(
          w,
          sampleOf(q, L, n),
          sampleOf(k, S, n),
          sampleOf(v, S, n),
          HEADS,
          (h, l, s) => hidden(n, h, l, s),
          added,
        ),
      ),
    );
  return { w, q, k, v, tq, tk, tv, want };
}

const none = (): boolean => false;
const bool = (n: number, f: (i: number) => boolean): boolean[] =>
  Array.from({ length: n }, (_, i) => f(i));
const block = (l: number, s: number): boolean => (l + s) % 3 === 1;
const padded = (n: number, s: number): boolean => n === 1 && s > 2;
/** The two masks above, of two dimensions, as tensors. */
const masks = (): { mask: Tensor; padding: Tensor } => ({
  mask: tensor(
    bool(L * S, (i) => block(Math.floor(i / S), i % S)),
    { shape: [L, S] },
  ),
  padding: tensor(
    bool(N * S, (i) => padded(Math.floor(i / S), i % S)),
    { shape: [N, S] },
  ),
});

test("attention: parameters, and what is refused", () =>
  assertNoLeaks(() =>
    scopedAsync(async () => {
      using attention = new MultiheadAttention(E, HEADS);
      assert.equal(
        [...attention.namedParameters()].map(([n, p]) => [n, p.shape]),
        [
          ["in_proj_weight", [12, 4]],
          ["in_proj_bias", [12]],
          ["out_proj.weight", [4, 4]],
          ["out_proj.bias", [4]],
        ],
      );
      const w = await weightsOf(attention);
      assert.equal([...w["in_proj_bias"]![0]!, ...w["out_proj.bias"]![0]!], new Array(16).fill(0));
      const { tq, tk, tv } = await samples(attention),
        { mask } = masks();
      await rejects(
        () => attention.call(tq, tk, tv, { mask: tensor([[true]]) }),
        ShapeError,
        /a mask \[3,5\] or \[4,3,5\]/,
      );
      await rejects(
        () => attention.call(tq, tk, tv, { keyPaddingMask: mask }),
        ShapeError,
        /keyPaddingMask \[2,5\]/,
      );
      await rejects(() => attention.call(tq, tk, tq), ShapeError, /equally many/);
      await rejects(
        () => attention.call(tensor([[[1, 2]]]), tk, tv),
        ShapeError,
        /a query \[L, N, 4\]/,
      );
      await rejects(() => new MultiheadAttention(4, 3), ArgumentError, /divides embedDim/);
    }),
  ));

test("attention: masks and padding", () =>
  assertNoLeaks(() =>
    scopedAsync(async () => {
      using attention = new MultiheadAttention(E, HEADS);
      const { tq, tk, tv, want } = await samples(attention),
        { mask, padding } = masks();
      await assertClose(attention.call(tq, tk, tv), want(none), 1e-5);
      await assertClose(
        attention.call(tq, tk, tv, { mask }),
        want((_n, _h, l, s) => block(l, s)),
        1e-5,
      );
      await assertClose(
        attention.call(tq, tk, tv, { keyPaddingMask: padding }),
        want((n, _h, _l, s) => padded(n, s)),
        1e-5,
      );
      await assertClose(
        attention.call(tq, tk, tv, { mask, keyPaddingMask: padding }),
        want((n, _h, l, s) => block(l, s) || padded(n, s)),
        1e-5,
      );
      const extra = numbers(L * S, 53);
      await assertClose(
        attention.call(tq, tk, tv, {
          mask: tensor(extra, { shape: [L, S] }),
          keyPaddingMask: padding,
        }),
        want(
          (n, _h, _l, s) => padded(n, s),
          (l, s) => extra[l * S + s]!,
        ),
        1e-5,
      );
      const perHead = tensor(
        bool(N * HEADS * L * S, (i) => i % 7 === 2),
        { shape: [N * HEADS, L, S] },
      );
      await assertClose(
        attention.call(tq, tk, tv, { mask: perHead }),
        want((n, h, l, s) => (((n * HEADS + h) * L + l) * S + s) % 7 === 2),
        1e-5,
      );
    }),
  ));

test("attention: causal, and of single samples", () =>
  assertNoLeaks(() =>
    scopedAsync(async () => {
      using attention = new MultiheadAttention(E, HEADS);
      const { w, q, k, v, tq, tk, tv } = await samples(attention);
      const self = timeFirst(
        [0, 1].map((n) =>
          attend(
            w,
            sampleOf(q, L, n),
            sampleOf(q, L, n),
            sampleOf(q, L, n),
            HEADS,
            (_h, l, s) => s > l,
          ),
        ),
      );
      // one product for the three projections
      await assertClose(attention.call(tq, tq, tq, { causal: true }), self, 1e-5);
      await assertClose(
        attention.call(tq.select(1, 0), tk.select(1, 0), tv.select(1, 0)),
        attend(w, sampleOf(q, L, 0), sampleOf(k, S, 0), sampleOf(v, S, 0), HEADS, none).flat(),
        1e-5,
      );
    }),
  ));

/** Channels of keys and of values that are not those of queries. */
const KD = 3,
  VD = 5;

const rowsOf = (x: readonly number[], n: number, length: number, width: number): Matrix =>
  rows(x.slice(n * length * width, (n + 1) * length * width), width);

test("attention: weights, and keys and values of other sizes", () =>
  assertNoLeaks(() =>
    scopedAsync(async () => {
      using attention = new MultiheadAttention(E, HEADS, { kdim: KD, vdim: VD, batchFirst: true });
      assert.equal(
        [...attention.namedParameters()].map(([n, p]) => [n, p.shape]),
        [
          ["q_proj_weight", [E, E]],
          ["k_proj_weight", [E, KD]],
          ["v_proj_weight", [E, VD]],
          ["in_proj_bias", [12]],
          ["out_proj.weight", [E, E]],
          ["out_proj.bias", [E]],
        ],
      );
      const w = await weightsOf(attention),
        q = numbers(N * L * E, 70),
        k = numbers(N * S * KD, 71),
        v = numbers(N * S * VD, 72);
      const heads: number[][][][] = [[], []],
        want = [0, 1].map((n) =>
          attend(
            w,
            rowsOf(q, n, L, E),
            rowsOf(k, n, S, KD),
            rowsOf(v, n, S, VD),
            HEADS,
            () => false,
            undefined,
            heads[n],
          ),
        );
      const inputs = [
        tensor(q, { shape: [N, L, E] }),
        tensor(k, { shape: [N, S, KD] }),
        tensor(v, { shape: [N, S, VD] }),
      ] as const;
      await assertClose(attention.call(...inputs), want.flat(2), 1e-5);
      const each = attention.call(...inputs, { needWeights: true, averageWeights: false }),
        mean = attention.call(...inputs, { needWeights: true });
      assert.equal(
        [each.output.shape, each.weights.shape, mean.weights.shape],
        [
          [N, L, E],
          [N, HEADS, L, S],
          [N, L, S],
        ],
      );
      await assertClose(each.output, want.flat(2), 1e-5);
      await assertClose(each.weights, heads.flat(3), 1e-5);
      await assertClose(
        mean.weights,
        heads.flatMap((h) => h[0]!.flatMap((row, l) => row.map((x, s) => (x + h[1]![l]![s]!) / 2))),
        1e-5,
      );
      mean.output.sum().add(mean.weights.square().sum()).backward();
      assert.ok(attention.parameters().every((p) => p.hasGrad));
    }),
  ));

test("attention: weights of a causal single sample", () =>
  assertNoLeaks(() =>
    scopedAsync(async () => {
      using plain = new MultiheadAttention(E, HEADS, { batchFirst: true });
      const q = numbers(N * L * E, 70);
      const single = plain.call(
        tensor(rowsOf(q, 0, L, E)),
        tensor(rowsOf(q, 0, L, E)),
        tensor(rowsOf(q, 0, L, E)),
        { needWeights: true, causal: true },
      );
      assert.equal(
        [single.output.shape, single.weights.shape],
        [
          [L, E],
          [L, L],
        ],
      );
      const seen = await single.weights.data();
      assert.equal([seen[1], seen[2], seen[5], seen[0]], [0, 0, 0, 1], "no look ahead");
    }),
  ));

test("attention: sizes of keys and values that are refused", () =>
  assertNoLeaks(() =>
    scopedAsync(async () => {
      using attention = new MultiheadAttention(E, HEADS, { kdim: KD, vdim: VD, batchFirst: true });
      const inputs = [zeros([N, L, E]), zeros([N, S, KD]), zeros([N, S, VD])] as const;
      await rejects(
        () => attention.call(inputs[0], inputs[0], inputs[2]),
        ShapeError,
        /a key \[N, L, 3\]/,
      );
      await rejects(
        () => attention.call(inputs[0], inputs[1], inputs[1]),
        ShapeError,
        /a value \[N, L, 5\]/,
      );
      await rejects(
        () => new MultiheadAttention(4, 2, { vdim: 1.5 }),
        ArgumentError,
        /^MultiheadAttention: expected vdim to be a positive integer, got 1.5/,
      );
    }),
  ));

test.run();
