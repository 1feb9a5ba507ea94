/**
 * What the runtime did last, for people who look inside: the plan and its kernels, what was not
 * fused and why, the plan-cache miss and what differed. Filled in by the compiler, the plan caches
 * and the recorder; prints under the words of `TENURE_DEBUG`; read through `debug`. Keeps names,
 * numbers and shader text only, no storage.
 */
import { type DebugWord, debugs } from "../base/debug.ts";
import { formatShape } from "../base/shape.ts";
import type { View } from "../kernels/kernel.ts";
import type { RunnablePlan } from "../planner/runnable-plan.ts";
import type { PlanReport } from "../planner/plan-report.ts";

/** Plans that are remembered after they ran. */
const plansKept = 4;

/** One kernel of a plan. */
export interface KernelRecord {
  /** Name of the op, or of the ops it consists of: `matmul+add+relu`. */
  readonly name: string;
  readonly ops: readonly string[];
  /** Kernels with equal keys share a pipeline. */
  readonly key: string;
  readonly wgsl: string;
  readonly workgroups: readonly [number, number, number];
}

/** A value that one kernel hands to another through memory. */
export interface UnfusedRecord {
  /** Number of each op in the order of recording, and its name. */
  readonly maker: { readonly op: number; readonly name: string };
  readonly reader: { readonly op: number; readonly name: string };
  readonly reason: string;
}

/** A program that was planned and compiled. */
export interface PlanRecord {
  /** Names of the recorded ops, in order. */
  readonly ops: readonly string[];
  readonly kernels: readonly KernelRecord[];
  readonly unfused: readonly UnfusedRecord[];
  readonly report: PlanReport;
  /** Planning took too long, so that the ops run unfused and in order. */
  readonly tookTooLong: boolean;
  /** The above as text. */
  toString(): string;
}

/** A program for which no plan was known. */
export interface MissRecord {
  /** Plans that were known, and the words of the program's signature. */
  readonly plans: number;
  readonly words: number;
  /** The first word that no known plan has, or null when there was no plan. */
  readonly word: number | null;
  /** What that word stands for. */
  readonly difference: string;
}

/** A call of a compiled function that could not be repeated from its recording. */
export interface FallbackRecord {
  /** Name of the function. */
  readonly name: string;
  readonly reason: string;
}

/** What compile.ts hands over; the costly parts are worked out when they are looked at. */
export interface Planned {
  readonly ops: readonly string[];
  readonly kernels: readonly KernelRecord[];
  readonly unfused: () => readonly UnfusedRecord[];
  readonly plan: RunnablePlan;
  readonly tookTooLong: boolean;
}

/** What a plan cache hands over of a program. */
interface Missed {
  readonly ops: readonly {
    readonly op: { readonly name: string; key?(attrs: unknown): readonly number[] };
    readonly attrs: unknown;
    readonly inputs: readonly View[];
    readonly signatureStart: number;
  }[];
  readonly locals: readonly unknown[];
  readonly signature: { readonly words: Int32Array; readonly length: number };
}

/** Remembers the last plan and the last miss, and prints what `TENURE_DEBUG` asks for. */
export class Inspector {
  #plan: Planned | undefined;
  #miss: MissRecord | undefined;
  #fallback: FallbackRecord | undefined;
  /** Different plans that ran last, latest last. */
  #ran: RunnablePlan[] = [];
  /** Whether ops are printed as they are recorded; read again at each miss of the cache. */
  showsOps: boolean = debugs("ops");

  /** The program that was compiled last. */
  get lastPlanned(): Planned | undefined {
    return this.#plan;
  }

  /** The last time that no plan was known for a program. */
  get lastMiss(): MissRecord | undefined {
    return this.#miss;
  }

  /** The last call of a compiled function that ran the function. */
  get lastFallback(): FallbackRecord | undefined {
    return this.#fallback;
  }

  /** Takes note of a compiled function that ran in full, and why. */
  fellBack(name: string, reason: string): void {
    this.#fallback = { name, reason };
    if (debugs("cache")) print("cache", `${name} runs in full: ${reason}`);
  }

  /** Takes note of a compiled program. @param show makes its text, where somebody may ask for it */
  planned(plan: Planned, show: ((plan: Planned) => unknown) | undefined): void {
    this.#plan = plan;
    if (debugs("plan")) print("plan", String(show?.(plan)));
    if (debugs("wgsl"))
      for (const { name, key, wgsl } of plan.kernels) print("wgsl", `${name} (${key})\n${wgsl}`);
  }

  /** Takes note of a plan that ran. */
  ran(plan: RunnablePlan): void {
    if (this.#ran.at(-1) === plan) return;
    this.#ran = [...this.#ran.filter((one) => one !== plan), plan].slice(-plansKept);
  }

  /** The plans that ran last, latest first. */
  ranPlans(): RunnablePlan[] {
    return this.#ran.toReversed();
  }

  /** Takes note of a program that no plan in the cache fits. */
  missed(program: Missed, known: Iterable<{ readonly words: Int32Array }>): void {
    this.showsOps = debugs("ops");
    const { words, length } = program.signature;
    let plans = 0;
    let word: number | null = null;
    let closest: Int32Array | undefined;
    for (const candidate of known) {
      plans++;
      const same = commonPrefix(candidate.words, words, length);
      if (word !== null && same < word) continue; // the latest of several
      word = same;
      closest = candidate.words;
    }
    const difference =
      word === null || closest === undefined
        ? "no plan was known"
        : describe(program, word, closest);
    this.#miss = { plans, words: length, word, difference };
    if (debugs("cache")) print("cache", `miss with ${plans} plans known: ${difference}`);
  }

  /** Prints an op that is being recorded. */
  recorded(name: string, inputs: readonly View[], outputs: readonly View[]): void {
    const list = (views: readonly View[]): string =>
      views.map((v) => `${v.dtype} ${formatShape(v.layout.shape)}`).join(", ");
    print("ops", `${name}(${list(inputs)}) -> ${list(outputs)}`);
  }
}

function print(word: DebugWord, text: string): void {
  console.error(`tenure ${word}: ${text}`);
}

function commonPrefix(a: Int32Array, b: Int32Array, length: number): number {
  const end = Math.min(a.length, length);
  let i = 0;
  while (i < end && a[i] === b[i]) i++;
  return i;
}

/** What a word of a signature stands for, and how the closest plan differs there. */
function describe({ ops, locals, signature }: Missed, word: number, closest: Int32Array): string {
  const now = signature.words[word];
  const then = closest[word];
  const sealed = signature.length - 2 * locals.length;
  if (word >= signature.length || then === undefined)
    return `the program has ${signature.length} words, the closest plan ${closest.length}`;
  if (word >= sealed) {
    const storage = Math.floor((word - sealed) / 2);
    if ((word - sealed) % 2 === 1) return `storage ${storage} has ${now} bytes, not ${then}`;
    return `storage ${storage} is ${ownership(now)}, not ${ownership(then)}`;
  }
  const index = ops.findLastIndex((o) => o.signatureStart <= word);
  const recorded = ops[index];
  if (recorded === undefined) return `upload into storage ${now}, not ${then}`;
  const { op, attrs, inputs, signatureStart } = recorded;
  const place = word - signatureStart;
  const name = `op ${index} (${op.name})`;
  if (place === 0) return `${name} is another op than in the closest plan`;
  const attributes = op.key?.(attrs).length ?? 0;
  if (place <= attributes) return `${name}: attribute ${place - 1} is ${now}, not ${then}`;
  return `${name}: ${operandWord(inputs, place - 1 - attributes, now, then)}`;
}

/** What word `place` of an op's operands says. The order is that of the recorder. */
function operandWord(
  inputs: readonly View[],
  place: number,
  now: number | undefined,
  then: number,
): string {
  let rest = place;
  for (const [i, { layout }] of inputs.entries()) {
    const { shape, contiguous } = layout;
    if (rest === 0) return `input ${i} is storage ${now}, not ${then}`;
    if (rest === 1) return `input ${i} has another dtype, rank or order in memory`;
    if (rest < 2 + shape.length)
      return `dimension ${rest - 2} of input ${i} is ${now}, not ${then}`;
    if (rest === 2 + shape.length) return `input ${i} begins elsewhere in its storage`;
    const strides = contiguous ? 0 : shape.length;
    if (rest < 3 + shape.length + strides) return `input ${i} has other strides`;
    rest -= 3 + shape.length + strides;
  }
  return `result ${rest} goes to storage ${now}, not ${then}`;
}

function ownership(flags: number | undefined): string {
  const owned = ((flags ?? 0) & 1) === 1 ? "owned" : "owned by nobody";
  return `${owned} and ${((flags ?? 0) & 2) === 2 ? "in memory" : "not in memory"}`;
}
