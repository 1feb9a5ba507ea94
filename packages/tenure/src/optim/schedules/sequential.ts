/**
 * Schedules one after the other. Borrows the optimizer and its parts, and owns nothing.
 */
import { ArgumentError } from "../../base/errors.ts";
import { at } from "../../base/access.ts";
import { type OptionTable, checkArgument, describeValue, readOptions } from "../../base/options.ts";
import { Schedule, type Scheduled, checkAsked } from "./base.ts";

/** Options of `SequentialLR`. */
export interface SequentialLROptions {
  /** Steps at which the next schedule takes over. */
  readonly milestones: readonly number[];
}
const sequentialOptions = {
  milestones: {
    type: "list",
    of: "integer",
    range: "[1, Infinity)",
    required: true,
    remedy: "pass the steps at which the next schedule takes over",
  },
} satisfies OptionTable<SequentialLROptions>;

/** @throws ArgumentError for anything but a list of schedules */
function checkParts(parts: unknown): void {
  const wrong: unknown = Array.isArray(parts) ? parts.find((p) => !(p instanceof Schedule)) : parts;
  if (wrong !== undefined || parts === undefined)
    throw new ArgumentError(
      "SequentialLR",
      "a list of schedules",
      describeValue(wrong),
      "pass for example [new LinearLR(optimizer), new StepLR(optimizer, …)]",
    );
}

/**
 * One schedule after the other: the next takes over at each milestone and counts from 0. The parts
 * must share the optimizer; step only this one.
 * @throws ArgumentError for what is no optimizer, and for options that are unknown or out of range
 * @example
 * ```ts
 * const parts = [new LinearLR(optimizer), new StepLR(optimizer, { stepSize: 10 })];
 * const schedule = new SequentialLR(optimizer, parts, { milestones: [5] });
 * schedule.step();
 * ```
 */
export class SequentialLR extends Schedule {
  readonly #parts: readonly Schedule[];
  readonly #milestones: readonly number[];

  constructor(optimizer: Scheduled, parts: readonly Schedule[], options: SequentialLROptions) {
    super(optimizer);
    const { milestones } = readOptions("SequentialLR", options, sequentialOptions);
    checkParts(parts);
    if (parts.length === 0 || milestones.length !== parts.length - 1)
      throw new ArgumentError(
        "SequentialLR",
        "one milestone between each two schedules",
        `${parts.length} schedules and ${milestones.length} milestones`,
        "pass one milestone less than schedules",
      );
    let before = 0;
    for (const m of milestones) {
      checkArgument("SequentialLR", "milestones in rising order", m, {
        type: "integer",
        range: `[${before + 1}, Infinity)`,
      });
      before = m;
    }
    this.#parts = parts;
    this.#milestones = milestones;
    this.apply(); // the parts have set rates of their own while they were made
  }

  #part(step: number): [part: Schedule, step: number] {
    const k = this.#milestones.filter((m) => m <= step).length;
    const begun = k === 0 ? 0 : at(this.#milestones, k - 1);
    return [at(this.#parts, k), step - begun];
  }

  rate(step: number, base: number, group: number): number {
    checkAsked("SequentialLR", step, base);
    const [part, local] = this.#part(step);
    return part.rate(local, base, group);
  }

  protected override applyTo(optimizer: Scheduled, step: number, base: readonly number[]): void {
    const [part, local] = this.#part(step);
    Schedule.applied(part, optimizer, local, base);
  }
}
