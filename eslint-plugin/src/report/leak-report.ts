/**
 * The leak report: lints the scripts of a code base with the recommended rules, or as its own
 * ESLint configuration says, and tells what was found. Used by `report/cli.ts`; writes nothing.
 */
import { readFileSync } from "node:fs";
import { parse, resolve } from "node:path";
import { ESLint, Linter } from "eslint";
import ts from "typescript";
import { addLeak, pathFrom, type BaselineLeaks } from "../baseline/baseline.ts";
import { functionAt, plainCode } from "../baseline/leak-place.ts";
import { isGenerated } from "../generated.ts";
import plugin from "../index.ts";
import type { TenureSettings } from "../owner.ts";
import { partsOf, sourcesOfProject, type Part } from "./programs.ts";
import { presetsFor, type PresetName } from "./seen-libraries.ts";
import { slashed, sourcesAt, type Sources } from "./sources.ts";

/** One report of a rule. */
export interface FoundLeak {
  /** Relative to the folder the report was asked for in, with `/` between folders. */
  file: string;
  line: number;
  column: number;
  /** The named function around it, with its class; empty at module level. */
  function: string;
  rule: string;
  message: string;
  /** The piece of code that the report stands on, as baseline files have it. */
  code: string;
}

/** What the files of a code base were found to have. */
export interface LeakReport {
  /** The presets they were read with; none where the project's own configuration says. */
  presets: readonly PresetName[];
  /** How many files were looked at. */
  files: number;
  /** The whole paths of those that could be read. */
  read: readonly string[];
  leaks: readonly FoundLeak[];
  /** Files that could not be read, and why. */
  unread: readonly { file: string; reason: string }[];
}

/** What to look at. */
export interface ReportRequest {
  /** The folder that paths start from. */
  folder: string;
  /** Files and folders; all below the folder when empty. */
  paths: readonly string[];
  /** A tsconfig.json, where only its files are meant. */
  project?: string | undefined;
  /** What is owned; found out from the code when empty. */
  presets: readonly PresetName[];
  /** Whether to look at the files that `configs.tests` silences. */
  tests: boolean;
  /** Told before each file: how many were looked at, of how many. */
  progress: (done: number, all: number, file: string) => void;
}

type Report = Pick<LeakReport, "files"> & {
  read: string[];
  leaks: FoundLeak[];
  unread: LeakReport["unread"][0][];
};

/**
 * Lints with the recommended rules.
 *
 * @throws Error when the project cannot be read, or none of its files is meant
 */
export function reportLeaks(request: ReportRequest): LeakReport {
  const { folder, progress } = request;
  const { projects, scripts: all } = meant(request);
  const scripts = all.filter((file) => !isGenerated(ts.sys.readFile(file) ?? ""));
  const sources = { projects, scripts };
  const presets = request.presets.length > 0 ? request.presets : presetsIn(sources, folder);
  const report: Report = { files: scripts.length, read: [], leaks: [], unread: [] };
  if (presets.length === 0) return { ...report, presets };
  // ESLint leaves out what lies outside of its folder, and what is named may lie anywhere
  const linter = new Linter({ cwd: parse(folder).root });
  let done = 0;
  for (const part of partsOf(sources)) {
    const options = optionsOf(part, { presets: [...presets] });
    for (const file of part.files) {
      progress(done++, report.files, pathFrom(folder, file));
      const text = readFileSync(file, "utf8").replace(/^\uFEFF/, "");
      add(report, folder, file, text, messagesOf(linter, text, options, file));
    }
  }
  return { ...report, presets };
}

/**
 * Lints as the project's ESLint configuration says.
 *
 * @param withBaseline whether what the project's baseline keeps is left out
 * @throws Error where there is no such configuration, or it is wrong
 */
export async function reportWithEslint(
  { folder, paths }: Pick<ReportRequest, "folder" | "paths">,
  withBaseline: boolean,
): Promise<LeakReport> {
  const all = withBaseline ? [] : [{ settings: { tenure: { baseline: null } } }];
  const eslint = new ESLint({ cwd: folder, overrideConfig: all as never });
  const results = await lintedBy(eslint, paths.length > 0 ? [...paths] : ["."]);
  const report: Report = { files: results.length, read: [], leaks: [], unread: [] };
  for (const { filePath, messages, source } of results)
    add(report, folder, filePath, source ?? readFileSync(filePath, "utf8"), messages);
  return { ...report, presets: [] };
}

async function lintedBy(eslint: ESLint, paths: string[]): Promise<ESLint.LintResult[]> {
  try {
    return await eslint.lintFiles(paths);
  } catch (error) {
    const { message } = error as Error;
    throw new Error(`tenure-lint-report: ESLint cannot look: ${message}`, { cause: error });
  }
}

/** The files that are asked for. */
function meant({ folder, paths, project, tests }: ReportRequest): Sources {
  const below = paths.map((path) => slashed(resolve(folder, path)));
  const found =
    project === undefined
      ? sourcesAt(below.length > 0 ? below : [folder])
      : sourcesOfProject(resolve(folder, project));
  const isBelow = (file: string): boolean =>
    below.length === 0 || below.some((b) => file === b || file.startsWith(`${b}/`));
  const named = found.scripts.filter((file) => project === undefined || isBelow(file));
  const isAsked = (file: string): boolean => tests || below.includes(file);
  const scripts = named.filter((file) => isAsked(file) || !isTest(pathFrom(folder, file)));
  if (scripts.length > 0) return { ...found, scripts };
  const where = project ?? (paths.length > 0 ? paths.join(" or ") : folder);
  throw new Error(
    `tenure-lint-report: expected scripts of ${where}` +
      `${project !== undefined && paths.length > 0 ? ` at ${paths.join(" or ")}` : ""}, got none` +
      (named.length > 0 ? " but tests; look at those with --tests" : ""),
  );
}

/** A path that `configs.tests` silences, of a script too. */
const isTest = (path: string): boolean =>
  /([._](test|spec))\.[cm]?[jt]sx?$|(^|\/)(test|tests|__tests__)\//.test(path);

function presetsIn({ scripts }: Sources, folder: string): PresetName[] {
  return presetsFor(textsOf([resolve(folder, "package.json"), ...scripts]));
}

function* textsOf(files: readonly string[]): Generator<string> {
  for (const file of files) yield ts.sys.readFile(file) ?? "";
}

function optionsOf({ program }: Part, settings: TenureSettings): object {
  return {
    files: ["**/*.{ts,tsx,mts,cts,js,jsx,mjs,cjs}"],
    languageOptions: {
      parser: plugin.parser,
      parserOptions: {
        programs: [program],
        disallowAutomaticSingleRunInference: true, // under CI, too: rules read a program twice
      },
    },
    plugins: { tenure: plugin },
    settings: { tenure: settings },
    rules: plugin.configs.recommended.rules,
  };
}

type Message = Pick<
  Linter.LintMessage,
  "fatal" | "ruleId" | "message" | "messageId" | "line" | "column" | "endLine" | "endColumn"
>;

function messagesOf(linter: Linter, text: string, options: object, file: string): Message[] {
  try {
    return linter.verify(text, [options] as never, { filename: file });
  } catch (error) {
    const { message } = error as Error;
    return [{ fatal: true, ruleId: null, message, line: 1, column: 1 }];
  }
}

/** Whether a message says that a file could not be read. */
const isUnread = ({ fatal, messageId }: Message): boolean =>
  fatal === true || messageId === "setup";

/** Adds what was said of a file; comments in it may speak of rules that are not here. */
function add(
  report: Report,
  folder: string,
  path: string,
  text: string,
  messages: readonly Message[],
): void {
  const file = pathFrom(folder, path);
  const ours = messages.filter((m) => m.fatal || m.ruleId?.startsWith("tenure/"));
  if (!ours.some(isUnread)) report.read.push(path);
  if (ours.length === 0) return;
  const isScript = /\.[cm]?[jt]sx?$/.test(file);
  const source = ts.createSourceFile(path, isScript ? text : "", ts.ScriptTarget.Latest, true);
  const starts = ts.createSourceFile("text.ts", text, ts.ScriptTarget.Latest).getLineStarts();
  const at = (line: number, column: number): number => (starts[line - 1] ?? 0) + column - 1;
  for (const found of ours) {
    const { ruleId, message, line, column, ...end } = found;
    if (isUnread(found)) report.unread.push({ file, reason: message });
    else {
      const start = at(line, column);
      const code = plainCode(text.slice(start, at(end.endLine ?? line, end.endColumn ?? column)));
      const rule = (ruleId ?? "").replace("tenure/", "");
      const name = isScript ? functionAt(source, start) : "";
      report.leaks.push({ file, line, column, function: name, rule, message, code });
    }
  }
}

/**
 * The leaks that a baseline file keeps of a report, with paths from the file's folder. Of files
 * that are there and were not read it keeps what it said before.
 */
export function baselineOf(
  { leaks, read }: LeakReport,
  from: string,
  to: string,
  before: BaselineLeaks = {},
): BaselineLeaks {
  const known = new Set(read.map((file) => pathFrom(to, file)));
  const isLeft = ([file]: [string, unknown]): boolean =>
    !known.has(file) && ts.sys.fileExists(resolve(to, file));
  const found: BaselineLeaks = Object.fromEntries(Object.entries(before).filter(isLeft));
  for (const leak of leaks) addLeak(found, pathFrom(to, resolve(from, leak.file)), leak.rule, leak);
  return found;
}
