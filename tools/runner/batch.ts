/**
 * Runs one batch of test files in one child process and judges it. When the process dies, hangs or
 * is stopped, the file at fault fails and the files behind it run in a new process. Called by
 * `tools/test.ts`. Owns the child and its process group until it has exited.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { type Report, REPORT_FD } from "./protocol.ts";

/** Files that share a process. */
export interface Batch {
  /** Folder that the paths are relative to, and working directory of the process. */
  readonly root: string;
  readonly files: readonly string[];
  /** Node flags beyond the usual ones. */
  readonly flags: readonly string[];
}

/** How one file ended. */
export interface FileResult {
  readonly file: string;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly ms: number;
  readonly failures: readonly string[];
  /** What the process printed while this file ran, as far as the pipes tell. */
  readonly output: string;
}

export interface BatchLimits {
  /** A process that reports nothing for so long is killed. */
  readonly silenceMs: number;
  /** How long a process may need to exit after its last test. */
  readonly exitMs: number;
}

const CHILD = fileURLToPath(new URL("./child.ts", import.meta.url));
const TSX = import.meta.resolve("tsx");
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

/** What is known of the file that is running. */
interface Open {
  file: string;
  doing: string;
  passes: number;
  failures: string[];
  failed: number;
  output: string;
  started: number;
}

/** One process. Returns how many files of the batch are finished, at least one. */
async function runProcess(
  batch: Batch,
  limits: BatchLimits,
  onResult: (result: FileResult) => void,
): Promise<number> {
  const begun = Date.now();
  const args = [
    "--import",
    TSX,
    "--conditions=tenure:source",
    ...batch.flags,
    CHILD,
    batch.root,
    ...batch.files,
  ];
  const child = spawn(process.execPath, args, {
    cwd: batch.root,
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    detached: true,
  });
  running.add(child);

  let finished = 0;
  let open = newOpen(batch.files[0] ?? "", begun);
  let ended = false;
  let verdict = "";
  // The last finished file is kept back until the process has exited: what happens at exit is its
  // fault.
  let heldBack: FileResult | undefined;
  const release = (): void => {
    if (heldBack !== undefined) onResult(heldBack);
    heldBack = undefined;
  };

  let watchdog: NodeJS.Timeout | undefined;
  const expectNews = (ms: number, text: () => string): void => {
    clearTimeout(watchdog);
    watchdog = setTimeout(() => {
      verdict = text();
      kill(child);
    }, ms);
  };
  const expectReport = (): void => {
    expectNews(
      limits.silenceMs,
      () =>
        `hung: no news for ${limits.silenceMs / 1000} s during "${open.doing}"; the process was killed`,
    );
  };

  const take = (message: Report): void => {
    if (!ended) expectReport();
    switch (message.kind) {
      case "file":
        release();
        open = newOpen(message.file, Date.now());
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
        finished++;
        heldBack = {
          file: message.file,
          passed: message.passed,
          failed: open.failed,
          skipped: message.skipped,
          ms: message.ms,
          failures: open.failures,
          output: open.output,
        };
        open = newOpen(message.file, Date.now());
        open.doing = "after the last test";
        break;
      case "stalled":
        verdict = `never settled: nothing is left to wait for, but "${message.doing === "loading" ? open.doing : message.doing}" has not ended`;
        break;
      case "end":
        ended = true;
        expectNews(
          limits.exitMs,
          () =>
            `the process did not exit by itself within ${limits.exitMs / 1000} s after its last test`,
        );
        break;
      case "held":
        open.failures.push(
          `still holding the process after the last test: ${message.resources.join(", ")}`,
        );
        break;
    }
  };

  expectReport();
  const lines = createInterface({ input: child.stdio[REPORT_FD] as Readable });
  lines.on("line", (line) => {
    take(JSON.parse(line) as Report);
  });
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text: string) => {
      open.output += text;
    });
  const linesClosed = new Promise((resolve) => lines.once("close", resolve));
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>(
    (resolve, reject) => {
      child.once("error", reject);
      child.once("close", (...status) => {
        resolve(status);
      });
    },
  );
  await linesClosed;
  clearTimeout(watchdog);
  running.delete(child);

  const status = signal === null ? `exit code ${code}` : `signal ${signal}`;
  if (!ended) {
    // A process that dies between two files is the fault of the file before; with none before, of
    // the first one.
    const text =
      verdict === "" ? `the process ended with ${status} during "${open.doing}"` : verdict;
    if (heldBack !== undefined && open.file === heldBack.file) {
      onResult(withFailure(heldBack, text, open));
      return finished;
    }
    release();
    onResult({
      file: open.file,
      passed: open.passes,
      failed: open.failed + 1,
      skipped: 0,
      ms: Date.now() - open.started,
      failures: [...open.failures, text],
      output: open.output,
    });
    return finished + 1;
  }
  const atExit =
    verdict !== ""
      ? verdict
      : code !== 0
        ? `all tests reported, then the process ended with ${status}`
        : "";
  if (heldBack !== undefined)
    onResult(atExit !== "" || open.failed > 0 ? withFailure(heldBack, atExit, open) : heldBack);
  return finished;
}

/** Adds what went wrong after a file was done. */
function withFailure(result: FileResult, text: string, after: Open): FileResult {
  const failures = [...result.failures, ...after.failures, ...(text === "" ? [] : [text])];
  return {
    ...result,
    failed: result.failed + after.failed + (text === "" ? 0 : 1),
    failures,
    output: result.output + after.output,
  };
}

function newOpen(file: string, started: number): Open {
  return { file, doing: "loading", passes: 0, failures: [], failed: 0, output: "", started };
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
