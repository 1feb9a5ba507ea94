/**
 * A plan miss by the number of ops: milliseconds from a recorded program to one that can be
 * submitted, for four shapes of programs from 10 to 4,000 small ops. Runs on the null device, so
 * that no driver's compiler is measured. Aim: below 2 s for 4,000 ops of every shape.
 */
import { loadavg } from "node:os";
import { type Tensor, init, newDisposeScope, shutdown, sync, zeros } from "tenure";
import { Linear, type Module, ReLU, Sequential, functional } from "tenure/nn";
import { SGD } from "tenure/optim";
import { Random } from "../reliability/random.ts";
import { runtime } from "../tenure/src/runtime/runtime.ts";
import { table } from "./timing.ts";

const sizes = [10, 30, 100, 300, 1000, 2000, 4000];

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
  const start = performance.now();
  scope.dispose(); // a program with an update is submitted here
  runtime().submission.flush();
  const ms = performance.now() - start;
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

/** The table of plan misses. */
export async function run(): Promise<string> {
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
  const load = loadavg().map((n) => n.toFixed(1));
  await shutdown();
  return (
    "Null device. Milliseconds of one plan miss, from recorded ops to a submit; the number of " +
    "ops in brackets where it is another than the column's. Load averages: " +
    `${load.join(", ")}.\n\n` +
    table(["shape", ...sizes.map((n) => `${n} ops`)], rows)
  );
}
