/**
 * `npm run reliability -- soak`: very many steps of training at changing batch sizes and sequence
 * lengths. Heap, handles, storages, buffers and device bytes are measured at the end of each tenth
 * of the run and may not grow once the caches of plans, pipelines and bind groups are full.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type Tensor, init, memory, newDisposeScope, rand, randint, sync } from "tenure";
import { Embedding, Linear, Sequential, Tanh, functional } from "tenure/nn";
import { Adam } from "tenure/optim";
import type { HarnessOptions } from "../main.ts";
import { Random } from "../random.ts";

/** Books at one moment. */
export interface Sample {
  readonly step: number;
  readonly heapBytes: number;
  readonly handles: number;
  readonly liveBytes: number;
  readonly deviceBytes: number;
  readonly counters: ReturnType<typeof memory.debug>;
}

/** How many different shapes there are. */
export interface Variety {
  readonly batchSizes: number;
  readonly lengths: number;
}

const vocabulary = 32;
const width = 16;
/** What there is of them by `--mode`; in `few`, caches are full after some thousand steps. */
const varieties: Readonly<Record<string, Variety>> = {
  many: { batchSizes: 200, lengths: 512 },
  few: { batchSizes: 8, lengths: 16 },
};

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

async function sample(step: number): Promise<Sample> {
  await sync();
  for (let k = 0; k < 3; k++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const { threadTotalLiveCount, liveBytes, deviceBytes } = memory.stats();
  return {
    step,
    heapBytes: process.memoryUsage().heapUsed,
    handles: threadTotalLiveCount,
    liveBytes,
    deviceBytes,
    counters: memory.debug(),
  };
}

/** Two models, fed with shapes that seldom repeat. */
class Soaking implements Disposable {
  readonly #dense = new Sequential(new Linear(width, width), new Tanh(), new Linear(width, 4));
  readonly #embedding = new Embedding(vocabulary, width);
  readonly #head = new Linear(width, vocabulary);
  readonly #optimizer = new Adam(
    [...this.#dense.parameters(), ...this.#embedding.parameters(), ...this.#head.parameters()],
    { lr: 1e-3 },
  );
  readonly #random: Random;
  readonly #variety: Variety;
  /** Shapes that are still to come before all come again, in another order. */
  readonly #deck: number[] = [];

  constructor(seed: number, variety: Variety) {
    this.#random = new Random(seed);
    this.#variety = variety;
  }

  /** One step. At every tenth shape the loss is read, and thrown away. */
  async step(index: number): Promise<void> {
    const { batchSizes } = this.#variety;
    const shape = this.#next();
    let read: Promise<number> | null = null;
    {
      using _ = newDisposeScope("soak");
      const loss =
        shape < batchSizes ? this.#batch(shape + 1) : this.#sequence(shape - batchSizes + 1);
      this.#optimizer.zeroGrad();
      loss.backward();
      this.#optimizer.step();
      if (shape % 10 === 0) read = loss.item();
    }
    if (read === null) await Promise.resolve();
    else if (!Number.isFinite(await read)) throw new Error(`step ${index}: the loss is not finite`);
  }

  /** The number of a shape: batch sizes come first. */
  #next(): number {
    const { batchSizes, lengths } = this.#variety;
    if (this.#deck.length === 0)
      for (let k = 0; k < batchSizes + lengths; k++)
        this.#deck.splice(this.#random.int(k + 1), 0, k);
    return this.#deck.pop() ?? 0;
  }

  #batch(size: number): Tensor {
    return functional.mseLoss(this.#dense.call(rand([size, width])), rand([size, 4]));
  }

  #sequence(length: number): Tensor {
    const tokens = randint(0, vocabulary, [length]);
    return functional.crossEntropy(this.#head.call(this.#embedding.call(tokens)), tokens);
  }

  [Symbol.dispose](): void {
    this.#optimizer.dispose();
    this.#head.dispose();
    this.#embedding.dispose();
    this.#dense.dispose();
  }
}

/** Runs `count` steps. @returns the books at the end of each tenth */
export async function soak(count: number, seed: number, variety: Variety): Promise<Sample[]> {
  await init();
  using soaking = new Soaking(seed, variety);
  const samples: Sample[] = [];
  for (let k = 1; k <= count; k++) {
    await soaking.step(k);
    if (k % Math.ceil(count / 10) === 0) samples.push(await sample(k));
  }
  memory.verify();
  return samples;
}

/** Bytes that a heap may move by without anything being kept: what engines compile and inline. */
const heapNoise = 2e6;

/** Share of the device's bytes that come and go with the order of the shapes. */
const deviceNoise = 0.01;

/**
 * What the last sample has more of than every sample before it since the caches were full, in
 * words; empty when nothing grew. They are full from the first sample on after which no plan or
 * pipeline was made, but not before the middle of the run, since the logs of what happened fill
 * too. Bind groups and free buffers come and go even then, since a shape meets other buffers after
 * other shapes. Without such a sample before the last nothing can be said, which counts as growth.
 */
export function growth(samples: readonly Sample[]): string[] {
  const last = samples.at(-1);
  if (last === undefined) return ["there are no samples"];
  const made = ({ counters }: Sample): number => counters.planMisses + counters.pipelines;
  const later = samples.slice(Math.floor(samples.length / 2), -1);
  const full = later.filter((sample) => made(sample) === made(last));
  if (full.length === 0) return ["the caches were still filling at the end"];
  const grown: string[] = [];
  const check = (what: string, amount: (sample: Sample) => number, noise = 0): void => {
    const before = Math.max(...full.map(amount));
    if (amount(last) > before + noise) grown.push(`${what} grew from ${before} to ${amount(last)}`);
  };
  check("the heap", (s) => s.heapBytes, heapNoise);
  check("live handles", (s) => s.handles);
  check("live bytes", (s) => s.liveBytes);
  check("device bytes", (s) => s.deviceBytes, deviceNoise * last.deviceBytes);
  return grown;
}

/** For `npm run reliability`. */
export async function run({
  count = 100_000,
  seed,
  mode = "many",
}: HarnessOptions): Promise<string> {
  const variety = varieties[mode];
  if (variety === undefined)
    throw new Error(`soak: expected a mode of ${Object.keys(varieties).join(", ")}, got ${mode}`);
  const samples = await soak(count, seed, variety);
  const { user, system } = process.cpuUsage();
  const seconds = ((user + system) / 1e6).toFixed(0);
  const { batchSizes, lengths } = variety;
  const rows = [
    `${count} steps over ${batchSizes} batch sizes and ${lengths} lengths, ${seconds} s of CPU.`,
    "",
    "| step | heap | handles | live bytes | device bytes | plans made | pipelines | bind groups |",
    "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ...samples.map(
      ({ step, heapBytes, handles, liveBytes, deviceBytes, counters }) =>
        `| ${step} | ${(heapBytes / 1e6).toFixed(1)} MB | ${handles} | ${liveBytes}` +
        ` | ${deviceBytes} | ${counters.planMisses} | ${counters.pipelines} | ` +
        `${counters.bindGroups} |`,
    ),
  ];
  const grown = growth(samples);
  rows.push("", grown.length === 0 ? "Nothing grew." : grown.map((g) => `- ${g}`).join("\n"));
  return rows.join("\n");
}
