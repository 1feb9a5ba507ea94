/**
 * Every error Tenure throws. Text is always `op: expected X, got Y; do Z`, with the parts also as
 * fields, so that a caller can react to them. A message that begins with `internal:` is a bug in
 * Tenure. Owns nothing.
 */
import { currentIfAny } from "./realm.ts";

/** Root of all errors thrown by Tenure. */
export class TenureError extends Error {
  /** The operation that refused, for example `matmul`. */
  readonly op: string;

  constructor(op: string, message: string, options?: ErrorOptions) {
    super(`${op}: ${message}`, options);
    this.name = new.target.name;
    this.op = op;
  }
}

/** Shared shape of errors that compare what was expected with what came. */
class ExpectationError extends TenureError {
  /** What the operation accepts. */
  readonly expected: string;
  /** What it was given. */
  readonly got: string;

  constructor(op: string, expected: string, got: string, remedy: string) {
    super(op, `expected ${expected}, got ${got}; ${remedy}`);
    this.expected = expected;
    this.got = got;
  }
}

// === What was passed in ===

/** An argument that is no shape or dtype matter: an option, a file, a range. */
export class ArgumentError extends ExpectationError {}
/** Shapes, axes or sizes that do not fit the operation. */
export class ShapeError extends ExpectationError {}
/** A dtype the operation does not take. */
export class DTypeError extends ExpectationError {}

// === Ownership ===

/** Where something happened, as `file:line:column`, or `undefined` when tracking was off. */
export type Site = string | undefined;

/** A tensor was used after its handle was disposed. */
export class DisposedError extends TenureError {
  /** Where the handle was made and where it ended, when tracking recorded it. */
  readonly sites: { readonly created: Site; readonly disposed: Site };
  /** What the tensor was: name, dtype and shape. */
  readonly tensor: string;
  /** The scope whose end disposed it, when one did. */
  readonly scope: string | undefined;

  constructor(
    op: string,
    message: string,
    sites: { created: Site; disposed: Site },
    about: { tensor: string; scope: string | undefined },
  ) {
    super(op, message);
    this.sites = sites;
    this.tensor = about.tensor;
    this.scope = about.scope;
  }
}

/** A dispose scope was used after it ended. */
export class ScopeDisposedError extends TenureError {
  /** Where the scope was opened and where it ended, when tracking recorded it. */
  readonly sites: { readonly opened: Site; readonly disposed: Site };
  /** The scope: its name or number. */
  readonly scope: string;

  constructor(op: string, message: string, sites: { opened: Site; disposed: Site }, scope: string) {
    super(op, message);
    this.sites = sites;
    this.scope = scope;
  }
}

/** A dispose scope was used across `await` in a way that cannot be exact. */
export class AsyncScopeError extends TenureError {
  /** Where the scope was opened, when there is one and tracking recorded it. */
  readonly sites: { readonly opened: Site };
  /** The scope, when there is one. */
  readonly scope: string | undefined;

  constructor(op: string, message: string, about?: { opened: Site; scope: string }) {
    super(op, message);
    this.sites = { opened: about?.opened };
    this.scope = about?.scope;
  }
}

// === Numbers ===

/** A result is NaN or infinite where `detectAnomaly` was watching. */
export class NumericError extends ExpectationError {}

// === Autograd ===

/** A gradient was asked for where none can be computed. */
export class GradError extends TenureError {}

// === Device ===

/** The device had no room for an allocation. */
export class OutOfMemoryError extends TenureError {
  /**
   * What held memory at that moment: owned, pooled and device bytes, and the largest groups of live
   * tensors by the line that made them.
   */
  readonly report: string =
    currentIfAny<{ memoryReport(): string }>()?.memoryReport() ??
    "no memory is held: no tensor was made yet";
}
/** The device was lost, shut down or could not be had. */
export class DeviceLostError extends TenureError {}
/** The device refused or failed a command; the text is the driver's. */
export class DeviceError extends TenureError {}

/**
 * Runs `fn`, which calls nothing of the user's, for a function that is made of others: what one of
 * those refuses is told under the name that the user called.
 */
export function calledAs<R>(op: string, fn: () => R): R {
  try {
    return fn();
  } catch (error) {
    throw renamed(error, op);
  }
}

/** The same error, if it is one of Tenure's, under the name of what the user called. */
export function renamed(error: unknown, op: string): unknown {
  if (!(error instanceof TenureError) || error.op === op) return error;
  const { message, stack } = error;
  error.message = op + message.slice(error.op.length);
  if (stack !== undefined) error.stack = stack.replace(message, () => error.message);
  return Object.assign(error, { op });
}

/** A broken invariant inside Tenure: never the caller's fault. */
export function internal(message: string): Error {
  return new Error(`internal: ${message}; please report this as a bug in tenure`);
}
