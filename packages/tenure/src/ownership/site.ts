/**
 * Sites: where in the user's code something happened. A capture is a raw stack, formatted only when somebody looks.
 * Called by handles and scopes according to the tracking level. Owns nothing but short strings, interned.
 */
import { env, isDev } from "../base/env.ts";

/**
 * How much evidence is kept.
 * - `off`: none. - `scope`: where scopes open. - `sampled`: also where explicit disposals happen and one creation per 512 KB allocated. - `full`: everything.
 */
export type TrackLevel = "off" | "scope" | "sampled" | "full";

const levels: readonly TrackLevel[] = ["off", "scope", "sampled", "full"];

/** What is captured now; plain fields, read on hot paths. */
export const tracking = { level: "off" as TrackLevel, scopes: false, disposals: false, samples: false, all: false };

export function setTrackLevel(level: TrackLevel): void {
  const rank = levels.indexOf(level);
  tracking.level = level;
  tracking.scopes = rank >= 1;
  tracking.disposals = rank >= 2;
  tracking.samples = rank >= 2;
  tracking.all = rank >= 3;
}

export function isTrackLevel(value: unknown): value is TrackLevel { return (levels as readonly unknown[]).includes(value); }

const wanted = env("TENURE_TRACK");
setTrackLevel(isTrackLevel(wanted) ? wanted : isDev ? "sampled" : "off");

const sampleEvery = 512 * 1024;
let sinceSample = 0;

/** Whether a creation of `bytes` should record its site. */
export function sampleCreation(bytes: number): boolean {
  if (tracking.all) return true;
  if (!tracking.samples) return false;
  sinceSample += bytes;
  if (sinceSample < sampleEvery) return false;
  sinceSample = 0;
  return true;
}

/** A captured stack that has not been formatted yet. */
export interface Capture { readonly stack?: string | undefined }

interface V8Error { captureStackTrace?(target: object, below?: (...args: never[]) => unknown): void; stackTraceLimit?: number }

/** Remembers the current stack. About 2 µs; formatting waits for `formatSite`. */
export function captureSite(): Capture {
  const v8 = Error as V8Error;
  if (v8.captureStackTrace === undefined) return new Error("site");
  const limit = v8.stackTraceLimit;
  v8.stackTraceLimit = 14;
  const capture: Capture = {};
  v8.captureStackTrace(capture, captureSite);
  if (limit === undefined) delete v8.stackTraceLimit; else v8.stackTraceLimit = limit;
  return capture;
}

// Frames inside this package are machinery; the user's line is the first frame outside. The folder is two levels up from this file, in `src` and in `dist` alike.
const home = import.meta.url.replace(/ownership\/[^/]*$/, "").replace(/^file:\/\//, "");
const interned = new Map<string, string>();

/** `file:line:column` of the first frame outside Tenure, or `undefined` when there is none. */
export function formatSite(capture: Capture | null): string | undefined {
  if (capture === null) return undefined;
  const lines = (capture.stack ?? "").split("\n");
  for (const line of lines) {
    const at = /(?:\(|at (?:async )?|@)((?:file:\/\/|https?:\/\/|\/|[A-Za-z]:\\)[^\s()]*:\d+:\d+)\)?$/.exec(line.trim());
    const place = at?.[1]?.replace(/^file:\/\//, "");
    if (place === undefined || place.startsWith(home) || place.startsWith("node:")) continue;
    const known = interned.get(place);
    if (known !== undefined) return known;
    interned.set(place, place);
    return place;
  }
  return undefined;
}
