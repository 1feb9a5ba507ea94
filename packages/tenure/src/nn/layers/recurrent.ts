/**
 * Recurrent layers: plain RNN, LSTM and GRU, with PyTorch's formulas, gate order and parameter
 * names, several layers, both directions. Each owns its weights; the input's share of all time
 * steps is one matrix product, the rest one step at a time, with every intermediate freed here.
 *
 * Shapes: T steps, N samples, I inputs, H hidden, D directions, L layers. G gates stacked in a
 * weight: 1 for RNN, 4 for LSTM (i, f, g, o), 3 for GRU (r, z, n).
 */
import { ArgumentError, ShapeError } from "../../base/errors.ts";
import {
  type OptionTable,
  checkArgument,
  describeValue,
  off,
  on,
  readOptions,
} from "../../base/options.ts";
import { formatShape } from "../../base/shape.ts";
import { count, depth, dropoutShare, tensorRow } from "../checks.ts";
import { dropout } from "../functional/dropout.ts";
import { linear } from "../functional/linear.ts";
import { uniform } from "../init.ts";
import { Module } from "../module.ts";
import { composed, scoped } from "../../ownership/scoped.ts";
import { zeros } from "../../tensor/create.ts";
import { concat, stack } from "../../tensor/indexing.ts";
import { type Tensor, live } from "../../tensor/tensor.ts";

/** Options of every recurrent layer, with PyTorch's defaults. */
export interface RecurrentOptions {
  readonly numLayers?: number;
  readonly bias?: boolean;
  /** x and output as [N, T, …] rather than [T, N, …]. */
  readonly batchFirst?: boolean;
  /** Between layers, while training. */
  readonly dropout?: number;
  readonly bidirectional?: boolean;
}

const recurrentOptions = {
  numLayers: { ...depth, default: 1 },
  bias: on,
  batchFirst: off,
  dropout: dropoutShare,
  bidirectional: off,
} satisfies OptionTable<RecurrentOptions>;

/**
 * What a pass gives. `hidden` [D·L, N, H] is the state after the last step (for the reverse
 * direction: after the first).
 */
export interface RecurrentOutput {
  /** [T, N, D·H], or batch first. */
  readonly output: Tensor;
  readonly hidden: Tensor;
}

/** What an LSTM hands from step to step: hidden state [D·L, N, H or P] and cell [D·L, N, H]. */
export interface LSTMState {
  readonly hidden: Tensor;
  readonly cell: Tensor;
}

/** What a pass of an LSTM gives. */
export interface LSTMOutput extends RecurrentOutput {
  /** [D·L, N, H] */
  readonly cell: Tensor;
}

abstract class Recurrent<S extends readonly unknown[], R> extends Module<
  [x: Tensor, ...state: S],
  R
> {
  readonly hiddenSize: number;
  readonly #options: Required<RecurrentOptions>;
  readonly #inputSize: number;
  readonly #gates: number;
  /** H, or the size it is projected to. */
  readonly #outputSize: number;
  readonly #weights: {
    readonly ih: Tensor;
    readonly hh: Tensor;
    readonly bih: Tensor | null;
    readonly bhh: Tensor | null;
    readonly hr: Tensor | null;
  }[] = [];

  constructor(
    name: string,
    inputSize: number,
    hiddenSize: number,
    gates: number,
    options: Required<RecurrentOptions>,
    projSize = 0,
  ) {
    super();
    checkArgument(name, "inputSize", inputSize, count);
    checkArgument(name, "hiddenSize", hiddenSize, count);
    if (projSize >= hiddenSize)
      throw new ArgumentError(
        name,
        `a projSize from 0 (none) to ${hiddenSize - 1}`,
        describeValue(projSize),
        "make it smaller than hiddenSize",
      );
    this.#options = options;
    this.hiddenSize = hiddenSize;
    this.#outputSize = projSize > 0 ? projSize : hiddenSize;
    this.#inputSize = inputSize;
    this.#gates = gates;
    this.build(() => {
      this.#makeWeights(projSize);
    });
  }

  #makeWeights(projSize: number): void {
    const { hiddenSize } = this,
      bound = 1 / Math.sqrt(hiddenSize),
      rows = this.#gates * hiddenSize,
      own = (label: string, shape: readonly number[]): Tensor =>
        this.parameter(label, uniform(shape, bound));
    for (let layer = 0; layer < this.#options.numLayers; layer++) {
      for (let d = 0; d < this.#directions; d++) {
        const suffix = `l${layer}${d === 1 ? "_reverse" : ""}`,
          inputs = layer === 0 ? this.#inputSize : this.#outputSize * this.#directions;
        this.#weights.push({
          ih: own(`weight_ih_${suffix}`, [rows, inputs]),
          hh: own(`weight_hh_${suffix}`, [rows, this.#outputSize]),
          bih: this.#options.bias ? own(`bias_ih_${suffix}`, [rows]) : null,
          bhh: this.#options.bias ? own(`bias_hh_${suffix}`, [rows]) : null,
          hr: projSize > 0 ? own(`weight_hr_${suffix}`, [projSize, hiddenSize]) : null,
        });
      }
    }
  }

  get #directions(): number {
    return this.#options.bidirectional ? 2 : 1;
  }

  /** One step. @param fromInput [N, G·H] @param fromHidden [N, G·H] @returns the new states */
  protected abstract cell(
    fromInput: Tensor,
    fromHidden: Tensor,
    states: readonly Tensor[],
  ): readonly Tensor[];

  /**
   * All layers. @param initial [D·L, N, H] per kind of state, or none for zeros @returns output and
   * final states
   */
  protected run(
    name: string,
    x: Tensor,
    kinds: number,
    initial: readonly Tensor[] | null,
  ): { output: Tensor; states: Tensor[] } {
    live(x, name);
    const { batchFirst, numLayers, dropout: p } = this.#options,
      single = x.rank === 2;
    if ((x.rank !== 2 && x.rank !== 3) || x.shape.at(-1) !== this.#inputSize)
      throw new ShapeError(
        name,
        `x ${batchFirst ? "[N, T" : "[T, N"}, ${this.#inputSize}] or [T, ${this.#inputSize}]`,
        formatShape(x.shape),
        "check inputSize and batchFirst",
      );
    return composed(() => {
      let sequence = single ? x.unsqueeze(1) : batchFirst ? x.transpose(0, 1) : x;
      const [steps, samples] = [sequence.shape[0]!, sequence.shape[1]!],
        total = numLayers * this.#directions;
      if (steps === 0)
        throw new ShapeError(
          name,
          "at least one step",
          formatShape(x.shape),
          "check the order of dimensions",
        );
      // The hidden state may be projected; the cell's is not.
      const sizes = Array.from({ length: kinds }, (_, k) =>
        k === 0 ? this.#outputSize : this.hiddenSize,
      );
      (initial ?? []).forEach((state, k) => {
        const wanted = single ? [total, sizes[k]!] : [total, samples, sizes[k]!];
        if (formatShape(live(state, name).layout.shape) !== formatShape(wanted))
          throw new ShapeError(
            name,
            `a state ${formatShape(wanted)}`,
            formatShape(state.shape),
            "one row per layer and direction",
          );
      });
      const last: (readonly Tensor[])[] = [];
      for (let layer = 0; layer < numLayers; layer++) {
        const outputs: Tensor[] = [];
        for (let d = 0; d < this.#directions; d++) {
          const at = layer * this.#directions + d;
          const start = Array.from({ length: kinds }, (_, k) =>
            initial === null
              ? zeros([samples, sizes[k]!], { dtype: x.dtype })
              : single
                ? initial[k]!.select(0, at).unsqueeze(0)
                : initial[k]!.select(0, at),
          );
          const { output, states } = this.#sweep(sequence, at, start, d === 1);
          outputs.push(output);
          last.push(states);
        }
        sequence = outputs.length === 1 ? outputs[0]! : concat(outputs, 2);
        if (p > 0 && this.training && layer < numLayers - 1) sequence = dropout(sequence, p);
      }
      const output = single
        ? sequence.squeeze(1)
        : batchFirst
          ? sequence.transpose(0, 1)
          : sequence;
      const states = Array.from({ length: kinds }, (_, k) => {
        const all = stack(
          last.map((s) => s[k]!),
          0,
        );
        return single ? all.squeeze(1) : all;
      });
      return { output, states };
    }, name);
  }

  /** One layer in one direction over [T, N, I]. */
  #sweep(
    sequence: Tensor,
    at: number,
    start: readonly Tensor[],
    backwards: boolean,
  ): { output: Tensor; states: readonly Tensor[] } {
    const { ih, hh, bih, bhh, hr } = this.#weights[at]!,
      steps = sequence.shape[0]!;
    return scoped(() => {
      const fromInput = linear(sequence, ih, bih),
        outputs: Tensor[] = []; // [T, N, G·H]
      let states = start;
      for (let i = 0; i < steps; i++) {
        const t = backwards ? steps - 1 - i : i;
        states = scoped(() => {
          const [hidden, ...others] = this.cell(
            fromInput.select(0, t),
            linear(states[0]!, hh, bhh),
            states,
          );
          return [hr === null ? hidden! : linear(hidden!, hr), ...others];
        });
        outputs[t] = states[0]!;
      }
      return { output: stack(outputs, 0), states };
    });
  }

  /** The gates of a step, [N, H] each. */
  protected gatesOf(x: Tensor): Tensor[] {
    return x.chunk(this.#gates, 1);
  }
}

/** Options of `RNN`. */
export interface RNNOptions extends RecurrentOptions {
  readonly nonlinearity?: "tanh" | "relu";
}

const rnnOptions = {
  ...recurrentOptions,
  nonlinearity: {
    type: "choice",
    of: ["tanh", "relu"],
    default: "tanh",
    remedy: "leave it out for tanh",
  },
} satisfies OptionTable<RNNOptions>;

/**
 * Elman's network (1990): h' = tanh(W_ih·x + b_ih + W_hh·h + b_hh). x [T, N, I] or [T, I]; `hidden`
 * [D·L, N, H].
 * @throws ArgumentError for options that are unknown or out of range
 */
export class RNN extends Recurrent<[hidden?: Tensor], RecurrentOutput> {
  readonly #relu: boolean;
  constructor(inputSize: number, hiddenSize: number, options?: RNNOptions) {
    const { nonlinearity, ...rest } = readOptions("RNN", options, rnnOptions);
    super("RNN", inputSize, hiddenSize, 1, rest);
    this.#relu = nonlinearity === "relu";
  }
  forward(x: Tensor, hidden?: Tensor): RecurrentOutput {
    const { output, states } = this.run("RNN", x, 1, hidden === undefined ? null : [hidden]);
    return { output, hidden: states[0]! };
  }
  protected cell(fromInput: Tensor, fromHidden: Tensor): readonly Tensor[] {
    const sum = fromInput.add(fromHidden);
    return [this.#relu ? sum.relu() : sum.tanh()];
  }
}

/** Options of `LSTM`. */
export interface LSTMOptions extends RecurrentOptions {
  /**
   * Projects the hidden state to this size P after every step (Sak et al. 2014), by weight_hr [P,
   * H]: output and `hidden` then have P features. 0 for none.
   */
  readonly projSize?: number;
}

const lstmOptions = {
  ...recurrentOptions,
  projSize: {
    type: "integer",
    range: "[0, Infinity)",
    default: 0,
    remedy: "make it smaller than hiddenSize",
  },
} satisfies OptionTable<LSTMOptions>;

const stateRow = { ...tensorRow, required: true, what: "hidden and cell" } as const;
/** A state may be what a pass gave, output and all. */
const lstmState = {
  hidden: stateRow,
  cell: stateRow,
  output: { type: "any" },
} satisfies OptionTable<LSTMState & { output?: unknown }>;

/**
 * Long short-term memory (Hochreiter & Schmidhuber 1997). x [T, N, I] or [T, I]; states [D·L, N,
 * H], the hidden one [D·L, N, P] with a projection.
 * @throws ArgumentError for options that are unknown or out of range
 * @example
 * ```ts
 * using lstm = new LSTM(4, 6);
 * using tokens = randn([5, 2, 4]);
 * const { output, hidden, cell } = lstm.call(tokens);
 * console.log(output.shape.join(), hidden.shape.join()); // → 5,2,6 1,2,6
 * for (const t of [output, hidden, cell]) t.dispose();
 * ```
 */
export class LSTM extends Recurrent<[state?: LSTMState], LSTMOutput> {
  constructor(inputSize: number, hiddenSize: number, options?: LSTMOptions) {
    const { projSize, ...rest } = readOptions("LSTM", options, lstmOptions);
    super("LSTM", inputSize, hiddenSize, 4, rest, projSize);
  }
  forward(x: Tensor, state?: LSTMState): LSTMOutput {
    if (state !== undefined) readOptions("LSTM", state, lstmState);
    const { output, states } = this.run(
      "LSTM",
      x,
      2,
      state === undefined ? null : [state.hidden, state.cell],
    );
    return { output, hidden: states[0]!, cell: states[1]! };
  }
  protected cell(
    fromInput: Tensor,
    fromHidden: Tensor,
    [, before]: readonly Tensor[],
  ): readonly Tensor[] {
    const [i, f, g, o] = this.gatesOf(fromInput.add(fromHidden));
    const cell = f!.sigmoid().mul(before!).add(i!.sigmoid().mul(g!.tanh()));
    return [o!.sigmoid().mul(cell.tanh()), cell];
  }
}

/**
 * Gated recurrent unit (Cho et al. 2014), with the reset gate after the product as in PyTorch. x
 * [T, N, I] or [T, I]; `hidden` [D·L, N, H].
 * @throws ArgumentError for options that are unknown or out of range
 */
export class GRU extends Recurrent<[hidden?: Tensor], RecurrentOutput> {
  constructor(inputSize: number, hiddenSize: number, options?: RecurrentOptions) {
    super("GRU", inputSize, hiddenSize, 3, readOptions("GRU", options, recurrentOptions));
  }
  forward(x: Tensor, hidden?: Tensor): RecurrentOutput {
    const { output, states } = this.run("GRU", x, 1, hidden === undefined ? null : [hidden]);
    return { output, hidden: states[0]! };
  }
  protected cell(
    fromInput: Tensor,
    fromHidden: Tensor,
    [before]: readonly Tensor[],
  ): readonly Tensor[] {
    const [ri, zi, ni] = this.gatesOf(fromInput),
      [rh, zh, nh] = this.gatesOf(fromHidden);
    const reset = ri!.add(rh!).sigmoid(),
      keep = zi!.add(zh!).sigmoid(),
      fresh = ni!.add(reset.mul(nh!)).tanh();
    return [fresh.add(keep.mul(before!.sub(fresh)))]; // (1 - z)·n + z·h
  }
}
