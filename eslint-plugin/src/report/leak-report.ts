/**
 * The leak report: lints the files of a TypeScript project with the recommended rules and counts
 * what they say by file, by function and by rule. Used by `report/cli.ts` and by people who want
 * the figures in a program; nothing is written.
 */
import { readFileSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { Linter } from "eslint";
import ts from "typescript";
import { nameOf } from "../analysis/call-sites.ts";
import { pathFrom, type BaselineCounts } from "../baseline.ts";
import plugin from "../index.ts";
import type { TenureSettings } from "../owner.ts";

/** One report of a rule. */
export interface FoundLeak {
  /** Relative to the folder of the project. */
  file: string;
  line: number;
  /** The named function around it; empty at module level. */
  function: string;
  rule: string;
  message: string;
}

/** What a project's files were found to have. */
export interface LeakReport {
  /** How many files were looked at. */
  files: number;
  leaks: readonly FoundLeak[];
}

/** What a project without a tsconfig.json is read with. */
const scriptOptions = {
  allowJs: true,
  target: "esnext",
  module: "esnext",
  moduleResolution: "bundler",
  jsx: "preserve",
  noEmit: true,
};

/**
 * Lints the files of a project.
 *
 * @param project the path of a tsconfig.json; where there is none, the scripts beside it are read
 * @param only paths that a file must lie at or below; all files when empty
 * @param tests whether to look at the files that `configs.tests` silences
 * @throws Error when the project cannot be read, or none of its files is meant
 */
export function reportLeaks(
  project: string,
  settings: TenureSettings,
  only: readonly string[] = [],
  tests = false,
): LeakReport {
  const config = resolve(project);
  const folder = dirname(config);
  // a project of JavaScript alone needs no tsconfig.json
  const plain = basename(config) === "tsconfig.json" && !ts.sys.fileExists(config);
  const read = plain
    ? { config: { compilerOptions: scriptOptions }, error: undefined }
    : ts.readConfigFile(config, (path) => ts.sys.readFile(path));
  if (read.error)
    throw new Error(
      `tenure-lint-report: expected a tsconfig.json at ${project}, got ` +
        `${ts.flattenDiagnosticMessageText(read.error.messageText, " ")}; name one with --project`,
    );
  const parsed = ts.parseJsonConfigFileContent(read.config, ts.sys, folder);
  const below = only.map((path) => resolve(path).replaceAll("\\", "/"));
  const files = parsed.fileNames
    .filter((f) => !f.endsWith(".d.ts"))
    .filter((f) => tests || !isTest(pathFrom(folder, f)))
    .filter((f) => below.length === 0 || below.some((b) => f === b || f.startsWith(`${b}/`)));
  if (files.length === 0)
    throw new Error(
      `tenure-lint-report: expected files of ${project}` +
        `${only.length === 0 ? "" : ` at ${only.join(" or ")}`}, got none; ` +
        "name the tsconfig.json that includes them with --project",
    );
  const linter = new Linter({ cwd: folder });
  const parserOptions = {
    ...(plain
      ? { programs: [ts.createProgram(parsed.fileNames, parsed.options)] }
      : { project: [config] }),
    tsconfigRootDir: folder,
    disallowAutomaticSingleRunInference: true, // under CI, too: rules read a program twice
  };
  const options = {
    files: ["**/*.{ts,tsx,mts,cts,js,jsx,mjs,cjs}"],
    languageOptions: { parser: plugin.parser, parserOptions },
    plugins: { tenure: plugin },
    settings: { tenure: settings },
    rules: plugin.configs.recommended.rules,
  };
  const leaks = files.flatMap((file) => leaksOf(linter, options, file, folder));
  return { files: files.length, leaks };
}

/** A path that `configs.tests` silences, of a script too. */
const isTest = (path: string): boolean => /(\.test|\.spec|_test)\.[jt]sx?$|(^|\/)test\//.test(path);

function leaksOf(linter: Linter, options: object, file: string, folder: string): FoundLeak[] {
  const code = readFileSync(file, "utf8");
  const source = ts.createSourceFile(file, code, ts.ScriptTarget.Latest, true);
  const found = linter.verify(code, [options] as never, { filename: file });
  // comments in the source may speak of rules that are not here
  const ours = found.filter((m) => m.fatal || m.ruleId?.startsWith("tenure/"));
  return ours.map((m): FoundLeak => ({
    file: pathFrom(folder, file),
    line: m.line,
    function: functionAt(source, m.line, m.column),
    rule: m.ruleId?.replace("tenure/", "") ?? "unreadable",
    message: m.message,
  }));
}

/** The innermost function with a name around a place; empty where there is none. */
function functionAt(source: ts.SourceFile, line: number, column: number): string {
  const lines = source.getLineStarts();
  const at = (lines[Math.min(line, lines.length) - 1] ?? 0) + column - 1;
  let name = "";
  const visit = (node: ts.Node): void => {
    if (node.pos > at || node.end <= at) return;
    if (ts.isFunctionLike(node)) name = nameOf(node) ?? name;
    ts.forEachChild(node, visit);
  };
  visit(source);
  return name;
}

/** The counts that a baseline file of this report keeps. */
export function countsOf({ leaks }: LeakReport): BaselineCounts {
  const counts: BaselineCounts = {};
  for (const { file, rule } of leaks) {
    const rules = (counts[file] ??= {});
    rules[rule] = (rules[rule] ?? 0) + 1;
  }
  return counts;
}

/**
 * The report as text: files with the most leaks first, their functions below, then the rules; with
 * `list`, each leak before them.
 */
export function reportText({ files, leaks }: LeakReport, list = false): string {
  const byFile = tally(leaks, (l) => l.file);
  const out = byFile.flatMap(([file, count]) => [
    row(count, file),
    ...tally(
      leaks.filter((l) => l.file === file),
      (l) => (l.function === "" ? "(module)" : `${l.function}()`),
    ).map(([name, n]) => `    ${row(n, name)}`),
  ]);
  const rules = tally(leaks, (l) => l.rule).map(([rule, count]) => row(count, rule));
  const total = `${leaks.length} reports in ${byFile.length} of ${files} files`;
  const each = leaks.map((l) => `${l.file}:${l.line} ${l.message} (${l.rule})`);
  return [
    ...(list && each.length > 0 ? [...each, ""] : []),
    ...out,
    ...(rules.length > 0 ? ["", ...rules, ""] : []),
    total,
    "",
  ].join("\n");
}

const row = (count: number, name: string): string => `${String(count).padStart(5)}  ${name}`;

/** How often each key comes, most often first, then by name. */
function tally(leaks: readonly FoundLeak[], key: (l: FoundLeak) => string): [string, number][] {
  const counts = new Map<string, number>();
  for (const leak of leaks) counts.set(key(leak), (counts.get(key(leak)) ?? 0) + 1);
  return [...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
}
