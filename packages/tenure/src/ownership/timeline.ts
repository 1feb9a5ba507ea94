/**
 * What lasts in the event log: lives of scopes as spans on lanes, steps, phases, runs and ops as
 * stretches. Called by trace-data.ts and chrome-trace.ts. Reads the log, owns nothing.
 */
import type { LoggedEvent } from "./log.ts";
import type { Capture } from "./site.ts";

/** A scope's life, on a lane where it overlaps no other. */
export interface Span {
  readonly name: string;
  readonly site: Capture | null;
  readonly from: number;
  readonly to: number;
  readonly peak: number;
  readonly lane: number;
}

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
      found.push({ name: text, kind, from, to: Number(figures?.["to"] ?? at), figures });
    }
  }
  for (const e of open) add(e, end);
  return found.sort((a, b) => a.from - b.from || b.to - a.to);
}
