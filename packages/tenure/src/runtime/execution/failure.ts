/**
 * Failures as users see them: whatever a host or a device threw becomes a typed error. Used by
 * executions and by the submission.
 */
import { TenureError } from "../../base/errors.ts";

/** The error itself when it is one of ours, else one that says what happened. */
export function asTenureError(op: string, error: unknown): TenureError {
  if (error instanceof TenureError) return error;
  const message = `expected the recorded program to run, got ${String(error)}`;
  return new TenureError(op, message, { cause: error });
}
