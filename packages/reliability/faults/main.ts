/**
 * `npm run reliability -- faults`: every call of every kind that a short training run makes at the
 * device boundary fails once, without a scheduler, in one, in one under a budget, with a part that
 * is computed again, and compiled. Prints a table by kind and every point that ended badly.
 */
import { create, globals } from "webgpu";
import { installSoftwareVulkan } from "tenure-software-gpu";
import { init, shutdown } from "tenure";
import { BudgetError } from "tenure/scheduler";
import { type FaultKind, FaultPoint, faultKinds, faultyGPU } from "./device.ts";
import { type Injector, type Reference, type Verdict, inject, reference } from "./run.ts";
import { type Mode, Training, isLimited, modes as allModes } from "./training.ts";

/** What to run. */
export interface FaultOptions {
  /** Every n-th point of each kind; 1 for all. */
  readonly every?: number;
  readonly modes?: readonly Mode[];
  readonly kinds?: readonly FaultKind[];
  /** Told of each verdict. */
  readonly onVerdict?: (verdict: Verdict) => void;
}

/** Makes the packaged software adapter the realm's `navigator.gpu`, behind the injector. */
async function install(): Promise<Injector> {
  await installSoftwareVulkan({ force: true });
  Object.assign(globalThis, globals);
  const injector: Injector = { point: new FaultPoint() };
  const gpu = faultyGPU(create([]), () => injector.point);
  const navigator: object = globalThis.navigator ?? {};
  Object.defineProperty(navigator, "gpu", { value: gpu, configurable: true });
  Object.defineProperty(globalThis, "navigator", { value: navigator, configurable: true });
  return injector;
}

/** The least budget under which the run works: values wait on the host and are made again. */
async function leastBudget(injector: Injector, mode: Mode): Promise<number> {
  await shutdown();
  injector.point = new FaultPoint();
  await init();
  using training = new Training(mode, 1);
  try {
    await training.step(0);
  } catch (error) {
    if (error instanceof BudgetError) return error.leastBytes;
    throw error;
  }
  throw new Error("a step fits into one byte");
}

/** Injects faults. @returns all verdicts */
export async function injectFaults(options: FaultOptions = {}): Promise<Verdict[]> {
  const { every = 1, modes = allModes, kinds = faultKinds } = options;
  const injector = await install();
  const verdicts: Verdict[] = [];
  for (const mode of modes) {
    const budget = isLimited(mode) ? await leastBudget(injector, mode) : undefined;
    const wanted = await reference(injector, mode, budget);
    for (const kind of kinds)
      for (const at of points(wanted, kind, every)) {
        const verdict = await inject(injector, wanted, kind, at);
        verdicts.push(verdict);
        options.onVerdict?.(verdict);
      }
  }
  return verdicts;
}

/** Calls that fail in turn: of every so many, the one in the middle. */
function* points(wanted: Reference, kind: FaultKind, every: number): Generator<number> {
  const last = wanted.point.chances(kind);
  for (let from = 1; from <= last; from += every)
    yield from + ((Math.min(every, last - from + 1) - 1) >> 1);
}

/** One row for each kind, and below the table every point that ended badly. */
export function faultTable(verdicts: readonly Verdict[]): string {
  const rows = ["| mode | fault | points | ended badly |", "| --- | --- | ---: | ---: |"];
  const modes = [...new Set(verdicts.map(({ mode }) => mode))];
  for (const mode of modes)
    for (const kind of faultKinds) {
      const these = verdicts.filter((v) => v.mode === mode && v.kind === kind && v.fired);
      const bad = these.filter(({ problems }) => problems.length > 0).length;
      if (these.length > 0) rows.push(`| ${mode} | ${kind} | ${these.length} | ${bad} |`);
    }
  const fired = verdicts.filter((v) => v.fired);
  const bad = fired.filter(({ problems }) => problems.length > 0);
  rows.push(`| all | | ${fired.length} | ${bad.length} |`, "");
  for (const { mode, kind, at, problems } of bad)
    rows.push(`- ${mode}, ${kind}, call ${at}: ${problems.join(" · ")}`);
  return rows.join("\n");
}

/** For `npm run reliability`. */
export async function run(args: {
  readonly every: number;
  readonly mode: string | undefined;
  readonly kind: string | undefined;
}): Promise<string> {
  const { mode, kind } = args;
  const verdicts = await injectFaults({
    every: args.every,
    modes: allModes.filter((m) => mode === undefined || m === mode),
    kinds: faultKinds.filter((k) => kind === undefined || k.includes(kind)),
    onVerdict: (v) => {
      if (v.problems.length > 0)
        console.error(`${v.mode}, ${v.kind}, call ${v.at}: ${v.problems.join(" · ")}`);
    },
  });
  return faultTable(verdicts);
}
