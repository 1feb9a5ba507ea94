/**
 * The program that faults are injected into: some steps of a small classifier with Adam, with and
 * without a scheduler under a budget, compiled, with a part that runs again in the backward pass.
 * Written as a user would write it, against public names only. Used by the fault harness, which
 * owns a `Training` and ends it.
 */
import { type Tensor, checkpoint, compile, newDisposeScope, tensor } from "tenure";
import { CrossEntropyLoss, Linear, ReLU, Sequential } from "tenure/nn";
import { Adam } from "tenure/optim";
import { Scheduler } from "tenure/scheduler";

/** How the steps are run. */
export type Mode =
  "plain" | "scheduler" | "budget" | "checkpoint" | "compiled" | "compiled scheduler";

/** All modes, in the order of reports. */
export const modes: readonly Mode[] = [
  "plain",
  "scheduler",
  "budget",
  "checkpoint",
  "compiled",
  "compiled scheduler",
];

/** Steps of the run: of compiled ones so many that the last are recorded at once. */
export const stepsOf = (mode: Mode): number => (mode.startsWith("compiled") ? 6 : 3);

/** Whether the run is given the least budget under which it works. */
export const isLimited = (mode: Mode): boolean => mode === "budget" || mode === "checkpoint";

const batch = 128;
/** Wide enough that a batch goes through a staging buffer, small ones through the queue. */
const width = 160;
const hidden = 24;
const classes = 4;

/** Bits of everything the run owns: parameters, then optimizer state, by name. */
export type Snapshot = ReadonlyMap<string, string>;

/** Numbers in [-1, 1) that depend on a seed alone. */
function numbers(count: number, seed: number): Float32Array {
  const out = new Float32Array(count);
  let state = seed * 2654435761 + 1;
  for (let k = 0; k < count; k++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    out[k] = state / 2 ** 31 - 1;
  }
  return out;
}

/** One model, its optimizer and, in two modes, its scheduler. */
export class Training implements Disposable {
  readonly #front = new Sequential(new Linear(width, hidden), new ReLU());
  readonly #middle = new Sequential(new Linear(hidden, hidden), new ReLU());
  readonly #back = new Linear(hidden, classes);
  readonly #model = new Sequential(this.#front, this.#middle, this.#back);
  readonly #optimizer = new Adam(this.#model.parameters(), { lr: 0.01 });
  readonly #loss = new CrossEntropyLoss();
  readonly #scheduler: Scheduler | null;
  readonly #mode: Mode;
  readonly #fast = compile((x: Tensor, labels: Tensor) => this.#learn(x, labels));

  /** @param budgetBytes for the modes that are limited */
  constructor(mode: Mode, budgetBytes?: number) {
    this.#mode = mode;
    const limited = isLimited(mode) && budgetBytes !== undefined ? { budgetBytes } : {};
    this.#scheduler = mode === "plain" || mode === "compiled" ? null : new Scheduler(limited);
    const weights = new Map<string, { data: Float32Array; shape: readonly number[] }>();
    let seed = 1;
    using _ = newDisposeScope("initial weights");
    for (const [name, { shape, size }] of this.#model.stateDict()) {
      const data = numbers(size, seed++).map((v) => v / 8);
      weights.set(name, { data, shape });
    }
    this.#model.loadStateDict(weights);
  }

  /** Runs one step on the batch of that number. @returns its loss */
  async step(index: number): Promise<number> {
    const scheduler = this.#scheduler;
    if (scheduler !== null) return scheduler.step(() => this.#record(index));
    let loss: Promise<number>;
    {
      using _ = newDisposeScope("step");
      loss = this.#record(index);
    }
    return loss;
  }

  #record(index: number): Promise<number> {
    const x = tensor(numbers(batch * width, 100 + index), { shape: [batch, width] });
    const labels = Int32Array.from({ length: batch }, (_, k) => (k * 7 + index) % classes);
    const targets = tensor(labels, { dtype: "int32" });
    const compiled = this.#mode.startsWith("compiled");
    return (compiled ? this.#fast(x, targets) : this.#learn(x, targets)).item();
  }

  #learn(x: Tensor, labels: Tensor): Tensor {
    const loss = this.#loss.call(this.#predict(x), labels);
    this.#optimizer.zeroGrad();
    loss.backward();
    this.#optimizer.step();
    return loss;
  }

  #predict(x: Tensor): Tensor {
    if (this.#mode !== "checkpoint") return this.#model.call(x);
    const h = checkpoint((t) => this.#middle.call(t), this.#front.call(x));
    return this.#back.call(h);
  }

  /** Repetitions that were recorded at once. */
  get atOnce(): number {
    return this.#fast.report().atOnce;
  }

  /** Reads everything. What cannot be read is the error's text. */
  async snapshot(): Promise<Snapshot> {
    const reads: (readonly [string, Promise<string>])[] = [];
    {
      using _ = newDisposeScope("snapshot");
      const { tensors, steps: count } = this.#optimizer.stateDict();
      const all: [string, Tensor][] = [...this.#model.stateDict()];
      for (const [name, t] of tensors) all.push([`optimizer ${name}`, t]);
      for (const [name, t] of all) reads.push([name, bits(t)]);
      reads.push(["optimizer steps", Promise.resolve(String(count))]);
    }
    const read = reads.map(async ([name, text]) => [name, await text] as const);
    return new Map(await Promise.all(read));
  }

  /** Host copies of model and optimizer, to go on from. */
  async checkpoint(): Promise<Checkpoint> {
    const host = async (t: Tensor): Promise<HostCopy> => ({
      data: (await t.data()) as Float32Array,
      shape: t.shape,
    });
    const copies = (tensors: Iterable<readonly [string, Tensor]>): Promise<[string, HostCopy]>[] =>
      Array.from(tensors, async ([name, t]): Promise<[string, HostCopy]> => [name, await host(t)]);
    const scope = newDisposeScope("checkpoint");
    const { tensors, ...rest } = this.#optimizer.stateDict();
    const model = copies(this.#model.stateDict());
    const state = copies(tensors);
    scope.dispose(); // all reads are asked for, and awaited outside
    return {
      model: new Map(await Promise.all(model)),
      optimizer: { ...rest, tensors: new Map(await Promise.all(state)) },
    };
  }

  /** Goes back to a checkpoint. */
  restore({ model, optimizer }: Checkpoint): void {
    this.#model.loadStateDict(model);
    this.#optimizer.loadStateDict(optimizer);
  }

  [Symbol.dispose](): void {
    this.#fast.dispose();
    this.#scheduler?.dispose();
    this.#optimizer.dispose();
    this.#model.dispose();
  }
}

interface HostCopy {
  readonly data: Float32Array;
  readonly shape: readonly number[];
}

/** What a run can be continued from. */
export interface Checkpoint {
  readonly model: ReadonlyMap<string, HostCopy>;
  readonly optimizer: Parameters<Adam["loadStateDict"]>[0];
}

async function bits(t: Tensor): Promise<string> {
  try {
    const data = await t.data();
    return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64");
  } catch (error) {
    return `lost: ${error instanceof Error ? error.message : String(error)}`;
  }
}
