/**
 * Baselines: a file that says how many reports of each rule every file of an old code base had on
 * the day the plugin came, so that only what is added since is reported. Read by
 * `analysis/analyse.ts` when the settings name one; written by `report/cli.ts`. Owns nothing.
 */
import { readFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { SettingsError } from "./settings-error.ts";

/** Reports per rule, by file relative to the baseline's folder, with `/` between folders. */
export type BaselineCounts = Record<string, Record<string, number>>;

/** What a baseline file allows. */
export class Baseline {
  readonly #counts: BaselineCounts;
  readonly #folder: string;

  /** @param folder the folder that the paths of `counts` start from */
  constructor(counts: BaselineCounts, folder: string) {
    this.#counts = counts;
    this.#folder = folder;
  }

  /** How many reports of a rule a file may have without any being shown. */
  allows(file: string, rule: string): number {
    return this.#counts[pathFrom(this.#folder, file)]?.[rule] ?? 0;
  }
}

/** A file's path in a baseline of a folder. */
export const pathFrom = (folder: string, file: string): string =>
  relative(folder, file).replaceAll("\\", "/");

/** The text of a baseline file. */
export const baselineText = (counts: BaselineCounts): string =>
  `${JSON.stringify({ version: 1, files: counts }, null, 2)}\n`;

/**
 * Reads a baseline file.
 *
 * @param path the file, relative to `cwd` or absolute
 * @throws SettingsError when it is missing or is no baseline
 */
export function readBaseline(path: string, cwd: string): Baseline {
  const full = resolve(cwd, path);
  const wrong = (what: string): SettingsError =>
    new SettingsError(
      `settings.tenure.baseline: expected a baseline file at ${path}, got ${what}; write one ` +
        `with \`npx tenure-lint-report --write-baseline ${path}\``,
    );
  let text: string;
  try {
    text = readFileSync(full, "utf8");
  } catch {
    throw wrong("none");
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw wrong("text that is no JSON");
  }
  if (!isBaseline(parsed)) throw wrong("JSON of another kind");
  return new Baseline(parsed.files, dirname(full));
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isBaseline = (value: unknown): value is { files: BaselineCounts } =>
  isRecord(value) &&
  value["version"] === 1 &&
  isRecord(value["files"]) &&
  Object.values(value["files"]).every(
    (rules) => isRecord(rules) && Object.values(rules).every((n) => Number.isInteger(n)),
  );
