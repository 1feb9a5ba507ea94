/**
 * The event log in the Trace Event Format of chrome://tracing, Perfetto and speedscope. Called
 * through `memory.chromeTrace()`. Reads the log, owns nothing.
 */
import { type LoggedEvent, eventLog } from "./log.ts";
import { formatSite } from "./stack.ts";
import { type Span, spans } from "./timeline.ts";

/** One event of the Trace Event Format. */
export interface TraceEvent {
  readonly name: string;
  /** `X` a scope, `b` and `e` a tensor, `C` bytes, `i` a mark. */
  readonly ph: "X" | "b" | "e" | "C" | "i";
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
}

/** The log in the Trace Event Format: write it to a file as JSON. */
export function chromeTrace(): ChromeTrace {
  const { events } = eventLog().read();
  const last = events.at(-1)?.at ?? 0;
  const out: TraceEvent[] = spans(events, last).map(scopeEvent);
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
  return { displayTimeUnit: "ms", traceEvents: out.sort((a, b) => a.ts - b.ts) };
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
