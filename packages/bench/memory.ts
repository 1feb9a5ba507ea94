/**
 * What planning does to the memory of a training step. The first tables are plans of traced
 * programs, made without a GPU: ResNet-50 as in the SINGA paper's measurement, the curve of memory
 * against recomputation, and residual networks of up to 1,000 layers. The last one trains for
 * real under a budget. "Activations" is everything but parameters and optimizer states.
 */
import { type Tensor, init, manualSeed, randn, randint, shutdown } from "tenure";
import { Dropout, Linear, Module, functional } from "tenure/nn";
import { SGD } from "tenure/optim";
import {
  BudgetError,
  type Plan,
  type Program,
  Scheduler,
  type SchedulerOptions,
  type SchedulerReport,
  plan,
} from "tenure/scheduler";
import { fuse } from "../tenure/src/planner/passes/fuse.ts";
import { deepResidual, resnet50 } from "./memory-models.ts";
import { median, table } from "./timing.ts";

const mb = (bytes: number): string => (bytes / 1e6).toFixed(1),
  percent = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(1)} %`;

/** Bytes of parameters and optimizer states, which no schedule without swaps can lower. */
const fixedBytes = ({ storages }: Program): number =>
  storages.reduce((sum, s) => (s.role === "param" || s.role === "state" ? sum + s.bytes : sum), 0);

/** Of the forward pass, once. */
const forwardFlops = ({ ops }: Program): number =>
  ops.reduce((sum, op) => (op.phase === "forward" ? sum + op.flops : sum), 0);

/** Of the whole step, once. */
const stepFlops = ({ ops }: Program): number => ops.reduce((sum, op) => sum + op.flops, 0);

/**
 * What a library holds that runs ops in issue order and frees each storage once the last op that
 * mentions it has run: nothing here is shared with the planner.
 * @returns the most bytes held at one time, and the sum of all
 */
function eager({ storages, ops }: Program): { peak: number; sum: number } {
  const last = new Map<number, number>(),
    held = new Set<number>();
  let now = 0,
    peak = 0,
    sum = 0;
  ops.forEach((op, i) => {
    for (const s of [...op.reads, ...op.writes]) last.set(s, i);
  });
  const hold = (s: number): void => {
    if (!held.has(s)) {
      held.add(s);
      now += storages[s]!.bytes;
      sum += storages[s]!.bytes;
    }
  };
  const made = new Set<number>();
  for (const op of ops) {
    for (const r of op.reads) if (!made.has(r)) hold(r);
    for (const w of op.writes) made.add(w);
  } // from before the step
  for (const [i, op] of ops.entries()) {
    for (const w of op.writes) hold(w);
    peak = Math.max(peak, now);
    for (const s of new Set([...op.reads, ...op.writes]))
      if (last.get(s) === i && !storages[s]!.pinned) {
        held.delete(s);
        now -= storages[s]!.bytes;
      }
  }
  return { peak, sum };
}

/**
 * Recomputed ops that are convolutions or matrix products: what does far more than reading its
 * inputs.
 */
const heavy = ({ program, steps }: Plan): number =>
  steps.filter(
    (s) => s.kind === "recompute" && /conv|matmul|linear/i.test(program.ops[s.op!]!.name),
  ).length;

/** A small GPU: computing more is dear, so that buffers are rather made on the way. */
const rates = { flopsPerSecond: 5e10 };

/** The plan within a budget, or what least one would do. */
function within(program: Program, budgetBytes: number, fuse: boolean): Plan {
  try {
    return plan(program, { budgetBytes, swap: "off", fuse, rates });
  } catch (error) {
    if (!(error instanceof BudgetError)) throw error;
    return plan(program, { budgetBytes: error.leastBytes, swap: "off", fuse, rates });
  }
}

/**
 * MB that SINGA's graph needs for the same step (its pull request 626, ResNet-50 on an RTX 2080
 * Ti).
 */
const singa: Readonly<Record<number, number>> = { 16: 3105, 32: 6517 };

/** Seconds of the processor for `fn`: other programs may share the machine. */
function timed<T>(fn: () => T): { result: T; seconds: number } {
  const before = process.cpuUsage(),
    result = fn(),
    { user, system } = process.cpuUsage(before);
  return { result, seconds: (user + system) / 1e6 };
}

const unlimitedHead = [
  "batch and plan",
  "trace s",
  "plan s",
  "(a)",
  "(b)",
  "(c)",
  "planned",
  "against (b)",
  "against (c)",
  "ops recomputed",
  "of them conv or matmul",
  "forward flops recomputed",
];
const shareHead = [
  "batch",
  "planned MB",
  "activations MB",
  "share",
  "more forward flops",
  "more flops of the step",
  "ops recomputed",
  "of them conv or matmul",
  "buffers made on the way",
  "plan s",
  "schedule",
];

/** Plans of a program without a budget, in three ways, as rows of the first table. */
function unlimited(batch: number, program: Program, tracing: number): string[][] {
  const { peak, sum } = eager(program),
    forward = forwardFlops(program);
  return (
    [
      ["issue order", { recompute: "off" }],
      ["cheap ops recomputed", { recompute: "auto" }],
      ["fused, cheap ops recomputed", { recompute: "auto", fuse: true }],
    ] as const
  ).map(([how, options]) => {
    const { result: planned, seconds } = timed(() => plan(program, options)),
      { plannedBytes, extra } = planned,
      published = singa[batch]! * 1e6;
    planned.verify();
    return [
      `${batch}, ${how}`,
      tracing.toFixed(2),
      seconds.toFixed(2),
      mb(sum),
      mb(peak),
      mb(published),
      mb(plannedBytes),
      `−${percent(peak - plannedBytes, peak)}`,
      `−${percent(published - plannedBytes, published)}`,
      String(extra.recomputedOps),
      String(heavy(planned)),
      percent(extra.recomputeFlops, forward),
    ];
  });
}

/** A plan that may keep a share of the activations, as a row of the second table. */
function underShare(batch: number, program: Program, share: number): string[] {
  const { peak } = eager(program),
    fixed = fixedBytes(program);
  const { result: tight, seconds } = timed(() =>
      within(program, fixed + share * (peak - fixed), true),
    ),
    {
      plannedBytes,
      extra: { recomputeFlops, recomputedOps },
    } = tight,
    activations = plannedBytes - fixed;
  tight.verify();
  return [
    String(batch),
    mb(plannedBytes),
    mb(activations),
    (activations / (peak - fixed)).toFixed(3),
    percent(recomputeFlops, forwardFlops(program)),
    percent(recomputeFlops, stepFlops(program)),
    String(recomputedOps),
    String(heavy(tight)),
    String(tight.steps.filter((t) => t.kind === "open").length),
    seconds.toFixed(1),
    tight.how,
  ];
}

const shares: Readonly<Record<number, readonly number[]>> = {
  16: [0.7, 0.5, 0.4, 0.3, 0.25, 0.2, 0.17],
  32: [0.5, 0.3, 0.253, 0.25, 0.2],
};

/** ResNet-50 without a budget, and what memory costs in computing under one. */
export function resnetTables(): string {
  const rows: string[][] = [],
    curve: string[][] = [];
  for (const batch of [16, 32]) {
    const { result: program, seconds: tracing } = timed(() => resnet50(batch));
    rows.push(...unlimited(batch, program, tracing));
    for (const share of shares[batch]!) curve.push(underShare(batch, program, share));
  }
  return [
    "## ResNet-50, 224×224, SGD with momentum",
    "MB. (a) nothing is recycled; (b) issue order, freed when the last reference goes; (c) what " +
      "SINGA's graph needed. No budget is given. Seconds are of the processor.",
    table(unlimitedHead, rows),
    "## Memory against recomputation",
    "ResNet-50 under a budget, without swaps, on a device of 0.05 Tflop/s. The share is " +
      "activations over those of (b).",
    table(shareHead, curve),
  ].join("\n\n");
}

/**
 * Depths of the residual networks (batch 8, 32×32, bottlenecks of 16 channels), and the share of
 * activations that the first may keep.
 */
const depths = [125, 250, 500, 1000],
  start = 0.3;

const deepTitle = [
  "## Residual networks of up to 1,000 layers",
  "Activations in MB, batch 8, 32×32 images. Published (Chen et al. 2016): 48 to 7 GB, a share " +
    "of 0.146, for about 30 % more time of the step.",
].join("\n\n");

/** Activations of deep networks that keep a share of the first one's, and what that costs. */
export function deepTable(): string {
  const rows: string[][] = [];
  for (const depth of depths) {
    const program = deepResidual(depth, 8),
      { peak } = eager(program),
      fixed = fixedBytes(program),
      base = peak - fixed,
      fusedOps = fuse(program).program,
      folded = plan(fusedOps, { recompute: "auto" });
    // The law asked for: activations grow as the root of the depth.
    const target = start * base * Math.sqrt(depths[0]! / depth),
      { result: tight, seconds } = timed(() => within(fusedOps, fixed + target, false));
    tight.verify();
    const { recomputeFlops } = tight.extra,
      activations = tight.plannedBytes - fixed;
    rows.push([
      String(depth),
      String(program.ops.length),
      mb(base),
      mb(folded.plannedBytes - fixed),
      mb(activations),
      (activations / base).toFixed(3),
      percent(recomputeFlops, forwardFlops(program)),
      percent(recomputeFlops, stepFlops(program)),
      seconds.toFixed(1),
    ]);
  }
  return `${deepTitle}\n\n${table(
    [
      "layers",
      "ops",
      "(b)",
      "cheap ops recomputed",
      "planned",
      "share",
      "more forward flops",
      "more flops of the step",
      "plan s",
    ],
    rows,
  )}`;
}

// === Training under a budget, for real ===

/**
 * A deep network whose activations are nearly all of its memory: residual blocks `x +
 * dropout(relu(linear(x)))`.
 */
class Deep extends Module {
  readonly blocks: readonly Linear[];
  readonly drop = new Dropout(0.1);
  readonly head: Linear;
  constructor(depth: number, width: number, classes: number) {
    super();
    this.blocks = Array.from({ length: depth }, () => new Linear(width, width));
    this.head = new Linear(width, classes);
  }
  override *children(): Generator<[name: string, module: Module]> {
    for (const [i, block] of this.blocks.entries()) yield [`blocks.${i}`, block];
    yield ["drop", this.drop];
    yield ["head", this.head];
  }
  forward(x: Tensor): Tensor {
    let y = x.alias();
    for (const block of this.blocks) {
      using before = y;
      y = before.add(this.drop.call(block.call(before).relu()).mul(0.1));
    }
    using last = y;
    return this.head.call(last);
  }
}

interface Measured {
  readonly losses: readonly number[];
  readonly seconds: number;
  readonly cpu: number;
  readonly report: SchedulerReport;
}

/**
 * Trains some steps, the first of which plan and measure; medians of the last, in seconds by the
 * clock and of the processor.
 */
export async function train(options: SchedulerOptions, steps = 11, counted = 5): Promise<Measured> {
  manualSeed(7);
  using model = new Deep(16, 64, 10),
    optimizer = new SGD(model.parameters(), { lr: 0.05, momentum: 0.9 }),
    scheduler = new Scheduler(options);
  using images = randn([2048, 64]),
    labels = randint(0, 10, [2048]);
  const losses: number[] = [],
    seconds: number[] = [],
    cpu: number[] = [];
  for (let k = 0; k < steps; k++) {
    const before = process.cpuUsage(),
      start = performance.now();
    using loss = await scheduler.step(() => {
      optimizer.zeroGrad();
      const l = functional.crossEntropy(model.call(images), labels);
      l.backward();
      optimizer.step();
      return l;
    });
    losses.push(await loss.item());
    const { user, system } = process.cpuUsage(before);
    if (k < steps - counted) continue;
    seconds.push((performance.now() - start) / 1000);
    cpu.push((user + system) / 1e6);
  }
  return { losses, seconds: median(seconds), cpu: median(cpu), report: scheduler.report() };
}

/** Peaks and times of training under parts of the in-core peak. */
export async function trainingTable(): Promise<string> {
  const { name } = await init(),
    inCore = await train({}),
    peak = inCore.report.measuredPeakBytes,
    rows: string[][] = [];
  const row = (share: string, how: string, { seconds, cpu, report: r, losses }: Measured): void => {
    if (losses.join() !== inCore.losses.join())
      throw new Error("memory: the losses under a budget are others");
    if (r.measuredPeakBytes !== r.predictedPeakBytes || r.measuredPeakBytes > r.budgetBytes)
      throw new Error("memory: the measured peak is not the predicted one, or over the budget");
    rows.push([
      share,
      how,
      mb(r.measuredPeakBytes),
      seconds.toFixed(2),
      `${(seconds / inCore.seconds).toFixed(2)} ×`,
      `${(cpu / inCore.cpu).toFixed(2)} ×`,
      String(r.recomputedOps),
      percent(r.recomputeFlops, r.flops),
      mb(r.swapOutBytes),
      mb(r.swapInBytes),
      String(r.stalls),
      (1000 * r.stallSeconds).toFixed(0),
    ]);
  };
  row("1", "in core", inCore);
  for (const part of [4, 8]) {
    for (const [how, options] of [
      ["either", {}],
      ["swap only", { recompute: "off" }],
      ["recompute only", { swap: "off" }],
    ] as const) {
      try {
        row(`1/${part}`, how, await train({ ...options, budgetBytes: Math.floor(peak / part) }));
      } catch (error) {
        if (!(error instanceof BudgetError)) throw error;
        rows.push([
          `1/${part}`,
          how,
          `needs ${mb(error.leastBytes)}`,
          ...Array.from({ length: 9 }, () => "–"),
        ]);
      }
    }
  }
  const title = [
    "## Training under a budget, measured",
    `${name}. A residual network of 16 linear layers with dropout, batch 2048 × 64, SGD with ` +
      `momentum; budgets as parts of the in-core peak of ${mb(peak)} MB. Measured peaks equal ` +
      "the predicted ones, and losses have the same bits in every row. Medians of 5 steps. The " +
      "processor is the adapter too, so its time is what the work costs, and the clock adds " +
      "what waits.",
  ];
  return `${title.join("\n\n")}\n\n${table(
    [
      "budget",
      "what may be done",
      "peak MB",
      "s per step",
      "slowdown",
      "of processor time",
      "ops recomputed",
      "more flops",
      "out MB",
      "in MB",
      "stalls",
      "stall ms",
    ],
    rows,
  )}`;
}

/** All three tables. */
export async function run(): Promise<string> {
  await init({ device: "null" });
  const planned = [resnetTables(), deepTable()];
  await shutdown();
  return [...planned, await trainingTable()].join("\n\n");
}
