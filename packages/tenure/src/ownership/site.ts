/**
 * Sites: where in the user's code something happened. A capture is a raw stack, formatted only when somebody looks, and then remembered.
 * Called by handles and scopes according to the tracking level. Owns nothing but short strings, interned.
 */
import { env, isDev } from "../base/env.ts";

/**
 * How much evidence is kept.
 * - `off`: none. - `scope`: where scopes open. - `sampled`: also where tensors are made and disposed, one per 512 KB allocated and up to 2,000 a second
 * besides, so that small programs see everything and hot loops pay next to nothing. - `full`: every one of them.
 */
export type TrackLevel = "off" | "scope" | "sampled" | "full";

const levels: readonly TrackLevel[] = ["off", "scope", "sampled", "full"];

/** What is captured now; plain fields, read on hot paths. */
export const tracking = { level: "off" as TrackLevel, scopes: false, samples: false, all: false };

export function setTrackLevel(level: TrackLevel): void {
  const rank = levels.indexOf(level);
  tracking.level = level;
  tracking.scopes = rank >= 1;
  tracking.samples = rank >= 2;
  tracking.all = rank >= 3;
}

export function isTrackLevel(value: unknown): value is TrackLevel { return (levels as readonly unknown[]).includes(value); }

const wanted = env("TENURE_TRACK");
setTrackLevel(isTrackLevel(wanted) ? wanted : isDev ? "sampled" : "off");

// === Sampling ===

const sampleEvery = 512 * 1024;
let sinceSample = 0;

/** Captures a second that `sampled` may spend: at some 4 µs each, less than one percent of the time. */
const capturesPerSecond = 2000;
let allowance = capturesPerSecond;
let refilledAt = 0;

/** Whether a creation of `bytes` should record its site. Asked only when `tracking.samples`. */
export function sampleCreation(bytes: number): boolean {
  if (tracking.all) return true;
  sinceSample += bytes;
  if (sinceSample >= sampleEvery) { sinceSample = 0; return true; }
  return spend();
}

/** Whether a disposal by hand should record its site. Asked only when `tracking.samples`. */
export function sampleDisposal(): boolean { return tracking.all || spend(); }

function spend(): boolean {
  if (allowance < 1) return false;
  allowance--;
  return true;
}

/** Grants captures for the time that has passed. Called once per job, and looks at the clock only when some were spent. */
export function refillSamples(): void {
  if (allowance > capturesPerSecond - 1) return;
  const now = performance.now();
  allowance = Math.min(capturesPerSecond, allowance + ((now - refilledAt) * capturesPerSecond) / 1000);
  refilledAt = now;
}

// === Captures ===

/** A captured stack. */
export interface Capture {
  /** The host's text; formatting it is what costs. */
  readonly stack?: string | undefined;
  /** `formatSite`'s answer, once asked: null for none. */
  place?: string | null;
}

interface V8Error { captureStackTrace?(target: object, below?: (...args: never[]) => unknown): void; stackTraceLimit?: number }

/** Remembers the current stack. A few microseconds; formatting waits for `formatSite`. */
export function captureSite(): Capture {
  const v8 = Error as V8Error;
  if (v8.captureStackTrace === undefined) return new Error("site");
  const limit = v8.stackTraceLimit;
  v8.stackTraceLimit = 16;
  const capture: Capture = {};
  v8.captureStackTrace(capture, captureSite);
  if (limit === undefined) delete v8.stackTraceLimit; else v8.stackTraceLimit = limit;
  return capture;
}

// Frames inside this package are machinery; the user's line is the first frame outside. Unbundled, the package is the folder two levels up from this file, in
// `src` and in `dist` alike. In a bundle it is the bundle, as development servers make one per package; where that leaves nothing, the outermost frame is shown.
const home = (import.meta.url ?? "").replace(/ownership\/site\.[jt]s(\?.*)?$/, "").replace(/^file:\/\//, "");
const interned = new Map<string, string>();

/** `file:line:column` of the first frame outside Tenure, or `undefined` when there is none. */
export function formatSite(capture: Capture | null): string | undefined {
  if (capture === null) return undefined;
  if (capture.place === undefined) capture.place = formatStack(capture)[0]?.place ?? null;
  return capture.place ?? undefined;
}

/** One frame of user code. */
export interface StackFrame { readonly place: string; readonly text: string }

/** The frames outside Tenure and the host, innermost first. */
export function formatStack(capture: Capture | null): StackFrame[] {
  const frames: StackFrame[] = [];
  let outermost: StackFrame | undefined;
  for (const line of (capture?.stack ?? "").split("\n")) {
    const text = line.trim();
    const at = /(?:\(|at (?:async )?|@)((?:file:\/\/|https?:\/\/|\/|[A-Za-z]:\\)[^\s()]*:\d+:\d+)\)?$/.exec(text);
    const place = at?.[1]?.replace(/^file:\/\//, "");
    if (place === undefined) continue;
    const frame = { place: intern(place), text: intern(text) };
    outermost = frame;
    if (!place.startsWith(home)) frames.push(frame);
  }
  return frames.length === 0 && outermost !== undefined && !home.endsWith("/") ? [outermost] : frames;
}

function intern(text: string): string {
  const known = interned.get(text);
  if (known !== undefined) return known;
  interned.set(text, text);
  return text;
}
