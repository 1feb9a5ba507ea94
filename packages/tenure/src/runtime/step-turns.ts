/**
 * Which scheduler's step is under way, and whether the code that runs now is part of it. One step
 * at a time: others wait for its end. What a step's function calls, also after an await, is part of
 * the step, whatever scope it enters; other tasks are not. Called by schedulers and by the lanes of
 * the recorder. Owns nothing but the order of steps.
 */
import { afterMilliseconds, warn, whenDrained } from "../base/env.ts";
import { TenureError, internal } from "../base/errors.ts";
import { type AsyncVariable, hostVariable } from "../ownership/current.ts";

/** After so long, somebody who waits for a step is told what may keep it. */
const patienceMs = 10_000;

/** Somebody who waits for the end of a step. */
interface Waiting {
  /** What waits, for messages. */
  readonly what: string;
  readonly reject: (error: TenureError) => void;
}

/** A step under way, and who waits for it. */
class StepUnderWay {
  readonly ended: Promise<void>;
  #end: () => void = () => undefined;
  readonly #waiting = new Set<Waiting>();
  readonly #stop: (() => void)[] = [];

  constructor() {
    this.ended = new Promise<void>((resolve) => {
      this.#end = resolve;
    });
  }

  /** The step is over: nobody waits any more. */
  end(): void {
    this.#waiting.clear();
    for (const stop of this.#stop.splice(0)) stop();
    this.#end();
  }

  /**
   * Notes that something waits for the step. If the step waits for that, both wait for ever: once
   * nothing else is left to run, `reject` is called, which lets the step go on. While something is,
   * nobody can know, so that there is a warning only.
   */
  wait(what: string, reject: (error: TenureError) => void): void {
    this.#waiting.add({ what, reject });
    if (this.#stop.length > 0) return;
    const stuck = whenDrained(() => {
      this.#refuse();
    });
    const slow = afterMilliseconds(patienceMs, () => {
      warn(
        `${what} has waited for a step for ${patienceMs / 1000} seconds; ` +
          "if the step's function awaits it, both wait for ever: await it after the step",
      );
    });
    this.#stop.push(stuck, slow);
  }

  /** Lets go of who has waited longest. */
  #refuse(): void {
    for (const waiting of this.#waiting) {
      this.#waiting.delete(waiting);
      waiting.reject(
        new TenureError(
          "step",
          "expected its function to await what can come before its end, " +
            `got a wait for ${waiting.what}, which waits for this step; ` +
            "nothing else was left to run; await that before or after the step",
        ),
      );
      return;
    }
  }
}

/** The steps of all schedulers of a runtime, one after the other. */
export class Steps {
  /** Carries the step across `await`; null on hosts without an async context (browsers). */
  #context: AsyncVariable<StepUnderWay> | null | undefined;
  #now: StepUnderWay | null = null;
  /** The step whose function runs in this very job, where there is no async context. */
  #inJob: StepUnderWay | null = null;

  /** Whether some step is under way. */
  get isUnderWay(): boolean {
    return this.#now !== null;
  }

  /** Whether the code that runs now is part of the step under way. */
  get isInside(): boolean {
    const now = this.#now;
    return now !== null && (this.#inJob === now || this.#context?.get() === now);
  }

  /**
   * Resolves when the step under way has ended. Others that waited longer may begin first.
   *
   * @param what who waits, for the error
   * @throws TenureError when the step cannot end, since it waits for this
   */
  async ended(what: string): Promise<void> {
    const now = this.#now;
    if (now === null) return;
    await new Promise<void>((resolve, reject) => {
      now.wait(what, reject);
      void now.ended.then(resolve);
    });
  }

  /** Notes that something waits for the step under way, until that ends: see `ended`. */
  wait(what: string, reject: (error: TenureError) => void): void {
    this.#now?.wait(what, reject);
  }

  /** Begins a step; there must be none. */
  begin(): void {
    if (this.#now !== null) throw internal("a step begins beside another");
    this.#now = new StepUnderWay();
  }

  /** Runs the function of the step under way. */
  inside<T>(fn: () => T): T {
    const now = this.#now;
    this.#context ??= hostVariable<StepUnderWay>();
    if (this.#context !== null) return this.#context.run(now, fn);
    this.#inJob = now;
    try {
      return fn();
    } finally {
      this.#inJob = null;
    }
  }

  /** Ends the step under way. */
  end(): void {
    const now = this.#now;
    this.#now = null;
    now?.end();
  }
}
