/**
 * Drift: scopes opened at the same line are generations of one loop, and a loop whose every
 * generation leaves more tensors alive than the last one leaks. Told with the lines that made them
 * and how they left. Runs at the end of scopes while somebody watches. Owns a few numbers per line
 * that opens scopes.
 */
import { checkFunction } from "../base/options.ts";
import { handlesAfter } from "./evidence.ts";
import { live } from "./handle.ts";
import { type DisposeScope, scopeEnded } from "./scope.ts";
import { formatSite, setTrackLevel, tracking } from "./site.ts";
import { tensorStatistics } from "./statistics.ts";

/** Tensors that a loop leaves behind, of one kind. */
export interface DriftRow {
  /** Where they were made. */
  readonly made: string;
  /** Who has them now and how they got away, for example `detached at cache.ts:12:9`. */
  readonly escaped: string;
  /** One of them, described. */
  readonly example: string;
  /** How many are alive, since the drift began. */
  readonly count: number;
  readonly bytes: number;
}

/** A loop that leaves more tensors alive in every generation. */
export interface Drift {
  /** Where its scope is opened. */
  readonly site: string;
  /** The scope's name, empty for none. */
  readonly name: string;
  /** Generations over which the drift was measured. */
  readonly generations: number;
  /** Tensors left alive per generation. */
  readonly perGeneration: number;
  readonly bytesPerGeneration: number;
  readonly rows: readonly DriftRow[];
  toString(): string;
}

/** Generations without a decrease after which a rise counts as drift. */
const patience = 8;

interface Generations {
  /**
   * Live tensors at the end of the last generations, and the newest handle then: at most `patience
   * + 1`, oldest first.
   */
  readonly ends: { live: number; lastId: number }[];
  /** Generations still to come before the same loop is reported again. */
  quiet: number;
  interval: number;
}

const watchers = new Set<(drift: Drift) => void>();
const loops = new Map<string, Generations>();
let levelBefore = tracking.level;

/**
 * Tells `callback` about loops that leak, until disposed. Tracking is "full" meanwhile: for finding
 * leaks, not for production.
 */
export function watch(callback: (drift: Drift) => void): Disposable {
  checkFunction("watch", callback, "pass (drift) => …");
  if (watchers.size === 0) {
    levelBefore = tracking.level;
    setTrackLevel("full");
    scopeEnded.observer = generationEnded;
  }
  const own = (drift: Drift): void => {
    callback(drift);
  };
  watchers.add(own);
  return {
    [Symbol.dispose]() {
      if (!watchers.delete(own) || watchers.size > 0) return;
      scopeEnded.observer = null;
      loops.clear();
      setTrackLevel(levelBefore);
    },
  };
}

function generationEnded(scope: DisposeScope): void {
  const { site } = scope;
  if (site === undefined) return;
  let loop = loops.get(site);
  if (loop === undefined) loops.set(site, (loop = { ends: [], quiet: 0, interval: patience }));
  const { ends } = loop;
  const now = { live: tensorStatistics.threadTotalLiveCount, lastId: live.newest?.id ?? 0 };
  // something was freed: begin again
  if (ends.length > 0 && now.live < ends[ends.length - 1]!.live) ends.length = 0;
  ends.push(now);
  if (ends.length > patience + 1) ends.shift();
  if (loop.quiet > 0) {
    loop.quiet--;
    return;
  }
  if (ends.length <= patience || now.live - ends[0]!.live < patience / 2) return;
  loop.quiet = loop.interval;
  loop.interval *= 2; // the same loop is reported ever more seldom
  const drift = driftOf(scope, site, ends);
  for (const watcher of watchers) watcher(drift);
}

function driftOf(
  scope: DisposeScope,
  site: string,
  ends: readonly { live: number; lastId: number }[],
): Drift {
  const generations = ends.length - 1,
    first = ends[0]!;
  const perGeneration = (ends[generations]!.live - first.live) / generations;
  const groups = new Map<string, DriftRow>();
  for (const handle of handlesAfter(first.lastId)) {
    const made = formatSite(handle.created) ?? "(site not recorded)",
      escaped = handle.owner(),
      key = `${made}|${escaped}`,
      row = groups.get(key);
    groups.set(key, {
      made,
      escaped,
      example: row?.example ?? handle.describe(),
      count: (row?.count ?? 0) + 1,
      bytes: (row?.bytes ?? 0) + handle.bytes,
    });
  }
  const rows = [...groups.values()].sort((a, b) => b.count - a.count || b.bytes - a.bytes);
  const bytesPerGeneration = Math.round(rows.reduce((n, r) => n + r.bytes, 0) / generations);
  const text = [
    `${scope.name === "" ? site : `"${scope.name}" at ${site}`} leaks ${Number(perGeneration.toFixed(2))} tensors per generation (${bytesPerGeneration} bytes), over ${generations} generations`,
    ...rows.map((r) => `  ${r.count} × ${r.example}, made at ${r.made}, ${r.escaped}`),
  ].join("\n");
  return {
    site,
    name: scope.name,
    generations,
    perGeneration,
    bytesPerGeneration,
    rows,
    toString: () => text,
  };
}
