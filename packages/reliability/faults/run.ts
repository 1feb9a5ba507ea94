/**
 * One injected fault, from a fresh device to the verdict: what came out of the library, whether
 * anything was lost, whether the run can go on, and whether it ends with the bits of a run without
 * faults. Used by `main.ts` and by the tests. Ends the device it makes.
 */
import { DeviceLostError, TenureError, init, memory, shutdown, sync } from "tenure";
import { type FaultKind, FaultPoint } from "./device.ts";
import { type Checkpoint, type Mode, type Snapshot, Training, stepsOf } from "./training.ts";

/** What a run without faults looks like. */
export interface Reference {
  readonly mode: Mode;
  readonly budgetBytes: number | undefined;
  /** State after 0, 1, 2 … steps. */
  readonly states: readonly Snapshot[];
  readonly checkpoints: readonly Checkpoint[];
  /** Calls of a run without faults. */
  readonly point: FaultPoint;
  /** Device bytes that are left when everything was disposed and trimmed. */
  readonly liveBytes: number;
}

/** What one fault did. `problems` is empty when everything promised held. */
export interface Verdict {
  readonly mode: Mode;
  readonly kind: FaultKind | null;
  readonly at: number;
  /** Whether the fault was reached. */
  readonly fired: boolean;
  readonly problems: readonly string[];
}

/** Lets a run choose the point that the next device counts and fails at. */
export interface Injector {
  point: FaultPoint;
}

/** A hang is a verdict, not an accident. Milliseconds. */
const patience = 60_000;
/** Steps may fail this often before the run counts as unable to go on. */
const failuresAllowed = 3;

/** Runs without faults, and notes every state. */
export async function reference(
  injector: Injector,
  mode: Mode,
  budgetBytes?: number,
): Promise<Reference> {
  await shutdown();
  injector.point = new FaultPoint();
  const { point } = injector;
  await init();
  const states: Snapshot[] = [];
  const checkpoints: Checkpoint[] = [];
  {
    using training = new Training(mode, budgetBytes);
    for (let k = 0; k <= stepsOf(mode); k++) {
      if (k > 0) await training.step(k - 1);
      else await sync();
      states.push(await training.snapshot());
      checkpoints.push(await training.checkpoint());
    }
    if (mode.startsWith("compiled") && training.atOnce === 0)
      throw new Error(`${mode}: no step was recorded at once`);
  }
  await memory.trim();
  const wanted = { mode, budgetBytes, states, checkpoints, point, liveBytes: point.liveBytes };
  const { problems } = await inject(injector, wanted, null, 0);
  if (problems.length > 0) throw new Error(`without a fault: ${problems.join(" · ")}`);
  return { ...wanted, point: injector.point };
}

/** Injects one fault, or none, and judges what follows. */
export async function inject(
  injector: Injector,
  wanted: Reference,
  kind: FaultKind | null,
  at: number,
): Promise<Verdict> {
  await shutdown();
  const point = new FaultPoint(kind, at);
  injector.point = point;
  const problems: string[] = [];
  const stray = (error: unknown): void => {
    problems.push(`nobody caught ${describe(error)}`);
  };
  process.on("unhandledRejection", stray);
  process.on("uncaughtException", stray);
  try {
    const run = new FaultRun(injector, wanted, problems);
    await withPatience(run.run(), problems);
    await new Promise((resolve) => setTimeout(resolve, 5)); // strays come after the last await
  } catch (error) {
    problems.push(`the harness was stopped by ${describe(error)}`);
  } finally {
    process.off("unhandledRejection", stray);
    process.off("uncaughtException", stray);
  }
  return { mode: wanted.mode, kind, at, fired: point.fired, problems };
}

async function withPatience(work: Promise<void>, problems: string[]): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      problems.push(`nothing came back within ${patience / 1000} s`);
      resolve();
    }, patience);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

class FaultRun {
  readonly #injector: Injector;
  readonly #wanted: Reference;
  readonly #problems: string[];
  /** Steps that are in the weights. */
  #done = 0;
  #failures = 0;

  constructor(injector: Injector, wanted: Reference, problems: string[]) {
    this.#injector = injector;
    this.#wanted = wanted;
    this.#problems = problems;
  }

  async run(): Promise<void> {
    try {
      await init();
    } catch (error) {
      this.#judge("init", error);
      await init();
    }
    let training = await this.#start();
    const steps = stepsOf(this.#wanted.mode);
    try {
      while (this.#done < steps && this.#failures <= failuresAllowed) {
        const before = this.#problems.length;
        const { accepted } = this.#injector.point;
        const error = await this.#attempt(training);
        if (error === null) continue;
        this.#failures++;
        if (await this.#needsRestart(error)) {
          training[Symbol.dispose]();
          training = await this.#restart();
          continue;
        }
        await this.#locate(training, this.#injector.point.accepted > accepted);
        if (this.#problems.length > before + 3) return; // enough is known
      }
      if (this.#done < steps) this.#problems.push(`steps still fail after the fault`);
      else {
        const end = await this.#snapshot(training);
        if (await this.#needsRestart(null)) {
          training[Symbol.dispose]();
          training = await this.#restart();
        } else this.#compare(end, steps);
      }
    } finally {
      training[Symbol.dispose]();
    }
    await this.#checkBooks();
  }

  /** A model whose first weights are there. Where they were never made, it is made again. */
  async #start(): Promise<Training> {
    const training = new Training(this.#wanted.mode, this.#wanted.budgetBytes);
    try {
      await sync();
      return training;
    } catch (error) {
      this.#judge("sync", error);
      training[Symbol.dispose]();
      if (error instanceof DeviceLostError) return this.#restart();
    }
    await sync().catch((error: unknown) => {
      this.#judge("sync", error); // what came with the first
    });
    const again = new Training(this.#wanted.mode, this.#wanted.budgetBytes);
    await sync();
    return again;
  }

  /** Everything the training owns. A read may fail once: what it reads stays where it is. */
  async #snapshot(training: Training): Promise<Snapshot> {
    const first = await training.snapshot();
    const failed = [...first.values()].some((text) => text.startsWith("lost: "));
    return failed ? training.snapshot() : first;
  }

  /** One step and a sync. @returns what went wrong, or null */
  async #attempt(training: Training): Promise<unknown> {
    let failure: unknown = null;
    try {
      await training.step(this.#done);
      this.#done++;
    } catch (error) {
      failure = error;
      this.#judge("step", error);
    }
    try {
      await sync();
    } catch (error) {
      this.#judge("sync", error);
      failure ??= error;
    }
    return failure;
  }

  async #needsRestart(error: unknown): Promise<boolean> {
    if (error instanceof DeviceLostError) return true;
    try {
      await sync();
    } catch (later) {
      return later instanceof DeviceLostError;
    }
    return false;
  }

  /** After a loss: a new device, a new model, and the last checkpoint. */
  async #restart(): Promise<Training> {
    this.#injector.point = new FaultPoint();
    await init();
    const training = await this.#start();
    const checkpoint = this.#wanted.checkpoints[this.#done];
    if (checkpoint === undefined) throw new Error("no checkpoint");
    training.restore(checkpoint);
    this.#compare(await this.#snapshot(training), this.#done);
    return training;
  }

  /**
   * Finds out which step the weights stand at: a failed step has happened wholly or not at all,
   * unless it ran in part. Then what it was writing may be lost, if that is said, and the last
   * checkpoint helps.
   */
  async #locate(training: Training, ran: boolean): Promise<void> {
    const now = await this.#snapshot(training);
    const at = [this.#done, this.#done + 1, this.#done - 1].find((k) => this.#isState(now, k));
    if (at !== undefined) {
      this.#done = at;
      return;
    }
    const lost = [...now].filter(([, text]) => text.startsWith("lost: "));
    const first = lost[0];
    if (first === undefined) this.#problems.push(`the weights are those of no step`);
    else if (!ran)
      this.#problems.push(
        `${lost.length} of ${now.size} values are lost: ${first[0]}: ${first[1]}`,
      );
    const checkpoint = this.#wanted.checkpoints[this.#done];
    if (checkpoint !== undefined) training.restore(checkpoint);
  }

  #isState(now: Snapshot, k: number): boolean {
    const wanted = this.#wanted.states[k];
    if (wanted === undefined || wanted.size !== now.size) return false;
    return [...wanted].every(([name, text]) => now.get(name) === text);
  }

  #compare(now: Snapshot, k: number): void {
    if (!this.#isState(now, k)) this.#problems.push(`after ${k} steps the bits differ`);
  }

  /** Errors are typed, and say which op they are about. */
  #judge(where: string, error: unknown): void {
    if (!(error instanceof TenureError))
      this.#problems.push(`${where}: an error of no Tenure class: ${describe(error)}`);
    else if (error.message.includes("internal:"))
      this.#problems.push(`${where}: an internal error: ${describe(error)}`);
    else if (!/^[\w×+. ()]+: expected /.test(error.message))
      this.#problems.push(`${where}: an error that names no op: ${describe(error)}`);
  }

  async #checkBooks(): Promise<void> {
    try {
      memory.verify();
    } catch (error) {
      this.#problems.push(`the books are wrong: ${describe(error)}`);
    }
    const { threadTotalLiveCount } = memory.stats();
    if (threadTotalLiveCount !== 0) {
      const [row] = memory.live();
      const example = row === undefined ? "" : `, such as ${row.example} made at ${row.key}`;
      this.#problems.push(`${threadTotalLiveCount} tensors are still alive${example}`);
    }
    await memory.trim();
    const { deviceBytes } = memory.stats();
    if (deviceBytes !== 0) this.#problems.push(`${deviceBytes} device bytes are still counted`);
    const { liveBytes } = this.#injector.point;
    if (liveBytes > this.#wanted.liveBytes)
      this.#problems.push(
        `the device holds ${liveBytes} bytes, ${this.#wanted.liveBytes} without a fault`,
      );
  }
}

function describe(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return text.split("\n", 1)[0] ?? "";
}
