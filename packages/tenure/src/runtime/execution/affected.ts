/**
 * What a run changes that somebody owns, noted before it begins: what it leaves when it fails.
 * Asked by execution.ts. Owns nothing.
 */
import type { OpenProgram } from "../open-program.ts";
import type { Storage } from "../storage.ts";

/** What a program writes that somebody owns, as it was when its run began. */
export interface Affected {
  readonly written: readonly Storage[];
  readonly uploaded: readonly Storage[];
  /** Storages that had no contents before. */
  readonly made: readonly Storage[];
  /** Storages whose contents the program found. */
  readonly found: readonly Storage[];
}

/** What a program affects that has not begun. */
export const nothing: Affected = { written: [], uploaded: [], made: [], found: [] };

/** What a program will affect, asked before it takes its buffers over. */
export function affectedBy(work: OpenProgram): Affected {
  const made: Storage[] = [];
  const found: Storage[] = [];
  for (const storage of work.locals) (storage.buffer === null ? made : found).push(storage);
  const uploaded = work.uploads.map(({ storage }) => storage);
  return { written: work.written(), uploaded, made, found };
}
