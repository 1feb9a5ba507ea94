/**
 * A process that gets into the state its first argument names and then ends, or is ended. Started
 * by `main.ts`, which judges how it went. Everything it owns goes with it.
 */
import { readFileSync, readdirSync, writeSync } from "node:fs";
import { Worker, isMainThread } from "node:worker_threads";
import { init, ones, rand, shutdown, sync } from "tenure";
import { Linear } from "tenure/nn";
import { SGD } from "tenure/optim";
import { Scheduler } from "tenure/scheduler";

/** Says that the state is reached, for signals to be sent. */
function ready(): void {
  process.stdout.write("ready\n");
}

/**
 * Finds the device. When the process ends, the software driver must have no thread left: what they
 * use is taken down next.
 */
async function begin(): Promise<void> {
  await init();
  if (isMainThread && process.platform === "linux") process.on("exit", tellOfThreads);
}

/** SwiftShader names its threads like this. */
const driverThread = /^Thread<\d+>/;

/** Workers that threw and have not ended yet. The process waits for them, after its listeners. */
const ending = new Set<Worker>();

function tellOfThreads(): void {
  if (ending.size > 0) return; // those threads may be theirs
  const left = readdirSync("/proc/self/task")
    .map((id) => readFileSync(`/proc/self/task/${id}/comm`, "utf8"))
    .filter((name) => driverThread.test(name));
  if (left.length > 0) writeSync(2, `${left.length} threads of the driver are left\n`);
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
    await begin();
  },
  async "end of main with a pending read"() {
    await begin();
    void work();
  },
  async "exit with a pending read"() {
    await begin();
    void work();
    process.exit(3);
  },
  async "exit while the device computes"() {
    await begin();
    void work();
    await new Promise((resolve) => setTimeout(resolve, 1));
    process.exit(3);
  },
  async "exit inside a step"() {
    await begin();
    void stepping().step;
    await new Promise((resolve) => setTimeout(resolve, 2));
    process.exit(3);
  },
  async "exit while initializing"() {
    void init();
    process.exit(3);
  },
  async "exit with mapped buffers"() {
    await begin();
    const reads = Array.from({ length: 4 }, () => ones([100_000]).data());
    await Promise.race(reads);
    process.exit(3);
  },
  async "uncaught exception"() {
    await begin();
    void work();
    setTimeout(() => {
      throw new Error("planned");
    }, 1);
  },
  async "unhandled rejection"() {
    await begin();
    void work();
    void Promise.reject(new Error("planned"));
  },
  async "exception in a step"() {
    await begin();
    const { scheduler, step } = stepping();
    await step;
    await scheduler.step(() => {
      ones([4]);
      throw new Error("planned");
    });
  },
  async "signal while reading"() {
    await begin();
    ready();
    for (;;) await work();
  },
  async "signal inside a step"() {
    await begin();
    ready();
    for (;;) await stepping().step;
  },
  async "shut down"() {
    await begin();
    await work();
    await shutdown();
  },
  async "shut down with a pending read"() {
    await begin();
    const read = work().catch(() => 0);
    await shutdown();
    await read;
  },
  async "shut down inside a step"() {
    await begin();
    const { step } = stepping();
    const ended = step.catch(() => 0);
    await shutdown();
    await ended;
  },
  async "worker that ends"() {
    await begin();
    await work();
    await inWorker("initialized");
  },
  async "worker terminated when it is idle"() {
    await begin();
    await inWorker("idle", (worker) => void worker.terminate());
    await work();
    await sync();
  },
  async "worker terminated after it was shut down"() {
    await begin();
    await inWorker("idle after shutdown", (worker) => void worker.terminate());
    await work();
  },
  async "exit while a worker is idle"() {
    await init();
    await inWorker("idle", () => process.exit(3));
  },
  async "exit of a worker that computes"() {
    await begin();
    await work();
    await inWorker("exit while the device computes");
  },
  async "uncaught exception in a worker"() {
    await begin();
    await work();
    await inWorker("uncaught exception");
  },
  async idle() {
    await init();
    await work();
    ready();
    setInterval(() => undefined, 1000);
  },
  async "idle after shutdown"() {
    await init();
    const read = work().catch(() => 0);
    await shutdown();
    await read;
    ready();
    setInterval(() => undefined, 1000);
  },
};

/** Node's workers know no TypeScript until tsx is registered in them. */
const workerSource = `
  import("tsx/esm/api").then(({ register }) => {
    register();
    return import(${JSON.stringify(import.meta.url)});
  });
`;

/** Runs a state in a worker; `whenReady` is called once that says that it is ready. */
function inWorker(state: string, whenReady?: (worker: Worker) => void): Promise<void> {
  const stdout = whenReady !== undefined;
  const worker = new Worker(workerSource, { eval: true, argv: [state], stdout });
  return new Promise((resolve, reject) => {
    worker.on("error", (error) => {
      ending.add(worker);
      reject(error);
    });
    worker.on("exit", () => {
      ending.delete(worker);
      resolve();
    });
    if (stdout) worker.stdout.once("data", () => whenReady(worker));
  });
}

const state = states[process.argv.at(-1) ?? ""];
if (state !== undefined) await state();
