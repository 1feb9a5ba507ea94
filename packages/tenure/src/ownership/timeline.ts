/**
 * The event log as a picture over time: the lives of scopes as spans on lanes, and bytes by the
 * line that made them as bands. Called by timeline-page.ts and chrome-trace.ts. Reads the log, owns
 * nothing.
 */
import type { LoggedEvent } from "./log.ts";
import type { Capture } from "./site.ts";
import { formatSite } from "./stack.ts";

/** A scope's life, on a lane where it overlaps no other. */
export interface Span {
  readonly name: string;
  readonly site: Capture | null;
  readonly from: number;
  readonly to: number;
  readonly peak: number;
  readonly lane: number;
}

/** Bytes alive that one line made, at each of the points in time. */
export interface Band {
  readonly site: string;
  readonly capture: Capture | null;
  readonly bytes: number[];
}

/** Points in time at which bytes are read off. */
export const points = 240;
const bandsShown = 10;

/** The life of every scope in the log; those still open end at `end`. */
export function spans(events: readonly LoggedEvent[], end: number): Span[] {
  const open = new Map<number, LoggedEvent>();
  const closed: Omit<Span, "lane">[] = [];
  const start = events[0]?.at ?? 0;
  for (const e of events) {
    if (e.kind === "open") open.set(e.id, e);
    else if (e.kind === "close") {
      const begun = open.get(e.id);
      open.delete(e.id);
      closed.push({
        name: e.text,
        site: e.site,
        from: begun?.at ?? start,
        to: e.at,
        peak: e.bytes,
      });
    }
  }
  for (const e of open.values())
    closed.push({ name: e.text, site: e.site, from: e.at, to: end, peak: 0 });
  const free: number[] = []; // per lane, when its last span ends
  return closed
    .sort((a, b) => a.from - b.from || b.to - a.to)
    .map((span) => {
      let lane = free.findIndex((until) => until <= span.from);
      if (lane === -1) lane = free.length;
      free[lane] = span.to;
      return { ...span, lane };
    });
}

/**
 * Bytes alive by the line that made them, at `points` moments `step` apart, the largest first; all
 * but the first few lines are summed up in one band.
 */
export function bands(events: readonly LoggedEvent[], from: number, step: number): Band[] {
  const sorted = bandsBySite(events, from, step).sort((a, b) => highest(b) - highest(a));
  const rest = sorted.slice(bandsShown);
  if (rest.length === 0) return sorted;
  const others: Band = {
    site: `${rest.length} other lines`,
    capture: null,
    bytes: sumOfBands(rest),
  };
  return [...sorted.slice(0, bandsShown), others];
}

function bandsBySite(events: readonly LoggedEvent[], from: number, step: number): Band[] {
  const bySite = new Map<string, { readonly band: Band; alive: number }>();
  let point = 0;
  const until = (at: number): void => {
    for (; point < points && from + point * step < at; point++)
      for (const { band, alive } of bySite.values()) band.bytes[point] = alive;
  };
  const born = new Set<number>();
  for (const e of events) {
    if (e.kind !== "create" && e.kind !== "dispose" && e.kind !== "finalize") continue;
    until(e.at);
    const site = formatSite(e.site) ?? "(inside tenure)";
    let entry = bySite.get(site);
    if (entry === undefined) {
      const bytes = new Array<number>(points).fill(0);
      entry = { band: { site, capture: e.site, bytes }, alive: 0 };
      bySite.set(site, entry);
    }
    if (e.kind === "create") born.add(e.id);
    else if (!born.delete(e.id)) continue; // made before the log began
    entry.alive += e.kind === "create" ? e.bytes : -e.bytes;
  }
  until(Infinity);
  return [...bySite.values()].map(({ band }) => band);
}

/** The most bytes a band has at any point. */
export function highest(band: Band): number {
  return Math.max(...band.bytes);
}

/** The bytes of several bands together, point by point. */
export function sumOfBands(list: readonly Band[]): number[] {
  const sums = new Array<number>(points).fill(0);
  for (const { bytes } of list) for (const [i, n] of bytes.entries()) sums[i] = (sums[i] ?? 0) + n;
  return sums;
}

/** A step, a phase, a run or a timed op: from and to in ms. */
export interface Stretch {
  readonly name: string;
  readonly kind: "step" | "phase" | "run" | "op";
  readonly from: number;
  readonly to: number;
  readonly figures: Readonly<Record<string, unknown>> | undefined;
}

/** Steps, phases, runs and timed ops in the log; those still under way end at `end`. */
export function stretches(events: readonly LoggedEvent[], end: number): Stretch[] {
  const open: LoggedEvent[] = [];
  const found: Stretch[] = [];
  const add = ({ text, at }: LoggedEvent, to: number): void => {
    const kind = text.startsWith("step ") ? "step" : "phase";
    found.push({ name: text, kind, from: at, to, figures: undefined });
  };
  for (const e of events) {
    const { kind, text, at, figures } = e;
    if (kind === "begin") open.push(e);
    else if (kind === "end") {
      const i = open.findLastIndex((b) => b.text === text);
      const [begun] = i === -1 ? [] : open.splice(i, 1);
      if (begun !== undefined) add(begun, at);
    } else if (kind === "run" || kind === "op") {
      const from = Number(figures?.["from"] ?? at);
      found.push({ name: text, kind, from, to: at, figures });
    }
  }
  for (const e of open) add(e, end);
  return found.sort((a, b) => a.from - b.from || b.to - a.to);
}
