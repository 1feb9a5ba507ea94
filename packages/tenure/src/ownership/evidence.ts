/**
 * Evidence: what lives, who owns it, what was dropped. Reads the ownership layer's lists and
 * counters and changes nothing. Called by users through `memory`.
 */
import { ArgumentError, TenureError, internal } from "../base/errors.ts";
import {
  type Handle,
  DisposableHandle,
  forgotten,
  live,
  reclaim,
  resetReclaimed,
  watchReclaimed,
} from "./handle.ts";
import { checkOptions } from "../base/options.ts";
import type { DisposeScope } from "./scope.ts";
import { type TrackLevel, formatSite, isTrackLevel, setTrackLevel, tracking } from "./site.ts";
import {
  type ByteStatistics,
  type LifetimeStatistics,
  containerStatistics,
  resetStatistics,
  tensorStatistics,
  totalStatistics,
  unaccounted,
} from "./statistics.ts";
import { ledger } from "./ledger.ts";

export interface MemoryStatistics extends LifetimeStatistics, ByteStatistics {
  readonly tensor: Readonly<LifetimeStatistics>;
  readonly container: Readonly<LifetimeStatistics>;
  toString(): string;
  /** Sets all counters to zero but the live ones. */
  reset(): void;
}

export function stats(): MemoryStatistics {
  const total = totalStatistics(),
    bytes = ledger().bytes();
  const created = total.createdInScopeCount + total.createdOutsideScopeCount,
    disposed = total.disposedInScopeCount + total.disposedOutsideScopeCount;
  return {
    ...total,
    ...bytes,
    tensor: { ...tensorStatistics },
    container: { ...containerStatistics },
    toString: () =>
      `${total.threadTotalLiveCount} live, ${created} created, ${disposed} disposed, ${total.finalized} reclaimed by the garbage collector; ${bytes.liveBytes} bytes owned, ${bytes.deviceBytes} on the device (${bytes.poolBytes} free for reuse)`,
    reset: () => {
      resetStatistics();
      resetReclaimed();
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

/**
 * What is alive now, largest group first. `site` groups by the line that made it, as far as
 * tracking recorded it.
 */
export function liveRows(
  options: { readonly groupBy?: "site" | "scope" | "shape" } = {},
): LiveRow[] {
  checkOptions("live", options, ["groupBy"]);
  const { groupBy = "site" } = options;
  if (!["site", "scope", "shape"].includes(groupBy))
    throw new ArgumentError(
      "live",
      'groupBy to be "site", "scope" or "shape"',
      JSON.stringify(groupBy),
      "leave it out for the line that made them",
    );
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

/** Live tensor handles younger than `after`. */
export function handlesAfter(after: number | null): Handle[] {
  const list: Handle[] = [];
  for (let h = live.newest; h !== null && (after === null || h.id > after); h = h.olderLive)
    if (!(h instanceof DisposableHandle)) list.push(h);
  return list;
}

/** A moment to compare with. */
export interface Mark {
  readonly lastId: number;
  readonly live: number;
  readonly finalized: number;
  readonly forgotten: number;
  readonly liveBytes: number;
}
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
  toString(): string;
}

export function mark(): Mark {
  return {
    lastId: live.newest?.id ?? 0,
    live: tensorStatistics.threadTotalLiveCount,
    finalized: tensorStatistics.finalized,
    forgotten: forgotten.count,
    liveBytes: ledger().bytes().liveBytes,
  };
}

export function since(m: Mark): Delta {
  const young = rows(handlesAfter(m.lastId), "site");
  const delta = {
    live: tensorStatistics.threadTotalLiveCount - m.live,
    bytes: ledger().bytes().liveBytes - m.liveBytes,
    finalized: tensorStatistics.finalized - m.finalized,
    forgotten: forgotten.count - m.forgotten,
    rows: young,
  };
  return {
    ...delta,
    toString: () =>
      [
        `${signed(delta.live)} tensors, ${signed(delta.bytes)} bytes, ${delta.finalized} reclaimed by the garbage collector`,
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
 * @throws TenureError listing what leaked and where it was made
 */
export function assertNoLeaks<T>(fn: () => T): T {
  const before = mark(),
    level = tracking.level;
  let dropped = 0;
  const unwatch = watchReclaimed((handle) => {
    if (handle.id > before.lastId && handle.scope === null) dropped++;
  });
  setTrackLevel("full");
  const restore = (): void => {
    unwatch();
    setTrackLevel(level);
  };
  const finish = (): void => {
    reclaim();
    restore();
    verify();
    const delta = since(before);
    if (delta.live > 0 || dropped > 0)
      throw new TenureError(
        "assertNoLeaks",
        `expected every tensor made inside to be disposed, got ${delta.toString()}; declare them with \`using\`, or open a dispose scope`,
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

/**
 * Checks the books: the counters against each other, against the list of live handles, and against
 * the list of every scope. @throws an internal error
 */
export function verify(): void {
  const alive = new Map<LifetimeStatistics, number>([
      [tensorStatistics, 0],
      [containerStatistics, 0],
    ]),
    perScope = new Map<DisposeScope, Handle[]>();
  for (let h = live.oldest, older: Handle | null = null; h !== null; older = h, h = h.newerLive) {
    if (!h.isLive || h.olderLive !== older)
      throw internal(`the list of live handles is broken at ${h.describe()}`);
    alive.set(h.statistics, alive.get(h.statistics)! + 1);
    if (h.scope === null) continue;
    if (h.scope.disposed)
      throw internal(`${h.describe()} is owned by ${h.scope.describe()}, which has ended`);
    const members = perScope.get(h.scope);
    if (members === undefined) perScope.set(h.scope, [h]);
    else members.push(h);
  }
  for (const [statistics, count] of alive) {
    const kind = statistics === tensorStatistics ? "tensors" : "containers",
      rest = unaccounted(statistics);
    if (rest !== 0)
      throw internal(`created ${kind} differ from live, disposed and reclaimed ones by ${rest}`);
    if (count !== statistics.threadTotalLiveCount)
      throw internal(
        `${statistics.threadTotalLiveCount} ${kind} are counted as live, ${count} are listed`,
      );
  }
  for (const [scope, members] of perScope) {
    const listed = new Set(scope.handles());
    const bytes = members.reduce((n, h) => n + h.bytes, 0);
    if (
      listed.size !== scope.count ||
      members.length !== scope.count ||
      !members.every((h) => listed.has(h))
    )
      throw internal(
        `${scope.describe()} counts ${scope.count} entries, lists ${listed.size}, and ${members.length} name it as their owner`,
      );
    if (bytes !== scope.bytes)
      throw internal(`${scope.describe()} counts ${scope.bytes} bytes, its entries have ${bytes}`);
  }
}

/** How much evidence is kept from now on. @throws ArgumentError for an unknown level */
export function track(level: TrackLevel): void {
  if (!isTrackLevel(level))
    throw new ArgumentError(
      "track",
      'one of "off", "scope", "sampled", "full"',
      JSON.stringify(level),
      "pass one of them",
    );
  setTrackLevel(level);
}

// === Why is it alive? ===

/** One thing that keeps a tensor or its bytes alive. */
export interface Reason {
  /**
   * `scope`, `keeper`, `holder`: what owns this very handle. `alias`: another handle on the same
   * bytes. `graph`: saved for a backward pass. `gradient`: it is a leaf's accumulated gradient.
   * `read`: a read has not come back. `unknown`: references that nobody claims.
   */
  readonly kind:
    "scope" | "keeper" | "holder" | "alias" | "graph" | "gradient" | "read" | "unknown";
  readonly text: string;
}

/** Who else knows of reasons: the runtime (reads), the tensor layer (aliases, the graph). */
export const reasonSources: ((handle: Handle) => Reason[])[] = [];

/** What keeps the bytes of `handle` alive, its own owner first. Empty when nothing does. */
export function reasons(handle: Handle): Reason[] {
  const own: Reason[] = !handle.isLive
    ? []
    : [
        {
          kind: handle.scope !== null ? "scope" : handle.keeper !== null ? "keeper" : "holder",
          text: `${handle.describe()}, ${handle.owner()}${handle.scope === null && handle.keeper === null ? "; whoever holds it must dispose it" : ""}`,
        },
      ];
  return [...own, ...reasonSources.flatMap((source) => source(handle))];
}

/** Live tensor handles, newest first. */
export function* liveHandles(): Generator<Handle> {
  for (let h = live.newest; h !== null; h = h.olderLive)
    if (!(h instanceof DisposableHandle)) yield h;
}
