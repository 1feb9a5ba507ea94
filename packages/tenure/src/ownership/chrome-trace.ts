/**
 * The event log in the Trace Event Format of chrome://tracing, Perfetto and speedscope. Called
 * through `memory.chromeTrace()`. Reads the log, owns nothing.
 */
import { type LoggedEvent, eventLog } from "./log.ts";
import { formatSite } from "./stack.ts";
import { type Span, type Stretch, spans, stretches } from "./timeline.ts";
import { type TraceData, type TraceExtras, traceData } from "./trace-data.ts";

/** One event of the Trace Event Format. */
export interface TraceEvent {
  readonly name: string;
  /** `X` a scope, step, phase or run, `b` and `e` a tensor, `C` bytes, `i` a mark, `M` a name. */
  readonly ph: "X" | "b" | "e" | "C" | "i" | "M";
  readonly cat: string;
  /** Microseconds. */
  readonly ts: number;
  readonly pid: 1;
  readonly tid: number;
  readonly dur?: number;
  readonly id?: number;
  readonly s?: "p";
  readonly args?: Readonly<Record<string, unknown>>;
}

/** For chrome://tracing, Perfetto and speedscope. */
export interface ChromeTrace {
  readonly displayTimeUnit: "ms";
  readonly traceEvents: readonly TraceEvent[];
  /** What this was recorded by and on. */
  readonly otherData: Readonly<Record<string, unknown>>;
  /** The same and more for `tenure-inspect`; viewers skip it. */
  readonly tenure: TraceData;
}

/** Threads of what is not a scope; scopes have one per lane, from 0 on. */
const threads = { step: 10_000, phase: 10_001, run: 10_002 } as const;

/** The log in the Trace Event Format: write it to a file as JSON. */
export function chromeTrace(extras: TraceExtras): ChromeTrace {
  const { events, dropped } = eventLog().read();
  const last = events.at(-1)?.at ?? 0;
  const scopes = spans(events, last);
  const out: TraceEvent[] = [
    ...scopes.map(scopeEvent),
    ...stretches(events, last).map(stretchEvent),
  ];
  let seen = "";
  for (const e of events) {
    const mark = markOf(e);
    if (mark !== null) out.push(mark);
    const bytes = `${e.owned} ${e.pool} ${e.device}`;
    if (bytes !== seen)
      out.push({
        name: "bytes",
        ph: "C",
        cat: "memory",
        ...timeOf(e),
        args: { owned: e.owned, pool: e.pool, device: e.device },
      });
    seen = bytes;
  }
  const lanes = scopes.reduce((most, { lane }) => Math.max(most, lane + 1), 0);
  const tenure = traceData(extras);
  return {
    displayTimeUnit: "ms",
    traceEvents: [...names(lanes), ...out.sort((a, b) => a.ts - b.ts)],
    otherData: { recorder: "tenure", device: extras.device, level: tenure.level, dropped },
    tenure,
  };
}

/** Names of the process and its threads. */
function names(lanes: number): TraceEvent[] {
  const named = (what: string, tid: number, name: string): TraceEvent => ({
    name: what,
    ph: "M",
    cat: "",
    ts: 0,
    pid: 1,
    tid,
    args: { name },
  });
  return [
    named("process_name", 0, "tenure"),
    ...Array.from({ length: lanes }, (_, lane) => named("thread_name", lane, `scopes ${lane}`)),
    named("thread_name", threads.step, "steps"),
    named("thread_name", threads.phase, "phases"),
    named("thread_name", threads.run, "programs on the device"),
  ];
}

function stretchEvent({ name, kind, from, to, figures }: Stretch): TraceEvent {
  return {
    name,
    ph: "X",
    cat: kind,
    ts: from * 1000,
    dur: (to - from) * 1000,
    pid: 1,
    tid: threads[kind],
    ...(figures === undefined ? {} : { args: figures }),
  };
}

function timeOf(e: LoggedEvent): { readonly ts: number; readonly pid: 1; readonly tid: 0 } {
  return { ts: e.at * 1000, pid: 1, tid: 0 };
}

function scopeEvent(span: Span): TraceEvent {
  return {
    name: span.name,
    ph: "X",
    cat: "scope",
    ts: span.from * 1000,
    dur: (span.to - span.from) * 1000,
    pid: 1,
    tid: span.lane,
    args: { peakBytes: span.peak, opened: formatSite(span.site) ?? null },
  };
}

/** What an event is besides a point on the curve of bytes; null for scopes, which are spans. */
function markOf(e: LoggedEvent): TraceEvent | null {
  const at = timeOf(e);
  switch (e.kind) {
    case "create": {
      const args = { bytes: e.bytes, made: formatSite(e.site) ?? null };
      return { name: e.text, ph: "b", cat: "tensor", id: e.id, ...at, args };
    }
    case "dispose":
    case "finalize":
      return { name: e.text, ph: "e", cat: "tensor", id: e.id, ...at, args: { how: e.kind } };
    case "suspend":
      return { name: `suspended: ${e.text}`, ph: "i", cat: "mark", s: "p", ...at };
    case "outOfMemory":
      return { name: e.text, ph: "i", cat: "mark", s: "p", ...at };
    default:
      return null;
  }
}
