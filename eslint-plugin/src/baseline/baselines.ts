/**
 * The baseline files that the linted files name: found, read and kept here, and said to be broken
 * or stale in one file only, not in each. Owned by `analysis/analyse.ts`, for as long as ESLint
 * runs; an editor sees a changed file at the next keystroke.
 */
import { readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { Baseline, baselineVersion, parseBaseline } from "./baseline.ts";

/** A baseline file as it was when it was last changed. */
interface Known {
  /** The time and size of the file. */
  stamp: string;
  /** What is in it, or what is wrong with it. */
  content: Baseline | string;
  /** The file that says what is wrong. */
  teller: string | undefined;
}

/** What a linted file has to do with its baseline. */
export interface OpenBaseline {
  /** What is in it, or what is wrong with it. */
  content: Baseline | string;
  /** Whether this linted file is the one that says what is wrong; the first that asks is. */
  tells: () => boolean;
}

/** Every baseline file that was opened. */
export class Baselines {
  readonly #known = new Map<string, Known>();

  /**
   * The baseline of a linted file.
   *
   * @param path as the settings have it: looked for from the linted file's folder upwards, so that
   *   it is the same in whatever folder ESLint runs, then in `cwd`
   */
  open(path: string, filename: string, cwd: string): OpenBaseline {
    const { full, stamp } = find(path, filename, cwd);
    let known = this.#known.get(full);
    if (known?.stamp !== stamp)
      this.#known.set(full, (known = { stamp, content: read(full, path), teller: undefined }));
    const found = known;
    return {
      content: found.content,
      tells: () => (found.teller ??= filename) === filename,
    };
  }
}

/** What to run where a baseline file is missing or has leaks that are no more. */
export const renewal = (path: string): string =>
  `\`npx tenure-lint-report --eslint --write-baseline ${path}\``;

function find(path: string, filename: string, cwd: string): { full: string; stamp: string } {
  for (let folder = dirname(resolve(cwd, filename)); ; folder = dirname(folder)) {
    const full = resolve(folder, path);
    const stamp = stampOf(full);
    if (stamp !== undefined) return { full, stamp };
    if (folder === dirname(folder)) break;
  }
  const full = join(resolve(cwd, path));
  return { full, stamp: stampOf(full) ?? "" };
}

function stampOf(file: string): string | undefined {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat?.isFile() ? `${String(stat.mtimeMs)} ${String(stat.size)}` : undefined;
}

function read(full: string, path: string): Baseline | string {
  let text: string;
  try {
    text = readFileSync(full, "utf8");
  } catch {
    return wrong(path, "none");
  }
  const leaks = parseBaseline(text);
  return typeof leaks === "string" ? wrong(path, leaks) : new Baseline(leaks, dirname(full));
}

const wrong = (path: string, what: string): string =>
  `settings.tenure.baseline: expected a baseline file of version ${String(baselineVersion)} at ` +
  `${path}, got ${what}; write one with ${renewal(path)}.`;
