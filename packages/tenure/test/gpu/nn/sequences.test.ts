/**
 * Recurrent layers and transformers against plain float64 references written from PyTorch's
 * documented formulas, with PyTorch's parameter names and shapes.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  ArgumentError,
  ShapeError,
  type Tensor,
  manualSeed,
  newDisposeScope,
  scoped,
  scopedAsync,
  tensor,
} from "tenure";
import {
  GRU,
  LSTM,
  LayerNorm,
  type Module,
  MultiheadAttention,
  RNN,
  TransformerDecoder,
  TransformerDecoderLayer,
  TransformerEncoder,
  TransformerEncoderLayer,
} from "tenure/nn";
import { Adam } from "tenure/optim";
import { assertClose, assertNoLeaks } from "tenure/testing";
import { numbers, rejects, setup } from "../../helpers.ts";

await setup();
const test = suite("sequences");

type Matrix = readonly (readonly number[])[];
const sum = (v: readonly number[]): number => v.reduce((x, y) => x + y, 0),
  dot = (a: readonly number[], b: readonly number[]): number => sum(a.map((v, i) => v * b[i]!));
const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));
const rows = (v: readonly number[], width: number): number[][] =>
  Array.from({ length: v.length / width }, (_, i) => v.slice(i * width, (i + 1) * width));
/** W·x + b. */
const affine = (w: Matrix, b: readonly number[] | undefined, x: readonly number[]): number[] =>
  w.map((row, i) => dot(row, x) + (b?.[i] ?? 0));

/** A module's parameters as matrices (vectors as one row), by name. */
async function weightsOf(module: {
  namedParameters(): Iterable<[string, Tensor]>;
}): Promise<Record<string, number[][]>> {
  return Object.fromEntries(
    await Promise.all(
      [...module.namedParameters()].map(
        async ([name, p]) => [name, rows([...(await p.data())], p.shape.at(-1)!)] as const,
      ),
    ),
  );
}

// === Recurrent ===

type Step = (
  x: readonly number[],
  states: readonly (readonly number[])[],
  w: { ih: Matrix; hh: Matrix; bih: number[] | undefined; bhh: number[] | undefined },
) => number[][];
const gate = (v: readonly number[], k: number, h: number): number[] => v.slice(k * h, (k + 1) * h);
const steps: Record<string, Step> = {
  RNN: (x, [h], { ih, hh, bih, bhh }) => {
    const a = affine(ih, bih, x),
      b = affine(hh, bhh, h!);
    return [a.map((v, i) => Math.tanh(v + b[i]!))];
  },
  LSTM: (x, [h, c], { ih, hh, bih, bhh }) => {
    const a = affine(ih, bih, x),
      b = affine(hh, bhh, h!),
      n = h!.length,
      at = (k: number): number[] => gate(a, k, n).map((v, i) => v + gate(b, k, n)[i]!);
    const [i, f, g, o] = [at(0), at(1), at(2), at(3)],
      cell = c!.map((v, j) => sigmoid(f[j]!) * v + sigmoid(i[j]!) * Math.tanh(g[j]!));
    return [cell.map((v, j) => sigmoid(o[j]!) * Math.tanh(v)), cell];
  },
  GRU: (x, [h], { ih, hh, bih, bhh }) => {
    const a = affine(ih, bih, x),
      b = affine(hh, bhh, h!),
      n = h!.length,
      at = (k: number, i: number): [number, number] => [gate(a, k, n)[i]!, gate(b, k, n)[i]!];
    return [
      h!.map((v, i) => {
        const [ra, rb] = at(0, i),
          [za, zb] = at(1, i),
          [na, nb] = at(2, i),
          z = sigmoid(za + zb);
        return (1 - z) * Math.tanh(na + sigmoid(ra + rb) * nb) + z * v;
      }),
    ];
  },
};

/** All layers over one sample's sequence. */
function sequence(
  step: Step,
  w: Record<string, number[][]>,
  x: Matrix,
  layers: number,
  directions: number,
  initial: (layer: number) => number[][],
): { output: Matrix; states: number[][][] } {
  const states: number[][][] = [];
  let input = x;
  for (let layer = 0; layer < layers; layer++) {
    const outputs: number[][] = input.map(() => []);
    for (let d = 0; d < directions; d++) {
      const suffix = `l${layer}${d === 1 ? "_reverse" : ""}`,
        own = {
          ih: w[`weight_ih_${suffix}`]!,
          hh: w[`weight_hh_${suffix}`]!,
          bih: w[`bias_ih_${suffix}`]?.[0],
          bhh: w[`bias_hh_${suffix}`]?.[0],
        };
      let state = initial(layer * directions + d);
      for (let i = 0; i < input.length; i++) {
        const t = d === 1 ? input.length - 1 - i : i;
        state = step(input[t]!, state, own);
        outputs[t]!.push(...state[0]!);
      }
      states.push(state);
    }
    input = outputs;
  }
  return { output: input, states };
}

const kinds = { RNN, LSTM, GRU };
for (const name of ["RNN", "LSTM", "GRU"] as const) {
  for (const [numLayers, bidirectional, batchFirst, bias, given] of [
    [1, false, false, true, false],
    [2, true, true, true, true],
    [1, false, true, false, true],
  ] as const) {
    test(`${name}: ${numLayers} layers${bidirectional ? ", both directions" : ""}${batchFirst ? ", batch first" : ""}${given ? ", given states" : ""}`, () =>
      assertNoLeaks(() =>
        scopedAsync(async () => {
          const T = 3,
            N = 2,
            I = 3,
            H = 2,
            D = bidirectional ? 2 : 1,
            count = name === "LSTM" ? 2 : 1;
          using layer = new kinds[name](I, H, { numLayers, bidirectional, batchFirst, bias });
          const w = await weightsOf(layer),
            x = numbers(T * N * I, 40),
            start = [0, 1].map((k) => numbers(numLayers * D * N * H, 41 + k).map((v) => v / 4));
          const sample = (n: number): Matrix =>
            Array.from({ length: T }, (_, t) => {
              const at = (batchFirst ? n * T + t : t * N + n) * I;
              return x.slice(at, at + I);
            });
          const state =
            (n: number) =>
            (k: number): number[][] =>
              Array.from({ length: count }, (_, s) =>
                given ? start[s]!.slice((k * N + n) * H, (k * N + n + 1) * H) : [0, 0],
              );
          const want = [0, 1].map((n) =>
            sequence(steps[name]!, w, sample(n), numLayers, D, state(n)),
          );
          const input = tensor(x, { shape: batchFirst ? [N, T, I] : [T, N, I] }),
            states = start.map((v) => tensor(v, { shape: [numLayers * D, N, H] }));
          const out = (
            layer as unknown as Module<
              [x: Tensor, state?: unknown],
              { output: Tensor; hidden: Tensor; cell?: Tensor }
            >
          ).call(
            input,
            ...(given
              ? [name === "LSTM" ? { hidden: states[0], cell: states[1] } : states[0]]
              : []),
          );
          assert.equal(
            [out.output.shape, out.hidden.shape],
            [batchFirst ? [N, T, D * H] : [T, N, D * H], [numLayers * D, N, H]],
          );
          await assertClose(
            out.output,
            batchFirst
              ? want.flatMap((s) => s.output.flat())
              : Array.from({ length: T }, (_, t) => want.flatMap((s) => s.output[t]!)).flat(),
            1e-5,
          );
          for (const [k, t] of [out.hidden, out.cell].entries())
            if (t !== undefined)
              await assertClose(
                t,
                Array.from({ length: numLayers * D }, (_, at) =>
                  want.flatMap((s) => s.states[at]![k]!),
                ).flat(),
                1e-5,
              );
        }),
      ));
  }
}

test("names and shapes are PyTorch's", () => {
  using lstm = new LSTM(3, 2, { numLayers: 2, bidirectional: true });
  assert.equal(
    [...lstm.namedParameters()].map(([n, p]) => `${n} ${p.shape.join("×")}`),
    [
      "weight_ih_l0 8×3",
      "weight_hh_l0 8×2",
      "bias_ih_l0 8",
      "bias_hh_l0 8",
      "weight_ih_l0_reverse 8×3",
      "weight_hh_l0_reverse 8×2",
      "bias_ih_l0_reverse 8",
      "bias_hh_l0_reverse 8",
      "weight_ih_l1 8×4",
      "weight_hh_l1 8×2",
      "bias_ih_l1 8",
      "bias_hh_l1 8",
      "weight_ih_l1_reverse 8×4",
      "weight_hh_l1_reverse 8×2",
      "bias_ih_l1_reverse 8",
      "bias_hh_l1_reverse 8",
    ],
  );
});

test("recurrent layers: single sequences, dropout, errors", () =>
  assertNoLeaks(() =>
    scopedAsync(async () => {
      using gru = new GRU(3, 2),
        relu = new RNN(3, 2, { nonlinearity: "relu" }),
        deep = new LSTM(3, 8, { numLayers: 2, dropout: 0.5 });
      const x = tensor(numbers(12, 43), { shape: [4, 3] }),
        { output, hidden } = gru.call(x),
        batched = gru.call(x.unsqueeze(1));
      assert.equal(
        [output.shape, hidden.shape],
        [
          [4, 2],
          [1, 2],
        ],
      );
      await assertClose(output, [...(await batched.output.data())], 1e-6);
      const positive = await relu.call(x).output.data();
      assert.ok(positive.every((v) => v >= 0));
      manualSeed(1);
      const a = await deep.call(x).output.data(),
        b = await deep.call(x).output.data();
      assert.not.equal([...a], [...b]);
      deep.eval();
      assert.equal(
        [...(await deep.call(x).output.data())],
        [...(await deep.call(x).output.data())],
      );
      await rejects(() => gru.call(tensor([[1, 2]])), ShapeError, /GRU: expected x \[T, N, 3\]/);
      await rejects(
        () => gru.call(x, tensor([[1, 2, 3]])),
        ShapeError,
        /a state \[1,2\], got \[1,3\]/,
      );
      await rejects(() => new LSTM(0, 2), ArgumentError, /inputSize/);
      await rejects(() => new LSTM(1, 2, { dropout: 1 }), ArgumentError, /dropout/);
    }),
  ));

test("a recurrent layer learns to remember", () =>
  assertNoLeaks(async () => {
    manualSeed(3);
    using lstm = new LSTM(1, 6);
    using optimizer = new Adam(lstm.parameters(), { lr: 0.05 });
    const bits = [
        [1, 0, 0],
        [0, 1, 1],
        [1, 1, 0],
        [0, 0, 1],
      ],
      losses: number[] = [];
    for (let i = 0; i < 20; i++) {
      let read: Promise<number>;
      {
        using _ = newDisposeScope("step");
        const x = tensor(bits).transpose().unsqueeze(2),
          first = tensor(bits.map((b) => b[0]! * 0.5)); // half the first bit, after two others
        const loss = lstm.call(x).hidden.select(0, 0).select(1, 0).sub(first).square().mean();
        optimizer.zeroGrad();
        loss.backward();
        optimizer.step();
        read = loss.item();
      }
      losses.push(await read);
    }
    assert.ok(losses.at(-1)! < losses[0]! / 3, `${losses[0]} → ${losses.at(-1)}`);
  }));

// === Attention ===

/** Attention of one sample. `hidden(head, l, s)` says what is masked. */
function attend(
  w: Record<string, number[][]>,
  q: Matrix,
  k: Matrix,
  v: Matrix,
  heads: number,
  hidden: (h: number, l: number, s: number) => boolean,
  added: (l: number, s: number) => number = () => 0,
  shown?: number[][][],
): number[][] {
  const e = q[0]!.length,
    d = e / heads,
    bias = w["in_proj_bias"]?.[0],
    weight = (part: number): number[][] =>
      w[["q_proj_weight", "k_proj_weight", "v_proj_weight"][part]!] ??
      w["in_proj_weight"]!.slice(part * e, (part + 1) * e);
  const project = (x: Matrix, part: number): number[][] =>
    x.map((row) => affine(weight(part), bias?.slice(part * e, (part + 1) * e), row));
  const [Q, K, V] = [project(q, 0), project(k, 1), project(v, 2)];
  const joined = Q.map((query, l) =>
    Array.from({ length: heads }, (_, h) => {
      const part = (row: readonly number[]): number[] => row.slice(h * d, (h + 1) * d);
      const scores = K.map((key, s) =>
          hidden(h, l, s) ? -Infinity : dot(part(query), part(key)) / Math.sqrt(d) + added(l, s),
        ),
        top = Math.max(...scores),
        weights = scores.map((x) => Math.exp(x - top)),
        total = sum(weights);
      if (shown !== undefined) (shown[h] ??= [])[l] = weights.map((x) => x / total);
      return Array.from({ length: d }, (_unused, i) =>
        sum(V.map((row, s) => (weights[s]! / total) * part(row)[i]!)),
      );
    }).flat(),
  );
  return joined.map((row) => affine(w["out_proj.weight"]!, w["out_proj.bias"]?.[0], row));
}

const E = 4,
  HEADS = 2,
  N = 2,
  L = 3,
  S = 5;
const sampleOf = (x: readonly number[], length: number, n: number): Matrix =>
  Array.from({ length }, (_, l) => x.slice((l * N + n) * E, (l * N + n + 1) * E));
const timeFirst = (samples: readonly Matrix[]): number[] =>
  samples[0]!.map((_, l) => samples.map((s) => s[l]!)).flat(2);

test("attention: masks of all kinds", () =>
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
      const none = (): boolean => false,
        bool = (n: number, f: (i: number) => boolean): boolean[] =>
          Array.from({ length: n }, (_, i) => f(i));
      await assertClose(attention.call(tq, tk, tv), want(none), 1e-5);
      const block = (l: number, s: number): boolean => (l + s) % 3 === 1,
        padded = (n: number, s: number): boolean => n === 1 && s > 2;
      const mask = tensor(
          bool(L * S, (i) => block(Math.floor(i / S), i % S)),
          { shape: [L, S] },
        ),
        padding = tensor(
          bool(N * S, (i) => padded(Math.floor(i / S), i % S)),
          { shape: [N, S] },
        );
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

test("attention: weights, and keys and values of other sizes", () =>
  assertNoLeaks(() =>
    scopedAsync(async () => {
      const KD = 3,
        VD = 5;
      using attention = new MultiheadAttention(E, HEADS, { kdim: KD, vdim: VD, batchFirst: true });
      using plain = new MultiheadAttention(E, HEADS, { batchFirst: true });
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
        v = numbers(N * S * VD, 72),
        rowsOf = (x: readonly number[], n: number, length: number, width: number): Matrix =>
          rows(x.slice(n * length * width, (n + 1) * length * width), width);
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
      mean.output.sum().add(mean.weights.square().sum()).backward();
      assert.ok(attention.parameters().every((p) => p.hasGrad));
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

test("LSTM with a projected hidden state", () =>
  assertNoLeaks(() =>
    scopedAsync(async () => {
      const T = 3,
        I = 3,
        H = 4,
        P = 2;
      using lstm = new LSTM(I, H, { projSize: P, numLayers: 2 });
      assert.equal(
        [...lstm.namedParameters()].map(([n, p]) => `${n} ${p.shape.join("×")}`),
        [
          "weight_ih_l0 16×3",
          "weight_hh_l0 16×2",
          "bias_ih_l0 16",
          "bias_hh_l0 16",
          "weight_hr_l0 2×4",
          "weight_ih_l1 16×2",
          "weight_hh_l1 16×2",
          "bias_ih_l1 16",
          "bias_hh_l1 16",
          "weight_hr_l1 2×4",
        ],
      );
      const w = await weightsOf(lstm),
        x = rows(numbers(T * I, 73), I),
        start = [numbers(2 * P, 74), numbers(2 * H, 75)] as const;
      let input: Matrix = x;
      const last: number[][][] = [];
      for (const layer of [0, 1]) {
        let h = start[0].slice(layer * P, (layer + 1) * P),
          c = start[1].slice(layer * H, (layer + 1) * H);
        input = input.map((row) => {
          const a = affine(w[`weight_ih_l${layer}`]!, w[`bias_ih_l${layer}`]![0], row),
            b = affine(w[`weight_hh_l${layer}`]!, w[`bias_hh_l${layer}`]![0], h),
            at = (k: number): number[] => gate(a, k, H).map((v, i) => v + gate(b, k, H)[i]!);
          const [i, f, g, o] = [at(0), at(1), at(2), at(3)];
          c = c.map((v, j) => sigmoid(f[j]!) * v + sigmoid(i[j]!) * Math.tanh(g[j]!));
          h = affine(
            w[`weight_hr_l${layer}`]!,
            undefined,
            c.map((v, j) => sigmoid(o[j]!) * Math.tanh(v)),
          );
          return h;
        });
        last.push([h, c]);
      }
      const out = lstm.call(tensor(x), {
        hidden: tensor(start[0], { shape: [2, P] }),
        cell: tensor(start[1], { shape: [2, H] }),
      });
      assert.equal(
        [out.output.shape, out.hidden.shape, out.cell.shape],
        [
          [T, P],
          [2, P],
          [2, H],
        ],
      );
      await Promise.all([
        assertClose(out.output, input.flat(), 1e-5),
        assertClose(
          out.hidden,
          last.flatMap((s) => s[0]!),
          1e-5,
        ),
        assertClose(
          out.cell,
          last.flatMap((s) => s[1]!),
          1e-5,
        ),
      ]);
      out.output.square().sum().backward();
      assert.ok(lstm.parameters().every((p) => p.hasGrad));
      await rejects(
        () => new LSTM(2, 3, { projSize: 3 }),
        ArgumentError,
        /^LSTM: expected a projSize from 0 \(none\) to 2, got 3/,
      );
      await rejects(() => new GRU(2, 3, { projSize: 1 } as never), ArgumentError, /"projSize"/);
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

// === Transformer layers ===

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

test.run();
