/**
 * The blind corpus of the lint bench: leak fixes of public repositories, an open set to develop
 * with (`fixes.txt`) and a sealed one of which only totals are told (`sealed-fixes.txt`). Holds no
 * foreign code: repository, commit, path, lines, licence and what leaked. Used by `blind.ts`.
 */
import { readFileSync } from "node:fs";

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

/** The rows of a file of fixes: `repository@commit:path:lines:licence:kind:what leaked`. */
function parse(text: string): Fix[] {
  return text
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

const read = (file: string): Fix[] => parse(readFileSync(new URL(file, import.meta.url), "utf8"));

/** The open set, to develop with: `fixes.txt`. */
export const readFixes = (): Fix[] => read("./fixes.txt");

/** The sealed set, of repositories that no other file of the bench names: `sealed-fixes.txt`. */
export const sealedFixes = (): Fix[] => read("./sealed-fixes.txt");
