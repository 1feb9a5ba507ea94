/**
 * Evidence: what lives, who owns it, what was dropped. Reads the ownership layer's lists and
 * counters and changes nothing. Called by users through `memory`.
 */
import { ArgumentError, TenureError } from "../base/errors.ts";
import { type OptionTable, checkFunction, describeValue, readOptions } from "../base/options.ts";
import { verify } from "./audit.ts";
import { type Handle, handles } from "./handle.ts";
import { type Reason, ledger } from "./ledger.ts";
import { handlesAfter } from "./live.ts";
import { type TrackLevel, isTrackLevel, sites } from "./site.ts";
import { formatSite } from "./stack.ts";
import { type ByteStatistics, type LifetimeStatistics, statistics } from "./statistics.ts";

export { verify } from "./audit.ts";
export type { Reason } from "./ledger.ts";

/** Counters and bytes, as `memory.stats()` gives them. */
export interface MemoryStatistics extends LifetimeStatistics, ByteStatistics {
  readonly tensor: Readonly<LifetimeStatistics>;
  readonly container: Readonly<LifetimeStatistics>;
  /** As text, a line each. */
  toString(): string;
  /** Sets all counters to zero but the live ones. */
  reset(): void;
}

/** Counters of the ownership layer, and bytes as the runtime counts them. */
export function stats(): MemoryStatistics {
  const total = statistics().total(),
    bytes = ledger().bytes();
  const created = total.createdInScopeCount + total.createdOutsideScopeCount,
    disposed = total.disposedInScopeCount + total.disposedOutsideScopeCount;
  return {
    ...total,
    ...bytes,
    tensor: { ...statistics().tensor },
    container: { ...statistics().container },
    toString: () =>
      `${total.threadTotalLiveCount} live, ${created} created, ${disposed} disposed, ` +
      `${total.finalized} reclaimed by the garbage collector; ` +
      `${bytes.liveBytes} bytes owned, ${bytes.deviceBytes} on the device ` +
      `(${bytes.poolBytes} free for reuse)`,
    reset: () => {
      statistics().reset();
      ledger().reclaimed.reset();
    },
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

/** Options of `memory.live`. */
interface LiveOptions {
  /** What the handles of a row share. */
  readonly groupBy?: "site" | "scope" | "shape";
}
const liveOptions = {
  groupBy: {
    type: "choice",
    of: ["site", "scope", "shape"],
    default: "site",
    remedy: "leave it out for the line that made them",
  },
} satisfies OptionTable<LiveOptions>;

/**
 * What is alive now, largest group first. `site` groups by the line that made it, as far as
 * tracking recorded it.
 */
export function liveRows(options?: LiveOptions): LiveRow[] {
  const { groupBy } = readOptions("live", options, liveOptions);
  return rows(handlesAfter(null), groupBy);
}

function keyOf(handle: Handle, groupBy: "site" | "scope" | "shape"): string {
  if (groupBy === "shape") return handle.describe();
  if (groupBy === "site") return formatSite(handle.created) ?? "(site not recorded)";
  return handle.owner();
}

function rows(handles: readonly Handle[], groupBy: "site" | "scope" | "shape"): LiveRow[] {
  const groups = new Map<string, { count: number; bytes: number; example: string }>();
  for (const handle of handles) {
    const key = keyOf(handle, groupBy),
      group = groups.get(key);
    if (group === undefined)
      groups.set(key, { count: 1, bytes: handle.bytes, example: handle.describe() });
    else {
      group.count++;
      group.bytes += handle.bytes;
    }
  }
  return [...groups]
    .map(([key, g]) => ({ key, ...g }))
    .sort((a, b) => b.bytes - a.bytes || b.count - a.count);
}

/** A moment to compare with. */
export interface Mark {
  readonly lastId: number;
  readonly live: number;
  readonly finalized: number;
  readonly forgotten: number;
  readonly liveBytes: number;
}
const number = {
  type: "number",
  required: true,
  remedy: "pass what memory.mark() gave",
} as const;
const markRows = {
  lastId: number,
  live: number,
  finalized: number,
  forgotten: number,
  liveBytes: number,
} satisfies OptionTable<Mark>;

/** What changed since a mark. */
export interface Delta {
  /** Change in live tensor handles. */
  readonly live: number;
  /** Change in owned bytes. */
  readonly bytes: number;
  /** Handles reclaimed by the garbage collector in between. */
  readonly finalized: number;
  /** Those among them that no scope would have freed: leaks. */
  readonly forgotten: number;
  /** Tensors made since that are still alive, by the line that made them. */
  readonly rows: readonly LiveRow[];
  /** As text, a line each. */
  toString(): string;
}

/** This moment. */
export function mark(): Mark {
  return {
    lastId: handles().newest?.id ?? 0,
    live: statistics().tensor.threadTotalLiveCount,
    finalized: statistics().tensor.finalized,
    forgotten: ledger().reclaimed.forgotten,
    liveBytes: ledger().bytes().liveBytes,
  };
}

/** What changed since a moment. */
export function since(m: Mark): Delta {
  readOptions("since", m, markRows);
  const young = rows(handlesAfter(m.lastId), "site");
  const delta = {
    live: statistics().tensor.threadTotalLiveCount - m.live,
    bytes: ledger().bytes().liveBytes - m.liveBytes,
    finalized: statistics().tensor.finalized - m.finalized,
    forgotten: ledger().reclaimed.forgotten - m.forgotten,
    rows: young,
  };
  return {
    ...delta,
    toString: () =>
      [
        `${signed(delta.live)} tensors, ${signed(delta.bytes)} bytes, ` +
          `${delta.finalized} reclaimed by the garbage collector`,
        ...young.map(formatRow),
      ].join("\n"),
  };
}

function signed(n: number): string {
  return n >= 0 ? `+${n}` : String(n);
}
function formatRow(r: LiveRow): string {
  return `  ${r.count} × ${r.example}, ${r.bytes} bytes, made at ${r.key}`;
}

/**
 * Runs `fn` and checks that it leaves no more tensors alive than before and that none it made was
 * left to the garbage collector. Accepts async functions. A tensor in the result counts: dispose
 * it, or return numbers.
 * @throws TenureError listing what leaked and where it was made, ArgumentError for what is no
 *   function
 */
export function assertNoLeaks<T>(fn: () => T): T {
  checkFunction("assertNoLeaks", fn);
  const before = mark(),
    { level } = sites();
  let dropped = 0;
  const unwatch = ledger().reclaimed.watch((handle) => {
    if (handle.id > before.lastId && handle.scope === null) dropped++;
  });
  sites().setLevel("full");
  const restore = (): void => {
    unwatch();
    sites().setLevel(level);
  };
  const finish = (): void => {
    handles().reclaim();
    restore();
    verify();
    const delta = since(before);
    if (delta.live > 0 || dropped > 0)
      throw new TenureError(
        "assertNoLeaks",
        `expected every tensor made inside to be disposed, got ${delta.toString()}; ` +
          "declare them with `using`, or open a dispose scope",
      );
  };
  let result: T;
  try {
    result = fn();
  } catch (error) {
    restore();
    throw error;
  }
  if (typeof (result as { then?: unknown } | null | undefined)?.then === "function") {
    return Promise.resolve(result).then(
      (value) => {
        finish();
        return value;
      },
      (error: unknown) => {
        restore();
        throw error;
      },
    ) as T;
  }
  finish();
  return result;
}

/** How much evidence is kept from now on. @throws ArgumentError for an unknown level */
export function track(level: TrackLevel): void {
  if (!isTrackLevel(level))
    throw new ArgumentError(
      "track",
      'one of "off", "scope", "sampled", "full"',
      describeValue(level),
      "pass one of them",
    );
  sites().setLevel(level);
}

// === Why is it alive? ===

/** What keeps the bytes of `handle` alive, its own owner first. Empty when nothing does. */
export function reasons(handle: Handle): Reason[] {
  const others = ledger().reasons(handle);
  return handle.isLive ? [ownReason(handle), ...others] : others;
}

function ownReason(handle: Handle): Reason {
  const text = `${handle.describe()}, ${handle.owner()}`;
  if (handle.scope !== null) return { kind: "scope", text };
  if (handle.keeper !== null) return { kind: "keeper", text };
  return { kind: "holder", text: `${text}; whoever holds it must dispose it` };
}
