#!/usr/bin/env node
/**
 * `npx tenure-lint-report`: prints what leaks in a code base, by file and by function, and writes a
 * baseline file when asked to. Run from a shell; changes no source file.
 */
import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { baselineText, parseBaseline, type BaselineLeaks } from "../baseline/baseline.ts";
import { presetsOf, readCommand, usage, type Command } from "./command-line.ts";
import type { LeakReport } from "./leak-report.ts";
import { reportText } from "./report-text.ts";

/** Runs the command; gives its exit code. */
async function main(): Promise<number> {
  const command = readCommand(process.argv.slice(2));
  if (command.help) {
    process.stdout.write(usage);
    return 0;
  }
  const report = await look(command);
  if (command.json) process.stdout.write(jsonOf(report));
  else process.stdout.write(reportText(report, command.list));
  const baseline = command["write-baseline"];
  if (baseline !== undefined) await write(baseline, report);
  if (!command["exit-code"]) return 0;
  return report.unread.length > 0 ? 2 : report.leaks.length > 0 ? 1 : 0;
}

/** What lints; ESLint is not there where an installer leaves out peers. */
const linting = (): Promise<typeof import("./leak-report.ts")> =>
  import("./leak-report.ts").catch((error: unknown) => {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== "ERR_MODULE_NOT_FOUND" || !/'(eslint|typescript)'/.test(message)) throw error;
    throw new Error(
      "tenure-lint-report: expected ESLint beside the plugin, got none; install both, or run " +
        "`npx --package eslint --package eslint-plugin-tenure tenure-lint-report`",
    );
  });

async function look(command: Command): Promise<LeakReport> {
  const { reportLeaks, reportWithEslint } = await linting();
  const { paths, project, tests = false } = command;
  const folder = process.cwd();
  if (command.eslint)
    return reportWithEslint({ folder, paths }, command["write-baseline"] === undefined);
  const presets = presetsOf(command);
  const report = reportLeaks({ folder, paths, project, presets, tests, progress });
  if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
  if (report.presets.length > 0) return report;
  throw new Error(
    "tenure-lint-report: no script here uses Tenure, TensorFlow.js, WebGPU or ONNX Runtime; " +
      "name what to look for with --preset",
  );
}

/** Shows on a terminal how far the report is. */
function progress(done: number, all: number, file: string): void {
  if (!process.stderr.isTTY) return;
  const line = `${String(done)} of ${String(all)} files  ${file}`;
  process.stderr.write(`\r\x1b[K${line.slice(0, (process.stderr.columns || 80) - 1)}`);
}

/** Writes a baseline file; whoever reads it meanwhile finds the old one or the new. */
async function write(path: string, report: LeakReport): Promise<void> {
  const { baselineOf } = await linting();
  const file = resolve(path);
  const folder = dirname(file);
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new Error(
      `tenure-lint-report: expected a folder at ${folder}, got none; make it, or write elsewhere`,
    );
  const leaks = baselineOf(report, process.cwd(), folder, leaksIn(file));
  const temporary = `${file}.${String(process.pid)}.tmp`;
  try {
    writeFileSync(temporary, baselineText(leaks));
    renameSync(temporary, file);
  } catch (error) {
    if (statSync(temporary, { throwIfNoEntry: false })) rmSync(temporary);
    throw error;
  }
}

/** What a baseline file says; nothing where it is not there, or not in today's form. */
function leaksIn(file: string): BaselineLeaks {
  if (!existsSync(file)) return {};
  const leaks = parseBaseline(readFileSync(file, "utf8"));
  return typeof leaks === "string" ? {} : leaks;
}

const jsonOf = ({ presets, files, leaks, unread }: LeakReport): string =>
  `${JSON.stringify({ version: 1, presets, files, leaks, unread }, null, 2)}\n`;

// who reads no further than the first lines has seen enough
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit();
});
try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
