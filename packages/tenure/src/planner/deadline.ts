/**
 * How long planning may take. Made by compile.ts for a program without a plan, asked inside every
 * pass that can take long. Owns nothing.
 */

/** Thrown inside a pass when planning takes too long; compile.ts takes a quicker plan then. */
export class PlanningTooLong extends Error {}

/** A moment until which planning should be done. */
export class Deadline {
  readonly #clock: () => number;
  readonly #end: number;

  /** @param clock milliseconds since any moment */
  constructor(clock: () => number, milliseconds: number) {
    this.#clock = clock;
    this.#end = clock() + milliseconds;
  }

  /** @throws PlanningTooLong when it is over */
  check(): void {
    if (this.#clock() > this.#end) throw new PlanningTooLong("planning takes too long");
  }
}
