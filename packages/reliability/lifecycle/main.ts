/**
 * `npm run reliability -- lifecycle`: processes that end in every state, many times: they end by
 * themselves, in time, with the code they asked for, and never by a crash.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import type { HarnessOptions } from "../main.ts";

/** How a state is expected to end. */
export interface Expected {
  readonly state: string;
  readonly code: number;
  /** Sent once the child says that it is ready. */
  readonly signal?: "SIGINT" | "SIGTERM";
  /** What must be on stderr. */
  readonly says?: string;
}

/** Every state, and how it must end. */
export const expected: readonly Expected[] = [
  { state: "initialized", code: 0 },
  { state: "end of main with a pending read", code: 0 },
  { state: "exit with a pending read", code: 3 },
  { state: "exit while the device computes", code: 3 },
  { state: "exit inside a step", code: 3 },
  { state: "exit while initializing", code: 3 },
  { state: "exit with mapped buffers", code: 3 },
  { state: "uncaught exception", code: 1, says: "planned" },
  { state: "unhandled rejection", code: 1, says: "planned" },
  { state: "exception in a step", code: 1, says: "planned" },
  { state: "signal while reading", code: -1, signal: "SIGINT" },
  { state: "signal inside a step", code: -1, signal: "SIGTERM" },
  { state: "shut down", code: 0 },
  { state: "shut down with a pending read", code: 0 },
  { state: "shut down inside a step", code: 0 },
  { state: "worker that ends", code: 0 },
  { state: "worker terminated when it is idle", code: 0 },
  { state: "worker terminated after it was shut down", code: 0 },
  { state: "exit while a worker is idle", code: 3 },
  { state: "exit of a worker that computes", code: 0 },
  { state: "uncaught exception in a worker", code: 1, says: "planned" },
];

/** What one child did. */
export interface Ending {
  readonly state: string;
  readonly seconds: number;
  /** null when all went as expected. */
  readonly problem: string | null;
}

/** A child that takes longer hangs, however busy the machine is. Milliseconds. */
const patience = 600_000;

/** Starts one child in a state and waits for its end. */
export async function endIn(want: Expected): Promise<Ending> {
  const started = performance.now();
  const child = spawn(
    process.execPath,
    [
      "--import",
      "tsx",
      "--conditions=tenure:source",
      join(import.meta.dirname, "child.ts"),
      want.state,
    ],
    { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, TENURE_DEVICE: "software" } },
  );
  const { code, signal, stderr } = await endOf(child, want.signal);
  const seconds = (performance.now() - started) / 1000;
  return { state: want.state, seconds, problem: judge(want, code, signal, stderr) };
}

interface End {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
}

function endOf(child: ChildProcess, send: Expected["signal"]): Promise<End> {
  return new Promise((resolve) => {
    let stderr = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    child.stdout?.on("data", () => {
      if (send !== undefined) setTimeout(() => child.kill(send), 20);
    });
    const timer = setTimeout(() => {
      stderr += "\nit did not end by itself";
      child.kill("SIGKILL");
    }, patience);
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, stderr });
    });
  });
}

/** What the child says where the driver may go on while the process is taken down. */
const threadsLeft = /\d+ threads of the driver are left/;

function judge(
  want: Expected,
  code: number | null,
  signal: NodeJS.Signals | null,
  stderr: string,
): string | null {
  const lines = stderr.trim().split("\n");
  const error = lines.find((line) => /^\w*Error\b/.test(line)) ?? "";
  const tail = [error, ...lines.slice(-3)].join(" / ").slice(0, 300);
  if (want.signal === undefined && (signal !== null || code !== want.code))
    return `ended with ${signal ?? code}, not with ${want.code}: ${tail}`;
  if (want.signal !== undefined && signal !== want.signal)
    return `ended with ${signal ?? code}, not by ${want.signal}: ${tail}`;
  if (want.says !== undefined && !stderr.includes(want.says)) return `did not say ${want.says}`;
  if (stderr.includes("internal:")) return tail;
  return threadsLeft.exec(stderr)?.[0] ?? null;
}

/** Ends processes in every state in turn, `count` of them. */
export async function endMany(count: number): Promise<Ending[]> {
  const endings: Ending[] = [];
  for (let k = 0; k < count; k++) {
    const want = expected[k % expected.length];
    if (want !== undefined) endings.push(await endIn(want));
  }
  return endings;
}

/** One row for each state, and below the table what went wrong. */
export function lifecycleTable(endings: readonly Ending[]): string {
  const rows = ["| state | endings | slowest | wrong |", "| --- | ---: | ---: | ---: |"];
  for (const { state } of expected) {
    const these = endings.filter((e) => e.state === state);
    if (these.length === 0) continue;
    const slowest = Math.max(...these.map(({ seconds }) => seconds)).toFixed(1);
    const wrong = these.filter(({ problem }) => problem !== null).length;
    rows.push(`| ${state} | ${these.length} | ${slowest} s | ${wrong} |`);
  }
  const wrong = endings.filter(({ problem }) => problem !== null);
  rows.push(`| all | ${endings.length} | | ${wrong.length} |`, "");
  for (const { state, problem } of wrong) rows.push(`- ${state}: ${problem ?? ""}`);
  return rows.join("\n");
}

/** For `npm run reliability`. */
export async function run({ count = 200 }: HarnessOptions): Promise<string> {
  return lifecycleTable(await endMany(count));
}
