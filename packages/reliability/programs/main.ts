/**
 * `npm run reliability -- programs`: random whole programs against a plain interpreter. Bits are
 * equal, handles live as long as their owners, the books balance after each program. They run on
 * the watched device, which computes on the host and complains of what drivers let pass; with
 * `--mode software` on the packaged software adapter, where compiling their kernels takes most of
 * the time.
 */
import { init, memory, shutdown, sync } from "tenure";
import type { Pieces } from "../pieces.ts";
import { Random } from "../random.ts";
import { type WatchedGPU, installWatched, uninstallWatched } from "../wgsl/device.ts";
import { type Counts, Coverage, addCounts } from "./coverage.ts";
import { runProgram } from "./program.ts";

/** Where programs run. */
export type ProgramsMode = "watched" | "software";

/** What was seen. */
export interface ProgramsReport {
  readonly programs: number;
  readonly problems: readonly string[];
  /** What the programs did. */
  readonly coverage: Counts;
  /** What the library counted. */
  readonly counters: Counts;
}

/** Runs `count` programs; the k-th depends on `seed + k` alone. */
export async function runPrograms(
  count: number,
  seed: number,
  mode: ProgramsMode = "watched",
): Promise<ProgramsReport> {
  await shutdown(); // whoever ran before in this process may have had a device without contents
  const gpu = mode === "watched" ? installWatched(new Random(seed)) : undefined;
  const problems: string[] = [];
  const stray = (error: unknown): void => {
    problems.push(`nobody caught ${String(error)}`);
  };
  process.on("unhandledRejection", stray);
  const coverage = new Coverage();
  let programs = 0;
  await init({ device: "software" });
  const before = memory.debug();
  try {
    for (; programs < count && problems.length < 20; programs++) {
      const found = await oneProgram(seed + programs, coverage, gpu);
      for (const problem of found) problems.push(`seed ${seed + programs}: ${problem}`);
    }
  } finally {
    process.off("unhandledRejection", stray);
  }
  const counters = Object.fromEntries(
    Object.entries(memory.debug()).map(([name, n]) => [
      name,
      n - before[name as keyof typeof before],
    ]),
  );
  if (gpu !== undefined) {
    await shutdown();
    uninstallWatched();
  }
  return { programs, problems, coverage: coverage.counts, counters };
}

async function oneProgram(
  seed: number,
  coverage: Coverage,
  gpu: WatchedGPU | undefined,
): Promise<string[]> {
  if (gpu !== undefined) gpu.random = new Random(~seed);
  const problems = await withPatience(runProgram(new Random(seed), coverage));
  try {
    await sync();
    memory.verify();
  } catch (error) {
    problems.push(String(error));
  }
  const { threadTotalLiveCount } = memory.stats();
  if (threadTotalLiveCount !== 0) problems.push(`${threadTotalLiveCount} tensors are left`);
  problems.push(...(gpu?.complaints.splice(0) ?? []));
  return problems;
}

/** A program that hangs is a finding, too. */
async function withPatience(work: Promise<string[]>): Promise<string[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string[]>((resolve) => {
    timer = setTimeout(() => resolve(["it did not end within 30 s"]), 30_000);
  });
  const result = await Promise.race([work, late]);
  clearTimeout(timer);
  return result;
}

/** For `npm run reliability`. */
export const pieces: Pieces<ProgramsReport> = {
  total: 100_000,
  size: 1000,
  run: ({ count, seed, mode }) => runPrograms(count, seed, modeOf(mode)),
  report(results, { seed, mode }) {
    const coverage: Counts = {};
    const counters: Counts = {};
    for (const result of results) {
      addCounts(coverage, result.coverage);
      addCounts(counters, result.counters);
    }
    const programs = results.reduce((n, r) => n + r.programs, 0);
    const problems = results.flatMap((r) => r.problems);
    return [
      "| programs | device | first seed | wrong |",
      "| ---: | --- | ---: | ---: |",
      `| ${programs} | ${modeOf(mode)} | ${seed} | ${problems.length} |`,
      "",
      ...countTable("what they did", coverage),
      "",
      ...countTable("what the library counted", counters),
      ...problems.map((p) => `\n- ${p}`),
    ].join("\n");
  },
};

function modeOf(mode: string | undefined): ProgramsMode {
  if (mode === undefined || mode === "watched" || mode === "software") return mode ?? "watched";
  throw new Error(`programs: expected --mode watched or software, got ${mode}`);
}

function countTable(title: string, counts: Counts): string[] {
  const rows = Object.entries(counts).map(([kind, n]) => `| ${kind} | ${n} |`);
  return [`| ${title} | times |`, "| --- | ---: |", ...rows];
}
