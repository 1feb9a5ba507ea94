/**
 * Encoder and decoder layers, alone and stacked, against plain arithmetic.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { ArgumentError, manualSeed, scoped, scopedAsync, tensor } from "tenure";
import {
  LayerNorm,
  TransformerDecoder,
  TransformerDecoderLayer,
  TransformerEncoder,
  TransformerEncoderLayer,
} from "tenure/nn";
import { assertClose, assertNoLeaks } from "tenure/testing";
import { numbers, rejects, setup } from "../../helpers.ts";
import {
  E,
  HEADS,
  L,
  type Matrix,
  N,
  S,
  affine,
  attend,
  rows,
  sampleOf,
  sum,
  timeFirst,
  weightsOf,
} from "./sequences.ts";

await setup();
const test = suite("transformer layers");

const normed = (x: readonly number[]): number[] => {
  const m = sum(x) / x.length,
    s = Math.sqrt(sum(x.map((v) => (v - m) ** 2)) / x.length + 1e-5);
  return x.map((v) => (v - m) / s);
};
const plus = (a: Matrix, b: Matrix): number[][] =>
  a.map((row, i) => row.map((v, k) => v + b[i]![k]!));
const part = (w: Record<string, number[][]>, name: string): Record<string, number[][]> =>
  Object.fromEntries(
    Object.entries(w)
      .filter(([key]) => key.startsWith(`${name}.`))
      .map(([key, value]) => [key.slice(name.length + 1), value]),
  );
const feed = (w: Record<string, number[][]>, x: Matrix): number[][] =>
  x.map((row) =>
    affine(
      w["linear2.weight"]!,
      w["linear2.bias"]![0],
      affine(w["linear1.weight"]!, w["linear1.bias"]![0], row).map((v) => Math.max(v, 0)),
    ),
  );

for (const normFirst of [false, true]) {
  test(`encoder layer, ${normFirst ? "normalised first" : "normalised last"}`, () =>
    assertNoLeaks(() =>
      scopedAsync(async () => {
        using layer = new TransformerEncoderLayer(E, HEADS, {
          dimFeedforward: 6,
          dropout: 0.1,
          normFirst,
        });
        assert.equal(
          [...layer.namedParameters()].map(([n]) => n),
          [
            "self_attn.in_proj_weight",
            "self_attn.in_proj_bias",
            "self_attn.out_proj.weight",
            "self_attn.out_proj.bias",
            "linear1.weight",
            "linear1.bias",
            "linear2.weight",
            "linear2.bias",
            "norm1.weight",
            "norm1.bias",
            "norm2.weight",
            "norm2.bias",
          ],
        );
        layer.eval();
        const w = await weightsOf(layer),
          x = numbers(L * N * E, 54);
        const want = timeFirst(
          [0, 1].map((n) => {
            const own = sampleOf(x, L, n),
              self = (y: Matrix): number[][] =>
                attend(part(w, "self_attn"), y, y, y, HEADS, () => false);
            if (normFirst) {
              const a = plus(own, self(own.map(normed)));
              return plus(a, feed(w, a.map(normed)));
            }
            const a = plus(own, self(own)).map(normed);
            return plus(a, feed(w, a)).map(normed);
          }),
        );
        const input = tensor(x, { shape: [L, N, E] });
        await assertClose(layer.call(input), want, 1e-4);
        layer.train();
        manualSeed(4);
        const [a, b] = [await layer.call(input).data(), await layer.call(input).data()];
        assert.not.equal([...a], [...b]); // dropout is on again
        layer.call(input).sum().backward();
        assert.ok(layer.parameters().every((p) => p.hasGrad));
      }),
    ));
}

test("decoder layer", () =>
  assertNoLeaks(() =>
    scopedAsync(async () => {
      using layer = new TransformerDecoderLayer(E, HEADS, { dimFeedforward: 6, batchFirst: true });
      assert.equal(
        [...new Set([...layer.namedParameters()].map(([n]) => n.split(".")[0]))],
        ["self_attn", "multihead_attn", "linear1", "linear2", "norm1", "norm2", "norm3"],
      );
      layer.eval();
      const w = await weightsOf(layer),
        x = numbers(L * E, 55),
        memory = numbers(S * E, 56),
        own = rows(x, E),
        other = rows(memory, E);
      const a = plus(
          own,
          attend(part(w, "self_attn"), own, own, own, HEADS, (_h, l, s) => s > l),
        ).map(normed),
        b = plus(
          a,
          attend(part(w, "multihead_attn"), a, other, other, HEADS, () => false),
        ).map(normed);
      const y = layer.call(tensor(x, { shape: [1, L, E] }), tensor(memory, { shape: [1, S, E] }), {
        self: { causal: true },
      });
      assert.equal(y.shape, [1, L, E]);
      await assertClose(y, plus(b, feed(w, b)).map(normed).flat(), 1e-4);
    }),
  ));

test("a stack of encoders, and its names", () =>
  assertNoLeaks(() =>
    scopedAsync(async () => {
      using stack = new TransformerEncoder(
        () =>
          new TransformerEncoderLayer(E, HEADS, {
            dimFeedforward: 6,
            activation: "gelu",
            batchFirst: true,
            dropout: 0,
          }),
        2,
        new LayerNorm(E),
      );
      const names = [...stack.namedParameters()].map(([n]) => n);
      assert.is(names[0], "layers.0.self_attn.in_proj_weight");
      assert.ok(names.includes("layers.1.norm2.bias") && names.at(-1) === "norm.bias");
      const x = tensor(numbers(N * L * E, 57), { shape: [N, L, E] }),
        y = stack.call(x, { causal: true });
      assert.equal(y.shape, [N, L, E]);
      // What comes later does not change what came before.
      const changed = scoped(() => stack.call(x.slice(1, 0, 2), { causal: true }));
      await assertClose(changed, [...(await y.slice(1, 0, 2).data())], 1e-5);
    }),
  ));

test("a stack of decoders is its layers one after the other", () =>
  assertNoLeaks(() =>
    scopedAsync(async () => {
      using stack = new TransformerDecoder(
        () => new TransformerDecoderLayer(E, HEADS, { dimFeedforward: 6, dropout: 0 }),
        2,
        new LayerNorm(E),
      );
      const names = [...stack.namedParameters()].map(([n]) => n);
      assert.ok(
        names[0] === "layers.0.self_attn.in_proj_weight" &&
          names.includes("layers.1.multihead_attn.out_proj.bias") &&
          names.at(-1) === "norm.bias",
      );
      const x = tensor(numbers(L * N * E, 76), { shape: [L, N, E] }),
        memory = tensor(numbers(S * N * E, 77), { shape: [S, N, E] }),
        options = { self: { causal: true } } as const;
      const [first, second] = [...stack.layers] as [
        TransformerDecoderLayer,
        TransformerDecoderLayer,
      ];
      const want = stack.norm!.call(second.call(first.call(x, memory, options), memory, options));
      await assertClose(stack.call(x, memory, options), [...(await want.data())], 1e-6);
      await rejects(
        () => new TransformerDecoder(3 as never, 1),
        ArgumentError,
        /^TransformerDecoder: expected a function, got 3/,
      );
      await rejects(() => new TransformerDecoder(() => first, 0), ArgumentError, /numLayers/);
    }),
  ));

test.run();
