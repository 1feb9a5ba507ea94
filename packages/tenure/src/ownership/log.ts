/**
 * The event log: what was made, freed, opened and closed, with bytes and sites, in order. A ring,
 * so it never grows; what is in it depends on the tracking level. Written by handles and scopes,
 * drawn by timeline-page.ts. Owns only text and captures, never a handle.
 */
import { current } from "../base/realm.ts";
import type { Capture } from "./site.ts";
import type { ByteStatistics } from "./statistics.ts";

/** What happened. */
export type EventKind =
  "create" | "dispose" | "finalize" | "open" | "close" | "suspend" | "outOfMemory";

/** One line of the log. */
export interface LoggedEvent {
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
  /** Bytes owned, free in the pool, and on the device, as last looked at. */
  readonly owned: number;
  readonly pool: number;
  readonly device: number;
}

/** Events kept; older ones are overwritten. */
const capacity = 2 ** 16;
/** Handle events between two looks at the bytes. */
const lookEvery = 16;

/** The ring of events. */
export class EventLog {
  readonly #bytes: () => ByteStatistics;
  #ring: LoggedEvent[] = [];
  #next = 0;
  #dropped = 0;
  #untilLook = 0;
  #seen = { owned: 0, pool: 0, device: 0 };

  constructor(bytes: () => ByteStatistics) {
    this.#bytes = bytes;
  }

  /** Writes one line. Bytes are looked up at every scope event and at some handle events. */
  write(kind: EventKind, id: number, bytes: number, text: string, site: Capture | null): void {
    if (--this.#untilLook <= 0 || kind === "open" || kind === "close") {
      const { liveBytes, poolBytes, deviceBytes } = this.#bytes();
      this.#seen = { owned: liveBytes, pool: poolBytes, device: deviceBytes };
      this.#untilLook = lookEvery;
    }
    const event: LoggedEvent = {
      kind,
      at: performance.now(),
      id,
      bytes,
      text,
      site,
      ...this.#seen,
    };
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
    this.#next = this.#dropped = this.#untilLook = 0;
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
): void {
  eventLog().write(kind, id, bytes, text, site);
}
