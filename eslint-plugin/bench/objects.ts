/**
 * `npm run bench -- lint --objects`: what the presets `webgpu` and `disposable` report on public
 * programs, against the checked-in verdicts (`object-verdicts.txt`, each with its reason). Every
 * source file of a program that makes such objects is linted. Used by `main.ts`.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { aliasesOf, type Aliases } from "./aliases.ts";
import { corpusDir, isSource, materialise, repository, root } from "./corpus.ts";
import { type Config, lintFiles, type Report } from "./linting.ts";

/** A program, the preset it is linted with, and the folders of it that compile together. */
export interface Program {
  repo: string;
  commit: string;
  preset: "webgpu" | "disposable";
  folders: readonly string[];
}

const programs: readonly Program[] = [
  { repo: "webgpu/webgpu-samples", commit: "27925c84", preset: "webgpu", folders: ["sample"] },
  { repo: "Scthe/nanite-webgpu", commit: "629232f1", preset: "webgpu", folders: ["src"] },
  { repo: "khudiiash/webgpu-renderer", commit: "7934e407", preset: "webgpu", folders: ["src"] },
  { repo: "matsuoka-601/WebGPU-Ocean", commit: "3bd93277", preset: "webgpu", folders: ["."] },
  {
    repo: "Scthe/frostbitten-hair-webgpu",
    commit: "4478dd12",
    preset: "webgpu",
    folders: ["src"],
  },
  { repo: "greggman/webgpu-utils", commit: "db5ea091", preset: "webgpu", folders: ["src"] },
  {
    repo: "cvlab-epfl/gaussian-splatting-web",
    commit: "905b3c0f",
    preset: "webgpu",
    folders: ["src"],
  },
  { repo: "ekzhang/jax-js", commit: "4014cc49", preset: "webgpu", folders: ["src"] },
  { repo: "trpc/trpc", commit: "340811ba", preset: "disposable", folders: ["packages"] },
  {
    repo: "wcandillon/react-native-webgpu",
    commit: "506e39bb",
    preset: "webgpu",
    folders: ["apps/example/src"],
  },
  { repo: "gnikoloff/webgpu-sponza-demo", commit: "1c90e984", preset: "webgpu", folders: ["src"] },
  { repo: "jeantimex/webgpu-tutorial", commit: "089ed6c6", preset: "webgpu", folders: ["src"] },
  {
    repo: "julzerinos/webgpu-for-graphics-and-rendering",
    commit: "bab75b44",
    preset: "webgpu",
    folders: ["."],
  },
  { repo: "praeclarum/webgpu-torch", commit: "920ceead", preset: "webgpu", folders: ["src"] },
  { repo: "Orillusion/orillusion", commit: "fc3614ec", preset: "webgpu", folders: ["src"] },
  { repo: "vercel-labs/vgpu", commit: "20b8432f", preset: "webgpu", folders: ["packages"] },
  {
    repo: "software-mansion/TypeGPU",
    commit: "de2a083e",
    preset: "webgpu",
    folders: ["packages", "apps/typegpu-docs/src"],
  },
  { repo: "ford442/grok_zephyr", commit: "9d3f4964", preset: "webgpu", folders: ["src"] },
  { repo: "ibby101/DICOM_Viewer", commit: "bc86743b", preset: "webgpu", folders: ["src"] },
  {
    repo: "pwambach/3dgs-webgpu-renderer-v2",
    commit: "df6ccb47",
    preset: "webgpu",
    folders: ["src"],
  },
  {
    repo: "visgl/luma.gl",
    commit: "c5417d4c",
    preset: "webgpu",
    folders: ["modules/webgpu", "modules/core", "modules/engine", "modules/gpgpu"],
  },
  { repo: "ford442/Tetris_WebGPU", commit: "5935284", preset: "webgpu", folders: ["src"] },
  { repo: "vilyLei/voxwebgpu", commit: "31ed9bd", preset: "webgpu", folders: ["src"] },
  {
    repo: "luoluobuli/WebGPU-MPM-based-Snow-Simulation",
    commit: "26e9446",
    preset: "webgpu",
    folders: ["src"],
  },
  { repo: "WebgpuEngine/WE", commit: "cfe2b08", preset: "webgpu", folders: ["src/we"] },
  { repo: "ford442/webgpu-ts", commit: "fe237c8", preset: "webgpu", folders: ["src"] },
  {
    repo: "CIS5650-Fall-2025/Project4-WebGPU-Forward-Plus-and-Clustered-Deferred",
    commit: "b221083",
    preset: "webgpu",
    folders: ["src"],
  },
  { repo: "dj24/soulflame-webgpu", commit: "2a261173", preset: "webgpu", folders: ["src"] },
  { repo: "yannmazita/webgpu-test", commit: "2b988c5", preset: "webgpu", folders: ["src"] },
  { repo: "sebs/webgpu-mx-50", commit: "ca016e2", preset: "webgpu", folders: ["src"] },
  { repo: "AmesingFlank/taichi.js", commit: "3579e31", preset: "webgpu", folders: ["src"] },
];

/** Files that make such objects, by words in them. */
const makes = {
  webgpu: /\b(createBuffer|createTexture|createQuerySet|requestDevice)\(/,
  disposable: /Symbol\.(asyncD|d)ispose|\busing \w+ =/,
};

/** Verdicts and reasons by `repository@commit:file:line:rule`. */
function verdicts(): Map<string, { isTrue: boolean; reason: string }> {
  const rows = readFileSync(new URL("./object-verdicts.txt", import.meta.url), "utf8").split("\n");
  return new Map(
    rows.flatMap((row) => {
      const found = /^(\S+):(true|false) (.+)$/.exec(row);
      return found
        ? [[found[1] ?? "", { isTrue: found[2] === "true", reason: found[3] ?? "" }]]
        : [];
    }),
  );
}

/** Lints the programs and gives the table as Markdown; prints what nobody has judged. */
export function objectPrecision(only?: string): string {
  const known = verdicts();
  const rows: string[] = [];
  const unjudged: string[] = [];
  const all = { right: 0, wrong: 0 };
  for (const program of programs) {
    if (only !== undefined && !program.repo.includes(only)) continue;
    const found = lintProgram(program);
    if (typeof found === "string") {
      rows.push(`| ${program.repo} | skipped: ${found} | | | |`);
      continue;
    }
    const judged = found.reports.map((r) => {
      const key = `${program.repo}@${program.commit}:${r.file}:${String(r.line)}:${r.rule}`;
      if (!known.has(key)) unjudged.push(`${key}\n    ${r.text}\n    ${r.message}`);
      return known.get(key)?.isTrue;
    });
    const right = judged.filter((v) => v === true).length;
    const wrong = judged.filter((v) => v === false).length;
    all.right += right;
    all.wrong += wrong;
    const size = `${String(found.files)} files, ${String(found.lines)} lines`;
    rows.push(
      `| ${program.repo} ${program.commit} | ${program.preset} | ${size} | ` +
        `${String(judged.length)} | ${String(right)} | ${String(wrong)} |`,
    );
  }
  const judged = all.right + all.wrong;
  const share = judged === 0 ? "–" : `${((100 * all.right) / judged).toFixed(1)} %`;
  return (
    `## Presets on public programs\n\n${share} of ${String(judged)} judged reports are true.\n\n` +
    "| program | preset | files that make such objects | reports | true | false |\n" +
    `| --- | --- | --- | --: | --: | --: |\n${rows.join("\n")}` +
    (unjudged.length > 0 ? `\n\nNot judged:\n\n${unjudged.join("\n")}` : "")
  );
}

/** What linting one program gave, paths relative to its repository. */
export type Found = { reports: Report[]; files: number; lines: number; folder: string };

/**
 * Lints a program, or says why it cannot be had. With `whole`, all its source files are linted,
 * also those that no word marks, its packages know each other by name, and one without TypeScript
 * is linted by its scripts.
 */
export function lintProgram(
  { repo, commit, preset, folders }: Program,
  whole = false,
  config: Config = "recommended",
): Found | string {
  const from = repository(repo);
  if ("missing" in from) return from.missing;
  const target = join(corpusDir, "objects", repo.replace("/", "+"));
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const take = (scripts: boolean): string[] =>
    folders.flatMap((f) => materialise(from.git, commit, f === "." ? "" : f, target, scripts));
  const typed = take(false);
  const scripts = whole && !typed.some(isSource);
  const written = scripts ? take(true) : typed;
  const project = writeObjectProject(
    target,
    folders,
    whole ? namesIn(target, written) : {},
    scripts,
  );
  const files = written
    .filter((f) => (whole ? isOwn(f, scripts) && !isAside.test(f) : !isTest.test(f)))
    .map((f) => join(target, f))
    .filter((f) => existsSync(f) && (whole || makes[preset].test(readFileSync(f, "utf8"))));
  const { reports, fatal, lines } = lintFiles(project, files, preset, { config });
  const broken = fatal.filter((f) => !f.includes("error TS"));
  if (broken.length > 0) process.stderr.write(`${broken.join("\n")}\n`);
  const own = reports.map((r) => ({ ...r, file: r.file.slice(target.length + 1) }));
  return { reports: own, files: files.length, lines, folder: target };
}

/** Whether a file is a source; what `isSource` says of types holds for `scripts` by their names. */
const isOwn = (path: string, scripts: boolean): boolean =>
  isSource(path) || (scripts && isSource(path.replace(/\.m?jsx?$/, ".ts")));

const isTest = /\.d\.ts$|\.(test|spec)\.tsx?$|(^|\/)tests?\//;
/** Tests that `isSource` does not know, and what others wrote. */
const isAside = new RegExp(
  "[._](test|unittest|spec|bench|stories)\\.|" +
    "(^|/)(__\\w+__|e2e|vendor|third_party|bench(marks?)?|fixtures?|\\w+-tests?)/",
  "i",
);

/** By which names the packages of a repository call each other and themselves. */
const namesIn = (target: string, written: readonly string[]): Aliases =>
  Object.assign(
    {},
    ...written
      .filter((f) => /(^|\/)([jt]sconfig|package)\.json$/.test(f))
      .map((f) => aliasesOf(target, join(target, "node_modules"), written, join(target, f)))
      .map(({ "*": _, ...named }) => named),
  ) as Aliases;

/** A tsconfig that compiles a program loosely against the types this repository has installed. */
function writeObjectProject(
  target: string,
  folders: readonly string[],
  paths: Aliases,
  allowJs: boolean,
): string {
  const modules = join(target, "node_modules");
  mkdirSync(join(modules, "@webgpu"), { recursive: true });
  mkdirSync(join(modules, "@types"), { recursive: true });
  for (const name of ["@webgpu/types", "@types/node"])
    symlinkSync(join(root, "node_modules", name), join(modules, name));
  const path = join(target, "tsconfig.lint.json");
  const compilerOptions = {
    target: "es2022",
    module: "esnext",
    moduleResolution: "bundler",
    lib: ["es2023", "esnext.disposable", "dom", "dom.iterable"],
    types: ["@webgpu/types", "node"],
    strict: true,
    skipLibCheck: true,
    noEmit: true,
    allowJs,
    jsx: "preserve",
    allowImportingTsExtensions: true,
    experimentalDecorators: true,
    ignoreDeprecations: "6.0",
    paths,
  };
  const include = folders.flatMap((f) =>
    ["ts", "tsx", ...(allowJs ? ["js", "jsx", "mjs"] : [])].map((ending) => `${f}/**/*.${ending}`),
  );
  const exclude = ["node_modules", "**/dist", "**/*.test.ts", "**/*.spec.ts"];
  writeFileSync(path, JSON.stringify({ compilerOptions, include, exclude }));
  return path;
}
