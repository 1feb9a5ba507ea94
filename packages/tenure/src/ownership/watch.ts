/**
 * Drift: scopes opened at the same line are generations of one loop, and a loop whose every
 * generation leaves more tensors alive than the last one leaks. Told with the lines that made them
 * and how they left. Runs at the end of scopes while somebody watches. Owns a few numbers per line
 * that opens scopes.
 */
import { checkFunction } from "../base/options.ts";
import { current } from "../base/realm.ts";
import { handles } from "./handle.ts";
import { handlesAfter } from "./live.ts";
import type { DisposeScope } from "./scope.ts";
import { scopes } from "./scopes.ts";
import { type TrackLevel, sites } from "./site.ts";
import { formatSite } from "./stack.ts";
import { statistics } from "./statistics.ts";

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
  /** As text, a line each. */
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

/** Who watches, and what is known of each loop meanwhile. */
export class DriftWatch {
  readonly #watchers = new Set<(drift: Drift) => void>();
  readonly #loops = new Map<string, Generations>();
  #levelBefore: TrackLevel = "off";

  /** Tells `callback` about loops that leak, until disposed. */
  add(callback: (drift: Drift) => void): Disposable {
    if (this.#watchers.size === 0) this.#begin();
    const own = (drift: Drift): void => {
      callback(drift);
    };
    this.#watchers.add(own);
    return {
      [Symbol.dispose]: () => {
        if (this.#watchers.delete(own) && this.#watchers.size === 0) this.#end();
      },
    };
  }

  #begin(): void {
    this.#levelBefore = sites().level;
    sites().setLevel("full");
    scopes<DisposeScope>().onEnd = (scope) => {
      this.#generationEnded(scope);
    };
  }

  #end(): void {
    scopes<DisposeScope>().onEnd = null;
    this.#loops.clear();
    sites().setLevel(this.#levelBefore);
  }

  #generationEnded(scope: DisposeScope): void {
    const { site } = scope;
    if (site === undefined) return;
    let loop = this.#loops.get(site);
    if (loop === undefined)
      this.#loops.set(site, (loop = { ends: [], quiet: 0, interval: patience }));
    const { ends } = loop;
    const now = {
      live: statistics().tensor.threadTotalLiveCount,
      lastId: handles().newest?.id ?? 0,
    };
    // something was freed: begin again
    if (now.live < (ends.at(-1)?.live ?? 0)) ends.length = 0;
    ends.push(now);
    if (ends.length > patience + 1) ends.shift();
    if (loop.quiet > 0) {
      loop.quiet--;
      return;
    }
    if (ends.length <= patience || now.live - (ends[0]?.live ?? 0) < patience / 2) return;
    loop.quiet = loop.interval;
    loop.interval *= 2; // the same loop is reported ever more seldom
    const drift = driftOf(scope, site, ends);
    for (const watcher of this.#watchers) watcher(drift);
  }
}

/**
 * Tells `callback` about loops that leak, until disposed. Tracking is "full" meanwhile: for finding
 * leaks, not for production.
 */
export function watch(callback: (drift: Drift) => void): Disposable {
  checkFunction("watch", callback, "pass (drift) => …");
  const { ledger } = current<{ readonly ledger: { drift: DriftWatch | null } }>();
  return (ledger.drift ??= new DriftWatch()).add(callback);
}

function driftOf(
  scope: DisposeScope,
  site: string,
  ends: readonly { live: number; lastId: number }[],
): Drift {
  const generations = ends.length - 1,
    [first = { live: 0, lastId: 0 }] = ends,
    last = ends.at(-1) ?? first,
    perGeneration = (last.live - first.live) / generations;
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
    `${scope.name === "" ? site : `"${scope.name}" at ${site}`} leaks ` +
      `${Number(perGeneration.toFixed(2))} tensors per generation (${bytesPerGeneration} ` +
      `bytes), over ${generations} generations`,
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
