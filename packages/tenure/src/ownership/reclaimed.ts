/**
 * What the garbage collector had to reclaim, by the line that made it and the reason. Written by
 * the table of handles, read through `memory.reclaimed()`. Owns numbers and text.
 */
import { current } from "../base/realm.ts";
import type { Capture } from "./site.ts";
import { formatSite } from "./stack.ts";

/** What is known of a handle whose wrapper was taken. */
export interface Dropped {
  readonly id: number;
  /** The open scope that would have freed it, if any. */
  readonly scope: object | null;
  readonly keeper: string | null;
  readonly departure: string | null;
  readonly created: Capture | null;
  readonly departedAt: Capture | null;
  readonly bytes: number;
  describe(): string;
}

/** Tensors the garbage collector had to reclaim that have something in common. */
export interface ReclaimedRow {
  /** The line that made them, as far as tracking recorded it. */
  readonly site: string;
  readonly count: number;
  /** Bytes of their storages, aliases counted each. */
  readonly bytes: number;
  /**
   * What went wrong: `dropped without dispose`, `detached, never disposed`, `kept by Linear, which
   * was never disposed`. Harmless: `dropped before its scope ended`.
   */
  readonly how: string;
  /** Where they left their scope, when they did and tracking recorded it. */
  readonly left: string | undefined;
  /** One of them, described. */
  readonly example: string;
}

/** The rows so far, and who wants to hear of more. */
export class Reclaimed {
  /** Handles reclaimed so far that no open scope would have freed. */
  forgotten = 0;
  readonly #rows = new Map<string, ReclaimedRow>();
  readonly #listeners = new Set<(handle: Dropped) => void>();

  /** Counts a handle whose wrapper was taken. */
  note(handle: Dropped): void {
    if (handle.scope === null) this.forgotten++;
    const site = formatSite(handle.created) ?? "(site not recorded)",
      left = handle.scope === null ? formatSite(handle.departedAt) : undefined,
      how = reasonOf(handle),
      key = `${site}|${how}|${left}`,
      row = this.#rows.get(key);
    this.#rows.set(key, {
      site,
      how,
      left,
      count: (row?.count ?? 0) + 1,
      bytes: (row?.bytes ?? 0) + handle.bytes,
      example: row?.example ?? handle.describe(),
    });
    for (const listener of this.#listeners) listener(handle);
  }

  /**
   * Calls `listener` for every handle the collector took, until the returned function is called.
   */
  watch(listener: (handle: Dropped) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** By line and reason, most first. */
  rows(): ReclaimedRow[] {
    return [...this.#rows.values()].sort((a, b) => b.count - a.count);
  }

  /** Clears what `rows` reports. */
  reset(): void {
    this.#rows.clear();
    this.forgotten = 0;
  }
}

/** What the garbage collector reclaimed, by line and reason, most first. */
export function reclaimedRows(): ReclaimedRow[] {
  return current<{ readonly ledger: { readonly reclaimed: Reclaimed } }>().ledger.reclaimed.rows();
}

function reasonOf({ keeper, scope, departure }: Dropped): string {
  if (keeper !== null) return `kept by ${keeper}, which was never disposed`;
  if (scope !== null) return "dropped before its scope ended";
  return departure === null ? "dropped without dispose" : "detached, never disposed";
}
