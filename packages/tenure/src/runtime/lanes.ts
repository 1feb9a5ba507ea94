/**
 * The programs that are recorded at one time. While a scheduler's step is under way, what its
 * function records goes to a program of its own, and the ops of everybody else go around it:
 *
 *     main     ops that touch nothing the step writes, and write nothing it reads
 *     step     ops of the step; all of them run, or none
 *     after    ops of others that need what the step writes, or overwrite what it reads
 *
 * Main may run at any time up to the step's end and runs before it where the step needs that; what
 * comes after becomes the end of main when the step is over, whether it ran or was given up. So to
 * everybody outside, a step happens at one moment. Called by the recorder and the submission. Owns
 * the programs; they own no storage.
 */
import type { Bytes } from "../base/bytes.ts";
import { TenureError } from "../base/errors.ts";
import { type Lane, OpenProgram } from "./open-program.ts";
import type { Operand } from "./recorded-op.ts";
import type { Steps } from "./step-turns.ts";
import type { Storage } from "./storage.ts";

/** Empty programs kept for their arrays: as many as wait for the device's verdict, mostly. */
const sparePrograms = 4;

/** All programs that are open or run. */
export class Lanes {
  readonly #steps: Steps;
  /** Programs by serial number: the open ones, and those taken that have not ended. */
  readonly #live = new Map<number, OpenProgram>();
  #serial = 0;
  /** Empty programs whose arrays have grown already. */
  readonly #spares: OpenProgram[] = [];
  #main: OpenProgram;
  #step: OpenProgram | null = null;
  #after: OpenProgram | null = null;
  /** Bytes uploaded before the step that nobody has used yet: they go where they are needed. */
  readonly loose: Map<Storage, Bytes> = new Map<Storage, Bytes>();

  constructor(steps: Steps) {
    this.#steps = steps;
    this.#main = this.#open("main");
  }

  /** What is recorded outside steps. */
  get main(): OpenProgram {
    return this.#main;
  }

  /** What waits for the end of the step; null while nothing does. */
  get after(): OpenProgram | null {
    return this.#after;
  }

  /** Whether the code that runs now records in a step's program. */
  get inStep(): boolean {
    return this.#step !== null && this.#steps.isInside;
  }

  /** Whether more may be recorded in a program. */
  isOpen(program: OpenProgram): boolean {
    return program === this.#main || program === this.#step || program === this.#after;
  }

  /** Whether ops of the code that runs now may have to go to other programs than `here`. */
  get areApart(): boolean {
    return this.#after !== null || (this.#step !== null && !this.#steps.isInside);
  }

  /** The program of the code that runs now, as long as nothing stands in the way. */
  get here(): OpenProgram {
    return this.#step !== null && this.#steps.isInside ? this.#step : this.#main;
  }

  /** The open program of a lane, or null. */
  of(lane: Lane): OpenProgram | null {
    if (lane === "main") return this.#main;
    return lane === "step" ? this.#step : this.#after;
  }

  /** The program that an op of the code that runs now belongs to. */
  forOp(inputs: readonly Operand[], outputs: readonly Operand[]): OpenProgram {
    if (this.#step === null || this.#steps.isInside) return this.here;
    const waits =
      inputs.some(({ storage }) => this.#mustWaitToRead(storage)) ||
      outputs.some(({ storage }) => this.#mustWaitToWrite(storage));
    return waits ? this.#opened() : this.#main;
  }

  /** The program after which a storage is read. */
  forRead(storage: Storage): OpenProgram {
    if (this.#step === null || this.#steps.isInside) return this.here;
    return this.#mustWaitToRead(storage) ? this.#opened() : this.#main;
  }

  /** The program that an op which overwrites a storage belongs to. */
  forWrite(storage: Storage): OpenProgram {
    if (this.#step === null || this.#steps.isInside) return this.here;
    return this.#mustWaitToWrite(storage) ? this.#opened() : this.#main;
  }

  #mustWaitToRead(storage: Storage): boolean {
    return this.#step?.writes(storage) === true || this.#after?.writes(storage) === true;
  }

  #mustWaitToWrite(storage: Storage): boolean {
    return this.#step?.touches(storage) === true || this.#after?.touches(storage) === true;
  }

  /**
   * A step sees its tensors as it left them, whatever others do to them after it. @throws
   * TenureError where it would use what others can only make after it
   */
  checkUse(op: string, storage: Storage): void {
    const after = this.#after;
    if (after?.writes(storage) !== true || storage.buffer !== null || !this.inStep) return;
    if (this.loose.has(storage) || this.mention(storage, after)) return;
    throw new TenureError(
      op,
      "expected tensors from before the step, or made in it, got one that another task makes " +
        "from what the step has not finished; await the step there before using its tensors",
    );
  }

  /** Whether a program that is open or runs, other than `but`, reads or writes the storage. */
  mention(storage: Storage, but: OpenProgram | null = null): boolean {
    for (const program of this.#live.values())
      if (program !== but && program.mentions(storage)) return true;
    return false;
  }

  /** Whether main has to run before the step's program does. */
  get mainComesFirst(): boolean {
    return this.#step !== null && this.#main.precedes(this.#step);
  }

  // === Beginning and ending ===

  /** Begins a step's program. */
  openStep(): void {
    this.#step = this.#open("step");
  }

  /** Ends the step's program, which is empty. @returns what waited for it, or null */
  closeStep(): OpenProgram | null {
    const after = this.#after;
    if (this.#step !== null) this.#live.delete(this.#step.serial);
    if (after !== null) this.#live.delete(after.serial);
    this.#step = this.#after = null;
    return after;
  }

  /** Takes an open program, to be run while the next one of its lane is recorded. */
  take(lane: Lane): OpenProgram | null {
    const taken = this.of(lane);
    if (taken === null) return null;
    taken.claimIndices();
    if (lane === "main") this.#main = this.#open("main");
    else if (lane === "step") this.#step = this.#open("step");
    else this.#after = null;
    return taken;
  }

  /** Forgets a taken program that has ended; its arrays are used again. */
  recycle(taken: OpenProgram): void {
    this.#live.delete(taken.serial);
    taken.reset(0);
    if (this.#spares.length < sparePrograms) this.#spares.push(taken);
  }

  /** Forgets a taken program that did not run. */
  forget(taken: OpenProgram): void {
    this.#live.delete(taken.serial);
  }

  #opened(): OpenProgram {
    return (this.#after ??= this.#open("after"));
  }

  #open(lane: Lane): OpenProgram {
    const serial = ++this.#serial;
    const program = this.#spares.pop() ?? new OpenProgram(serial, this.#live);
    program.reset(serial, lane);
    this.#live.set(serial, program);
    return program;
  }
}
