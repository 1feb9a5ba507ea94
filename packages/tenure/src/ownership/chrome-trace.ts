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
  /**
   * `X` a scope, step, phase, run or timed op, `b` and `e` a tensor, `C` bytes, `i` a mark, `M` a
   * name.
   */
  readonly ph: "X" | "b" | "e" | "C" | "i" | "M";
  readonly cat: string;
  /** Microseconds. */
  readonly ts: number;
  readonly pid: 1;
  readonly tid: number;
  readonly dur?: number;
  readonly id?: number;
  /** How far a mark reaches: the whole process, or its thread. */
  readonly s?: "p" | "t";
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
const threads = { step: 10_000, phase: 10_001, run: 10_002, op: 10_003 } as const;

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
    otherData: {
      recorder: "tenure",
      device: extras.device,
      level: tenure.level,
      dropped,
      startedAt: new Date(performance.timeOrigin).toISOString(),
    },
    tenure,
  };
}

/** Names of the process and its threads. */
function names(lanes: number): TraceEvent[] {
  const about = (name: string, tid: number, args: TraceEvent["args"]): TraceEvent => ({
    name,
    ph: "M",
    cat: "",
    ts: 0,
    pid: 1,
    tid,
    args: { ...args },
  });
  const rows: [number, string][] = [
    [threads.step, "steps"],
    [threads.phase, "phases"],
    [threads.run, "programs on the device"],
    [threads.op, "ops, timed on the device"],
  ];
  for (let lane = 0; lane < lanes; lane++) rows.push([lane, `scopes ${lane}`]);
  const threadNames = rows.flatMap(([tid, name], i) => [
    about("thread_name", tid, { name }),
    about("thread_sort_index", tid, { sort_index: i }),
  ]);
  return [about("process_name", 0, { name: "tenure" }), ...threadNames];
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
    case "swapOut":
    case "swapIn":
    case "recompute": {
      const name = `${e.kind} ${e.text}`;
      const thread = { ts: at.ts, pid: at.pid, tid: threads.run };
      return { name, ph: "i", cat: e.kind, s: "t", ...thread, args: { bytes: e.bytes } };
    }
    case "outOfMemory":
      return { name: e.text, ph: "i", cat: "mark", s: "p", ...at };
    default:
      return null;
  }
}
