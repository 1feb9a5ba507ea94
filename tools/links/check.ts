/**
 * Checks that what the documents point at exists: relative links and their anchors, files and
 * folders named in backticks, npm scripts. Called by the test beside it; pure functions of a tree.
 */
import { posix } from "node:path";
import { type Page, readPage } from "./markdown.ts";

/** What the documents are checked against. */
export interface Tree {
  /** Every file, relative to the repository, with `/`. */
  readonly files: readonly string[];
  /** The documents: path → text. */
  readonly pages: ReadonlyMap<string, string>;
  /** Names of the npm scripts. */
  readonly scripts: ReadonlySet<string>;
  /** Names that stand for files of a reader's own project. */
  readonly foreign?: ReadonlySet<string>;
}

/** One line per thing that does not exist. */
export function deadLinks(tree: Tree): string[] {
  const places = placesOf(tree.files);
  const pages = new Map([...tree.pages].map(([path, text]) => [path, readPage(text)] as const));
  const found: string[] = [];
  for (const [path, page] of pages) {
    for (const { text, line } of page.links) {
      const problem = linkProblem(path, text, places, pages);
      if (problem !== undefined) found.push(`${path}:${line} links to ${text}, ${problem}`);
    }
    for (const { text, line } of page.names)
      if (!tree.foreign?.has(text) && !nameExists(text, places))
        found.push(`${path}:${line} names ${text}, which does not exist`);
    for (const { text, line } of page.scripts)
      if (!tree.scripts.has(text))
        found.push(`${path}:${line} names npm run ${text}, which package.json does not have`);
  }
  return found;
}

/** Every file and every folder that holds one. */
function placesOf(files: readonly string[]): Set<string> {
  const places = new Set(["."]);
  for (const file of files)
    for (let path = file; path !== "."; path = posix.dirname(path)) places.add(path);
  return places;
}

function linkProblem(
  from: string,
  link: string,
  places: ReadonlySet<string>,
  pages: ReadonlyMap<string, Page>,
): string | undefined {
  const [file = "", anchor] = link.split("#");
  const target = file === "" ? from : posix.join(posix.dirname(from), decodeURI(file));
  if (!places.has(target.replace(/\/$/, ""))) return "which does not exist";
  if (anchor === undefined || pages.get(target)?.anchors.has(anchor) !== false) return undefined;
  return `but ${target} has no heading for it`;
}

/** A path, perhaps with `*` for a name: `tools/layers.ts`, `nn/layers/`, `examples/*`. */
const PATH = /^(?:\.\/)?[\w.@*-]+(?:\/[\w.@*-]+)*\/?$/;
const FILE = /\.(?:[cm]?[jt]sx?|md|json|txt|wgsl)$/;

/**
 * Whether a name, if it is that of a file or folder, is one. A path may leave out where it begins
 * (`planner/verify.ts`), and `file.ts#name` is a name inside a file.
 */
export function nameExists(name: string, places: ReadonlySet<string>): boolean {
  const path = name.replace(/#\w+$/, "").replace(/^\.\//, "");
  if (!PATH.test(path) || !isPath(path, places)) return true;
  const pattern = path.replace(/\/$/, "").replace(/[.]/g, "\\.").replace(/\*/g, "[^/]*");
  const end = new RegExp(`(?:^|/)${pattern}$`);
  for (const place of places) if (end.test(place)) return true;
  return false;
}

/** `a/b` is a path when `a` is a folder of the repository; else it may be an entry point. */
function isPath(name: string, places: ReadonlySet<string>): boolean {
  if (FILE.test(name)) return !name.startsWith(".") && !name.startsWith("*");
  if (name.endsWith("/")) return true;
  const slash = name.indexOf("/");
  return slash > 0 && places.has(name.slice(0, slash));
}
