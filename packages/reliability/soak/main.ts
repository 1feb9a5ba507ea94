/**
 * `npm run reliability -- soak`: very many steps of training at changing batch sizes and sequence
 * lengths. Heap, handles, storages, buffers and device bytes are measured at the end of each tenth
 * of the run and may not grow from the second half on.
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

const vocabulary = 32;
const width = 16;

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

  constructor(seed: number) {
    this.#random = new Random(seed);
  }

  /** One step; the loss is read, and thrown away, every tenth time. */
  async step(index: number): Promise<void> {
    let read: Promise<number> | null = null;
    {
      using _ = newDisposeScope("soak");
      const loss = this.#random.chance(0.5) ? this.#batch() : this.#sequence();
      this.#optimizer.zeroGrad();
      loss.backward();
      this.#optimizer.step();
      if (index % 10 === 0) read = loss.item();
    }
    if (read === null) await Promise.resolve();
    else if (!Number.isFinite(await read)) throw new Error(`step ${index}: the loss is not finite`);
  }

  /** One of 200 batch sizes. */
  #batch(): Tensor {
    const size = 1 + this.#random.int(200);
    return functional.mseLoss(this.#dense.call(rand([size, width])), rand([size, 4]));
  }

  /** One of 512 lengths. */
  #sequence(): Tensor {
    const length = 1 + this.#random.int(512);
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
export async function soak(count: number, seed: number): Promise<Sample[]> {
  await init();
  using soaking = new Soaking(seed);
  const samples: Sample[] = [];
  for (let k = 1; k <= count; k++) {
    await soaking.step(k);
    if (k % Math.ceil(count / 10) === 0) samples.push(await sample(k));
  }
  memory.verify();
  return samples;
}

/** What grew in the second half, in words; empty when nothing did. */
export function growth(samples: readonly Sample[]): string[] {
  const middle = samples[Math.floor(samples.length / 2)];
  const last = samples.at(-1);
  if (middle === undefined || last === undefined) return ["there are no samples"];
  const grown: string[] = [];
  const check = (what: string, before: number, after: number, slack: number): void => {
    if (after > before * (1 + slack)) grown.push(`${what} grew from ${before} to ${after}`);
  };
  check("the heap", middle.heapBytes, last.heapBytes, 0.1);
  check("live handles", middle.handles, last.handles, 0);
  check("live bytes", middle.liveBytes, last.liveBytes, 0);
  check("device bytes", middle.deviceBytes, last.deviceBytes, 0.1);
  return grown;
}

/** For `npm run reliability`. */
export async function run({ count = 100_000, seed }: HarnessOptions): Promise<string> {
  const samples = await soak(count, seed);
  const rows = [
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
