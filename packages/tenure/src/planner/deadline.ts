/**
 * How long planning may take. Made by compile.ts for a program without a plan, asked inside the
 * passes that can take long. Owns nothing.
 */

/** Thrown inside a pass when planning takes too long; compile.ts takes a quicker plan then. */
export class PlanningTooLong extends Error {}

/** A moment until which planning should be done. */
export class Deadline {
  readonly #clock: () => number;
  readonly #end: number;
  #lifted = false;

  /** @param clock milliseconds since any moment */
  constructor(clock: () => number, milliseconds: number) {
    this.#clock = clock;
    this.#end = clock() + milliseconds;
  }

  /** Whether it is over. */
  get passed(): boolean {
    return this.#lifted || this.#clock() > this.#end;
  }

  /** Whether it was lifted. */
  get isLifted(): boolean {
    return this.#lifted;
  }

  /** @throws PlanningTooLong when it is over, unless it was lifted */
  check(): void {
    if (!this.#lifted && this.passed) throw new PlanningTooLong("planning takes too long");
  }

  /** From now on it is over, but stops nobody: searches take the first plan that will do. */
  lift(): void {
    this.#lifted = true;
  }
}
