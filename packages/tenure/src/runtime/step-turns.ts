/**
 * Which scheduler's step is under way, and whether the code that runs now is part of it. One step
 * at a time: others wait for its end. What a step's function calls, also after an await, is part of
 * the step, whatever scope it enters; other tasks are not. Called by schedulers and by the lanes of
 * the recorder. Owns nothing but the order of steps.
 */
import { internal } from "../base/errors.ts";
import { type AsyncVariable, hostVariable } from "../ownership/current.ts";

/** A step under way. */
interface StepUnderWay {
  readonly ended: Promise<void>;
  readonly end: () => void;
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

  /** Resolves when the step under way has ended. Others that waited longer may begin first. */
  async ended(): Promise<void> {
    await this.#now?.ended;
  }

  /** Begins a step; there must be none. */
  begin(): void {
    if (this.#now !== null) throw internal("a step begins beside another");
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#now = { ended, end };
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
    const { end } = this.#now ?? {};
    this.#now = null;
    end?.();
  }
}
