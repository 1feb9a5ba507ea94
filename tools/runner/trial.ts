/**
 * Judges one test process by what it reports: how each file ended, and whose fault it is when the
 * process dies, hangs or does not leave. Called by `batch.ts`, which owns the process.
 */
import type { Report } from "./protocol.ts";

/** How one file ended. */
export interface FileResult {
  readonly file: string;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Tests that were left out because of their names. */
  readonly unnamed: number;
  readonly ms: number;
  readonly failures: readonly string[];
  /** What the process printed while this file ran, as far as the pipes tell. */
  readonly output: string;
}

/** What is known of the file that is running. */
interface Open {
  readonly file: string;
  doing: string;
  passes: number;
  readonly failures: string[];
  failed: number;
  output: string;
  readonly started: number;
}

/** One process and the files it ran. */
export class Trial {
  /** How many files are finished. */
  finished = 0;
  /** All files are done; the process has only to exit. */
  ended = false;
  /** Why the process was killed or gave up. */
  verdict = "";
  #open: Open;
  /**
   * The last finished file is kept back until the process has exited: what happens at exit is its
   * fault.
   */
  #heldBack: FileResult | undefined;
  readonly #onResult: (result: FileResult) => void;

  constructor(firstFile: string, started: number, onResult: (result: FileResult) => void) {
    this.#open = newOpen(firstFile, started);
    this.#onResult = onResult;
  }

  /** What the process is doing, for people. */
  get doing(): string {
    return this.#open.doing;
  }

  /** Takes what the process printed. */
  hear(text: string): void {
    this.#open.output += text;
  }

  /** Takes what the process reported. */
  take(message: Report): void {
    const open = this.#open;
    switch (message.kind) {
      case "file":
        this.#release();
        this.#open = newOpen(message.file, Date.now());
        break;
      case "start":
        open.doing = message.name;
        break;
      case "pass":
        open.passes++;
        break;
      case "failure":
        open.failures.push(message.text);
        open.failed += message.count;
        break;
      case "done":
        this.#finish(message);
        break;
      case "stalled": {
        const doing = message.doing === "loading" ? open.doing : message.doing;
        this.verdict = `never settled: nothing is left to wait for, but "${doing}" has not ended`;
        break;
      }
      case "end":
        this.ended = true;
        break;
      case "held": {
        const resources = message.resources.join(", ");
        open.failures.push(`still holding the process after the last test: ${resources}`);
        break;
      }
    }
  }

  /** The process is gone. Returns how many files it finished, the one at fault included. */
  close(code: number | null, signal: NodeJS.Signals | null): number {
    const status = signal === null ? `exit code ${code}` : `signal ${signal}`;
    if (!this.ended) return this.#closeEarly(status);
    const late = code === 0 ? "" : `all tests reported, then the process ended with ${status}`;
    const text = this.verdict === "" ? late : this.verdict;
    this.#release(text);
    return this.finished;
  }

  /**
   * A process that dies between two files is the fault of the file before; with none before, of the
   * first one.
   */
  #closeEarly(status: string): number {
    const open = this.#open;
    const text =
      this.verdict === ""
        ? `the process ended with ${status} during "${open.doing}"`
        : this.verdict;
    const betweenFiles = open.file === this.#heldBack?.file;
    this.#release(betweenFiles ? text : "");
    if (betweenFiles) return this.finished;
    this.#onResult({
      file: open.file,
      passed: open.passes,
      failed: open.failed + 1,
      skipped: 0,
      unnamed: 0,
      ms: Date.now() - open.started,
      failures: [...open.failures, text],
      output: open.output,
    });
    return this.finished + 1;
  }

  #finish({ kind: _, ...done }: Extract<Report, { kind: "done" }>): void {
    const { failed, failures, output } = this.#open;
    this.finished++;
    this.#heldBack = { ...done, failed, failures, output };
    this.#open = newOpen(done.file, Date.now());
    this.#open.doing = "after the last test";
  }

  /** Lets go of the file kept back, with what went wrong and was printed after it was done. */
  #release(text = ""): void {
    const result = this.#heldBack;
    if (result === undefined) return;
    const after = this.#open;
    const isSame = after.file === result.file;
    this.#heldBack = undefined;
    this.#onResult({
      ...result,
      failed: result.failed + (isSame ? after.failed : 0) + (text === "" ? 0 : 1),
      failures: [
        ...result.failures,
        ...(isSame ? after.failures : []),
        ...(text === "" ? [] : [text]),
      ],
      output: result.output + (isSame ? after.output : ""),
    });
  }
}

function newOpen(file: string, started: number): Open {
  return { file, doing: "loading", passes: 0, failures: [], failed: 0, output: "", started };
}
