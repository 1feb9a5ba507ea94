/**
 * Runs ESLint's Linter over files of a project for the lint bench: once with our rules, once with
 * others, with time per rule. Used by `main.ts`.
 */
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import parser from "@typescript-eslint/parser";
import { Linter } from "eslint";
import tenure from "eslint-plugin-tenure";
import type ts from "typescript";

/** One report, with the source line it stands on. */
export interface Report {
  file: string;
  line: number;
  column: number;
  rule: string;
  /** Which of its messages the rule gives: never freed, not on a path, … */
  kind: string;
  message: string;
  text: string;
}

/** Whose settings and options the rules of `recommended` run with. */
export type Config = "recommended" | "strict";

/** The rules of `recommended` as another configuration has them. */
const rulesOf = (config: Config): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(tenure.configs[config].rules).filter(
      ([name]) => name in tenure.configs.recommended.rules,
    ),
  );

/** The configuration that a flag names: `--config=strict`. */
export function configOf(flags: readonly string[]): Config {
  const given = flags.find((f) => f.startsWith("--config="))?.slice("--config=".length);
  if (given === undefined || given === "recommended") return "recommended";
  if (given === "strict") return given;
  throw new Error(`lint: expected --config=recommended|strict, got "${given}"`);
}

/**
 * Our rules on files of one project (absolute paths): a tsconfig, or its program. With `keep` the
 * program stays for another turn.
 */
export function lintFiles(
  project: string | { tsconfig: string; program: ts.Program },
  files: readonly string[],
  preset: string,
  {
    config: chosen = "recommended",
    rules = rulesOf(chosen),
    plugins = { tenure },
    keep = false,
  }: {
    rules?: Record<string, unknown>;
    plugins?: Record<string, unknown>;
    keep?: boolean;
    config?: Config;
  } = {},
): { reports: Report[]; fatal: string[]; lines: number; milliseconds: number } {
  const folder = dirname(typeof project === "string" ? project : project.tsconfig);
  const types =
    typeof project === "string" ? { project: [project] } : { programs: [project.program] };
  const linter = new Linter({ cwd: folder });
  const reports: Report[] = [];
  const fatal: string[] = [];
  let lines = 0;
  const started = performance.now();
  for (const file of files) {
    const code = readFileSync(file, "utf8");
    lines += code.split("\n").length;
    const config = {
      files: ["**/*.ts", "**/*.tsx", "**/*.js", "**/*.jsx", "**/*.mjs"],
      languageOptions: { parser, parserOptions: { ...types, tsconfigRootDir: folder } },
      plugins,
      settings: { tenure: { ...tenure.configs[chosen].settings?.tenure, presets: [preset] } },
      rules,
      linterOptions: { reportUnusedDisableDirectives: "off" },
    };
    for (const m of linter.verify(code, [config] as never, {
      filename: file,
      allowInlineConfig: false,
    })) {
      if (m.fatal || m.ruleId === null) {
        fatal.push(`${file}: ${m.message}`);
        continue;
      }
      reports.push({
        file,
        line: m.line,
        column: m.column,
        rule: m.ruleId.replace("tenure/", ""),
        kind: m.messageId ?? "",
        message: m.message,
        text: code.split("\n")[m.line - 1]?.trim() ?? "",
      });
    }
  }
  if (!keep) parser.clearCaches();
  return { reports, fatal, lines, milliseconds: performance.now() - started };
}
