/**
 * Precision on code bases the plugin was never developed with: their reports as they were first
 * seen, each with a verdict and its reason (`samples.txt`), beside what is reported today. Run by
 * `npm run bench -- lint --samples`; used by `main.ts`.
 */
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import {
  corpusDir,
  dateOf,
  materialise,
  releaseFor,
  repository,
  tfjsTypes,
  writeProject,
} from "./corpus.ts";
import { type Config, lintFiles, type Report } from "./linting.ts";

/** One judged report: `repository@commit:file:line:rule`, whether it is true, and why. */
interface Verdict {
  key: string;
  head: string;
  isTrue: boolean;
}

function readVerdicts(): Verdict[] {
  return readFileSync(new URL("./samples.txt", import.meta.url), "utf8")
    .split("\n")
    .filter((row) => row !== "" && !row.startsWith("#"))
    .map((row) => {
      const match = /^(([^:]+):[^:]+:\d+:[a-z-]+):(true|false):.+$/.exec(row);
      if (!match) throw new Error(`lint: expected a row of samples.txt, got "${row}"`);
      const [, key = "", head = "", verdict] = match;
      return { key, head, isTrue: verdict === "true" };
    });
}

/** The table of judged reports, then and now, as Markdown. */
export function samplePrecision(): string {
  const verdicts = readVerdicts();
  const then = { all: verdicts.length, right: verdicts.filter((v) => v.isTrue).length };
  const now = { all: 0, right: 0 };
  const rows: string[] = [],
    unjudged: string[] = [];
  for (const head of new Set(verdicts.map((v) => v.head))) {
    const own = verdicts.filter((v) => v.head === head);
    const result = lintSample(head);
    if (typeof result === "string") {
      rows.push(`| ${head} | skipped: ${result} | | | | |`);
      continue;
    }
    let right = 0,
      wrong = 0;
    for (const r of result.reports) {
      const key = `${head}:${r.file}:${String(r.line)}:${r.rule}`;
      const known = own.find((v) => v.key === key);
      if (!known) unjudged.push(key);
      else if (known.isTrue) right++;
      else wrong++;
    }
    now.all += right + wrong;
    now.right += right;
    rows.push(
      `| ${head.replace("@", " ")} | ${String(result.files)} files, ${String(result.lines)} ` +
        `lines | ${String(own.filter((v) => v.isTrue).length)} of ${String(own.length)} ` +
        `| ${String(right)} of ${String(right + wrong)} |`,
    );
  }
  return (
    `## Precision on code not developed with\n\n${share(then)} of the reports that were seen ` +
    `first are true; ${share(now)} of those that are left.` +
    `${unjudged.length > 0 ? ` Not judged: ${unjudged.join(", ")}.` : ""}\n\n` +
    "| code base | size | true at first | true now |\n| --- | --- | --: | --: |\n" +
    rows.join("\n")
  );
}

const share = ({ right, all }: { right: number; all: number }): string =>
  `${String(right)} of ${String(all)} (${String(Math.round((1000 * right) / all) / 10)} %)`;

/** Our reports on every file of a code base that people write, in one project. */
export function lintSample(
  head: string,
  config: Config = "recommended",
): { reports: Report[]; files: number; lines: number; folder: string } | string {
  const [name = "", commit = ""] = head.split("@");
  const repo = repository(name);
  if ("missing" in repo) return repo.missing;
  const types = tfjsTypes(releaseFor(dateOf(repo.git, commit)));
  if ("missing" in types) return types.missing;
  const target = join(corpusDir, "samples", name.replace("/", "+"));
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const sources = materialise(repo.git, commit, "", target, true).filter(
    (f) => existsSync(join(target, f)) && isHandwritten(f, join(target, f)),
  );
  const project = writeProject(target, types.modules, sources);
  const files = sources.map((f) => join(target, f));
  const { reports, lines } = lintFiles(project, files, "tfjs", { config });
  const relative = reports.map((r) => ({ ...r, file: r.file.slice(target.length + 1) }));
  return { reports: relative, files: files.length, lines, folder: target };
}

/** Scripts longer than this are compiled from others: lines. */
const longest = 3000;

/** Whether a file is code that people write: no declaration, test, bundle or library. */
const isHandwritten = (path: string, file: string): boolean =>
  /\.(m?js|jsx|tsx?)$/.test(path) &&
  !/\.d\.ts$|\.(test|spec|min|bundle|config)\.\w+$/.test(path) &&
  !/(^|\/)(tests?|vendor|third_party|docs|public|static|libs?|assets)\//.test(path) &&
  readFileSync(file, "utf8").split("\n").length <= longest;
