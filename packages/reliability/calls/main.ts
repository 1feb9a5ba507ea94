/**
 * `npm run reliability -- calls`: hostile values for every argument and option of everything that
 * users can call, as the declarations have it. Each call must give a result or an error of the
 * library that says what to do, and lose nothing. Runs on the null device, in a process of its own,
 * which is started again after the call that ended it.
 */
import { fork } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { HarnessOptions } from "../main.ts";
import type { Count, Order, Told } from "./child.ts";

/** What was seen. */
export interface CallsRecord {
  callees: number;
  calls: number;
  refused: number;
  /** What has no call that works, and why. */
  readonly missing: string[];
  /** By what is wrong: the calls, and the values that took the place of something valid. */
  readonly problems: Map<string, string[]>;
}

/** Milliseconds: one call may keep the process busy so long. */
const patience = 30_000;
/** After so many ends of the process there is enough to mend. */
const mostEnds = 50;

/** Makes about `count` calls, so many of each callee, or all. */
export async function call(
  count: Count | undefined,
  seed: number,
  only?: string,
): Promise<CallsRecord> {
  const record: CallsRecord = {
    callees: 0,
    calls: 0,
    refused: 0,
    missing: [],
    problems: new Map(),
  };
  const progress = join(mkdtempSync(join(tmpdir(), "calls-")), "progress");
  let from = 0;
  for (let ends = 0; ends < mostEnds; ends++) {
    const ended = await oneProcess({ seed, count, from, only, progress }, record);
    if (ended === undefined) break;
    const at = lastCall(progress);
    if (at === undefined) throw new Error(`the process ended before the first call: ${ended}`);
    record.calls += at.calls + 1;
    record.refused += at.refused;
    note(record, at.label, `the process ended: ${ended}`);
    from = at.index + 1;
  }
  return record;
}

/** The call that ended a process, and how many that process had made before. */
interface LastCall {
  readonly index: number;
  readonly calls: number;
  readonly refused: number;
  readonly label: string;
}

function lastCall(progress: string): LastCall | undefined {
  const [, index, calls, refused, label] =
    /^(\d+) (\d+) (\d+) (.*)$/.exec(lastCallText(progress).trim()) ?? [];
  if (label === undefined) return undefined;
  return { index: Number(index), calls: Number(calls), refused: Number(refused), label };
}

function note({ problems }: CallsRecord, label: string, text: string): void {
  const list = problems.get(text);
  if (list === undefined) problems.set(text, [label]);
  else list.push(label);
}

/** Runs a child to its end; how it ended, if not by itself. */
function oneProcess(order: Order, record: CallsRecord): Promise<string | undefined> {
  writeFileSync(order.progress, ""); // nothing of the process before
  const child = fork(join(import.meta.dirname, "child.ts"), [JSON.stringify(order)], {
    env: { ...process.env, TENURE_DEVICE: "null", TENURE_DEBUG: "" },
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  let stderr = "",
    seen = "",
    done = false;
  child.stderr?.on("data", (chunk: Buffer) => {
    stderr = (stderr + chunk.toString()).slice(-2000);
  });
  const begin = performance.now();
  const watch = setInterval(() => {
    const now = lastCallText(order.progress);
    if (now === seen && (now !== "" || performance.now() > begin + 12 * patience))
      child.kill("SIGKILL");
    seen = now;
  }, patience);
  child.on("message", (told: Told) => {
    if (told.kind === "found") {
      record.callees = told.callees;
      record.missing.splice(0, Infinity, ...told.missing);
    } else if (told.kind === "problem") note(record, `${told.label} = ${told.hostile}`, told.text);
    else {
      record.calls += told.calls;
      record.refused += told.refused;
      done = true;
    }
  });
  return new Promise((resolve) => {
    child.on("close", (code, signal) => {
      clearInterval(watch);
      resolve(done ? undefined : `${signal ?? code}: ${stderr.trim().slice(-300)}`);
    });
  });
}

function lastCallText(progress: string): string {
  try {
    return readFileSync(progress, "utf8");
  } catch {
    return ""; // before the first call
  }
}

/** Totals, and below them what went wrong. */
export function callsTable({ callees, calls, refused, missing, problems }: CallsRecord): string {
  const lines = [
    "| functions, classes, methods | hostile calls | results | refused | wrong |",
    "| ---: | ---: | ---: | ---: | ---: |",
    `| ${callees} | ${calls} | ${calls - refused} | ${refused} | ${problems.size} |`,
    "",
  ];
  for (const text of missing) lines.push(`- no call works: ${text}`);
  for (const [text, labels] of problems) lines.push(`- ${text}: ${summed(labels)}`);
  return lines.join("\n");
}

function summed(labels: readonly string[]): string {
  const shown = labels.slice(0, 6).join(", ");
  return labels.length > 6 ? `${shown} and ${labels.length - 6} more` : shown;
}

/** For `npm run reliability`. */
export async function run({ count, seed, kind }: HarnessOptions): Promise<string> {
  return callsTable(await call(count, seed, kind));
}
