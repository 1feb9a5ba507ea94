/**
 * Times the ways of writing kernels in idle moments: what was compiled is noted, and measured one
 * dispatch at a time whenever nothing else runs. Bounded as the searches of XLA and cuDNN are: a
 * budget of seconds, a limit of kernels, and no way is run again that is far behind. Started by
 * `tuneWhenIdle`. Owns nothing on the device between two measurements.
 */
import { OutOfMemoryError } from "../base/errors.ts";
import { type Question, questionKey } from "../device/choices.ts";
import type { Device } from "../device/device.ts";
import type { Candidate } from "./candidates.ts";
import { type TimeKernel, type TuneReport, type TunedKernel, measureWays } from "./measure-ways.ts";

/** What an idle tuner works with. */
export interface IdleTunerOptions {
  readonly device: Device;
  /** Whether the device is still the one in use. */
  readonly current: () => boolean;
  /** Resolves when nothing has run for a while. */
  readonly rest: () => Promise<void>;
  /** Other ways are taken from now on: plans are to be made anew, choices to be kept. */
  readonly changed: (choices: readonly [key: string, name: string][], faster: boolean) => unknown;
  /** Milliseconds that all measurements together may take. */
  readonly budgetMs: number;
  /** What they are measured with. */
  readonly now: () => number;
}

/** Dispatches that are noted until there is a moment for them, and kernels that are measured. */
const mostNoted = 512;
const mostKernels = 64;

/** Why measuring ended before its end. */
class Stopped extends Error {}

/** Measures when nothing else happens. */
export class IdleTuner {
  readonly #options: IdleTunerOptions;
  #noted: (() => readonly Candidate[])[] = [];
  readonly #asked = new Set<string>();
  readonly #kernels: TunedKernel[] = [];
  #skipped = 0;
  #spentMs = 0;
  #stopped = false;
  #work: Promise<void> | null = null;
  #failure: { readonly error: unknown } | null = null;

  constructor(options: IdleTunerOptions) {
    this.#options = options;
  }

  /** Notes a dispatch that was compiled. @param find says in which ways it could be written */
  hear(find: () => readonly Candidate[]): void {
    const { current } = this.#options;
    const full = this.#left() <= 0 || this.#noted.length >= mostNoted;
    if (this.#stopped || full || !current()) return;
    this.#noted.push(find);
    this.#begin();
  }

  /** Measures what is noted, and what is noted while the last of it is kept. */
  #begin(): void {
    this.#work ??= this.#run()
      .catch((error: unknown) => {
        this.#failure = { error };
        this.stop();
      })
      .finally(() => {
        this.#work = null;
        if (this.#noted.length > 0) this.#begin();
      });
  }

  /** What was measured so far. */
  report(): TuneReport {
    const seconds = this.#spentMs / 1000;
    return { kernels: [...this.#kernels], skipped: this.#skipped, seconds };
  }

  /**
   * Resolves once all that was noted has been measured. Keeps no process alive. Only here it is
   * heard what went wrong in between, since nobody waits for idle moments.
   */
  async done(): Promise<void> {
    while (this.#work !== null) await this.#work;
    if (this.#failure !== null) throw this.#failure.error;
  }

  /** Measures no more. */
  stop(): void {
    this.#stopped = true;
    this.#noted = [];
  }

  #left(): number {
    return this.#options.budgetMs - this.#spentMs;
  }

  readonly #time: TimeKernel = async (clock, kernel, times) => {
    const { device, rest, now, current } = this.#options;
    await rest();
    if (this.#stopped || device.lost !== null || !current()) throw new Stopped();
    const started = now();
    try {
      return await clock.time(kernel, times);
    } finally {
      this.#spentMs += now() - started;
      clock.release(); // a step may come before the next moment
    }
  };

  async #run(): Promise<void> {
    const { device, rest, changed } = this.#options;
    const { choices } = device;
    let measured = 0;
    let faster = false;
    try {
      await rest();
      for (let find = this.#noted.shift(); find !== undefined; find = this.#noted.shift()) {
        for (const candidate of find()) {
          if (choices.pinned || !this.#isNew(candidate.question)) continue;
          if (this.#left() <= 0 || this.#kernels.length >= mostKernels) {
            this.#skipped++;
            continue;
          }
          const found = await this.#measured(candidate);
          if (found === null) {
            this.#skipped++;
            continue;
          }
          choices.set(questionKey(candidate.question), found.after);
          this.#kernels.push(found);
          measured++;
          faster ||= found.after !== found.before;
        }
        await rest();
      }
    } catch (error) {
      // a device that was lost or given back says so itself
      this.stop();
      if (!(error instanceof Stopped) && device.lost === null) throw error;
    }
    if (measured > 0) await changed(choices.entries(), faster);
  }

  /** The ways of one kernel; null where the device has no room to measure them. */
  async #measured(candidate: Candidate): Promise<TunedKernel | null> {
    try {
      const { device } = this.#options;
      return await measureWays(device, candidate, () => this.#left(), this.#time);
    } catch (error) {
      if (error instanceof OutOfMemoryError) return null;
      throw error;
    }
  }

  /** Whether a question was neither asked here before nor answered for an earlier process. */
  #isNew(question: Question): boolean {
    const key = questionKey(question);
    const known = this.#asked.has(key) || this.#options.device.choices.has(key);
    this.#asked.add(key);
    return !known;
  }
}
