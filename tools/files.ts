/**
 * Walks the repository for the tools: which files there are below a folder. Called by the test
 * runner, the layer check, the figures and the link check. Owns nothing.
 */
import { existsSync, readdirSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the repository. */
export const REPOSITORY = fileURLToPath(new URL("..", import.meta.url));

/** Folders that hold nothing written by hand, or cases whose layout is part of the case. */
const SKIPPED = new Set(["node_modules", "dist", "fixtures", "golden"]);

/**
 * Paths of all files below `folder` whose name matches, relative to `root`, with `/`, sorted.
 * Folders that are absent hold none; hidden folders and those with nothing written by hand are left
 * out.
 */
export function filesBelow(root: string, folder: string, name: RegExp): string[] {
  const found: string[] = [];
  const path = join(root, folder);
  if (!existsSync(path)) return found;
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const child = posix.join(folder, entry.name);
    const skipped = SKIPPED.has(entry.name) || entry.name.startsWith(".");
    if (entry.isDirectory() && !skipped) found.push(...filesBelow(root, child, name));
    else if (entry.isFile() && name.test(entry.name)) found.push(child);
  }
  return found.sort();
}
