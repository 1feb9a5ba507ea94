/**
 * Schedules one after the other. Borrows the optimizer and its parts, and owns nothing.
 */
import { ArgumentError } from "../../base/errors.ts";
import { needOptions } from "../../base/options.ts";
import { type Scheduled, Schedule, whole } from "./base.ts";

/**
 * One schedule after the other: the next takes over at each milestone and counts from 0. The parts
 * must share the optimizer; step only this one.
 */
export class SequentialLR extends Schedule {
  readonly #parts: readonly Schedule[];
  readonly #milestones: readonly number[];

  constructor(
    optimizer: Scheduled,
    parts: readonly Schedule[],
    options: { readonly milestones: readonly number[] },
  ) {
    super(optimizer);
    needOptions("SequentialLR", options, ["milestones"]);
    const { milestones } = options;
    if (parts.length === 0 || milestones.length !== parts.length - 1)
      throw new ArgumentError(
        "SequentialLR",
        "one milestone between each two schedules",
        `${parts.length} schedules and ${milestones.length} milestones`,
      );
    milestones.forEach((m, i) => {
      whole("SequentialLR", "milestones in rising order", m, i === 0 ? 1 : milestones[i - 1]! + 1);
    });
    this.#parts = parts;
    this.#milestones = milestones;
    this.apply(); // the parts have set rates of their own while they were made
  }

  #part(step: number): [part: Schedule, step: number] {
    const k = this.#milestones.filter((m) => m <= step).length;
    return [this.#parts[k]!, step - (k === 0 ? 0 : this.#milestones[k - 1]!)];
  }

  rate(step: number, base: number, group: number): number {
    const [part, local] = this.#part(step);
    return part.rate(local, base, group);
  }

  protected override applyTo(optimizer: Scheduled, step: number, base: readonly number[]): void {
    const [part, local] = this.#part(step);
    Schedule.applied(part, optimizer, local, base);
  }
}
