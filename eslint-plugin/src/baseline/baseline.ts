/**
 * Baselines: a file that says which leaks an old code base had on the day the plugin came, so that
 * only what is added since is reported. A leak is known by its file, rule, function and code, never
 * by its line. Opened by `baseline/baselines.ts`, asked by the rules; written by `report/cli.ts`.
 */
import { existsSync } from "node:fs";
import * as platform from "node:path";
import type { LeakPlace } from "./leak-place.ts";

/** How often each place of leaks comes in a file, by rule; a place is `function code`. */
export type FileLeaks = Record<string, Record<string, number>>;
/** The leaks of every file, relative to the baseline's folder, with `/` between folders. */
export type BaselineLeaks = Record<string, FileLeaks>;

/** The form of baseline files that is written and read. */
export const baselineVersion = 2;

/** What a baseline has to say of the reports of one rule in one file. */
export interface Sifted {
  /** Which reports are not in the baseline, in the order they were given. */
  isNew: boolean[];
  /** Whether the baseline has leaks of the rule and file that are no more. */
  isStale: boolean;
}

/** A leak of a baseline; code has no spaces, names of functions may. */
const keyOf = (place: LeakPlace): string => `${place.function} ${place.code}`;
const functionOf = (key: string): string => key.slice(0, key.lastIndexOf(" "));
const codeOf = (key: string): string => key.slice(key.lastIndexOf(" ") + 1);

/** The leaks that a baseline file lists. */
export class Baseline {
  readonly #leaks: BaselineLeaks;
  readonly #folder: string;

  /** @param folder the folder that the paths of `leaks` start from */
  constructor(leaks: BaselineLeaks, folder: string) {
    this.#leaks = leaks;
    this.#folder = folder;
  }

  /**
   * Tells the old reports of a rule in a file from the new ones. A leak of the list stands for one
   * report at the same function and code; one of a function that is gone, for one at the same code;
   * one of a file that is gone, for one in a new file of that name or folder.
   *
   * @param functions the names of all functions that the file has now
   */
  sift(
    file: string,
    rule: string,
    found: readonly LeakPlace[],
    functions: () => ReadonlySet<string>,
  ): Sifted {
    const path = pathFrom(this.#folder, file);
    const own = this.#leaks[path];
    const left = new Map(Object.entries(own?.[rule] ?? {}));
    const isNew = found.map((place) => !takeOne(left, keyOf(place)));
    if (own === undefined && isNew.includes(true)) {
      const moved = this.#moved(path, rule);
      found.forEach((place, i) => (isNew[i] = !takeOne(moved, keyOf(place))));
    }
    if (left.size > 0 && isNew.includes(true)) {
      const orphanOf = orphanFinder(left, functions());
      found.forEach((place, i) => {
        const key = isNew[i] ? orphanOf(place.code) : undefined;
        if (key !== undefined) isNew[i] = !takeOne(left, key);
      });
    }
    return { isNew, isStale: left.size > 0 };
  }

  /** The leaks of files that are gone and may be this one now. */
  #moved(path: string, rule: string): Map<string, number> {
    const sum = new Map<string, number>();
    const gone = Object.keys(this.#leaks)
      .filter((known) => mayBe(known, path))
      .filter((known) => !existsSync(platform.resolve(this.#folder, known)));
    for (const known of gone)
      for (const [key, count] of Object.entries(this.#leaks[known]?.[rule] ?? {}))
        sum.set(key, (sum.get(key) ?? 0) + count);
    return sum;
  }
}

/** Takes one of a count; false where there is none left. */
function takeOne(counts: Map<string, number>, key: string): boolean {
  const count = counts.get(key) ?? 0;
  if (count > 1) counts.set(key, count - 1);
  else counts.delete(key);
  return count > 0;
}

/** Finds a leak with some code whose function is gone. */
function orphanFinder(
  left: ReadonlyMap<string, number>,
  functions: ReadonlySet<string>,
): (code: string) => string | undefined {
  const orphans = [...left.keys()].filter((key) => {
    const name = functionOf(key);
    return name !== "" && !functions.has(name);
  });
  return (code: string): string | undefined =>
    orphans.find((key) => codeOf(key) === code && left.has(key));
}

/** Whether a file was moved to another folder, or renamed in its own. */
function mayBe(old: string, path: string): boolean {
  const [a, b] = [platform.posix.parse(old), platform.posix.parse(path)];
  return a.dir === b.dir || a.name === b.name;
}

/** A file's path in a baseline of a folder. */
export const pathFrom = (
  folder: string,
  file: string,
  paths: Pick<typeof platform, "relative"> = platform,
): string => paths.relative(folder, file).replaceAll("\\", "/");

/** Adds a leak to a list. */
export function addLeak(leaks: BaselineLeaks, file: string, rule: string, place: LeakPlace): void {
  const counts = ((leaks[file] ??= {})[rule] ??= {});
  counts[keyOf(place)] = (counts[keyOf(place)] ?? 0) + 1;
}

/** The text of a baseline file: the same for the same leaks, in whatever order they were found. */
export const baselineText = (leaks: BaselineLeaks): string =>
  `${JSON.stringify({ version: baselineVersion, files: sorted(leaks) }, null, 2)}\n`;

function sorted<T>(value: T): T {
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)])) as T;
}

/** The leaks that a baseline file's text lists; else what is wrong with it. */
export function parseBaseline(text: string): BaselineLeaks | string {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch {
    return "text that is no JSON";
  }
  if (!isRecord(parsed) || !Number.isInteger(parsed["version"])) return "JSON of another kind";
  const version = String(parsed["version"]);
  if (version !== String(baselineVersion)) return `one of version ${version}`;
  return isLeaks(parsed["files"]) ? parsed["files"] : "JSON of another kind";
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isLeaks = (value: unknown): value is BaselineLeaks =>
  isRecord(value) &&
  Object.values(value).every(
    (rules) => isRecord(rules) && Object.values(rules).every((c) => isRecord(c) && areCounts(c)),
  );
const areCounts = (counts: Record<string, unknown>): boolean =>
  Object.values(counts).every((n) => Number.isInteger(n) && (n as number) > 0);
