/**
 * Recall by deletion in public code: in well kept code with TensorFlow.js one disposal or tidy at a
 * time is taken out, drawn with a fixed seed, and `recommended` should report something new in that
 * file. Half of the repositories, by a hash of their name, are to develop with; of the others only
 * totals are told. `deletion-sites.ts` finds what can be taken out. Used by `main.ts`.
 */
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { aliasesOf } from "./aliases.ts";
import {
  dateOf,
  foldersOf,
  isSource,
  materialise,
  releaseFor,
  repository,
  tfjsTypes,
  writeBuild,
  writeProject,
} from "./corpus.ts";
import { sitesOf, type Site } from "./deletion-sites.ts";
import { lintFiles, type Report } from "./linting.ts";
import { programMaker } from "./programs.ts";
import { ScopedFunctions } from "./scoped-functions.ts";

/** Code bases that free their tensors with care, each at one commit. */
const kept = [
  "apssouza22/neuroevolution@d89b383",
  "D1gits0/fretiq@7095be8",
  "hiukim/mind-ar-js@fb5db87",
  "infinitered/nsfwjs@d55a54c",
  "justadudewhohacks/face-api.js@a86f011",
  "magenta/magenta-js@96bad88",
  "mirrory-dev/eyeblink@0b64521",
  "ml5js/ml5-next-gen@b787338",
  "mysticatea/tfjs-trial@2a8080c",
  "piximi/piximi@20f46898",
  "RonasIT/tfjs-node-helpers@4760df5",
  "shaqian/tfjs-yolo@deae1ca",
  "taylorhansen/pokemonshowdown-ai@8319425",
  "tensorflow/tfjs-converter@06b9238",
  "tensorflow/tfjs-layers@0c6b1ca",
  "tensorflow/tfjs-models@18a73420",
  "tensorflow/tfjs-tsne@bee7b5b",
  "thekevinscott/ml-classifier@39f1202",
  "tokarev-i-v/rllib.js@d551b91",
  "victordibia/handtrack.js@69d350a",
  "vladmandic/human@151df64d",
  "w-okada/image-analyze-workers@ab2c6fd8",
  "webmachinelearning/webnn-polyfill@49bcf8b",
];
/** As many deletions from one function and one repository at most. */
const perFunction = 2,
  perRepository = 20;
const seed = "tenure deletions";
const hash = (text: string): Buffer => createHash("sha256").update(`${seed} ${text}`).digest();
const isMeasured = (repo: string): boolean => (hash(repo)[0] ?? 0) % 2 === 1;

/** One deletion and what came of it. */
interface Outcome {
  name: string;
  kind: Site["kind"];
  /** The rules that report something new. */
  rules: string[];
}

/**
 * Runs one half, as Markdown: deletion by deletion for the half to develop with, in totals for the
 * other (`measured`), or some repositories of the first by name.
 */
export function deletionRecall(only: readonly string[] = []): string {
  const measured = only.includes("measured");
  const rows: Outcome[] = [],
    skipped: string[] = [];
  const names: string[] = [];
  for (const head of kept) {
    const [repo = ""] = head.split("@");
    if (isMeasured(repo) !== measured) continue;
    if (!measured && only.length > 0 && !only.includes(repo)) continue;
    const result = tryHead(head);
    if (typeof result === "string") skipped.push(`${head}: ${result}`);
    else rows.push(...result);
    names.push(head);
  }
  return [
    `## Recall on deletions, ${measured ? "measured half" : "half to develop with"}`,
    `${share(rows)} are reported, on ${String(names.length)} repositories.`,
    ...(skipped.length > 0 ? [`Skipped: ${skipped.join("; ")}.`] : []),
    "| taken out | reported |\n| --- | --: |\n" +
      (["dispose", "tidy", "member"] as const)
        .map((kind) => `| ${kind} | ${share(rows.filter((r) => r.kind === kind))} |`)
        .join("\n"),
    ...(measured
      ? []
      : ["```\n" + rows.map((r) => `${r.name}:${r.kind}:${said(r)}`).join("\n") + "\n```"]),
  ].join("\n\n");
}

const said = ({ rules }: Outcome): string =>
  rules.length > 0 ? `reported (${rules.join(", ")})` : "missed";

const share = (rows: readonly Outcome[]): string => {
  const found = rows.filter((r) => r.rules.length > 0).length;
  const percent = rows.length === 0 ? "–" : String(Math.round((1000 * found) / rows.length) / 10);
  return `${String(found)} of ${String(rows.length)} (${percent} %)`;
};

/** What the deletions of one head give, or why it was skipped. */
function tryHead(head: string): Outcome[] | string {
  const [name = "", commit = ""] = head.split("@");
  const repo = repository(name);
  if ("missing" in repo) return repo.missing;
  const types = tfjsTypes(releaseFor(dateOf(repo.git, commit)));
  if ("missing" in types) return types.missing;
  const target = mkdtempSync(join(tmpdir(), "tenure-deletions-"));
  try {
    const written = materialise(repo.git, commit, "", target, true);
    writeBuild(target);
    return drawn(head, target, written, types.modules);
  } finally {
    rmSync(target, { recursive: true, force: true });
  }
}

/** Finds the sites of every project of a head, draws some and tries them. */
function drawn(head: string, target: string, written: string[], modules: string): Outcome[] {
  const program = programMaker(true);
  const found: { key: string; path: string; tsconfig: string; site: Site }[] = [];
  const folderOf = (file: string): string => foldersOf(head, [file])[0] ?? "";
  const code = written.filter(isCode);
  for (const folder of new Set(code.map(folderOf))) {
    const files = code.filter((f) => folderOf(f) === folder);
    const speaks = files.filter((f) => /dispose|tidy/.test(readFileSync(join(target, f), "utf8")));
    if (speaks.length === 0) continue;
    const project = hash(folder).toString("hex").slice(0, 8);
    const aliases = aliasesOf(target, modules, written, join(target, speaks[0] ?? ""));
    const tsconfig = writeProject(target, modules, files, project, aliases);
    const made = program(tsconfig);
    const scoped = new ScopedFunctions(made);
    for (const path of speaks) {
      const source = made.getSourceFile(join(target, path));
      for (const site of source ? sitesOf(source, scoped) : []) {
        const key = hash(`${head}:${path}:${String(site.line)}:${site.kind}`).toString("hex");
        found.push({ key, path, tsconfig, site });
      }
    }
  }
  found.sort((a, b) => (a.key < b.key ? -1 : 1));
  const perPlace = new Map<string, number>();
  const chosen = found.filter(({ path, site }) => {
    const place = `${path}:${site.within}`;
    perPlace.set(place, (perPlace.get(place) ?? 0) + 1);
    return (perPlace.get(place) ?? 0) <= perFunction;
  });
  const before = new Map<string, Report[]>();
  return chosen.slice(0, perRepository).map(({ path, tsconfig, site }) => {
    const file = join(target, path);
    const lint = (): Report[] =>
      lintFiles({ tsconfig, program: program(tsconfig) }, [file], "tfjs").reports;
    const known = before.get(file) ?? lint();
    before.set(file, known);
    const text = readFileSync(file, "utf8");
    writeFileSync(file, site.text);
    const after = lint();
    writeFileSync(file, text);
    const name = `${head}:${path}:${String(site.line)}`;
    return { name, kind: site.kind, rules: newIn(after, known) };
  });
}

const isCode = (path: string): boolean =>
  /\.[jt]sx?$|\.mjs$/.test(path) &&
  (/\.tsx?$/.test(path) ? isSource(path) : isSource(path.replace(/\.\w+$/, ".ts"))) &&
  !/(^|\/)(__\w+__|vendor|third_party|docs|public|static|libs?|assets)\//.test(path);

/** The rules that report more on a line than before. */
function newIn(after: readonly Report[], before: readonly Report[]): string[] {
  const left = before.map((r) => `${r.rule}:${String(r.line)}`);
  const fresh = after.filter((r) => {
    const i = left.indexOf(`${r.rule}:${String(r.line)}`);
    if (i >= 0) left.splice(i, 1);
    return i < 0;
  });
  return [...new Set(fresh.map((r) => r.rule))];
}
