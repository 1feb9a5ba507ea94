/**
 * The base of learning rate schedules: each computes the rate of every parameter group from the
 * step number in closed form. Schedules borrow the optimizer, own nothing on the device, and their
 * state is a handful of numbers. Called by training loops, once per step or per epoch.
 */
import "../../compose.ts";
import { at } from "../../base/access.ts";
import { ArgumentError } from "../../base/errors.ts";
import { type OptionRow, checkArgument, describeValue } from "../../base/options.ts";
import { ignoreRejection } from "../../ownership/owned.ts";
import { again, hostNumber, whenStepDiscarded } from "../../tensor/step.ts";

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

/** @throws ArgumentError for what is no number of steps, and for a rate that is negative or none */
export function checkAsked(op: string, step: number, base: number): void {
  checkArgument(op, "a number of steps", step, steps);
  checkArgument(op, "a first rate", base, factor);
}

/** What a schedule needs to continue. */
export interface ScheduleState {
  /** Calls of `step`. */
  readonly steps: number;
  /** Rates at step 0, one per group. */
  readonly base: readonly number[];
}

/**
 * Where a group keeps what it began with and the rate a schedule last gave it: a schedule made on
 * top of another starts where the first did, unless you set a rate in between.
 */
const BEGUN: unique symbol = Symbol("tenure.schedule");

interface Begun {
  readonly initial: number;
  last: number;
}

interface Group {
  lr: number;
  [BEGUN]?: Begun;
}

function initialRate(group: Group): number {
  const known = group[BEGUN];
  if (known !== undefined && known.last === group.lr) return known.initial;
  const value: Begun = { initial: group.lr, last: group.lr };
  // not enumerable: no hyperparameter, and no part of a copy or a saved state
  Object.defineProperty(group, BEGUN, { value, configurable: true });
  return group.lr;
}

/** What gives the groups of an optimizer the hyperparameters that they have now. */
export function rememberGroups({ groups }: Scheduled): () => void {
  const before = groups.map((group: Group) => {
    return { group, known: group[BEGUN], values: { ...group } };
  });
  return () => {
    for (const { group, known, values } of before) {
      Object.assign(group, values);
      if (known !== undefined) known.last = values.lr;
    }
  };
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
 * @throws ArgumentError for options that are unknown or out of range
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
    hostNumber("the count of a schedule's steps");
    return this.#steps;
  }
  /** The groups' rates now. */
  get rates(): number[] {
    hostNumber("the rates of a schedule");
    return this.#optimizer.groups.map((g) => g.lr);
  }

  /**
   * The next rates. Call it after `optimizer.step()`.
   * @example
   * ```ts
   * const schedule = new StepLR(optimizer, { stepSize: 1, gamma: 0.5 });
   * schedule.step();
   * console.log(optimizer.lr); // → 0.0005
   * ```
   */
  step(): void {
    again(this, () => {
      this.#step();
    });
  }

  #step(): void {
    const steps = this.#steps;
    whenStepDiscarded(() => {
      const back = rememberGroups(this.#optimizer);
      return () => {
        this.#steps = steps;
        back();
      };
    });
    this.#steps++;
    this.apply();
  }

  /** Sets the rates of the current step. Subclasses call it at the end of their constructor. */
  protected apply(): void {
    this.applyTo(this.#optimizer, this.#steps, this.#base);
  }

  /** Sets the rates of a step on the groups. */
  protected applyTo(optimizer: Scheduled, step: number, base: readonly number[]): void {
    const rates = this.#ratesAt(optimizer, step, base);
    optimizer.groups.forEach((group: Group, i) => {
      group.lr = at(rates, i);
      const known = group[BEGUN];
      if (known !== undefined) known.last = group.lr;
    });
  }

  /** The rates of a step. @throws ArgumentError for one that is no finite number */
  #ratesAt(optimizer: Scheduled, step: number, base: readonly number[]): number[] {
    return optimizer.groups.map((group, i) => {
      const rate: unknown = this.rate(step, base[i] ?? group.lr, i);
      ignoreRejection(rate);
      if (typeof rate === "number" && Number.isFinite(rate)) return rate;
      throw new ArgumentError(
        this.constructor.name,
        `a finite learning rate at step ${step}`,
        describeValue(rate),
        "check the schedule's options",
      );
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
   * Checks what `loadStateDict` would load, and changes nothing.
   * @throws ArgumentError for what is no state, another number of groups, and rates that are none
   */
  checkStateDict(state: ScheduleState): void {
    const name = this.constructor.name;
    const { steps: made, base } = state ?? {};
    checkArgument(name, "a number of steps", made, {
      ...steps,
      remedy: "pass what stateDict() gave",
    });
    if (!Array.isArray(base) || base.length !== this.#base.length)
      throw new ArgumentError(
        name,
        `rates of ${this.#base.length} groups`,
        Array.isArray(base) ? String(base.length) : describeValue(base),
        "check that the state belongs to this optimizer",
      );
    for (const rate of base) checkArgument(name, "a learning rate", rate, factor);
    this.#ratesAt(this.#optimizer, state.steps, base);
  }

  /**
   * Continues where `stateDict` was taken, and sets the rates. @throws ArgumentError as
   * `checkStateDict` does; then nothing has changed
   */
  loadStateDict(state: ScheduleState): void {
    this.checkStateDict(state);
    this.#base = [...state.base];
    this.#steps = state.steps;
    this.apply();
  }
}
