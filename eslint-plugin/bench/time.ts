/**
 * What the rules cost: their processor time beside that of two rules of typescript-eslint on the
 * same files, and a long file linted again after an edit. Used by `main.ts`; `--time` runs nothing
 * else. Files are those of a head of the corpus.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import parser from "@typescript-eslint/parser";
import { Linter } from "eslint";
import tenure from "eslint-plugin-tenure";
import tseslint from "typescript-eslint";
import { heads } from "./cases.ts";
import { corpusDir } from "./corpus.ts";
import { lintHead, type HeadResult } from "./heads.ts";
import { lintFiles, type Config } from "./linting.ts";

/** The head that is timed. */
export const timed = "tensorflow/tfjs-models";

/** Lints the timed head once, for its projects, and times the rules on them. */
export function ruleTime(): string {
  const head = heads.find(({ repo }) => repo === timed);
  const result = head ? lintHead(head.repo, head.commit) : { missing: `no head ${timed}` };
  return "missing" in result ? `Time: skipped, ${result.missing}` : timeOf(result.projects);
}

/** Milliseconds of processor time so far: other work on the machine does not count. */
const spentSoFar = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};
/** Clears what was left behind, so that nobody pays for the garbage of another. */
const collect = (): void => {
  (globalThis as { gc?: () => void }).gc?.();
};
const median = (list: readonly number[]): number =>
  [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)] ?? 0;

/**
 * Our rules beside two rules of typescript-eslint on the same files, each over a program of its
 * own, in turns; and a long file after an edit.
 */
export function timeOf(projects: HeadResult["projects"]): string {
  const biggest = [...projects].sort((a, b) => b.files.length - a.files.length).slice(0, 3);
  const foreign = { "@typescript-eslint": tseslint.plugin };
  const measure = (
    rules: Record<string, unknown>,
    plugins: Record<string, unknown>,
    config: Config = "recommended",
  ): number => {
    let spent = 0;
    for (const { project, files } of biggest) {
      const lint = (r: Record<string, unknown>, p: Record<string, unknown>): number => {
        collect();
        const before = spentSoFar();
        lintFiles(project, files, "tfjs", { rules: r, plugins: p, keep: true, config });
        return spentSoFar() - before;
      };
      lint({}, {});
      const without = lint({}, {});
      spent += lint(rules, plugins) - without;
      parser.clearCaches();
    }
    return spent;
  };
  const files = biggest.reduce((n, p) => n + p.files.length, 0);
  const row = (name: string, ms: number): string =>
    `| ${name} | ${String(Math.round(ms))} | ${(ms / files).toFixed(1)} |`;
  const { recommended, strict } = tenure.configs;
  const ours: number[] = [],
    whole: number[] = [],
    misused: number[] = [],
    floating: number[] = [];
  for (let round = 0; round < 5; round++) {
    misused.push(measure({ "@typescript-eslint/no-misused-promises": "error" }, foreign));
    ours.push(measure(recommended.rules, { tenure }));
    whole.push(measure(strict.rules, { tenure }, "strict"));
    floating.push(measure({ "@typescript-eslint/no-floating-promises": "error" }, foreign));
  }
  return (
    `## Time\n\nProcessor time of the rules on ${String(files)} files, median of five ` +
    "rounds, parse and program taken off; each pays for its own type checking. Ours " +
    `against no-misused-promises: ${(median(ours) / median(misused)).toFixed(2)} (target ` +
    "1).\n\n| rules | ms | ms per file |\n| --- | --: | --: |\n" +
    [
      row(
        `tenure recommended (${String(Object.keys(recommended.rules).length)} rules)`,
        median(ours),
      ),
      row(`tenure strict (${String(Object.keys(strict.rules).length)} rules)`, median(whole)),
      row("no-misused-promises", median(misused)),
      row("no-floating-promises", median(floating)),
    ].join("\n") +
    `\n\n${relint()}`
  );
}

/** An edit, then a lint, ten times over, in the way an editor does it. */
function relint(): string {
  const target = join(corpusDir, "heads", "tensorflow+tfjs-models");
  const file = join(target, "speech-commands/src/browser_fft_recognizer.ts");
  const project = join(target, "tsconfig.speech-commands.json");
  if (!existsSync(file) || !existsSync(project))
    return "Re-lint after an edit: skipped, the file is not in the corpus.";
  const code = readFileSync(file, "utf8");
  const linter = new Linter({ cwd: dirname(project) });
  const lint = (text: string, rules: Record<string, unknown>): number => {
    const started = spentSoFar();
    linter.verify(
      text,
      [
        {
          files: ["**/*.ts"],
          languageOptions: {
            parser,
            parserOptions: {
              project: [project],
              tsconfigRootDir: dirname(project),
              disallowAutomaticSingleRunInference: true,
            },
          },
          plugins: { tenure },
          settings: { tenure: { presets: ["tfjs"] } },
          rules,
        },
      ] as never,
      { filename: file, allowInlineConfig: false },
    );
    return spentSoFar() - started;
  };
  const edited = (i: number): string =>
    code.replace("async recognize(", `private edit${String(i)}(): void {}\n  async recognize(`);
  lint(code, tenure.configs.recommended.rules);
  const whole: number[] = [],
    parse: number[] = [];
  for (let i = 0; i < 10; i++) whole.push(lint(edited(i), tenure.configs.recommended.rules));
  for (let i = 0; i < 10; i++) parse.push(lint(edited(100 + i), {}));
  parser.clearCaches();
  return (
    `Warm re-lint of ${String(code.split("\n").length)} lines after an edit: ` +
    `${String(Math.round(median(whole)))} ms of processor time, of which ` +
    `${String(Math.round(median(parse)))} ms parse and program (target 200 ms).`
  );
}
