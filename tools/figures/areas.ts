/**
 * The areas in which `tools/figures.ts` sums up the repository: which part of it a file belongs to.
 * Owns nothing.
 */
import { filesBelow } from "../files.ts";

/** Folders of the repository that hold source text. */
const PLACES = ["packages", "eslint-plugin", "examples", "tools"];
const SOURCE = /(?<!\.d)\.[cm]?[jt]sx?$/;
const LIBRARY = "packages/tenure/src/";

/**
 * Names of the areas: the library by layer and as a whole, then what stands around it. A file is
 * counted in each area named.
 */
export function areasOf(file: string): string[] {
  if (/(^|\/)test\//.test(file)) return ["tests"];
  if (file.startsWith(LIBRARY)) {
    const inside = file.slice(LIBRARY.length);
    const layer = inside.includes("/") ? inside.slice(0, inside.indexOf("/")) : "(entry points)";
    return [`tenure/${layer}`, "tenure"];
  }
  if (file.startsWith("packages/")) return [file.split("/")[1] ?? file];
  return [file.split("/")[0] ?? file];
}

/** Every source file of the repository, or those below the given folders, without duplicates. */
export function sourceFiles(root: string, folders: readonly string[]): string[] {
  const all = PLACES.flatMap((place) => filesBelow(root, place, SOURCE));
  if (folders.length === 0) return all;
  const prefixes = folders.map((folder) => folder.replace(/^\.\//, "").replace(/\/$/, ""));
  return all.filter((file) =>
    prefixes.some((prefix) => file === prefix || file.startsWith(`${prefix}/`)),
  );
}
