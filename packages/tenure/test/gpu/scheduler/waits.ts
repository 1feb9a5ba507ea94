/**
 * A process whose steps wait for what waits for them, in every way, and for what does not. Prints a
 * line for each: what became of the step, and of the other task. Started by waits.test.ts.
 */
import { type Tensor, sync, tensor } from "tenure";
import { Scheduler } from "tenure/scheduler";
import { gate } from "../../helpers.ts";

const scheduler = new Scheduler();
const other = new Scheduler();

/** What another task does with a tensor that the step writes. */
const tasks: Record<string, (weight: Tensor) => Promise<unknown>> = {
  read: async (weight) => weight.item(),
  step: async (weight) => (await other.step(() => weight.add(10))).item(),
  sync: async (weight) => {
    const next = weight.add(10);
    await sync();
    return next.item();
  },
};

async function outcome(promise: Promise<unknown>): Promise<unknown> {
  try {
    return await promise;
  } catch (error) {
    return String(error);
  }
}

/** Runs a step beside a task that it awaits by `how`. */
async function beside(
  task: (weight: Tensor) => Promise<unknown>,
  how: (theirs: Promise<unknown>) => Promise<unknown>,
): Promise<unknown[]> {
  const weight = tensor([1]);
  await sync();
  const begun = gate();
  const ready = gate();
  let theirs: Promise<unknown> = Promise.resolve();
  const step = scheduler.step(async () => {
    weight.add_(1);
    begun.open();
    await ready.passed;
    const found = await how(theirs);
    weight.mul_(2);
    return found;
  });
  await begun.passed;
  theirs = task(weight);
  theirs.catch(() => undefined);
  ready.open();
  return [await outcome(step), await outcome(theirs), await weight.item()];
}

const pause = (): Promise<string> =>
  new Promise((resolve) => {
    setTimeout(resolve, 50, "late");
  });

for (const [name, task] of Object.entries(tasks)) {
  const print = (how: string, found: unknown[]): void => {
    process.stdout.write(`${JSON.stringify([name, how, ...found])}\n`);
  };
  print("awaited", await beside(task, (theirs) => theirs));
  print("raced", await beside(task, (theirs) => Promise.race([theirs, pause()])));
  print("ignored", await beside(task, pause));
}
