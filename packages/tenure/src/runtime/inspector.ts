/**
 * What the runtime did last, for people who look inside: the plan and its kernels, what was not
 * fused and why, the plan-cache miss and what differed. Filled in by the compiler, the plan caches
 * and the recorder; prints under the words of `TENURE_DEBUG`; read through `debug`. Keeps names,
 * numbers and shader text only, no storage.
 */
import type { Layout } from "../base/layout.ts";
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
interface MissedProgram {
  readonly ops: readonly {
    readonly op: { readonly name: string; key?(attrs: unknown): readonly number[] };
    readonly attrs: unknown;
    readonly inputs: readonly View[];
    readonly signatureStart: number;
  }[];
  readonly locals: readonly unknown[];
  readonly signature: { readonly words: Int32Array; readonly length: number };
}

/** A program for which no plan was known, for missRecord to say what it lacks. */
export interface Missed {
  readonly ops: readonly {
    readonly name: string;
    /** Words of its attributes. */
    readonly attributes: number;
    /** Of its inputs. */
    readonly layouts: readonly Layout[];
    readonly signatureStart: number;
  }[];
  /** Storages that belong to the program. */
  readonly locals: number;
  /** The words of its signature. */
  readonly words: Int32Array;
  /** Those of the plans that were known. */
  readonly known: readonly Int32Array[];
}

/** What makes text of records; undefined where nobody may ask for it. */
interface Shows {
  readonly inspection:
    { planRecord(plan: Planned): unknown; missRecord(missed: Missed): MissRecord } | undefined;
}

/** Remembers the last plan and the last miss, and prints what `TENURE_DEBUG` asks for. */
export class Inspector {
  #plan: Planned | undefined;
  #missed: Missed | undefined;
  #fallback: FallbackRecord | undefined;
  /** Different plans that ran last, latest last. */
  #ran: RunnablePlan[] = [];
  /** Whether ops are printed as they are recorded; read again at each miss of the cache. */
  showsOps: boolean = debugs("ops");
  readonly #parts: Shows;

  constructor(parts: Shows) {
    this.#parts = parts;
  }

  /** The program that was compiled last. */
  get lastPlanned(): Planned | undefined {
    return this.#plan;
  }

  /** The last time that no plan was known for a program. */
  get lastMissed(): Missed | undefined {
    return this.#missed;
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

  /** Takes note of a compiled program. */
  planned(plan: Planned): void {
    this.#plan = plan;
    if (debugs("plan")) print("plan", String(this.#parts.inspection?.planRecord(plan)));
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
  missed(program: MissedProgram, known: Iterable<{ readonly words: Int32Array }>): void {
    this.showsOps = debugs("ops");
    const { ops, locals, signature } = program;
    this.#missed = {
      ops: ops.map(({ op, attrs, inputs, signatureStart }) => ({
        name: op.name,
        attributes: op.key?.(attrs).length ?? 0,
        layouts: inputs.map(({ layout }) => layout),
        signatureStart,
      })),
      locals: locals.length,
      words: signature.words.slice(0, signature.length),
      known: Array.from(known, ({ words }) => words),
    };
    const record = debugs("cache") ? this.#parts.inspection?.missRecord(this.#missed) : undefined;
    if (record !== undefined)
      print("cache", `miss with ${record.plans} plans known: ${record.difference}`);
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
