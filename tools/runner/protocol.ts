/**
 * What a test process tells the runner: one JSON object per line on file descriptor 3, written
 * synchronously, so that everything said before a crash or `process.exit()` arrives. `child.ts` and
 * `uvu.ts` write, `batch.ts` reads, `trial.ts` judges. Owns nothing.
 */
import { writeSync } from "node:fs";

/** The file descriptor that reports are written to. */
export const REPORT_FD = 3;

/** One thing that a test process tells. */
export type Report =
  /** The file is about to be loaded. */
  | { kind: "file"; file: string }
  /** A test, or a hook of a suite or of the runner, started. */
  | { kind: "start"; name: string }
  /** A test's function returned without an error. Used only for files that never reach `done`. */
  | { kind: "pass" }
  /** Something failed that is not a test of its own, or one did: `text` is for people. */
  | { kind: "failure"; file: string; text: string; count: number }
  /**
   * All suites of the file reported, and so did the hooks. `failed` is the sum of all failures said
   * before.
   */
  | {
      kind: "done";
      file: string;
      passed: number;
      skipped: number;
      /** Tests that were left out because of their names. */
      unnamed: number;
      ms: number;
    }
  /** The event loop ran dry although a test has not settled. The process exits now. */
  | { kind: "stalled"; file: string; doing: string }
  /** All files of this process are done; it must now exit by itself. */
  | { kind: "end" }
  /** Sent when the process is still alive some time after `end`. */
  | { kind: "held"; resources: string[] };

/** Sends one report. Blocks until it is written. */
export function report(message: Report): void {
  writeSync(REPORT_FD, `${JSON.stringify(message)}\n`);
}

/** Text of anything thrown: the stack where there is one. */
export function describe(thrown: unknown): string {
  if (!(thrown instanceof Error)) return `thrown: ${String(thrown)}`;
  const cause = thrown.cause === undefined ? "" : `\ncaused by ${describe(thrown.cause)}`;
  return `${thrown.stack ?? `${thrown.name}: ${thrown.message}`}${cause}`;
}
