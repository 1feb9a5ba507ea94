/**
 * The base of learning rate schedules: each computes the rate of every parameter group from the
 * step number in closed form. Schedules borrow the optimizer, own nothing on the device, and their
 * state is a handful of numbers. Called by training loops, once per step or per epoch.
 */
import { ArgumentError } from "../../base/errors.ts";
import { type OptionRow, checkArgument, describeValue } from "../../base/options.ts";

/** A number of steps. */
export const steps = { type: "integer", range: "[0, Infinity)" } as const satisfies OptionRow;
/** A number of steps of at least one. */
export const positiveSteps = {
  type: "integer",
  range: "[1, Infinity)",
} as const satisfies OptionRow;
/** A factor or a rate that only has to be 0 or more. */
export const factor = { type: "number", range: "[0, Infinity)" } as const satisfies OptionRow;

/** What a schedule needs of an optimizer. */
export interface Scheduled {
  /** Its parameter groups, whose rates are to be set. */
  readonly groups: readonly { lr: number }[];
}

/** What a schedule needs to continue. */
export interface ScheduleState {
  /** Calls of `step`. */
  readonly steps: number;
  /** Rates at step 0, one per group. */
  readonly base: readonly number[];
}

/**
 * What each group began with, and the rate a schedule last gave it: a schedule made on top of
 * another starts where the first did, unless you set a rate in between.
 */
const begun = new WeakMap<object, { readonly initial: number; last: number }>();

function initialRate(group: { lr: number }): number {
  const known = begun.get(group);
  if (known !== undefined && known.last === group.lr) return known.initial;
  begun.set(group, { initial: group.lr, last: group.lr });
  return group.lr;
}

/** @throws ArgumentError for anything without parameter groups */
export function checkOptimizer(op: string, optimizer: Scheduled): void {
  if (!Array.isArray((optimizer as Partial<Scheduled> | null | undefined)?.groups))
    throw new ArgumentError(
      op,
      "an optimizer",
      describeValue(optimizer),
      "pass the optimizer whose rates it should set",
    );
}

/**
 * Base of all schedules. The rates of step 0 are set when it is made, those of step n after the nth
 * call of `step`.
 */
export abstract class Schedule {
  readonly #optimizer: Scheduled;
  #base: readonly number[];
  #steps = 0;

  constructor(optimizer: Scheduled) {
    checkOptimizer(new.target.name, optimizer);
    this.#optimizer = optimizer;
    this.#base = optimizer.groups.map(initialRate);
  }

  /** Learning rate at a step, for a group that began with `base`. Pure. */
  abstract rate(step: number, base: number, group: number): number;

  /** Steps made. */
  get steps(): number {
    return this.#steps;
  }
  /** The groups' rates now. */
  get rates(): number[] {
    return this.#optimizer.groups.map((g) => g.lr);
  }

  /** The next rates. Call it after `optimizer.step()`. */
  step(): void {
    this.#steps++;
    this.apply();
  }

  /** Sets the rates of the current step. Subclasses call it at the end of their constructor. */
  protected apply(): void {
    this.applyTo(this.#optimizer, this.#steps, this.#base);
  }

  /** Sets the rates of a step on the groups. */
  protected applyTo(optimizer: Scheduled, step: number, base: readonly number[]): void {
    optimizer.groups.forEach((group, i) => {
      group.lr = this.rate(step, base[i] ?? group.lr, i);
      const known = begun.get(group);
      if (known !== undefined) known.last = group.lr;
    });
  }

  /** @internal For schedules made of others. */
  static applied(
    schedule: Schedule,
    optimizer: Scheduled,
    step: number,
    base: readonly number[],
  ): void {
    schedule.applyTo(optimizer, step, base);
  }

  /** What `loadStateDict` continues from: plain numbers. */
  stateDict(): ScheduleState {
    return { steps: this.#steps, base: this.#base };
  }

  /**
   * Continues where `stateDict` was taken, and sets the rates. @throws ArgumentError for another
   * number of groups
   */
  loadStateDict(state: ScheduleState): void {
    checkArgument(this.constructor.name, "a number of steps", state.steps, steps);
    if (state.base.length !== this.#base.length)
      throw new ArgumentError(
        this.constructor.name,
        `rates of ${this.#base.length} groups`,
        String(state.base.length),
        "check that the state belongs to this optimizer",
      );
    this.#base = [...state.base];
    this.#steps = state.steps;
    this.apply();
  }
}
