/**
 * What a scheduler knows of its plans from running them: how fast the device computes, and how far
 * ahead copies should be fetched. Written after each timed run, read when a plan is chosen. Owns no
 * memory.
 */
import { internal } from "../base/errors.ts";
import { type Rates, defaultRates } from "../planner/cost.ts";
import type { PlanOptions } from "../planner/plan-options.ts";
import type { Executable } from "../runtime/executable.ts";
import type { RunFigures } from "../runtime/execution/figures.ts";

/** Runs of a plan that are timed. */
const timedRuns = 6;

/** What is known of a plan from running it. */
export interface Experience {
  /** The budget it was made for, in bytes for the program alone. */
  readonly available: number;
  readonly flopsPerSecond: number;
  runs: number;
  /** How far ahead it fetches, as a multiple of what was asked for, and how far it should. */
  readonly planned: number;
  window: number;
  best: { window: number; seconds: number } | null;
  settled: boolean;
}

/** The experience with every plan of a scheduler, and the rates it measured. */
export class Learning {
  readonly #options: PlanOptions;
  readonly #known = new WeakMap<Executable, Experience>();
  rates: Partial<Rates>;

  constructor(options: PlanOptions) {
    this.#options = options;
    this.rates = options.rates ?? {};
  }

  /** The speed that plans are made for now. */
  get flopsPerSecond(): number {
    return this.rates.flopsPerSecond ?? defaultRates.flopsPerSecond;
  }

  /** What is known of a plan. */
  of(exe: Executable): Experience {
    const experience = this.#known.get(exe);
    if (experience === undefined) throw internal("a plan of another scheduler");
    return experience;
  }

  /** Begins to learn about a plan, with what was known of the one before it. */
  begin(exe: Executable, available: number, former?: Experience): void {
    const window = former?.window ?? 1;
    this.#known.set(exe, {
      available,
      flopsPerSecond: this.flopsPerSecond,
      runs: 0,
      planned: window,
      window,
      best: former?.best ?? null,
      settled: former?.settled ?? false,
    });
  }

  /** Measurements ask for another plan, but none fits: stays with this one. */
  keep(exe: Executable): void {
    const known = this.of(exe);
    const { flopsPerSecond } = this;
    this.#known.set(exe, { ...known, flopsPerSecond, window: known.planned, settled: true });
  }

  /** Whether runs of the plan still teach something. */
  wantsTiming(exe: Executable): boolean {
    return (exe.inSegments || exe.plan.extra.recomputedOps > 0) && this.of(exe).runs < timedRuns;
  }

  /**
   * Whether measurements say that another plan would do better: the device computes much faster or
   * slower than was thought, or another window is to be tried.
   */
  wantsAnother(exe: Executable): boolean {
    const { flopsPerSecond, window, planned } = this.of(exe);
    const now = this.flopsPerSecond;
    const matters =
      exe.plan.extra.seconds > 0 &&
      this.#options.recompute !== "off" &&
      this.#options.swap !== "off";
    if (matters && (now > 8 * flopsPerSecond || now < flopsPerSecond / 8)) return true;
    return window !== planned;
  }

  /**
   * What a run says of the device's speed and of the window; `seconds` when it was timed. The first
   * run of a plan also compiles and says nothing.
   */
  ran(exe: Executable, figures: RunFigures, seconds: number | null): void {
    const experience = this.of(exe);
    if (seconds !== null && experience.runs > 0) {
      this.#learnSpeed(exe, figures, seconds);
      if (exe.inSegments && !experience.settled) learnWindow(experience, figures, seconds);
    }
    experience.runs++;
  }

  #learnSpeed({ plan }: Executable, { stallSeconds }: RunFigures, seconds: number): void {
    const { recomputeFlops, swapInBytes, swapOutBytes } = plan.extra;
    const { inBytesPerSecond = Infinity, outBytesPerSecond = Infinity } = this.rates;
    const copying = swapInBytes / inBytesPerSecond + swapOutBytes / outBytesPerSecond;
    const computing = Math.max(seconds / 4, seconds - stallSeconds - copying);
    if (this.#options.rates === undefined && plan.flops > 0)
      this.rates = { ...this.rates, flopsPerSecond: (plan.flops + recomputeFlops) / computing };
  }
}

/** Stalls cost: fetch earlier, as long as that helps; else go back to what was best. */
function learnWindow(experience: Experience, { stallSeconds }: RunFigures, seconds: number): void {
  const { best, window } = experience;
  const better = best === null || seconds < 0.97 * best.seconds;
  if (better) experience.best = { window, seconds };
  const bestWindow = better ? window : best.window;
  const next = better && stallSeconds > 0.05 * seconds && window < 8 ? 2 * window : bestWindow;
  if (next === bestWindow) experience.settled = true;
  experience.window = next;
}
