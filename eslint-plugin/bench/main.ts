/**
 * `npm run bench -- lint`: what the lint plugin finds on public code and what it costs. Recall on
 * known leak fixes, precision against the checked-in verdicts (`verdicts.txt`), time and memory
 * beside two rules everybody knows, re-lint of a long file after an edit, and a mutation score on
 * programs of this repository. Corpus code is read from `.cache/lint-corpus` and never copied into
 * the repository; what cannot be had is skipped with its reason.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import parser from "@typescript-eslint/parser";
import { Linter } from "eslint";
import tenure from "eslint-plugin-tenure";
import tseslint from "typescript-eslint";
import { openRecall, sealedRecall } from "./blind.ts";
import { cases, heads, type Case } from "./cases.ts";
import {
  changedSources,
  corpusDir,
  dateOf,
  foldersOf,
  materialise,
  releaseFor,
  repository,
  tfjsTypes,
  writeProject,
} from "./corpus.ts";
import { lintHead, type HeadResult } from "./heads.ts";
import { lintFiles, type Report } from "./linting.ts";
import { mutationScore } from "./mutation.ts";
import { objectPrecision } from "./objects.ts";
import { samplePrecision } from "./samples.ts";

const percent = (part: number, whole: number): string =>
  whole === 0 ? "–" : `${String(Math.round((1000 * part) / whole) / 10)} %`;

/**
 * Runs the bench and gives its tables as Markdown. `--open` and `--sealed` run one half of the
 * blind corpus and nothing else, `--samples` the code bases the plugin was not developed with.
 */
export async function run(flags: readonly string[] = []): Promise<string> {
  if (flags.includes("--open")) return openRecall();
  if (flags.includes("--sealed")) return sealedRecall();
  if (flags.includes("--samples")) return samplePrecision();
  if (flags.includes("--objects")) return objectPrecision(flags[flags.indexOf("--objects") + 1]);
  const out = [recall(), ...precision(), samplePrecision(), await mutationScore()];
  parser.clearCaches();
  return out.join("\n\n");
}

// ---- recall ----

function recall(): string {
  const rows: string[] = [];
  let caught = 0,
    tried = 0;
  for (const one of cases) {
    const result = tryCase(one);
    if (typeof result === "string") {
      rows.push(`| ${one.id} | ${one.repo} ${one.commit} | skipped: ${result} | |`);
      continue;
    }
    tried++;
    if (result.gone > 0) caught++;
    rows.push(
      `| ${one.id} | ${one.repo} ${one.commit} | ` +
        `${result.gone > 0 ? "caught" : "missed"} | ${String(result.before)} → ` +
        `${String(result.after)} |`,
    );
  }
  return (
    `## Recall on known leak fixes\n\n${String(caught)} of ${String(tried)} caught (target ` +
    "24 of 26): a report on the file before the fix is gone after it.\n\n| case | fix | " +
    `result | reports |\n| --- | --- | --- | --- |\n${rows.join("\n")}`
  );
}

function tryCase(one: Case): { before: number; after: number; gone: number } | string {
  const repo = repository(one.repo);
  if ("missing" in repo) return repo.missing;
  const types = tfjsTypes(releaseFor(dateOf(repo.git, one.commit)));
  if ("missing" in types) return types.missing;
  const sources = changedSources(repo.git, one.commit);
  const folders = foldersOf(one.repo, sources);
  const found: Report[][] = [];
  for (const revision of [`${one.commit}^`, one.commit]) {
    const target = mkdtempSync(join(tmpdir(), "tenure-corpus-"));
    try {
      const written = folders.flatMap((f) => materialise(repo.git, revision, f, target));
      const project = writeProject(
        target,
        types.modules,
        folders.filter((f) => !f.endsWith(".json")).map((f) => `${f}/**/*.ts`),
      );
      found.push(
        lintFiles(
          project,
          sources.filter((s) => written.includes(s)).map((s) => join(target, s)),
          "tfjs",
        ).reports,
      );
    } finally {
      rmSync(target, { recursive: true, force: true });
    }
  }
  const key = (r: Report): string => `${r.rule}|${r.text}|${r.message.replace(/line \d+/g, "")}`;
  const [before = [], after = []] = found;
  const left = after.map(key);
  const gone = before.filter((r) => {
    const i = left.indexOf(key(r));
    if (i >= 0) left.splice(i, 1);
    return i < 0;
  });
  return { before: before.length, after: after.length, gone: gone.length };
}

// ---- precision, time, memory ----

function verdicts(): Map<string, string> {
  const path = new URL("./verdicts.txt", import.meta.url);
  const rows = existsSync(path) ? readFileSync(path, "utf8").split("\n") : [];
  return new Map(
    rows
      .filter((r) => r !== "" && !r.startsWith("#"))
      .map((r) => {
        const cut = r.lastIndexOf(":");
        return [r.slice(0, cut), r.slice(cut + 1)] as const;
      }),
  );
}

function precision(): string[] {
  const known = verdicts();
  const rows: string[] = [],
    unjudged: string[] = [],
    costs: string[] = [];
  let right = 0,
    wrong = 0;
  for (const { repo, commit } of heads) {
    const result = lintHead(repo, commit);
    if ("missing" in result) {
      rows.push(`| ${repo} | skipped: ${result.missing} | | | |`);
      continue;
    }
    let yes = 0,
      no = 0;
    for (const r of result.reports) {
      const verdict = known.get(`${repo}@${commit}:${r.file}:${String(r.line)}:${r.rule}`);
      if (verdict === "true") yes++;
      else if (verdict === "false") no++;
      else unjudged.push(`${repo}@${commit}:${r.file}:${String(r.line)}:${r.rule}`);
    }
    right += yes;
    wrong += no;
    rows.push(
      `| ${repo} ${commit} | ${String(result.files)} files, ${String(result.lines)} ` +
        `lines | ${String(result.reports.length)} | ${String(yes)} | ${String(no)} |`,
    );
    if (repo === "tensorflow/tfjs-models") costs.push(cost(result));
  }
  const memory = Math.round(process.memoryUsage().rss / 1048576);
  return [
    `## Precision on public heads\n\n${percent(right, right + wrong)} of ` +
      `${String(right + wrong)} judged reports are true (target 85 ` +
      `%).${unjudged.length > 0 ? ` Not judged: ${unjudged.join(", ")}` : ""}\n\n| head | ` +
      `size | reports | true | false |\n| --- | --- | --: | --: | --: |\n${rows.join("\n")}`,
    ...costs,
    `Peak resident memory of this process so far: ${String(memory)} MB.`,
  ];
}

/** Milliseconds of processor time so far: other work on the machine does not count. */
const spentSoFar = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};
const median = (list: readonly number[]): number =>
  [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)] ?? 0;

/**
 * Our rules beside two rules of typescript-eslint on the same files, each over a program of its
 * own, in turns; and a long file after an edit.
 */
function cost(head: HeadResult): string {
  const biggest = [...head.projects].sort((a, b) => b.files.length - a.files.length).slice(0, 3);
  const foreign = { "@typescript-eslint": tseslint.plugin };
  const measure = (rules: Record<string, unknown>, plugins: Record<string, unknown>): number => {
    let spent = 0;
    for (const { project, files } of biggest) {
      const lint = (r: Record<string, unknown>, p: Record<string, unknown>): number => {
        const before = spentSoFar();
        lintFiles(project, files, "tfjs", r, p, true);
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
  const ours: number[] = [],
    misused: number[] = [],
    floating: number[] = [];
  for (let round = 0; round < 3; round++) {
    misused.push(measure({ "@typescript-eslint/no-misused-promises": "error" }, foreign));
    ours.push(measure(tenure.configs.recommended.rules, { tenure }));
    floating.push(measure({ "@typescript-eslint/no-floating-promises": "error" }, foreign));
  }
  return (
    `## Time\n\nProcessor time of the rules on ${String(files)} files, median of three ` +
    "rounds, parse and program taken off; each pays for its own type checking. Ours " +
    `against no-misused-promises: ${(median(ours) / median(misused)).toFixed(2)} (target ` +
    "1).\n\n| rules | ms | ms per file |\n| --- | --: | --: |\n" +
    [
      row("tenure recommended (13 rules)", median(ours)),
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
