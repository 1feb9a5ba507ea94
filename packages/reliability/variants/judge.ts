/**
 * Computes a problem in every way in which its kernels can be written: each result is what plain
 * arithmetic says, and has the same bits when the plan runs again. Called by `main.ts`. Its tensors
 * end with each run.
 */
import { type Tensor, scoped, sync } from "tenure";
import { questionKey, type Question } from "../../tenure/src/device/choices.ts";
import type { Watcher } from "../../tenure/src/runtime/candidates.ts";
import { runtime } from "../../tenure/src/runtime/runtime.ts";
import { upload } from "../../tenure/test/gpu/ops/host.ts";
import type { Expected, Problem } from "./problem.ts";

/** What a problem came to. */
export interface Verdict {
  /** Ways of each kernel that were run. */
  readonly ways: Readonly<Record<string, readonly string[]>>;
  /** Times the whole problem was computed. */
  readonly runs: number;
  readonly problems: readonly string[];
}

type Results = readonly { readonly shape: readonly number[]; readonly values: ArrayLike<number> }[];

async function compute(problem: Problem): Promise<Results> {
  const reads = scoped(() => {
    const inputs = problem.inputs.map((h, i) => upload(h, problem.views[i] ?? "plain"));
    return problem.run(inputs).map((t: Tensor) => ({ shape: t.shape, values: t.data() }));
  });
  return await Promise.all(
    reads.map(async ({ shape, values }) => ({ shape, values: await values })),
  );
}

/** What differs most, or nothing. */
function difference(found: Results, expected: readonly Expected[]): string | undefined {
  for (const [r, want] of expected.entries()) {
    const got = found[r];
    if (got?.shape.join() !== want.shape.join())
      return `result ${r}: shape [${String(got?.shape.join())}], not [${want.shape.join()}]`;
    let wrong = 0;
    let first = "";
    for (let i = 0; i < want.values.length; i++) {
      const [a, b] = [Number(got.values[i]), want.values[i]!];
      if (a === b || (Number.isNaN(a) && Number.isNaN(b))) continue;
      if (Math.abs(a - b) <= want.abs + want.rel * Math.abs(b)) continue;
      if (wrong++ === 0) first = `${a} at ${i}, not ${b}`;
    }
    if (wrong > 0) return `result ${r}: ${first}; ${wrong} of ${want.values.length} are wrong`;
  }
  return undefined;
}

function sameBits(a: Results, b: Results): boolean {
  return a.every(({ values }, r) => {
    const others = b[r]?.values ?? [];
    for (let i = 0; i < values.length; i++) if (!Object.is(values[i], others[i])) return false;
    return true;
  });
}

/** Computes a problem, and tells what its kernels ask. */
async function hearing(problem: Problem, questions: Map<string, Question>): Promise<Results> {
  const { caches, engine } = runtime();
  caches.clear();
  const { watchers } = engine.compiler;
  const watcher: Watcher = (find) => {
    for (const { question } of find()) questions.set(questionKey(question), question);
  };
  watchers.add(watcher);
  try {
    return await compute(problem);
  } finally {
    watchers.delete(watcher);
  }
}

/**
 * Computes a problem in the standard way, in every other one, and with the standards of the other
 * class of adapter.
 */
export async function judge(problem: Problem): Promise<Verdict> {
  const { device, caches } = runtime();
  if (device === null) throw new Error("expected a device");
  const { choices } = device;
  const ways: Record<string, string[]> = {};
  const problems: string[] = [];
  let runs = 0;
  const check = (results: Results, way: string): void => {
    const wrong = difference(results, problem.expected);
    if (wrong !== undefined) problems.push(`${problem.label}, ${way}: ${wrong}`);
  };
  const attempt = async (way: string, run: () => Promise<Results>): Promise<void> => {
    try {
      const first = await run();
      const second = await compute(problem);
      runs += 2;
      check(first, way);
      if (!sameBits(first, second))
        problems.push(`${problem.label}, ${way}: other bits when it runs again`);
    } catch (error) {
      problems.push(`${problem.label}, ${way}: ${String(error)}`);
    }
  };
  const asked = new Map<string, Question>();
  await attempt("the standard way", () => hearing(problem, asked));
  const questions = [...asked.values()];
  const most = Math.max(0, ...questions.map((q) => q.space.length));
  for (let turn = 0; turn < most; turn++) {
    const names = questions.map(({ kernel, space }) => {
      const way = space[turn % space.length] ?? "";
      (ways[kernel] ??= []).push(way);
      return `${kernel} ${way}`;
    });
    choices.turn = turn;
    caches.clear();
    await attempt(names.join(", "), () => compute(problem));
  }
  choices.turn = null;
  caches.clear();
  const { software } = device.caps;
  Object.assign(device.caps, { software: !software });
  await attempt(software ? "as on a GPU" : "as on a CPU", () => compute(problem));
  Object.assign(device.caps, { software });
  caches.clear();
  await sync();
  return { ways, runs, problems };
}
