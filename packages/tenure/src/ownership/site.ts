/**
 * Sites: where in the user's code something happened, as a stack that is taken and formatted at
 * once: a stack that is not formatted yet keeps every `this` on it alive, which would hide dropped
 * tensors from the garbage collector. Equal stacks are one object. Called by handles and scopes
 * according to the tracking level; stack.ts reads what is captured here. Owns strings only.
 */
import { env, isDev, warn } from "../base/env.ts";
import { current } from "../base/realm.ts";

/**
 * How much evidence is kept.
 * - `off`: none. - `scope`: where scopes open. - `sampled`: also where tensors are made and
 *   disposed, one per 512 KB allocated and some others.
 * - `full`: every one of them. Below `full` at most 2,000 stacks are taken at once and 500 a
 *   second, so that small programs see everything and hot loops pay next to nothing.
 */
export type TrackLevel = "off" | "scope" | "sampled" | "full";

const levels: readonly TrackLevel[] = ["off", "scope", "sampled", "full"];

/** Whether it names a level. */
export function isTrackLevel(value: unknown): value is TrackLevel {
  return (levels as readonly unknown[]).includes(value);
}

/** The level that the environment or, without it, the mode of the build asks for. */
function levelAtStart(): TrackLevel {
  const wanted = env("TENURE_TRACK");
  if (isTrackLevel(wanted)) return wanted;
  if (wanted !== undefined && wanted !== "")
    warn(
      `TENURE_TRACK: expected ${levels.join(", ")}, got ${JSON.stringify(wanted)}; ` +
        "correct the environment variable, which is ignored now",
    );
  return isDev ? "sampled" : "off";
}

/** Bytes made after which a tensor is sampled whatever was captured before. */
const sampleEvery = 512 * 1024;
/**
 * Captures that the levels below `full` may spend at once, and per second: at 10 to 50 µs each, at
 * most two percent of the time.
 */
const burst = 2000;
const perSecond = 500;
/** Frames kept of a stack: weights of layers within layers are made 20 deep in the library. */
export const depth = 24;
/** Different stacks kept; beyond that all are forgotten, but those in use. */
const capturesKept = 20_000;

/** A captured stack. */
export interface Capture {
  /** The host's text. */
  readonly stack: string;
  /** `formatSite`'s answer, once asked: null for none. */
  place?: string | null;
}

interface V8Error {
  stackTraceLimit: number;
  prepareStackTrace?: ((error: unknown, sites: readonly CallSite[]) => unknown) | undefined;
  captureStackTrace?: unknown;
}
interface CallSite {
  getFileName(): string | null;
  getPosition?(): number;
  getLineNumber(): number | null;
}

/** What is captured now, how much of it, and every stack captured so far. */
export class Sites {
  /** Read on hot paths: plain fields. */
  level: TrackLevel = "off";
  /** Whether scopes record where they open. */
  scopes = false;
  /** Whether some handles record where they are made and disposed. */
  samples = false;
  /** Whether all of them do. */
  all = false;
  #sinceSample = 0;
  #allowance = burst;
  #refilledAt = 0;
  #captures = new Map<string, Capture>();
  readonly #files = new Map<string, number>();
  readonly #interned = new Map<string, string>();

  constructor() {
    this.setLevel(levelAtStart());
  }

  /** Captures this much from now on. */
  setLevel(level: TrackLevel): void {
    const rank = levels.indexOf(level);
    this.level = level;
    this.scopes = rank >= 1;
    this.samples = rank >= 2;
    this.all = rank >= 3;
  }

  /** Whether a creation of `bytes` should record its site. Asked only when `samples`. */
  sampleCreation(bytes: number): boolean {
    if (this.all) return true;
    this.#sinceSample += bytes;
    if (this.#sinceSample < sampleEvery) return this.#spend();
    this.#sinceSample = 0;
    return true;
  }

  /** Whether a disposal by hand should record its site. Asked only when `samples`. */
  sampleDisposal(): boolean {
    return this.all || this.#spend();
  }

  /** Whether a scope should record where it opens. Asked only when `scopes`. */
  sampleScope(): boolean {
    return this.all || this.#spend();
  }

  #spend(): boolean {
    if (this.#allowance < 1) return false;
    this.#allowance--;
    return true;
  }

  /**
   * Grants captures for the time that has passed. Called once per job, and looks at the clock only
   * when some were spent.
   */
  refill(): void {
    if (this.#allowance > burst - 1) return;
    const now = performance.now();
    this.#allowance = Math.min(
      burst,
      this.#allowance + ((now - this.#refilledAt) * perSecond) / 1000,
    );
    this.#refilledAt = now;
  }

  /**
   * Remembers the current stack. Formatting is the costly part, above all under source maps, so
   * where V8 gives them, positions decide whether this very stack has been formatted before. A
   * program that froze `Error` (SES, `--frozen-intrinsics`) has it formatted every time.
   */
  capture(): Capture {
    const v8 = Error as unknown as V8Error;
    if (v8.captureStackTrace === undefined || !Object.isExtensible(v8))
      return this.#keep(new Error("site").stack ?? "", null);
    const { stackTraceLimit, prepareStackTrace } = v8;
    v8.stackTraceLimit = depth;
    try {
      v8.prepareStackTrace = (_error, sites) => this.#fingerprint(sites);
      const key = String(new Error("site").stack),
        known = this.#captures.get(key);
      if (known !== undefined) return known;
      v8.prepareStackTrace = prepareStackTrace;
      return this.#keep(new Error("site").stack ?? "", key);
    } finally {
      v8.prepareStackTrace = prepareStackTrace;
      v8.stackTraceLimit = stackTraceLimit;
    }
  }

  #keep(stack: string, key: string | null): Capture {
    if (this.#captures.size > capturesKept) this.#captures = new Map();
    const capture = this.#captures.get(key ?? stack) ?? { stack };
    this.#captures.set(key ?? stack, capture);
    return capture;
  }

  /** A short text that is the same for the same stack and no other. */
  #fingerprint(sites: readonly CallSite[]): string {
    let key = "";
    for (const site of sites) {
      const name = site.getFileName() ?? "";
      let file = this.#files.get(name);
      if (file === undefined) this.#files.set(name, (file = this.#files.size));
      key += `${file}:${site.getPosition?.() ?? site.getLineNumber() ?? 0},`;
    }
    return key;
  }

  /** The one string of this text: the same line is one string however often it is met. */
  intern(text: string): string {
    const known = this.#interned.get(text);
    if (known !== undefined) return known;
    this.#interned.set(text, text);
    return text;
  }
}

/** The sites of the current instance. */
export function sites(): Sites {
  return current<{ readonly ledger: { readonly sites: Sites } }>().ledger.sites;
}

/** Remembers the current stack. */
export function captureSite(): Capture {
  return sites().capture();
}
