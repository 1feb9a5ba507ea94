/**
 * Judges the fixes of the blind corpus: a fix is found when the plugin reports on the leaking value
 * in the file before it and no more after it. The open set is shown fix by fix; the sealed set
 * only in totals, at most three times, each run recorded in `sealed.txt`. Used by `main.ts`.
 */
import { execFileSync } from "node:child_process";
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { aliasesOf } from "./aliases.ts";
import {
  dateOf,
  foldersOf,
  materialise,
  releaseFor,
  repository,
  root,
  sizeOf,
  tfjsTypes,
  writeBuild,
  writeProject,
} from "./corpus.ts";
import { readFixes, sealedFixes, type Fix } from "./fixes.ts";
import { type Config, lintFiles, type Report } from "./linting.ts";
import { programMaker } from "./programs.ts";

/** A changed stretch of a file: first line and length, before and after. */
interface Hunk {
  before: number;
  removed: number;
  after: number;
  added: number;
}

const percent = (part: number, whole: number): string =>
  whole === 0 ? "–" : `${String(Math.round((1000 * part) / whole) / 10)} %`;
const log = new URL("./sealed.txt", import.meta.url);
const maxRuns = 3;
/** Opens the runs of the present sealed set in the log; those above it are of sets now open. */
const present = "# The fourteenth sealed set, sealed-fixes.txt";
/** Of a repository with more files than this only the folder of the fix is written. */
const mostFiles = 5000;

/**
 * Recall on the open set, by construct and fix by fix, as Markdown.
 *
 * @param only the repositories to try; all of them when empty
 */
export function openRecall(only: readonly string[] = [], config: Config = "recommended"): string {
  const rows: string[] = [];
  const program = programMaker();
  const kinds = new Map<string, { found: number; all: number; missed: string[] }>();
  for (const fix of readFixes()) {
    if (only.length > 0 && !only.includes(fix.repo)) continue;
    const found = judge(fix, program, config);
    const name = `${fix.repo} ${fix.commit} ${fix.path}`;
    if (typeof found === "string") {
      rows.push(`| ${name} | ${fix.kind} | skipped: ${found} |`);
      continue;
    }
    const kind = kinds.get(fix.kind) ?? { found: 0, all: 0, missed: [] };
    kinds.set(fix.kind, kind);
    kind.all++;
    if (found) kind.found++;
    else kind.missed.push(fix.what);
    rows.push(`| ${name} | ${fix.kind} | ${found ? "found" : "missed"} |`);
  }
  const all = [...kinds.values()];
  const sum = (of: (k: { found: number; all: number }) => number): number =>
    all.reduce((n, k) => n + of(k), 0);
  const found = sum((k) => k.found),
    tried = sum((k) => k.all);
  return (
    `## Recall on the open set\n\n${String(found)} of ${String(tried)} fixes found ` +
    `(${percent(found, tried)}).\n\n| construct | found | all | missed |\n| --- | --: | --: | ` +
    "--- |\n" +
    [...kinds]
      .sort(([, a], [, b]) => b.all - b.found - (a.all - a.found))
      .map(
        ([kind, k]) =>
          `| ${kind} | ${String(k.found)} | ${String(k.all)} | ${k.missed.join("; ")} |`,
      )
      .join("\n") +
    `\n\n| fix | construct | result |\n| --- | --- | --- |\n${rows.join("\n")}`
  );
}

/**
 * Recall on the sealed set, in totals only; counts against the runs that are left. What cannot be
 * tried counts as missed.
 */
export function sealedRecall(): string {
  const rows = readFileSync(log, "utf8").split("\n");
  const runs = rows
    .slice(rows.findIndex((row) => row.startsWith(present)) + 1)
    .filter((row) => row !== "" && !row.startsWith("#")).length;
  if (runs >= maxRuns)
    throw new Error(
      `lint: expected fewer than ${String(maxRuns)} sealed runs, got ${String(runs)}`,
    );
  const sealed = sealedFixes();
  if (sealed.length === 0)
    throw new Error("lint: expected rows in sealed-fixes.txt, got none; collect a set first");
  const missing = [...new Set(sealed.map((f) => f.repo))].filter((r) => "missing" in repository(r));
  if (missing.length > 0)
    throw new Error(`lint: expected every sealed repository, got none of ${missing.join(", ")}`);
  const commit = execFileSync("git", ["-C", root, "rev-parse", "--short", "HEAD"]).toString();
  const program = programMaker();
  const byRepo = new Map<string, { found: number; strict: number; all: number }>();
  for (const fix of sealed) {
    const row = byRepo.get(fix.repo) ?? { found: 0, strict: 0, all: 0 };
    byRepo.set(fix.repo, row);
    row.all++;
    if (judge(fix, program, "recommended") === true) row.found++;
    if (judge(fix, program, "strict") === true) row.strict++;
  }
  const [found, strict] = (["found", "strict"] as const).map((which) => {
    const sum = [...byRepo.values()].reduce((n, r) => n + r[which], 0);
    return `${String(sum)}/${String(sealed.length)} ${percent(sum, sealed.length)}`;
  });
  const date = new Date().toISOString().slice(0, 10);
  const parts = [...byRepo].map(([r, n]) => {
    const more = n.strict === n.found ? "" : ` (strict ${String(n.strict)})`;
    return `${r} ${String(n.found)}/${String(n.all)}${more}`;
  });
  appendFileSync(log, `${date} ${commit.trim()} ${found}, strict ${strict}: ${parts.join(", ")}\n`);
  return (
    `## Recall on the sealed set\n\nRun ${String(runs + 1)} of ${String(maxRuns)}, ${date}, at ` +
    `${commit.trim()}: ${found}, with the settings of strict ${strict}.\n\n` +
    "| repository | found | strict | all |\n| --- | --: | --: | --: |\n" +
    [...byRepo]
      .map(([r, n]) => `| ${r} | ${String(n.found)} | ${String(n.strict)} | ${String(n.all)} |`)
      .join("\n")
  );
}

/** Whether the plugin sees the leak of a fix; or why that could not be tried. */
function judge(
  fix: Fix,
  program: ReturnType<typeof programMaker>,
  config: Config,
): boolean | string {
  const repo = repository(fix.repo);
  if ("missing" in repo) return repo.missing;
  const types = tfjsTypes(releaseFor(dateOf(repo.git, fix.commit)));
  if ("missing" in types) return types.missing;
  const at = (revision: string): Report[] | undefined =>
    reportsOn(fix, repo.git, revision, types.modules, program, config);
  const before = at(`${fix.commit}^`);
  if (!before) return "the file is not there before the fix";
  const named = before.filter((r) => fix.lines.has(r.line));
  if (named.length === 0) return false;
  const after = at(fix.commit);
  if (!after) return "the file is not there after the fix";
  const hunks = hunksOf(repo.git, fix);
  return named.some((r) => isGone(r, before, after, hunks));
}

/** The reports on the file of a fix at one revision, linted with the folder it stands in. */
function reportsOn(
  fix: Fix,
  git: string,
  revision: string,
  modules: string,
  program: ReturnType<typeof programMaker>,
  config: Config,
): Report[] | undefined {
  const target = mkdtempSync(join(tmpdir(), "tenure-blind-"));
  try {
    const scripts = !/\.tsx?$/.test(fix.path);
    const folders = foldersOf(fix.repo, [fix.path]);
    const written = folders.flatMap((f) => materialise(git, revision, f, target, scripts));
    if (!written.includes(fix.path)) return undefined;
    // what the folder imports from others of the repository
    const whole =
      sizeOf(git, revision) > mostFiles ? written : materialise(git, revision, "", target, scripts);
    writeBuild(target);
    const gpu = fix.kind === "gpu object";
    const listed = scripts && isPageScript(join(target, fix.path)) ? whole : written;
    const include = [
      ...listed.filter((w) => !w.endsWith(".json")),
      ...(gpu ? [join(root, "node_modules/@webgpu/types/dist/index.d.ts")] : []),
    ];
    const aliases = aliasesOf(target, modules, whole, join(target, fix.path));
    const tsconfig = writeProject(target, modules, include, "lint", aliases);
    const preset = gpu ? "webgpu" : "tfjs";
    const project = { tsconfig, program: program(tsconfig) };
    return lintFiles(project, [join(target, fix.path)], preset, { config }).reports;
  } finally {
    rmSync(target, { recursive: true, force: true });
  }
}

/** Whether a file says nothing of others: a page loads it with all that it speaks of. */
const isPageScript = (path: string): boolean =>
  !/^\s*(import|export)\b|\brequire\(|module\.exports/m.test(readFileSync(path, "utf8"));

function hunksOf(git: string, fix: Fix): Hunk[] {
  const range = [`${fix.commit}^`, fix.commit, "--", fix.path];
  const diff = execFileSync("git", ["-C", git, "diff", "-U0", "--no-renames", ...range]).toString();
  return [...diff.matchAll(/^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/gm)].map(
    ([, before, removed = "1", after, added = "1"]) => ({
      before: Number(before),
      removed: Number(removed),
      after: Number(after),
      added: Number(added),
    }),
  );
}

/**
 * Whether a report before the fix has no counterpart after it, that says the same of the line, or
 * fewer values of the stretch are reported: one report names the values of an expression together.
 * What is lost where something throws is another leak than what is lost in any case.
 */
function isGone(
  report: Report,
  before: readonly Report[],
  after: readonly Report[],
  hunks: readonly Hunk[],
): boolean {
  let shift = 0;
  for (const h of hunks) {
    const start = h.removed === 0 ? h.before + 1 : h.before;
    if (report.line < start) break;
    if (report.line < start + h.removed) {
      const isAlike = (other: Report): boolean => isExceptional(other) === isExceptional(report);
      const count = (list: readonly Report[], from: number, length: number): number =>
        total(
          list.filter((r) => r.line >= from && r.line < from + length && isAlike(r)).map(valuesOf),
        );
      return count(after, h.after, h.added) < count(before, h.before, h.removed);
    }
    shift += h.added - h.removed;
  }
  const { rule, kind } = report;
  return !after.some((r) => r.rule === rule && r.kind === kind && r.line === report.line + shift);
}

/** Lost where a `throw` or an `await` that rejects is the way out. */
const isExceptional = ({ kind, message }: Report): boolean =>
  kind === "rejects" || /when line \d+ throws/.test(message);

/** How many values a report names as never freed. */
const valuesOf = ({ message }: Report): number =>
  Math.max(1, message.split(" are never ")[0]?.split("`, `").length ?? 1);

const total = (numbers: readonly number[]): number => numbers.reduce((n, m) => n + m, 0);
