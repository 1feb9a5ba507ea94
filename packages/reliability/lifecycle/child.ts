/**
 * A process that gets into the state its first argument names and then ends, or is ended. Started
 * by `main.ts`, which judges how it went. Everything it owns goes with it.
 */
import { Worker } from "node:worker_threads";
import { init, ones, rand, shutdown, sync } from "tenure";
import { Linear } from "tenure/nn";
import { SGD } from "tenure/optim";
import { Scheduler } from "tenure/scheduler";

/** Says that the state is reached, for signals to be sent. */
function ready(): void {
  process.stdout.write("ready\n");
}

/** Work that takes a moment. */
function work(): Promise<number> {
  return rand([256, 256])
    .matmul(rand([256, 256]))
    .sum()
    .item();
}

function stepping(): { scheduler: Scheduler; step: Promise<number> } {
  const scheduler = new Scheduler();
  const model = new Linear(64, 64);
  const optimizer = new SGD(model.parameters(), { lr: 0.1 });
  const step = scheduler.step(async () => {
    const loss = model.call(ones([32, 64])).sum();
    await new Promise((resolve) => setTimeout(resolve, 5));
    loss.backward();
    optimizer.step();
    return loss.item();
  });
  return { scheduler, step };
}

const states: Record<string, () => Promise<void>> = {
  async initialized() {
    await init();
  },
  async "end of main with a pending read"() {
    await init();
    void work();
  },
  async "exit with a pending read"() {
    await init();
    void work();
    process.exit(3);
  },
  async "exit inside a step"() {
    await init();
    void stepping().step;
    await new Promise((resolve) => setTimeout(resolve, 2));
    process.exit(3);
  },
  async "exit while initializing"() {
    void init();
    process.exit(3);
  },
  async "exit with mapped buffers"() {
    await init();
    const reads = Array.from({ length: 4 }, () => ones([100_000]).data());
    await Promise.race(reads);
    process.exit(3);
  },
  async "uncaught exception"() {
    await init();
    void work();
    setTimeout(() => {
      throw new Error("planned");
    }, 1);
  },
  async "unhandled rejection"() {
    await init();
    void work();
    void Promise.reject(new Error("planned"));
  },
  async "exception in a step"() {
    await init();
    const { scheduler, step } = stepping();
    await step;
    await scheduler.step(() => {
      ones([4]);
      throw new Error("planned");
    });
  },
  async "signal while reading"() {
    await init();
    ready();
    for (;;) await work();
  },
  async "signal inside a step"() {
    await init();
    ready();
    for (;;) await stepping().step;
  },
  async "shut down"() {
    await init();
    await work();
    await shutdown();
  },
  async "shut down with a pending read"() {
    await init();
    const read = work().catch(() => 0);
    await shutdown();
    await read;
  },
  async "shut down inside a step"() {
    await init();
    const { step } = stepping();
    const ended = step.catch(() => 0);
    await shutdown();
    await ended;
  },
  async "worker that ends"() {
    await init();
    await work();
    await inWorker("initialized", false);
  },
  async "worker terminated while reading"() {
    await init();
    await inWorker("signal while reading", true);
    await work();
    await sync();
  },
};

/** Node's workers know no TypeScript until tsx is registered in them. */
const workerSource = `
  import("tsx/esm/api").then(({ register }) => {
    register();
    return import(${JSON.stringify(import.meta.url)});
  });
`;

function inWorker(state: string, terminate: boolean): Promise<void> {
  const worker = new Worker(workerSource, { eval: true, argv: [state], stdout: terminate });
  return new Promise((resolve, reject) => {
    worker.on("error", reject);
    worker.on("exit", () => resolve());
    if (terminate) worker.stdout.once("data", () => void worker.terminate());
  });
}

const state = states[process.argv.at(-1) ?? ""];
if (state !== undefined) await state();
