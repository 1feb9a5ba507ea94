/**
 * Sites: where in the user's code something happened, as a stack that is taken and formatted at
 * once: a stack that is not formatted yet keeps every `this` on it alive, which would hide dropped
 * tensors from the garbage collector. Equal stacks are one object. Called by handles and scopes
 * according to the tracking level. Owns strings only.
 */
import { env, isDev, warn } from "../base/env.ts";

/**
 * How much evidence is kept.
 * - `off`: none. - `scope`: where scopes open. - `sampled`: also where tensors are made and
 *   disposed, one per 512 KB allocated and some others.
 * - `full`: every one of them. Below `full` at most 2,000 stacks are taken at once and 500 a
 *   second, so that small programs see everything and hot loops pay next to nothing.
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

export function isTrackLevel(value: unknown): value is TrackLevel {
  return (levels as readonly unknown[]).includes(value);
}

const wanted = env("TENURE_TRACK");
if (wanted !== undefined && wanted !== "" && !isTrackLevel(wanted))
  warn(
    `TENURE_TRACK: expected ${levels.join(", ")}, got ${JSON.stringify(wanted)}; correct the environment variable, which is ignored now`,
  );
setTrackLevel(isTrackLevel(wanted) ? wanted : isDev ? "sampled" : "off");

// === Sampling ===

const sampleEvery = 512 * 1024;
let sinceSample = 0;

/**
 * Captures that the levels below `full` may spend at once, and per second: at 10 to 50 µs each, at
 * most two percent of the time.
 */
const burst = 2000,
  perSecond = 500;
let allowance = burst;
let refilledAt = 0;

/** Whether a creation of `bytes` should record its site. Asked only when `tracking.samples`. */
export function sampleCreation(bytes: number): boolean {
  if (tracking.all) return true;
  sinceSample += bytes;
  if (sinceSample >= sampleEvery) {
    sinceSample = 0;
    return true;
  }
  return spend();
}

/** Whether a disposal by hand should record its site. Asked only when `tracking.samples`. */
export function sampleDisposal(): boolean {
  return tracking.all || spend();
}

/** Whether a scope should record where it opens. Asked only when `tracking.scopes`. */
export function sampleScope(): boolean {
  return tracking.all || spend();
}

function spend(): boolean {
  if (allowance < 1) return false;
  allowance--;
  return true;
}

/**
 * Grants captures for the time that has passed. Called once per job, and looks at the clock only
 * when some were spent.
 */
export function refillSamples(): void {
  if (allowance > burst - 1) return;
  const now = performance.now();
  allowance = Math.min(burst, allowance + ((now - refilledAt) * perSecond) / 1000);
  refilledAt = now;
}

// === Captures ===

/** A captured stack. */
export interface Capture {
  /** The host's text. */
  readonly stack: string;
  /** `formatSite`'s answer, once asked: null for none. */
  place?: string | null;
}

const depth = 16;
let captures = new Map<string, Capture>();

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

/**
 * Remembers the current stack. Formatting is the costly part, above all under source maps, so where
 * V8 gives them, positions decide whether this very stack has been formatted before.
 */
export function captureSite(): Capture {
  const v8 = Error as unknown as V8Error;
  if (v8.captureStackTrace === undefined) return captured(new Error("site").stack ?? "", null);
  const { stackTraceLimit, prepareStackTrace } = v8;
  v8.stackTraceLimit = depth;
  try {
    v8.prepareStackTrace = fingerprint;
    const key = String(new Error("site").stack),
      known = captures.get(key);
    if (known !== undefined) return known;
    v8.prepareStackTrace = prepareStackTrace;
    return captured(new Error("site").stack ?? "", key);
  } finally {
    v8.prepareStackTrace = prepareStackTrace;
    v8.stackTraceLimit = stackTraceLimit;
  }
}

function captured(stack: string, key: string | null): Capture {
  // stacks without end: forget, and keep what is in use
  if (captures.size > 20_000) captures = new Map();
  const capture = captures.get(key ?? stack) ?? { stack };
  captures.set(key ?? stack, capture);
  return capture;
}

const files = new Map<string, number>();

/** A short text that is the same for the same stack and no other. */
function fingerprint(_error: unknown, sites: readonly CallSite[]): string {
  let key = "";
  for (const site of sites) {
    const name = site.getFileName() ?? "";
    let file = files.get(name);
    if (file === undefined) files.set(name, (file = files.size));
    key += `${file}:${site.getPosition?.() ?? site.getLineNumber() ?? 0},`;
  }
  return key;
}

// Frames inside this package are machinery; the user's line is the first frame outside. Unbundled,
// the package is the folder two levels up from this file, in `src` and in `dist` alike. In a bundle
// it is the bundle, as development servers make one per package; where that leaves nothing, the
// outermost frame is shown.
const home = (import.meta.url ?? "")
  .replace(/ownership\/site\.[jt]s(\?.*)?$/, "")
  .replace(/^file:\/\//, "");
const interned = new Map<string, string>();

/** `file:line:column` of the first frame outside Tenure, or `undefined` when there is none. */
export function formatSite(capture: Capture | null): string | undefined {
  if (capture === null) return undefined;
  if (capture.place === undefined) capture.place = formatStack(capture)[0]?.place ?? null;
  return capture.place ?? undefined;
}

/** One frame of user code. */
export interface StackFrame {
  readonly place: string;
  readonly text: string;
}

/** The frames outside Tenure and the host, innermost first. */
export function formatStack(capture: Capture | null): StackFrame[] {
  const frames: StackFrame[] = [];
  let outermost: StackFrame | undefined;
  for (const line of (capture?.stack ?? "").split("\n")) {
    const text = line.trim();
    const at =
      /(?:\(|at (?:async )?|@)((?:file:\/\/|https?:\/\/|\/|[A-Za-z]:\\)[^\s()]*:\d+:\d+)\)?$/.exec(
        text,
      );
    const place = at?.[1]?.replace(/^file:\/\//, "");
    if (place === undefined) continue;
    const frame = { place: intern(place), text: intern(text) };
    outermost = frame;
    if (!place.startsWith(home)) frames.push(frame);
  }
  return frames.length === 0 && outermost !== undefined && !home.endsWith("/")
    ? [outermost]
    : frames;
}

/**
 * Whether something was made outside the call that opened a scope. The call's own frame stands
 * right above the frames of its callers, at the very positions from which they called it; whoever
 * runs after it returned is at another position. False when a stack is cut short before that can be
 * seen.
 */
export function madeOutside(opened: Capture, made: Capture): boolean {
  const [own, ...callers] = formatStack(opened),
    path = formatStack(made);
  if (own === undefined) return false;
  const whole = (capture: Capture): boolean => capture.stack.split("\n").length <= depth;
  for (let i = 0; i < path.length; i++) {
    const below = path.slice(i + 1),
      shared = Math.min(below.length, callers.length);
    const sameLength = below.length === callers.length || !whole(made) || !whole(opened);
    if (
      sameLength &&
      functionOf(path[i]!) === functionOf(own) &&
      below.slice(0, shared).every((frame, k) => frame.text === callers[k]!.text)
    )
      return false;
  }
  return whole(made);
}

/** Name and file of a frame. */
function functionOf({ text, place }: StackFrame): string {
  return `${/^at (?:async )?(?:new )?(\S+) \(/.exec(text)?.[1] ?? ""}|${place.replace(/:\d+:\d+$/, "")}`;
}

function intern(text: string): string {
  const known = interned.get(text);
  if (known !== undefined) return known;
  interned.set(text, text);
  return text;
}
