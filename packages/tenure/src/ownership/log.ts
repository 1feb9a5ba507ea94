/**
 * The event log: what was made, freed, opened and closed, with bytes and sites, in order. A ring,
 * so it never grows; what is in it depends on the tracking level. Written by handles and scopes,
 * drawn by timeline.ts. Owns only text and captures, never a handle.
 */
import { type Capture, tracking } from "./site.ts";
import { ledger } from "./ledger.ts";

export type EventKind =
  "create" | "dispose" | "finalize" | "open" | "close" | "suspend" | "outOfMemory";

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
let ring: LoggedEvent[] = [];
let next = 0;
let dropped = 0;
let sinceLook = 0;
let bytesSeen = { owned: 0, pool: 0, device: 0 };

/** Writes one line. Bytes are looked up at every scope event and at every 16th handle event. */
export function log(
  kind: EventKind,
  id: number,
  bytes: number,
  text: string,
  site: Capture | null,
): void {
  if (--sinceLook <= 0 || kind === "open" || kind === "close") {
    const { liveBytes, poolBytes, deviceBytes } = ledger().bytes();
    bytesSeen = { owned: liveBytes, pool: poolBytes, device: deviceBytes };
    sinceLook = 16;
  }
  const event: LoggedEvent = { kind, at: performance.now(), id, bytes, text, site, ...bytesSeen };
  if (ring.length < capacity) {
    ring.push(event);
    return;
  }
  ring[next] = event;
  next = (next + 1) % capacity;
  dropped++;
}

/** Everything that is still in the ring, oldest first, and how many events it has lost. */
export function logged(): {
  readonly events: readonly LoggedEvent[];
  readonly dropped: number;
  readonly level: string;
} {
  return { events: [...ring.slice(next), ...ring.slice(0, next)], dropped, level: tracking.level };
}

/** Empties the log. */
export function clearLog(): void {
  ring = [];
  next = dropped = sinceLook = 0;
}
