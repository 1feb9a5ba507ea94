/**
 * The event log: what was made, freed, opened and closed, with bytes and sites, in order. A ring,
 * so it never grows; what is in it depends on the tracking level. Written by handles and scopes,
 * read by trace-data.ts and chrome-trace.ts. Owns only text and captures, never a handle.
 */
import { current } from "../base/realm.ts";
import { type Capture, sites } from "./site.ts";
import type { ByteStatistics } from "./statistics.ts";

/**
 * What happened. `own`: a handle changed its owner. `free`, `revive`: the last reference of a
 * storage went, or one came back. `begin`, `end`: of a step or phase. `run`: a program ran. Inside
 * a run, when the host encoded them: `swapOut`, `swapIn`, `recompute`, and `buffer`, which a plan
 * took or gave back on the way; `op`: work the device was waited for, to time it.
 */
export type EventKind =
  | "create"
  | "dispose"
  | "finalize"
  | "own"
  | "free"
  | "revive"
  | "open"
  | "close"
  | "suspend"
  | "outOfMemory"
  | "begin"
  | "end"
  | "run"
  | "swapOut"
  | "swapIn"
  | "recompute"
  | "buffer"
  | "op";

/** What some events say besides. */
export interface EventFacts {
  /** Number of the storage behind a handle, or of the one that was freed; 0 for none. */
  readonly storage?: number;
  /** Who owns a handle now: `scope "step" …`, `module Linear`, `optimizer Adam`, or nobody. */
  readonly owner?: string;
  /** Figures of a run or a step. */
  readonly figures?: Readonly<Record<string, unknown>>;
}

/** One line of the log. */
export interface LoggedEvent extends EventFacts {
  readonly kind: EventKind;
  /** Milliseconds since the page or process started. */
  readonly at: number;
  /** Of the handle or scope. Handles and scopes count separately. */
  readonly id: number;
  /** Of the handle's storage; for a scope that closes, its peak. */
  readonly bytes: number;
  /** What it was, as in reports. */
  readonly text: string;
  readonly site: Capture | null;
  /** Bytes owned, free in the pool, and on the device, at this moment. */
  readonly owned: number;
  readonly pool: number;
  readonly device: number;
}

/** Events kept; older ones are overwritten. */
const capacity = 2 ** 16;

/** The ring of events. */
export class EventLog {
  readonly #bytes: () => ByteStatistics;
  #ring: LoggedEvent[] = [];
  #next = 0;
  #dropped = 0;

  constructor(bytes: () => ByteStatistics) {
    this.#bytes = bytes;
  }

  /** Writes one line, with the bytes of this moment. */
  write(
    kind: EventKind,
    id: number,
    bytes: number,
    text: string,
    site: Capture | null,
    facts?: EventFacts,
  ): void {
    const { liveBytes: owned, poolBytes: pool, deviceBytes: device } = this.#bytes();
    const at = performance.now();
    const event: LoggedEvent = { kind, at, id, bytes, text, site, owned, pool, device, ...facts };
    if (this.#ring.length < capacity) {
      this.#ring.push(event);
      return;
    }
    this.#ring[this.#next] = event;
    this.#next = (this.#next + 1) % capacity;
    this.#dropped++;
  }

  /** Everything that is still in the ring, oldest first, and how many events it has lost. */
  read(): { readonly events: readonly LoggedEvent[]; readonly dropped: number } {
    const events = [...this.#ring.slice(this.#next), ...this.#ring.slice(0, this.#next)];
    return { events, dropped: this.#dropped };
  }

  /** Empties the log. */
  clear(): void {
    this.#ring = [];
    this.#next = this.#dropped = 0;
  }
}

/** The log of the current instance. */
export function eventLog(): EventLog {
  return current<{ readonly ledger: { readonly log: EventLog } }>().ledger.log;
}

/** Writes one line into the log of the current instance. */
export function log(
  kind: EventKind,
  id: number,
  bytes: number,
  text: string,
  site: Capture | null,
  facts?: EventFacts,
): void {
  eventLog().write(kind, id, bytes, text, site, facts);
}

/** Logs that a step or phase begins, unless tracking is off. @returns what logs its end */
export function band(name: string): () => void {
  if (!sites().scopes) return () => undefined;
  log("begin", 0, 0, name, null);
  return () => {
    log("end", 0, 0, name, null);
  };
}

/** Runs a phase of a step, and logs when it began and ended. */
export function phase<T>(name: string, fn: () => T): T {
  const ended = band(name);
  try {
    return fn();
  } finally {
    ended();
  }
}
