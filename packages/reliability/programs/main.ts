/**
 * `npm run reliability -- programs`: random whole programs against a plain interpreter. Bits are
 * equal, handles live as long as their owners, the books balance after each program.
 */
import { init, memory, shutdown, sync } from "tenure";
import type { HarnessOptions } from "../main.ts";
import { Random } from "../random.ts";
import { runProgram } from "./program.ts";

/** What was seen. */
export interface ProgramsReport {
  readonly programs: number;
  readonly problems: readonly string[];
}

/** Runs `count` programs; the k-th depends on `seed + k` alone. */
export async function runPrograms(count: number, seed: number): Promise<ProgramsReport> {
  await shutdown(); // whoever ran before in this process may have had a device without contents
  await init();
  const problems: string[] = [];
  const stray = (error: unknown): void => {
    problems.push(`nobody caught ${String(error)}`);
  };
  process.on("unhandledRejection", stray);
  let programs = 0;
  for (; programs < count && problems.length < 20; programs++) {
    const found = await oneProgram(seed + programs);
    for (const problem of found) problems.push(`seed ${seed + programs}: ${problem}`);
  }
  process.off("unhandledRejection", stray);
  return { programs, problems };
}

async function oneProgram(seed: number): Promise<string[]> {
  const problems = await withPatience(runProgram(new Random(seed)));
  try {
    await sync();
    memory.verify();
  } catch (error) {
    problems.push(String(error));
  }
  const { threadTotalLiveCount } = memory.stats();
  if (threadTotalLiveCount !== 0) problems.push(`${threadTotalLiveCount} tensors are left`);
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
export async function run({ count = 100_000, seed }: HarnessOptions): Promise<string> {
  const { programs, problems } = await runPrograms(count, seed);
  const table =
    "| programs | first seed | wrong |\n| ---: | ---: | ---: |\n" +
    `| ${programs} | ${seed} | ${problems.length} |`;
  return [table, ...problems.map((p) => `\n- ${p}`)].join("\n");
}
