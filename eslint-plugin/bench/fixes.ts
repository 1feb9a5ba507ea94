/**
 * The blind corpus of the lint bench: leak fixes of public repositories (`fixes.txt`), split by
 * repository into an open half to develop with and a sealed half of which only totals are told.
 * Holds no foreign code: repository, commit, path, lines, licence and what leaked. Used by
 * `blind.ts`.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { cases, heads } from "./cases.ts";

/** One file of a commit that fixes a leak, judged by reading its diff. */
export interface Fix {
  repo: string;
  commit: string;
  path: string;
  /** The lines of the file before the fix on which the leaking value stands, from 1. */
  lines: ReadonlySet<number>;
  /** The licence of the repository, by its SPDX name, or `none`. */
  licence: string;
  /** The construct that leaks, the rows of the tables. */
  kind: string;
  /** What leaked, in one line. */
  what: string;
}

/** The fixes of `fixes.txt`: `repository@commit:path:lines:licence:kind:what leaked`. */
export function readFixes(): Fix[] {
  return readFileSync(new URL("./fixes.txt", import.meta.url), "utf8")
    .split("\n")
    .filter((row) => row !== "" && !row.startsWith("#"))
    .map((row) => {
      const match = /^([^@]+)@(\w+):([^:]+):([\d,-]+):([^:]+):([^:]+):(.+)$/.exec(row);
      if (!match) throw new Error(`lint: expected a row of fixes.txt, got "${row}"; see its head`);
      const [, repo = "", commit = "", path = "", lines = "", licence = "", kind = ""] = match;
      return { repo, commit, path, lines: lineSet(lines), licence, kind, what: match[7] ?? "" };
    });
}

function lineSet(text: string): Set<number> {
  const lines = new Set<number>();
  for (const part of text.split(",")) {
    const [from = 0, to = from] = part.split("-").map(Number);
    for (let line = from; line <= to; line++) lines.add(line);
  }
  return lines;
}

/**
 * Repositories whose fixes or heads the plugin was developed with, and those that were merged into
 * tensorflow/tfjs with their history: never sealed.
 */
const known = new Set([
  ...[...cases, ...heads].map((c) => c.repo),
  ...["core", "layers", "converter", "data", "node"].map((part) => `tensorflow/tfjs-${part}`),
]);
const seed = "tenure";

/**
 * Splits by repository. Those the plugin was developed with are open, two fifths of the fixes; of
 * the others three in four are sealed, so that the halves are about equal. The draw is by a fixed
 * seed and the name alone: fixes and repositories added later move none.
 */
export function split(fixes: readonly Fix[]): { open: Fix[]; sealed: Fix[] } {
  const isSealed = ({ repo }: Fix): boolean => !known.has(repo) && drawn(repo);
  return { open: fixes.filter((f) => !isSealed(f)), sealed: fixes.filter(isSealed) };
}

const drawn = (repo: string): boolean =>
  (createHash("sha256").update(`${seed} ${repo}`).digest()[0] ?? 0) % 4 !== 0;
