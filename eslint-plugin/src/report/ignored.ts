/**
 * What `.gitignore` files leave out, told without git: the report looks at copies without a
 * repository, too. Used by `report/sources.ts`; owns nothing.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

interface Pattern {
  matches: RegExp;
  /** `!pattern`: what it matches is not ignored after all. */
  isExcepted: boolean;
  onlyFolders: boolean;
}

/** The patterns that hold in a folder: its own, and those of the folders above it. */
export class Ignored {
  readonly #folder: string;
  readonly #own: readonly Pattern[];
  readonly #above: Ignored | null;

  private constructor(folder: string, above: Ignored | null) {
    this.#folder = folder;
    this.#above = above;
    const file = join(folder, ".gitignore");
    this.#own = existsSync(file) ? patternsOf(readFileSync(file, "utf8")) : [];
  }

  /** The patterns for a folder, with those above it in its repository. */
  static at(folder: string): Ignored {
    const root = repositoryOf(folder);
    const isInside = root !== undefined && root !== folder;
    return new Ignored(folder, isInside ? Ignored.at(dirname(folder)) : null);
  }
  /** The patterns for a folder in this one. */
  below(folder: string): Ignored {
    return new Ignored(folder, this);
  }

  /** Whether a file or folder in this folder is ignored: the last pattern that matches decides. */
  has(path: string, isFolder: boolean): boolean {
    const inside = relative(this.#folder, path).replaceAll("\\", "/");
    const last = this.#own.findLast((p) => (isFolder || !p.onlyFolders) && p.matches.test(inside));
    return last ? !last.isExcepted : (this.#above?.has(path, isFolder) ?? false);
  }
}

/** The folder of the repository that a folder lies in. */
function repositoryOf(folder: string): string | undefined {
  if (existsSync(join(folder, ".git"))) return folder;
  return dirname(folder) === folder ? undefined : repositoryOf(dirname(folder));
}

/** The patterns of a `.gitignore` file's text. */
function patternsOf(text: string): Pattern[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.replace(/(?<!\\)\s+$/, ""))
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const isExcepted = line.startsWith("!");
      const body = line.replace(/^!/, "").replace(/^\\(?=[!#])/, "");
      const path = body.replace(/\/$/, "");
      return { isExcepted, onlyFolders: body.endsWith("/"), matches: expressionOf(path) };
    });
}

/** A pattern with a slash is a path from its folder, one without matches at any depth. */
function expressionOf(pattern: string): RegExp {
  const path = pattern.replace(/^\//, "");
  const anywhere = pattern.includes("/") ? "" : "(?:.*/)?";
  const parts = path.match(/\*\*\/|\/\*\*$|\*\*|\*|\?|\[[^\]]+\]|\\.|[^*?[\\]+|./g) ?? [];
  return new RegExp(`^${anywhere}${parts.map(partOf).join("")}$`);
}

function partOf(part: string): string {
  if (part === "**/") return "(?:.*/)?";
  if (part === "/**") return "/.*";
  if (part === "**" || part === "*") return part === "*" ? "[^/]*" : ".*";
  if (part === "?") return "[^/]";
  if (/^\[.+\]$/.test(part)) return part.replace(/^\[!/, "[^").replaceAll("\\", "\\\\");
  return part.replace(/^\\/, "").replace(/[.+^${}()|[\]\\*?]/g, "\\$&");
}
