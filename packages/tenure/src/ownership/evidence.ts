/**
 * Evidence: what lives, who owns it, what was dropped. Reads the ownership layer's lists and counters and changes nothing. Called by users through `memory`.
 */
import { ArgumentError, TenureError } from "../base/errors.ts";
import { type Handle, DisposableHandle, live, reclaimedBySite, resetReclaimed } from "./handle.ts";
import { type TrackLevel, formatSite, isTrackLevel, setTrackLevel, tracking } from "./site.ts";
import { type LifetimeStatistics, containerStatistics, resetStatistics, tensorStatistics, totalStatistics } from "./statistics.ts";

/** Bytes as the device layer counts them. */
export interface ByteStatistics {
  /** Bytes of all storages somebody owns, allocated or not. */
  readonly liveBytes: number;
  /** Most `liveBytes` so far. */
  readonly peakBytes: number;
  /** Number of storages that somebody owns. */
  readonly storages: number;
  /** Bytes of free buffers kept for reuse. */
  readonly poolBytes: number;
  /** Bytes of all buffers on the device, staging included. */
  readonly deviceBytes: number;
  /** Most bytes of storage buffers in use at one time. */
  readonly devicePeakBytes: number;
}

/** Where the byte counts come from. Set by the runtime. */
export const byteSource: { read: () => ByteStatistics } = { read: () => ({ liveBytes: 0, peakBytes: 0, storages: 0, poolBytes: 0, deviceBytes: 0, devicePeakBytes: 0 }) };

export interface MemoryStatistics extends LifetimeStatistics, ByteStatistics {
  readonly tensor: Readonly<LifetimeStatistics>;
  readonly container: Readonly<LifetimeStatistics>;
  toString(): string;
  /** Sets all counters to zero but the live ones. */
  reset(): void;
}

export function stats(): MemoryStatistics {
  const total = totalStatistics(), bytes = byteSource.read();
  const created = total.createdInScopeCount + total.createdOutsideScopeCount, disposed = total.disposedInScopeCount + total.disposedOutsideScopeCount;
  return {
    ...total, ...bytes, tensor: { ...tensorStatistics }, container: { ...containerStatistics },
    toString: () => `${total.threadTotalLiveCount} live, ${created} created, ${disposed} disposed, ${total.finalized} reclaimed by the garbage collector; ${bytes.liveBytes} bytes owned, ${bytes.deviceBytes} on the device (${bytes.poolBytes} free for reuse)`,
    reset: () => { resetStatistics(); resetReclaimed(); },
  };
}

/** Live handles that have something in common. */
export interface LiveRow {
  /** The site, scope or shape they share. */
  readonly key: string;
  readonly count: number;
  /** Bytes of their storages, aliases counted each. */
  readonly bytes: number;
  /** One of them, described. */
  readonly example: string;
}

/** What is alive now, largest group first. `site` groups by the line that made it, as far as tracking recorded it. */
export function liveRows(options: { readonly groupBy?: "site" | "scope" | "shape" } = {}): LiveRow[] {
  const { groupBy = "site" } = options;
  if (!["site", "scope", "shape"].includes(groupBy)) throw new ArgumentError("live", 'groupBy to be "site", "scope" or "shape"', JSON.stringify(groupBy));
  return rows(handlesAfter(null), groupBy);
}

function keyOf(handle: Handle, groupBy: "site" | "scope" | "shape"): string {
  if (groupBy === "shape") return handle.describe();
  if (groupBy === "site") return formatSite(handle.created) ?? "(site not recorded)";
  return handle.scope?.describe() ?? (handle.keeper === null ? "no scope" : `kept by ${handle.keeper}`);
}

function rows(handles: readonly Handle[], groupBy: "site" | "scope" | "shape"): LiveRow[] {
  const groups = new Map<string, { count: number; bytes: number; example: string }>();
  for (const handle of handles) {
    const key = keyOf(handle, groupBy), group = groups.get(key);
    if (group === undefined) groups.set(key, { count: 1, bytes: handle.bytes, example: handle.describe() });
    else { group.count++; group.bytes += handle.bytes; }
  }
  return [...groups].map(([key, g]) => ({ key, ...g })).sort((a, b) => b.bytes - a.bytes || b.count - a.count);
}

/** Live tensor handles younger than `after`. */
function handlesAfter(after: number | null): Handle[] {
  const list: Handle[] = [];
  for (let h = live.newest; h !== null && (after === null || h.id > after); h = h.olderLive) if (!(h instanceof DisposableHandle)) list.push(h);
  return list;
}

/** A moment to compare with. */
export interface Mark { readonly lastId: number; readonly live: number; readonly finalized: number; readonly liveBytes: number }
/** What changed since a mark. */
export interface Delta {
  /** Change in live tensor handles. */
  readonly live: number;
  /** Change in owned bytes. */
  readonly bytes: number;
  /** Handles reclaimed by the garbage collector in between. */
  readonly finalized: number;
  /** Tensors made since that are still alive, by the line that made them. */
  readonly rows: readonly LiveRow[];
  toString(): string;
}

export function mark(): Mark {
  return { lastId: live.newest?.id ?? 0, live: tensorStatistics.threadTotalLiveCount, finalized: tensorStatistics.finalized, liveBytes: byteSource.read().liveBytes };
}

export function since(m: Mark): Delta {
  const young = rows(handlesAfter(m.lastId), "site");
  const delta = { live: tensorStatistics.threadTotalLiveCount - m.live, bytes: byteSource.read().liveBytes - m.liveBytes, finalized: tensorStatistics.finalized - m.finalized, rows: young };
  return { ...delta, toString: () => [`${signed(delta.live)} tensors, ${signed(delta.bytes)} bytes, ${delta.finalized} reclaimed by the garbage collector`, ...young.map(formatRow)].join("\n") };
}

function signed(n: number): string { return n >= 0 ? `+${n}` : String(n); }
function formatRow(r: LiveRow): string { return `  ${r.count} × ${r.example}, ${r.bytes} bytes, made at ${r.key}`; }

/**
 * Runs `fn` and checks that it leaves no more tensors alive than before and that the garbage collector had to reclaim none.
 * Accepts async functions. A tensor in the result counts: dispose it, or return numbers.
 * @throws TenureError listing what leaked and where it was made
 */
export function assertNoLeaks<T>(fn: () => T): T {
  const before = mark(), level = tracking.level;
  if (level !== "full") setTrackLevel("full");
  const finish = (): void => {
    setTrackLevel(level);
    const delta = since(before);
    if (delta.live > 0 || delta.finalized > 0) throw new TenureError("assertNoLeaks", `expected every tensor made inside to be disposed, got ${delta.toString()}; declare them with \`using\`, or open a dispose scope`);
  };
  let result: T;
  try { result = fn(); } catch (error) { setTrackLevel(level); throw error; }
  if (typeof (result as { then?: unknown } | null | undefined)?.then === "function") {
    return Promise.resolve(result).then((value) => { finish(); return value; }, (error: unknown) => { setTrackLevel(level); throw error; }) as T;
  }
  finish();
  return result;
}

/** How much evidence is kept from now on. @throws ArgumentError for an unknown level */
export function track(level: TrackLevel): void {
  if (!isTrackLevel(level)) throw new ArgumentError("track", 'one of "off", "scope", "sampled", "full"', JSON.stringify(level));
  setTrackLevel(level);
}

/** Tensors the garbage collector had to reclaim, by the line that made them. */
export function reclaimedRows(): { site: string; count: number }[] { return [...reclaimedBySite()].map(([site, count]) => ({ site, count })); }
