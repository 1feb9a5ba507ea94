/**
 * The error of a budget that cannot work, thrown before anything runs. Carries what a caller needs
 * to react: the op that asks for most, and the least budget that would do.
 */
import { OutOfMemoryError } from "../base/errors.ts";

/** No plan fits into the budget. */
export class BudgetError extends OutOfMemoryError {
  /** The budget that was asked for. */
  readonly budgetBytes: number;
  /** The least budget some plan fits into. */
  readonly leastBytes: number;

  constructor(op: string, message: string, budgetBytes: number, leastBytes: number) {
    super(op, message);
    this.budgetBytes = budgetBytes;
    this.leastBytes = leastBytes;
  }
}
