/**
 * What a scope counts about itself, and the report made of it. Written by scope.ts, read by users
 * through `scope.report()`. Owns numbers and captures.
 */
import type { Capture } from "./site.ts";
import { formatSite } from "./stack.ts";

/** Comings and goings of a scope. */
export class Tally {
  created = 0;
  attached = 0;
  disposed = 0;
  moved = 0;
  detached = 0;
  finalized = 0;
}

/** Captures kept per scope for its report. */
const capacity = 4096;

/** What was made in a scope, by the line that made it. Formatting waits for the report. */
export class SiteTally {
  readonly #captures: Capture[] = [];
  readonly #bytes: number[] = [];

  add(capture: Capture, bytes: number): void {
    if (this.#captures.length === capacity) return;
    this.#captures.push(capture);
    this.#bytes.push(bytes);
  }

  /** Largest first. */
  rows(): SiteRow[] {
    const rows = new Map<string, { site: string; count: number; bytes: number }>();
    this.#captures.forEach((capture, i) => {
      const site = formatSite(capture) ?? "(inside tenure)",
        row = rows.get(site) ?? { site, count: 0, bytes: 0 };
      rows.set(site, { site, count: row.count + 1, bytes: row.bytes + this.#bytes[i]! });
    });
    return [...rows.values()].sort((a, b) => b.bytes - a.bytes || b.count - a.count);
  }
}

/** What one line made in a scope. */
export interface SiteRow {
  readonly site: string;
  readonly count: number;
  readonly bytes: number;
}

/**
 * What happened in a scope so far. `created + attached = live + disposed + moved + detached +
 * finalized`.
 */
export interface ScopeReport {
  readonly name: string;
  /** Where it was opened, when tracking recorded it. */
  readonly site: string | undefined;
  /** Entries alive in the scope now. */
  readonly live: number;
  /** Device bytes those entries keep alive, shared storages counted once per entry. */
  readonly bytes: number;
  /** Most bytes held at one time. */
  readonly peakBytes: number;
  /** Entries made in it. */
  readonly created: number;
  /** Entries that came from elsewhere. */
  readonly attached: number;
  /** Entries the scope or somebody else disposed. */
  readonly disposed: number;
  /** Entries that went to another scope. */
  readonly moved: number;
  /** Entries taken out of all scopes. */
  readonly detached: number;
  /** Entries the garbage collector reclaimed while the scope was open. */
  readonly finalized: number;
  /** Where the most bytes were made; recorded by `memory.track("full")`. */
  readonly topSites: readonly SiteRow[];
  /** The report as text. */
  toString(): string;
}

/** What the list of a scope's entries counts. */
interface Counts {
  readonly count: number;
  readonly bytes: number;
  readonly peakBytes: number;
  readonly tally: Tally;
  readonly made: SiteTally | null;
}

/** A scope's report, from what it is and what its list of entries counted. */
export function scopeReport(
  scope: { readonly name: string; readonly site: string | undefined; describe(): string },
  entries: Counts,
): ScopeReport {
  const { name, site } = scope;
  const { count: live, bytes, peakBytes } = entries;
  const { created, attached, disposed, moved, detached, finalized } = entries.tally;
  const topSites = entries.made?.rows().slice(0, 10) ?? [];
  const head =
    `${scope.describe()}: ${created} created, ${attached} attached, ${disposed} disposed, ` +
    `${moved} moved, ${detached} detached, ${finalized} reclaimed, ` +
    `${live} live (${bytes} bytes, peak ${peakBytes})`;
  const text = [head, ...topSites.map((r) => `  ${r.count} × at ${r.site}, ${r.bytes} bytes`)].join(
    "\n",
  );
  return {
    name,
    site,
    live,
    bytes,
    peakBytes,
    created,
    attached,
    disposed,
    moved,
    detached,
    finalized,
    topSites,
    toString: () => text,
  };
}
