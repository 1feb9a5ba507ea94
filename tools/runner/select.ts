/**
 * Decides what a run of the tests consists of: which files, which tests in them by name, and which
 * files share a process. Called by `tools/test.ts`; reads files, owns nothing.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { filesBelow } from "../files.ts";
import type { Batch } from "./batch.ts";

/** Folders of the repository that hold tests. */
const PLACES = ["packages", "eslint-plugin", "examples", "tools"];
/**
 * Files per process at most: a crash costs a restart, two processes share the work evenly, and
 * each start loads TypeScript or a driver again.
 */
const BATCH = 27;

/** What to run. */
export interface Selection {
  readonly files: readonly string[];
  /** Run only tests whose name contains one of these; all, when there are none. */
  readonly names: readonly string[];
}

/** All test files of the repository, or below another root. */
export function findTests(root: string, isRepository: boolean): string[] {
  const places = isRepository ? PLACES : [""];
  return places.flatMap((place) => filesBelow(root, place, /\.test\.ts$/)).sort();
}

/**
 * Reads the words of the command line: a word that is part of the path of a test file selects these
 * files, and one with a slash can be nothing else; any other is part of the name of tests, in the
 * selected files or in all. With names but no paths, only files that contain one of the names are
 * loaded, unless none does: then a name may be put together when the file is loaded.
 */
export function select(root: string, all: readonly string[], words: readonly string[]): Selection {
  const isPath = (word: string): boolean =>
    /^\S*\/\S*$/.test(word) || all.some((file) => file.includes(word));
  const paths = words.filter(isPath);
  const names = words.filter((word) => !paths.includes(word));
  if (paths.length > 0)
    return { files: all.filter((file) => paths.some((part) => file.includes(part))), names };
  if (names.length === 0) return { files: all, names };
  const parts = names.map((name) => (name.split("›").at(-1) ?? name).trim().toLowerCase());
  const mention = all.filter((file) => {
    const text = readFileSync(join(root, file), "utf8").toLowerCase();
    return parts.some((part) => text.includes(part));
  });
  return { files: mention.length > 0 ? mention : all, names };
}

/**
 * Groups by package (`packages/tenure`, `tools`, …) and, in it, by whether they are of the null
 * device; files with flags of their own stay alone. Long batches first, so that no process ends far
 * behind.
 */
export function batches(root: string, { files, names }: Selection): Batch[] {
  const alone: Batch[] = [];
  const groups = new Map<string, string[]>();
  for (const file of files) {
    const flags = /^\/\/ node: (.+)/.exec(readFileSync(join(root, file), "utf8"))?.[1];
    if (flags !== undefined) {
      alone.push({ root, names, files: [file], flags: flags.trim().split(/\s+/) });
      continue;
    }
    const [first = "", second = "", ...rest] = file.split("/");
    const own = first === "packages" || first === "examples" ? `${first}/${second}` : first;
    // these use the null device, which others would take from them
    const group = rest[1] === "null" ? `${own}/null` : own;
    groups.set(group, [...(groups.get(group) ?? []), file]);
  }
  const shared: Batch[] = [];
  for (const group of groups.values()) {
    const parts = Math.ceil(group.length / BATCH);
    const size = Math.ceil(group.length / parts);
    for (let at = 0; at < group.length; at += size)
      shared.push({ root, names, files: group.slice(at, at + size), flags: [] });
  }
  return [...shared.sort((a, b) => b.files.length - a.files.length), ...alone];
}
