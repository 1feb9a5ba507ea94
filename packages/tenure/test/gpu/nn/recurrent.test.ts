/**
 * Recurrent layers against plain loops: directions, layers, states that are given, projections.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  ArgumentError,
  ShapeError,
  type Tensor,
  manualSeed,
  newDisposeScope,
  scopedAsync,
  tensor,
} from "tenure";
import { GRU, LSTM, type Module, RNN } from "tenure/nn";
import { Adam } from "tenure/optim";
import { assertClose, assertNoLeaks } from "tenure/testing";
import { numbers, rejects, setup } from "../../helpers.ts";
import { type Matrix, affine, rows, sigmoid, weightsOf } from "./sequences.ts";

await setup();
const test = suite("recurrent layers");

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
    const flags = [
      bidirectional ? ", both directions" : "",
      batchFirst ? ", batch first" : "",
      given ? ", given states" : "",
    ];
    test(`${name}: ${numLayers} layers${flags.join("")}`, () =>
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

/** Two layers of an LSTM whose hidden state of `H` numbers is projected to `P`. */
function projected(
  w: Record<string, number[][]>,
  x: Matrix,
  start: readonly [number[], number[]],
  H: number,
  P: number,
): { output: Matrix; last: number[][][] } {
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
  return { output: input, last };
}

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
      const { output: want, last } = projected(w, x, start, H, P);
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
        assertClose(out.output, want.flat(), 1e-5),
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

test.run();
