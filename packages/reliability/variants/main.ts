/**
 * `npm run reliability -- variants`: every way in which kernels can be written, against plain
 * arithmetic in float64. Random products, convolutions, attention, reductions, softmax and
 * normalisations with their gradients; with `--mode values` the cases of the tests of op values.
 * `--kind` takes one family.
 */
import { init, memory } from "tenure";
import { runtime } from "../../tenure/src/runtime/runtime.ts";
import type { Pieces } from "../pieces.ts";
import { Random } from "../random.ts";
import { attention } from "./attentions.ts";
import { convolution } from "./convolutions.ts";
import { judge } from "./judge.ts";
import { opValues } from "./op-values.ts";
import type { Family, Problem } from "./problem.ts";
import { product } from "./products.ts";
import { normalisation, reduction, softmax } from "./rows.ts";

/** What problems are drawn from. */
export const families: Readonly<Record<string, Family>> = {
  product,
  convolution,
  attention,
  reduction,
  softmax,
  normalisation,
};

/** What was seen of a family, or of all. */
export interface VariantsReport {
  /** Problems, by family. */
  readonly problems: Readonly<Record<string, number>>;
  /** Problems in which a kernel was written in a way, by kernel and way. */
  readonly ways: Readonly<Record<string, number>>;
  /** Times a problem was computed. */
  readonly runs: number;
  readonly wrong: readonly string[];
}

/** What to run. */
export interface VariantsOptions {
  /** The k-th problem depends on `seed + k` alone. */
  readonly seed: number;
  readonly count: number;
  readonly mode?: string | undefined;
  readonly kind?: string | undefined;
}

/** The problem of a seed and its family; undefined past the last case. */
function problemOf(
  seed: number,
  values: readonly Problem[] | null,
  kind: string | undefined,
): [string, Problem] | undefined {
  if (values !== null) {
    const problem = values[seed - 1];
    return problem === undefined ? undefined : ["op values", problem];
  }
  const all = Object.entries(families).filter(([name]) => kind === undefined || name === kind);
  const [name, family] = all[seed % all.length] ?? [];
  if (name === undefined || family === undefined)
    throw new Error(
      `variants: expected --kind ${Object.keys(families).join(" or ")}, got ${String(kind)}`,
    );
  return [name, family(new Random(seed))];
}

/** What is left behind or was complained of since the last problem. */
function aftermath(): string[] {
  const { device } = runtime();
  device?.takeErrors();
  const found = (device?.errorLog.splice(0) ?? []).map(String);
  const { threadTotalLiveCount } = memory.stats();
  if (threadTotalLiveCount !== 0) found.push(`${threadTotalLiveCount} tensors are left`);
  try {
    memory.verify();
  } catch (error) {
    found.push(String(error));
  }
  return found;
}

/** Runs problems on the device in use. */
export async function runVariants(options: VariantsOptions): Promise<VariantsReport> {
  const { seed, count, mode, kind } = options;
  if (mode !== undefined && mode !== "values")
    throw new Error(`variants: expected --mode values or none, got ${mode}`);
  await init();
  const { settings, parts } = runtime();
  parts.want("inspection");
  settings.verifyPlans = true;
  settings.poison = true;
  settings.planningMs = 60_000;
  await parts.load(["budgets"]); // which runs programs whose buffers are poisoned
  const problems: Record<string, number> = {};
  const ways: Record<string, number> = {};
  const wrong: string[] = [];
  let runs = 0;
  const values = mode === "values" ? opValues() : null;
  for (let k = seed; k < seed + count && wrong.length < 40; k++) {
    const drawn = problemOf(k, values, kind);
    if (drawn === undefined) break;
    const [family, problem] = drawn;
    const verdict = await judge(problem);
    problems[family] = (problems[family] ?? 0) + 1;
    runs += verdict.runs;
    for (const [kernel, names] of Object.entries(verdict.ways))
      for (const way of new Set(names)) {
        const name = `${kernel}: ${way}`;
        ways[name] = (ways[name] ?? 0) + 1;
      }
    for (const text of [...verdict.problems, ...aftermath()]) wrong.push(`seed ${k}: ${text}`);
  }
  return { problems, ways, runs, wrong };
}

function add(into: Record<string, number>, from: Readonly<Record<string, number>>): void {
  for (const [name, n] of Object.entries(from)) into[name] = (into[name] ?? 0) + n;
}

/** The problems of each family, and how often each kernel was written in each of its ways. */
function tableOf(results: readonly VariantsReport[]): string {
  const problems: Record<string, number> = {};
  const ways: Record<string, number> = {};
  for (const r of results) {
    add(problems, r.problems);
    add(ways, r.ways);
  }
  const runs = results.reduce((n, r) => n + r.runs, 0);
  const wrong = results.flatMap((r) => r.wrong);
  return [
    "| family | problems |",
    "| --- | ---: |",
    ...Object.entries(problems).map(([name, n]) => `| ${name} | ${n} |`),
    "",
    "| computed | wrong |",
    "| ---: | ---: |",
    `| ${runs} | ${wrong.length} |`,
    "",
    "| kernel: written as | problems |",
    "| --- | ---: |",
    ...Object.entries(ways)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, n]) => `| ${name} | ${n} |`),
    ...wrong.map((text) => `\n- ${text}`),
  ].join("\n");
}

/** For `npm run reliability`. */
export const pieces: Pieces<VariantsReport> = {
  total: 1200,
  size: 60,
  run: runVariants,
  report: (results) => tableOf(results),
};
