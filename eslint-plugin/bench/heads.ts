/**
 * Lints whole heads of the corpus, one project per package of the repository. Used by `main.ts` and
 * when verdicts are written.
 */
import { existsSync, readdirSync, rmSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import {
  corpusDir,
  dateOf,
  isSource,
  materialise,
  releaseFor,
  repository,
  tfjsTypes,
  writeProject,
} from "./corpus.ts";
import { lintFiles, type Report } from "./linting.ts";

/** What linting one head gave. */
export interface HeadResult {
  reports: Report[];
  files: number;
  lines: number;
  milliseconds: number;
  fatal: string[];
  projects: { project: string; files: string[] }[];
}

/** Our reports on one head, paths relative to the repository; or why it was skipped. */
export function lintHead(name: string, commit: string): HeadResult | { missing: string } {
  const repo = repository(name);
  if ("missing" in repo) return repo;
  const types = tfjsTypes(releaseFor(dateOf(repo.git, commit)));
  if ("missing" in types) return types;
  const target = join(corpusDir, "heads", name.replace("/", "+"));
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const written = materialise(repo.git, commit, "", target).filter(
    (f) => isSource(f) && existsSync(join(target, f)),
  );
  const packages = existsSync(join(target, "src"))
    ? [""]
    : readdirSync(target).filter((d) => written.some((w) => w.startsWith(`${d}/src/`)));
  const result: HeadResult = {
    reports: [],
    files: 0,
    lines: 0,
    milliseconds: 0,
    fatal: [],
    projects: [],
  };
  for (const folder of packages) {
    const prefix = folder === "" ? "src/" : `${folder}/src/`;
    const files = written.filter((w) => w.startsWith(prefix)).map((w) => join(target, w));
    const project = writeProject(
      target,
      types.modules,
      [`${prefix}**/*.ts`],
      folder === "" ? "root" : folder,
    );
    const found = lintFiles(project, files, "tfjs");
    result.reports.push(
      ...found.reports.map((r) => ({ ...r, file: r.file.slice(target.length + 1) })),
    );
    result.fatal.push(...found.fatal);
    result.files += files.length;
    result.lines += found.lines;
    result.milliseconds += found.milliseconds;
    result.projects.push({ project, files });
  }
  return result;
}
