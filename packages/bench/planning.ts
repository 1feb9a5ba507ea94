/**
 * How planning grows. A plan miss by the number of ops: milliseconds from a recorded program to one
 * that can be submitted, for four shapes of programs from 10 to 10,000 small ops, on the null
 * device, so that no driver's compiler is measured. Plans under a budget: ResNet-50, and chains
 * against the closed form. Aims: below 2 s for 4,000 ops of every shape and for every chain, below
 * 1.5 s for ResNet-50. Times are of the processor, since others share the machine.
 */
import { loadavg } from "node:os";
import { type Tensor, init, newDisposeScope, shutdown, sync, zeros } from "tenure";
import { Linear, type Module, ReLU, Sequential, functional } from "tenure/nn";
import { SGD } from "tenure/optim";
import { type PlanOptions, type Program, plan } from "tenure/scheduler";
import { Random } from "../reliability/random.ts";
import { revolve } from "../tenure/test/null/planner/brute.ts";
import { chain as equalOps } from "../tenure/test/null/planner/programs.ts";
import { runtime } from "../tenure/src/runtime/runtime.ts";
import { resnet50 } from "./memory-models.ts";
import { table } from "./timing.ts";

const sizes = [10, 30, 100, 300, 1000, 2000, 4000, 10000];

/** Milliseconds of the processor since a moment. */
function since(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

/** Milliseconds of planning and encoding what was recorded, and its ops. */
interface Miss {
  readonly ops: number;
  readonly ms: number;
}

/** Ops of a training step per layer: the product, bias and ReLU, their gradients, two updates. */
const opsPerLayer = 10;

/** What records about `count` ops from some tensors. */
type Shape = (count: number, from: readonly [Tensor, Tensor]) => void;

/** Every op reads the one before. */
const chain: Shape = (count, [x, w]) => {
  let value = x;
  for (let k = 0; k < count; k++) value = k % 2 === 0 ? value.add(w) : value.mul(w);
  keep(value);
};

/** Every op reads the two before. */
const fibonacci: Shape = (count, [x, w]) => {
  let former = x;
  let value = w;
  for (let k = 0; k < count; k++) [former, value] = [value, value.add(former)];
  keep(value);
};

/** Every op reads two of the 64 before; what nobody reads is kept. */
const random: Shape = (count, from) => {
  const numbers = new Random(count);
  const values: Tensor[] = [...from];
  const unread = new Set<Tensor>();
  for (let k = 0; k < count; k++) {
    const recent = values.slice(-64);
    const a = numbers.pick(recent);
    const b = numbers.pick(recent);
    const made = a.add(b);
    unread.delete(a);
    unread.delete(b);
    unread.add(made);
    values.push(made);
  }
  for (const value of unread) keep(value);
};

/** What must survive the scope of a program; disposed after it was planned. */
let kept: Tensor[] = [];
const keep = (value: Tensor): void => {
  kept.push(value.alias());
};

/** Plans what `record` records, for the first time. */
async function miss(record: () => void): Promise<Miss> {
  await sync();
  const scope = newDisposeScope();
  record();
  const aliases = kept.map((value) => scope.detach(value));
  kept = [];
  const ops = runtime().recorder.program.ops.length;
  const start = process.cpuUsage();
  scope.dispose(); // a program with an update is submitted here
  runtime().submission.flush();
  const ms = since(start);
  await sync();
  for (const alias of aliases) alias.dispose();
  return { ops, ms };
}

async function missOf(shape: Shape, count: number): Promise<Miss> {
  using x = zeros([16]);
  using w = zeros([16]);
  return await miss(() => {
    shape(count, [x, w]);
  });
}

/** A training step of a multi-layer perceptron with so many layers that it has `count` ops. */
async function trainingMiss(count: number): Promise<Miss> {
  const layers: Module[] = [];
  for (let k = 0; k < Math.max(1, Math.floor(count / opsPerLayer)); k++)
    layers.push(new Linear(8, 8), new ReLU());
  using model = new Sequential(...layers);
  using optimizer = new SGD(model.parameters(), { lr: 0.1 });
  using x = zeros([4, 8]);
  return await miss(() => {
    functional.mseLoss(model.call(x), x).backward();
    optimizer.step();
  });
}

/** A plan under a budget, verified, and the seconds it took to make. */
function planned(program: Program, options: PlanOptions): { cells: string[]; again: number } {
  const start = process.cpuUsage();
  const made = plan(program, options);
  const seconds = since(start) / 1000;
  if (made.steps.length < 10_000) made.verify();
  const { recomputedOps, recomputeFlops } = made.extra;
  return {
    cells: [(made.plannedBytes / 1e6).toFixed(1), String(recomputedOps), seconds.toFixed(2)],
    again: recomputeFlops,
  };
}

/** ResNet-50, batch 16, without swaps on a device of 0.05 Tflop/s, as in the memory bench. */
function resnetTable(): string {
  const program = resnet50(16);
  const budgets = [1171.5, 876, 612.5, 439.3];
  const rows = budgets.map((mb) => {
    const rates = { flopsPerSecond: 5e10 };
    const options: PlanOptions = { budgetBytes: mb * 1e6, swap: "off", fuse: true, rates };
    return [mb.toFixed(1), ...planned(program, options).cells];
  });
  return table(["budget, MB", "planned, MB", "ops recomputed", "plan s"], rows);
}

/** Chains of equal ops, and memory for so many of their values. */
const chains: Readonly<Record<number, readonly number[]>> = {
  100: [5, 9, 50],
  400: [5, 20, 200],
  1000: [10, 100, 501],
};

function chainTable(): string {
  const rows: string[][] = [];
  for (const [ops, budgets] of Object.entries(chains))
    for (const values of budgets) {
      const n = Number(ops);
      const { cells, again } = planned(equalOps(n), { budgetBytes: values * 1024, swap: "off" });
      // Three are for the gradients and the value at hand.
      const least = revolve(n, values - 3);
      rows.push([ops, String(values), String(again), String(least), cells[2] ?? ""]);
    }
  return table(["ops", "values in memory", "ops recomputed", "closed form", "plan s"], rows);
}

/** The table of plan misses. */
async function missTable(): Promise<string> {
  await shutdown();
  await init({ device: "null" });
  const { settings } = runtime();
  settings.maxOps = 2 * Math.max(...sizes);
  settings.planningMs = Infinity;
  for (const count of [90, 91, 92]) {
    await missOf(fibonacci, count); // warm up
    await trainingMiss(count);
  }
  const shapes: Record<string, (count: number) => Promise<Miss>> = {
    chain: (count) => missOf(chain, count),
    Fibonacci: (count) => missOf(fibonacci, count),
    "random DAG": (count) => missOf(random, count),
    "training step of an MLP": trainingMiss,
  };
  const rows: string[][] = [];
  for (const [name, shape] of Object.entries(shapes)) {
    const cells = [name];
    for (const count of sizes) {
      const { ops, ms } = await shape(count);
      cells.push(`${ms < 10 ? ms.toFixed(1) : ms.toFixed(0)}${ops === count ? "" : ` (${ops})`}`);
    }
    rows.push(cells);
  }
  await shutdown();
  return table(["shape", ...sizes.map((n) => `${n} ops`)], rows);
}

/** The tables of planning. */
export async function run(): Promise<string> {
  const misses = await missTable();
  const resnet = resnetTable();
  const closed = chainTable();
  const load = loadavg().map((n) => n.toFixed(1));
  return [
    "Null device. Milliseconds of one plan miss, from recorded ops to a submit; the number of " +
      "ops in brackets where it is another than the column's. Times are of the processor, " +
      `the compiler's and the collector's included. Load averages: ${load.join(", ")}.`,
    misses,
    "## ResNet-50 under a budget",
    "A training step of batch 16 at 224×224, without swaps, one plan after the other.",
    resnet,
    "## Chains against the closed form",
    "Recomputed ops of chains of equal ops, and the least by Griewank and Walther's formula.",
    closed,
  ].join("\n\n");
}
