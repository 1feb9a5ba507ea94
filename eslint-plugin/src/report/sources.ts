/**
 * The sources below a folder: scripts and the TypeScript projects that may know them, without what
 * is installed, built, vendored, minified or ignored. Used by `report/leak-report.ts`; reads
 * folders and no file but `.gitignore`.
 */
import { readdirSync, statSync, type Dirent } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { Ignored } from "./ignored.ts";

/** What lies below some folders. */
export interface Sources {
  /** Whole paths of scripts, with `/` between folders. */
  scripts: string[];
  /** Whole paths of the projects' files: those of inner folders first. */
  projects: string[];
}

/** Folders that hold what others wrote, or what a tool made. */
export const skippedFolders = [
  ...["node_modules", "bower_components", "jspm_packages", "web_modules"],
  ...["vendor", "vendors", "third_party", "third-party"],
  ...["dist", "build", "out", "coverage", "target", "storybook-static"],
];
const skipped = new Set(skippedFolders);
const script = /\.(ts|tsx|mts|cts|js|jsx|mjs|cjs)$/;
const bundled = /[.-](min|bundle|bundled|umd|prod)\.[cm]?js$/;
const project = /^[tj]sconfig\.json$/;
/** How long files are that people write; longer scripts without types are copied libraries. */
const longest = (name: string): number => (/js$/.test(name) ? 250_000 : 1_000_000);

/**
 * Finds what lies at some paths.
 *
 * @param paths files or folders; what is named is looked at, whatever it is called
 * @throws Error where there is nothing at one of them
 */
export function sourcesAt(paths: readonly string[]): Sources {
  const scripts = new Set<string>();
  const projects = new Set<string>();
  for (const path of paths.map((p) => resolve(p))) {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (!stat)
      throw new Error(`tenure-lint-report: expected a file or folder at ${path}, got none`);
    if (stat.isDirectory()) walk(path, Ignored.at(path), scripts, projects);
    else scripts.add(slashed(path));
    for (const above of projectsAbove(path)) projects.add(above);
  }
  const depth = (path: string): number => path.split("/").length;
  return {
    scripts: [...scripts].sort(),
    projects: [...projects].sort((a, b) => depth(b) - depth(a) || (a < b ? -1 : 1)),
  };
}

function walk(folder: string, ignored: Ignored, scripts: Set<string>, projects: Set<string>): void {
  for (const entry of entriesOf(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (skipped.has(entry.name) || entry.name.startsWith(".")) continue;
      if (!ignored.has(path, true)) walk(path, ignored.below(path), scripts, projects);
    } else if (!entry.isFile() || ignored.has(path, false)) continue;
    else if (project.test(entry.name)) projects.add(slashed(path));
    else if (isSource(entry.name) && statSync(path).size <= longest(path))
      scripts.add(slashed(path));
  }
}

/** What lies in a folder; nothing where it may not be read. */
function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

const isSource = (name: string): boolean =>
  script.test(name) && !isDeclaration(name) && !bundled.test(name);

/** Whether a file only declares what others have. */
export const isDeclaration = (name: string): boolean => /\.d\.([cm]?ts|[^.]+\.ts)$/.test(name);

/** The projects that a file or folder may be a part of, within its repository. */
function projectsAbove(path: string): string[] {
  const found: string[] = [];
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    const entries = entriesOf(folder).map((e) => e.name);
    found.push(...entries.filter((e) => project.test(e)).map((e) => slashed(join(folder, e))));
    if (entries.includes(".git")) break;
  }
  return found;
}

/** A path as TypeScript writes it. */
export const slashed = (path: string): string => path.replaceAll("\\", "/");
