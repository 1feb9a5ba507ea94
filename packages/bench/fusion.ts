/**
 * Training steps with ops fused into kernels against the same steps with a kernel per op, and with
 * a scheduler against without: dispatches, memory and time. The three variants train one model in
 * turns in one process; each ends with the loss on the host.
 */
import { type Tensor, init, manualSeed, memory, scoped, sync, tensor } from "tenure";
import {
  BatchNorm2d,
  Conv2d,
  Dropout,
  Embedding,
  Flatten,
  Linear,
  MaxPool2d,
  Module,
  ReLU,
  Sequential,
  TransformerEncoder,
  TransformerEncoderLayer,
  functional,
} from "tenure/nn";
import { Adam, type Optimizer, SGD } from "tenure/optim";
import { Scheduler } from "tenure/scheduler";
import { median, sideBySide, table } from "./timing.ts";

const rounds = 24;

class GPT extends Module<[Tensor]> {
  readonly embed: Embedding;
  readonly blocks: TransformerEncoder;
  readonly head: Linear;
  constructor(vocabulary: number, width: number, layers: number) {
    super();
    this.embed = new Embedding(vocabulary, width);
    this.blocks = new TransformerEncoder(
      () =>
        new TransformerEncoderLayer(width, 4, {
          dimFeedforward: 4 * width,
          activation: "gelu",
          normFirst: true,
          batchFirst: true,
        }),
      layers,
    );
    this.head = new Linear(width, vocabulary);
  }
  forward(ids: Tensor): Tensor {
    return scoped(() => this.head.call(this.blocks.call(this.embed.call(ids), { causal: true })));
  }
}

interface Training {
  readonly about: string;
  readonly model: Module<[Tensor]>;
  readonly optimizer: Optimizer;
  readonly x: Tensor;
  readonly y: Tensor;
  readonly classes: number;
}

const noise = (shape: readonly number[]): Tensor => {
  let s = 1;
  return tensor(
    Float32Array.from({ length: shape.reduce((a, b) => a * b) }, () => {
      s = (1103515245 * s + 12345) % 2147483648;
      return s / 1073741824 - 1;
    }),
    { shape },
  );
};
const labels = (n: number, classes: number): Tensor =>
  tensor(Int32Array.from({ length: n }, (_, i) => (7 * i + 3) % classes));

const trainings: Readonly<Record<string, () => Training>> = {
  MLP: () => {
    const model = new Sequential(
      new Linear(784, 256),
      new ReLU(),
      new Dropout(0.2),
      new Linear(256, 256),
      new ReLU(),
      new Linear(256, 256),
      new ReLU(),
      new Linear(256, 10),
    );
    return {
      about: "784-256-256-256-10, batch 64, dropout, Adam",
      model,
      optimizer: new Adam(model.parameters(), { lr: 1e-3 }),
      x: noise([64, 784]),
      y: labels(64, 10),
      classes: 10,
    };
  },
  CNN: () => {
    const block = (i: number, o: number): Module[] => [
      new Conv2d(i, o, 3, { padding: 1 }),
      new BatchNorm2d(o),
      new ReLU(),
      new MaxPool2d(2),
    ];
    const model = new Sequential(
      ...block(1, 16),
      ...block(16, 32),
      new Flatten(),
      new Linear(32 * 49, 10),
    );
    return {
      about: "2 × conv-norm-relu-pool, 28×28, batch 16, SGD with momentum",
      model,
      optimizer: new SGD(model.parameters(), { lr: 0.01, momentum: 0.9 }),
      x: noise([16, 1, 28, 28]),
      y: labels(16, 10),
      classes: 10,
    };
  },
  GPT: () => {
    const model = new GPT(64, 64, 2),
      ids = tensor(
        Int32Array.from({ length: 4 * 64 }, (_, i) => (5 * i + 1) % 64),
        { shape: [4, 64] },
      );
    return {
      about: "2 blocks of width 64, batch 4 × 64, dropout, Adam",
      model,
      optimizer: new Adam(model.parameters(), { lr: 1e-3 }),
      x: ids,
      y: labels(4 * 64, 64),
      classes: 64,
    };
  },
};

/**
 * `host`: milliseconds until the call returns. `cpu`: milliseconds of all threads of this process,
 * which on a software adapter is what the step takes whatever else runs.
 */
interface Figures {
  dispatches: number;
  peak: number;
  host: number;
  cpu: number;
  seconds: number;
}

async function measure(
  name: string,
): Promise<{ about: string; of: Record<"unfused" | "fused" | "scheduled", Figures> }> {
  manualSeed(1);
  const { about, model, optimizer, x, y, classes } = trainings[name]!();
  const step = (): Tensor =>
    scoped(() => {
      optimizer.zeroGrad();
      const logits = model.call(x),
        loss = functional.crossEntropy(logits.reshape([-1, classes]), y);
      loss.backward();
      optimizer.step();
      return loss;
    });
  using unfused = new Scheduler({ fuse: false });
  using fused = new Scheduler();
  const of = {} as Record<string, Figures>;
  const variant = (
    key: string,
    scheduler: Scheduler | null,
  ): Record<string, () => Promise<number>> => {
    const run = async (): Promise<number> => {
      await sync();
      const before = memory.debug().dispatches,
        used = process.cpuUsage(),
        start = performance.now();
      const pending = scheduler === null ? step() : scheduler.step(step),
        host = performance.now() - start;
      using loss = await pending;
      await loss.item();
      const seconds = (performance.now() - start) / 1000,
        { user, system } = process.cpuUsage(used);
      of[key] = {
        dispatches: memory.debug().dispatches - before,
        peak: scheduler?.report().predictedPeakBytes ?? 0,
        host,
        cpu: (user + system) / 1000,
        seconds,
      };
      return seconds;
    };
    return { [key]: run };
  };
  const variants = {
    ...variant("unfused", unfused),
    ...variant("scheduled", fused),
    ...variant("fused", null),
  };
  // states of the optimizer, plans, pipelines
  for (let k = 0; k < 2; k++) for (const run of Object.values(variants)) await run();
  const rows: Record<string, Figures[]> = {};
  await sideBySide(
    rounds,
    Object.fromEntries(
      Object.entries(variants).map(([key, run]) => [
        key,
        async () => {
          const s = await run();
          (rows[key] ??= []).push(of[key]!);
          return s;
        },
      ]),
    ),
  );
  for (const [key, list] of Object.entries(rows))
    of[key] = {
      ...of[key]!,
      seconds: median(list.map((f) => f.seconds)),
      host: median(list.map((f) => f.host)),
      cpu: median(list.map((f) => f.cpu)),
    };
  for (const d of [model, optimizer, x, y]) d.dispose();
  await sync();
  await memory.trim();
  return { about, of };
}

const fusionHead = [
  "training step",
  "dispatches unfused",
  "fused",
  "",
  "peak unfused, MB",
  "fused",
  "ms unfused",
  "fused",
  "CPU ms unfused",
  "fused",
  "speed by CPU",
];
const schedulerHead = [
  "training step",
  "dispatches off",
  "on",
  "host off, ms",
  "on",
  "ms off",
  "on",
  "CPU ms off",
  "on",
  "on / off by CPU",
];

/** Both tables, of every training step there is. */
export async function run(): Promise<string> {
  const info = await init(),
    rows: string[][] = [],
    sched: string[][] = [],
    abouts: string[] = [];
  const ms = (s: number): string => (1000 * s).toFixed(1),
    less = (a: number, b: number): string => `−${(100 * (1 - b / a)).toFixed(0)} %`;
  for (const name of Object.keys(trainings)) {
    const {
      about,
      of: { unfused, fused, scheduled },
    } = await measure(name);
    abouts.push(`${name}: ${about}.`);
    rows.push([
      name,
      String(unfused.dispatches),
      String(scheduled.dispatches),
      less(unfused.dispatches, scheduled.dispatches),
      (unfused.peak / 1e6).toFixed(2),
      (scheduled.peak / 1e6).toFixed(2),
      ms(unfused.seconds),
      ms(scheduled.seconds),
      unfused.cpu.toFixed(1),
      scheduled.cpu.toFixed(1),
      `${(unfused.cpu / scheduled.cpu).toFixed(2)} ×`,
    ]);
    sched.push([
      name,
      String(fused.dispatches),
      String(scheduled.dispatches),
      fused.host.toFixed(2),
      scheduled.host.toFixed(2),
      ms(fused.seconds),
      ms(scheduled.seconds),
      fused.cpu.toFixed(1),
      scheduled.cpu.toFixed(1),
      (scheduled.cpu / fused.cpu).toFixed(3),
    ]);
  }
  return [
    `${info.name} (${info.kind}, ${info.source}). Medians of ${rounds} rounds, variants in ` +
      "turns. " +
      abouts.join(" "),
    "A kernel per op against fused ops, both under a scheduler without a budget:",
    table(fusionHead, rows),
    "Without a scheduler and with one, ops fused in both. Host: milliseconds until the call " +
      "returns. CPU: of all threads of the process, the software adapter's among them; it does " +
      "not depend on what else the machine runs.",
    table(schedulerHead, sched),
  ].join("\n\n");
}
