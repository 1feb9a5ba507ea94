/**
 * Runs one batch of test files in one child process, watched by a clock. When the process dies,
 * hangs or is stopped, the file at fault fails and the files behind it run in a new process. Called
 * by `run.ts`. Owns the child and its process group until it has exited.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { type Report, REPORT_FD } from "./protocol.ts";
import { type FileResult, Trial } from "./trial.ts";

/** Files that share a process. */
export interface Batch {
  /** Folder that the paths are relative to, and working directory of the process. */
  readonly root: string;
  readonly files: readonly string[];
  /** Node flags beyond the usual ones. */
  readonly flags: readonly string[];
  /** Run only tests whose name contains one of these; all, when there are none. */
  readonly names: readonly string[];
}

/** How long a process may take. */
export interface BatchLimits {
  /** A process that reports nothing for so long is killed. */
  readonly silenceMs: number;
  /** How long a process may need to exit after its last test. */
  readonly exitMs: number;
}

const CHILD = fileURLToPath(new URL("./child.ts", import.meta.url));
const TSX = import.meta.resolve("tsx");
/** Room for what dies young: compilers and linters spend a tenth of their time collecting it. */
const YOUNG_SPACE = "--max-semi-space-size=32";
const running = new Set<ChildProcess>();

/** Kills every child still running. For signals and for the end of the runner. */
export function killAll(): void {
  for (const child of running) kill(child);
}

/** Runs the batch to its end, in as many processes as it takes. */
export async function runBatch(
  batch: Batch,
  limits: BatchLimits,
  onResult: (result: FileResult) => void,
): Promise<void> {
  let left = batch.files;
  while (left.length > 0)
    left = left.slice(await runProcess({ ...batch, files: left }, limits, onResult));
}

/** One process. Returns how many files of the batch are finished, at least one. */
async function runProcess(
  batch: Batch,
  limits: BatchLimits,
  onResult: (result: FileResult) => void,
): Promise<number> {
  const trial = new Trial(batch.files[0] ?? "", Date.now(), onResult);
  const child = start(batch);
  running.add(child);
  const silence = limits.silenceMs / 1000;
  const exit = limits.exitMs / 1000;
  const watchdog = new Watchdog((text) => {
    trial.verdict = text;
    kill(child);
  });
  const expectReport = (): void => {
    const hung = (): string =>
      `hung: no news for ${silence} s during "${trial.doing}"; the process was killed`;
    watchdog.expectNews(limits.silenceMs, hung);
  };
  const late = (): string =>
    `the process did not exit by itself within ${exit} s after its last test`;

  expectReport();
  const lines = createInterface({ input: child.stdio[REPORT_FD] as Readable });
  lines.on("line", (line) => {
    const message = JSON.parse(line) as Report;
    if (!trial.ended) expectReport();
    trial.take(message);
    if (message.kind === "end") watchdog.expectNews(limits.exitMs, late);
  });
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text: string) => {
      trial.hear(text);
    });
  const linesClosed = new Promise((resolve) => lines.once("close", resolve));
  const [code, signal] = await closed(child);
  await linesClosed;
  watchdog.stop();
  running.delete(child);
  return trial.close(code, signal);
}

function start({ root, files, flags, names }: Batch): ChildProcess {
  const args = [YOUNG_SPACE, "--import", TSX, "--conditions=tenure:source", ...flags];
  return spawn(process.execPath, [...args, CHILD, root, JSON.stringify(names), ...files], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    detached: true,
  });
}

function closed(child: ChildProcess): Promise<[number | null, NodeJS.Signals | null]> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (...status) => {
      resolve(status);
    });
  });
}

/** Calls when nothing was heard for too long. */
class Watchdog {
  #timer: NodeJS.Timeout | undefined;
  readonly #bark: (text: string) => void;

  constructor(bark: (text: string) => void) {
    this.#bark = bark;
  }

  /** Waits anew; `text` says what was waited for in vain. */
  expectNews(ms: number, text: () => string): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#bark(text());
    }, ms);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

/** Kills the child and what it started. */
function kill(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    child.kill("SIGKILL");
  }
}
