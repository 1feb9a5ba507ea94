/**
 * The budget of `memory.setBudget`: how many bytes of tensor buffers the device may hold, and what
 * happens beyond. Asked by the pool before it makes a buffer. One per runtime, once a budget is
 * set. Owns nothing.
 */
import { warn } from "../base/env.ts";
import { ArgumentError, OutOfMemoryError } from "../base/errors.ts";
import { describeValue } from "../base/options.ts";
import type { BufferPool } from "../device/buffer-pool.ts";

/** What happens when the buffers of tensors would exceed the budget. */
export type BudgetAction = "report" | "throw" | "trim";

const actions: readonly unknown[] = ["report", "throw", "trim"];

/** A limit on the bytes of tensor buffers. */
export class MemoryBudget {
  #bytes = Infinity;
  #action: BudgetAction = "report";
  /** Whether it was said already that the budget is exceeded. */
  #reported = false;
  readonly #report: () => string;

  /** `report` says what holds memory. */
  constructor(report: () => string) {
    this.#report = report;
  }

  /**
   * Limits the bytes of tensor buffers on the device. A buffer that would exceed it first costs the
   * pool its free buffers ("trim", "throw"). What is still too much is reported once ("report",
   * "trim"), or refused with OutOfMemoryError ("throw"): the flush fails, and reads of what it
   * should have made reject with it.
   */
  set(bytes: number, action: BudgetAction): void {
    if (typeof bytes !== "number" || !(bytes > 0))
      throw new ArgumentError(
        "setBudget",
        "a number of bytes above 0",
        describeValue(bytes),
        "pass Infinity for no budget",
      );
    if (!actions.includes(action))
      throw new ArgumentError(
        "setBudget",
        '"report", "throw" or "trim"',
        describeValue(action),
        "choose one of them",
      );
    this.#reported = false;
    this.#bytes = bytes;
    this.#action = action;
  }

  /** Called before the pool makes a buffer of `more` bytes. @throws OutOfMemoryError to refuse */
  allow(pool: BufferPool, more: number): void {
    if (pool.deviceBytes + more <= this.#bytes) {
      this.#reported = false;
      return;
    }
    if (this.#action !== "report") {
      // the free buffers are in no unsubmitted work: slots are filled before anything is encoded
      pool.trim();
      if (pool.deviceBytes + more <= this.#bytes) return;
    }
    const text =
      `expected tensors to fit into the budget of ${this.#bytes} bytes, ` +
      `got ${pool.deviceBytes} in use and ${more} more`;
    if (this.#action === "throw")
      throw new OutOfMemoryError(
        "setBudget",
        `${text}; free tensors, use smaller batches, or raise the budget`,
      );
    if (!this.#reported) warn(`${text}\n${this.#report()}`);
    this.#reported = true;
  }
}
