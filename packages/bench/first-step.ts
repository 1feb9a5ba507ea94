/**
 * The first training step of a process, when nothing is cached: its time, the part that making
 * pipelines takes, and how many there are. `pipelinesOf` is also what a test counts by.
 */
import {
  type Tensor,
  deviceInfo,
  init,
  manualSeed,
  memory,
  randint,
  randn,
  scopedAsync,
  shutdown,
} from "tenure";
import { type Module, functional } from "tenure/nn";
import { SGD } from "tenure/optim";
import { runtime } from "../tenure/src/runtime/runtime.ts";
import { modelOf } from "./peers/with-tenure.ts";
import { table } from "./timing.ts";

/** A model, and a batch of what it takes. */
interface Case {
  readonly model: () => Module;
  readonly batch: () => Tensor;
}

/** The models of the comparison with other libraries. */
export const firstSteps: Readonly<Record<"MLP" | "LeNet", Case>> = {
  MLP: {
    model: () => modelOf({ kind: "mlp", widths: [784, 256, 10], batch: 128, optimizer: "SGD" }),
    batch: () => randn([128, 784]),
  },
  LeNet: {
    model: () => modelOf({ kind: "lenet", side: 28, batch: 64 }),
    batch: () => randn([64, 1, 28, 28]),
  },
};

/** Trains some steps with SGD from first values on; milliseconds of each. */
export async function trainSteps({ model, batch }: Case, steps: number): Promise<number[]> {
  manualSeed(1);
  using net = model();
  using optimizer = new SGD(net.parameters(), { lr: 0.1 });
  using x = batch();
  using y = randint(0, 10, [x.shape[0] ?? 1]);
  const times: number[] = [];
  for (let k = 0; k < steps; k++) {
    const start = performance.now();
    await scopedAsync(async () => {
      const loss = functional.crossEntropy(net.call(x), y);
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return await loss.item();
    });
    times.push(performance.now() - start);
  }
  return times;
}

/** Pipelines that the first step of a model makes, with its first values and its batch. */
export async function pipelinesOf(which: Case): Promise<number> {
  const { pipelines } = memory.debug();
  await trainSteps(which, 1);
  return memory.debug().pipelines - pipelines;
}

/** Milliseconds that the device takes to make pipelines from now on. */
function timePipelines(): () => number {
  const gpu = runtime().device?.gpu;
  if (gpu === undefined) return () => 0;
  let total = 0;
  const create = gpu.createComputePipeline.bind(gpu);
  gpu.createComputePipeline = (descriptor) => {
    const start = performance.now();
    const made = create(descriptor);
    total += performance.now() - start;
    return made;
  };
  return () => total;
}

/** The table of first steps, each on a device of its own. */
export async function run(): Promise<string> {
  const rows: string[][] = [];
  let name = "";
  for (const [model, which] of Object.entries(firstSteps)) {
    await shutdown();
    await init();
    name = deviceInfo()?.name ?? "";
    const { pipelines } = memory.debug();
    const making = timePipelines();
    const [first = 0, ...later] = await trainSteps(which, 4);
    const made = memory.debug().pipelines - pipelines;
    const ms = (t: number): string => t.toFixed(0);
    rows.push([model, String(made), ms(making()), ms(first), ms(Math.min(...later))]);
  }
  return (
    `${name}. The first step with SGD on a new device, from first values on; batches as in the ` +
    "comparison with other libraries.\n\n" +
    table(["model", "pipelines", "making them, ms", "first step, ms", "later steps, ms"], rows)
  );
}
