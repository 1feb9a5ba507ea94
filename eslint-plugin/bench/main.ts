/**
 * `npm run bench -- lint`: what the lint plugin finds on public code and what it costs. Recall on
 * known leak fixes, precision against the checked-in verdicts (`verdicts.txt`), time and memory
 * beside two rules everybody knows, re-lint of a long file after an edit, and a mutation score on
 * programs of this repository. Corpus code is read from `.cache/lint-corpus` and never copied into
 * the repository; what cannot be had is skipped with its reason.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import parser from "@typescript-eslint/parser";
import { openRecall, sealedRecall } from "./blind.ts";
import { cases, heads, type Case } from "./cases.ts";
import {
  changedSources,
  dateOf,
  foldersOf,
  materialise,
  releaseFor,
  repository,
  tfjsTypes,
  writeProject,
} from "./corpus.ts";
import { deletionRecall } from "./deletions.ts";
import { lintHead } from "./heads.ts";
import { keystrokes } from "./keystroke.ts";
import { configOf, lintFiles, type Report } from "./linting.ts";
import { mutationScore } from "./mutation.ts";
import { objectPrecision } from "./objects.ts";
import { plantedRecall } from "./planted.ts";
import { samplePrecision } from "./samples.ts";
import { strangerPresets, strangers, type StrangerPreset } from "./strangers.ts";
import { ruleTime, timed, timeOf } from "./time.ts";

const percent = (part: number, whole: number): string =>
  whole === 0 ? "–" : `${String(Math.round((1000 * part) / whole) / 10)} %`;

type Mode = (values: string[], flags: readonly string[]) => string | Promise<string>;

/** What a flag runs instead of everything, with the values behind its `=`. */
const modes: Readonly<Record<string, Mode>> = {
  open: (values, flags) => openRecall(values, configOf(flags)),
  sealed: () => sealedRecall(),
  samples: () => samplePrecision(),
  objects: ([name]) => objectPrecision(name),
  stranger: (names, flags) => strangers(names, presetOf(flags), configOf(flags)),
  planted: (values) => plantedRecall(values),
  deletions: (values) => deletionRecall(values),
  mutation: () => mutationScore(),
  time: () => ruleTime(),
  keystroke: () => keystrokes(),
};

/** What goes with a mode. */
const options: ReadonlySet<string> = new Set(["preset", "config"]);

/**
 * Runs the bench and gives its tables as Markdown. `--open` (or `--open=owner/name,…` for some
 * repositories) and `--sealed` run one set of the blind corpus and nothing else, `--samples` the
 * code bases the plugin was not developed with, `--objects` (or `--objects=name`) public programs
 * with GPU objects or disposables, `--stranger=owner/name[@commit],…` (with `--preset=webgpu`,
 * `=disposable` or `=tfjs`) each report on all of a program, `--time` what the rules cost beside
 * others, `--keystroke` how long an editor waits, `--planted` (or `=1`, `=gan,…`) leaks planted in
 * programs that use Tenure, `--deletions` (or `=measured`, `=owner/name,…`) recall by deletion,
 * `--mutation` how many scopes and ends taken out of the library's own sources are missed.
 * `--config=strict` gives `--open` and `--stranger` the settings of that configuration.
 *
 * @throws Error for a flag that is none of these
 */
export async function run(flags: readonly string[] = []): Promise<string> {
  const named = flags.map((flag) => flag.replace(/^--/, "").split(/[=,]/));
  const unknown = named.find(([name = ""]) => !options.has(name) && !(name in modes));
  if (unknown)
    throw new Error(
      `lint: expected one of --${Object.keys(modes).join(", --")}, got "--${unknown[0] ?? ""}"`,
    );
  const [chosen = "", ...values] = named.find(([name = ""]) => name in modes) ?? [];
  const mode = modes[chosen];
  if (mode) return mode(values, flags);
  const out = [recall(), ...precision(), samplePrecision(), await mutationScore()];
  parser.clearCaches();
  return out.join("\n\n");
}

function presetOf(flags: readonly string[]): StrangerPreset {
  const given = flags.find((f) => f.startsWith("--preset="))?.slice("--preset=".length);
  const found = strangerPresets.find((p) => p === (given ?? "disposable"));
  if (!found)
    throw new Error(`lint: expected --preset=${strangerPresets.join("|")}, got "${given ?? ""}"`);
  return found;
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
    if (repo === timed) costs.push(timeOf(result.projects));
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
