/**
 * The TypeScript programs of a code base, one after the other: each project's, inner folders first,
 * then one for each package of the scripts that no project has. Used by `report/leak-report.ts`,
 * which lets go of a program before it takes the next, so that memory is that of the largest.
 */
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import ts from "typescript";
import { isDeclaration, skippedFolders, slashed, type Sources } from "./sources.ts";

/** A program and those of its files that are looked at. */
export interface Part {
  /** The tsconfig.json, or the folder of scripts without one. */
  name: string;
  program: ts.Program;
  files: readonly string[];
}

/** What scripts without a tsconfig.json are read with. */
const scriptOptions: ts.CompilerOptions = {
  allowJs: true,
  target: ts.ScriptTarget.ESNext,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  jsx: ts.JsxEmit.Preserve,
  noEmit: true,
};

/** The programs of what was found; each file is in one of them. */
export function* partsOf({ scripts, projects }: Sources): Generator<Part> {
  const left = new Set(scripts);
  for (const [name, parsed] of withReferences(projects)) {
    if (left.size === 0) return;
    const { fileNames, options, projectReferences = [] } = parsed;
    const files = fileNames.map(slashed).filter((file) => left.delete(file));
    if (files.length === 0) continue;
    const program = ts.createProgram({ rootNames: fileNames, options, projectReferences });
    yield { name, program, files };
  }
  for (const [name, files] of byPackage(left))
    yield { name, program: ts.createProgram(files, scriptOptions), files };
}

/**
 * The scripts of one project and of those it refers to.
 *
 * @throws Error where there is none
 */
export function sourcesOfProject(path: string): Sources {
  const given = slashed(resolve(path));
  const file = ts.sys.directoryExists(given) ? `${given}/tsconfig.json` : given;
  const { error } = ts.readConfigFile(file, (name) => ts.sys.readFile(name));
  if (error)
    throw new Error(
      `tenure-lint-report: expected a tsconfig.json at ${path}, got an error: ` +
        `${ts.flattenDiagnosticMessageText(error.messageText, " ").replace(/\.$/, "")}; name one ` +
        "with --project",
    );
  const names = [...withReferences([file]).values()].flatMap(({ fileNames }) => fileNames);
  const scripts = names.map(slashed).filter((name) => !isDeclaration(name));
  return { scripts: [...new Set(scripts)].sort(), projects: [file] };
}

/** What the files of projects say, those they refer to first. */
function withReferences(paths: readonly string[]): Map<string, ts.ParsedCommandLine> {
  const known = new Map<string, ts.ParsedCommandLine>();
  const asked = new Set<string>();
  const add = (path: string): void => {
    if (asked.has(path) || !ts.sys.fileExists(path)) return;
    asked.add(path);
    const parsed = parse(path);
    for (const reference of parsed.projectReferences ?? [])
      add(slashed(ts.resolveProjectReferencePath(reference)));
    known.set(path, parsed);
  };
  for (const path of paths) add(path);
  return known;
}

/** What a project's file says; folders that the report skips are not read for it. */
function parse(path: string): ts.ParsedCommandLine {
  const host: ts.ParseConfigHost = {
    ...ts.sys,
    readDirectory: (root, extensions, excludes, includes, depth) => {
      const more = skippedFolders.map((name) => `**/${name}`);
      return ts.sys.readDirectory(
        root,
        extensions,
        [...(excludes ?? []), ...more],
        includes,
        depth,
      );
    },
  };
  const { config = {} } = ts.readConfigFile(path, (name) => ts.sys.readFile(name)) as {
    config?: unknown;
  };
  return ts.parseJsonConfigFileContent(config, host, dirname(path), {}, path);
}

/** Scripts by the folder of their package.json; by the one common folder where there is none. */
function byPackage(scripts: ReadonlySet<string>): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  const homes = new Map<string, string>();
  for (const file of scripts) {
    const home = homeOf(dirname(file), homes);
    groups.set(home, [...(groups.get(home) ?? []), file]);
  }
  return groups;
}

function homeOf(folder: string, known: Map<string, string>): string {
  const found = known.get(folder);
  if (found !== undefined) return found;
  const isHome = existsSync(join(folder, "package.json")) || folder === dirname(folder);
  const home = isHome ? folder : homeOf(dirname(folder), known);
  known.set(folder, home);
  return home;
}
