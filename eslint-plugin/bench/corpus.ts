/**
 * The development corpus of the lint bench: public repositories with known leak fixes, read from
 * bare git folders under `.cache/lint-corpus` (or `TENURE_LINT_CORPUS`), cloned there when the
 * network allows. Nothing of them is ever written into this repository. Used by `main.ts`.
 */
import { execFileSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Aliases } from "./aliases.ts";

/** The root of this repository. */
export const root = fileURLToPath(new URL("../../", import.meta.url));
/** Where the repositories of the corpus lie. */
export const corpusDir = process.env["TENURE_LINT_CORPUS"] ?? join(root, ".cache", "lint-corpus");

/** The git folder of a repository, or a sentence saying why it cannot be had. */
export function repository(name: string): { git: string } | { missing: string } {
  const git = join(corpusDir, `${name.replace("/", "+")}.git`);
  if (existsSync(git)) return { git };
  try {
    mkdirSync(corpusDir, { recursive: true });
    execFileSync(
      "git",
      [
        "clone",
        "--quiet",
        "--bare",
        "--filter=blob:limit=1m",
        `https://github.com/${name}.git`,
        git,
      ],
      { stdio: ["ignore", "ignore", "pipe"], timeout: 240_000 },
    );
    return { git };
  } catch (error) {
    return {
      missing:
        `${name} is not in ${corpusDir} and could not be cloned ` +
        `(${error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error)})`,
    };
  }
}

/** The release of TF.js whose types a commit was written against, near enough. */
export const releaseFor = (date: string): string =>
  date < "2019-03" ? "0.15.3" : date < "2020-06" ? "1.7.4" : "4.22.0";

/** The type declarations of a TF.js release, installed on first use. */
export function tfjsTypes(release: string): { modules: string } | { missing: string } {
  const folder = join(corpusDir, `node_modules-${release}`);
  const present = (m: string): boolean => existsSync(join(m, "@tensorflow", "tfjs-core"));
  if (present(folder)) return { modules: folder };
  const place = join(corpusDir, `types-${release}`);
  const inner = join(place, "node_modules");
  if (present(inner)) return { modules: inner };
  const unfinished = `${place}.part`; // an install that is cut short must not count
  try {
    rmSync(unfinished, { recursive: true, force: true });
    mkdirSync(unfinished, { recursive: true });
    execFileSync(
      "npm",
      [
        "install",
        "--prefix",
        unfinished,
        "--no-save",
        "--ignore-scripts",
        "--legacy-peer-deps",
        `@tensorflow/tfjs@${release}`,
        ...companions(release),
      ],
      { stdio: ["ignore", "ignore", "pipe"], timeout: 240_000 },
    );
    renameSync(unfinished, place);
    return { modules: inner };
  } catch {
    return { missing: `the types of @tensorflow/tfjs ${release} could not be installed` };
  }
}

/** What programs with TF.js import beside it and take tensors from, or keep them in. */
const companions = (release: string): string[] => [
  ...["@types/node@20", "@types/react@18", "@types/react-dom@18"],
  ...(release.startsWith("0.") ? [] : [`@tensorflow/tfjs-node@${release}`]),
  ...(release.startsWith("4.")
    ? [
        ...["tfjs-vis", "tfjs-backend-wasm", "tfjs-backend-webgpu"].map((n) => `@tensorflow/${n}`),
        ...["blazeface", "body-pix", "body-segmentation", "coco-ssd", "deeplab"],
        ...["face-landmarks-detection", "hand-pose-detection", "knn-classifier", "mobilenet"],
        ...["pose-detection", "posenet", "speech-commands", "toxicity"],
        "universal-sentence-encoder",
      ].map((name) => (name.startsWith("@") ? name : `@tensorflow-models/${name}`))
    : []),
];

/** The author date of a commit, year-month-day. */
export const dateOf = (folder: string, commit: string): string =>
  git(folder, ["log", "-1", "--format=%as", commit]).toString().trim();

/** The newest commit of a repository, abbreviated. */
export const newestOf = (folder: string): string =>
  git(folder, ["log", "-1", "--format=%h", "--abbrev=8"]).toString().trim();

const git = (folder: string, args: string[], input?: string): Buffer =>
  execFileSync("git", ["-C", folder, ...args], {
    maxBuffer: 1 << 30,
    ...(input === undefined ? {} : { input }),
    stdio: ["pipe", "pipe", "ignore"],
  });

/** Scripts longer than this are bundles: bytes. */
const longestScript = 500_000;

/**
 * Writes the TypeScript files of a commit (below `folder`) to `target`, and its JavaScript too with
 * `scripts`; gives their paths.
 */
export function materialise(
  repo: string,
  commit: string,
  folder: string,
  target: string,
  scripts = false,
): string[] {
  const code = scripts
    ? /\.[jt]sx?$|\.mjs$|(^|\/)(package|[jt]sconfig[\w.]*)\.json$/
    : /\.(ts|tsx)$|(^|\/)(package|[jt]sconfig[\w.]*)\.json$/;
  const listed = git(repo, ["ls-tree", "-r", commit, "--", ...(folder === "" ? [] : [folder])])
    .toString()
    .split("\n");
  const links: { id: string; path: string }[] = [];
  const wanted = listed.flatMap((line) => {
    const [meta, path] = line.split("\t");
    const id = meta?.split(" ")[2];
    if (id && path && meta.startsWith("120000")) links.push({ id, path });
    return id &&
      path &&
      code.test(path) &&
      !/(^|\/)(node_modules|dist|build)\/|[.-]min\.js$/.test(path)
      ? [{ id, path }]
      : [];
  });
  if (wanted.length === 0) return [];
  const out = git(repo, ["cat-file", "--batch"], `${wanted.map((w) => w.id).join("\n")}\n`);
  let at = 0;
  const written: string[] = [];
  for (const { path } of wanted) {
    const end = out.indexOf(10, at);
    const header = out.subarray(at, end).toString();
    at = end + 1;
    if (header.endsWith("missing")) continue;
    const size = Number(header.split(" ")[2]);
    const content = out.subarray(at, at + size);
    at += size + 1;
    if (size > longestScript && /js[x]?$/.test(path)) continue;
    const file = join(target, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    written.push(path);
  }
  for (const { id, path } of links) {
    const to = git(repo, ["cat-file", "blob", id]).toString();
    mkdirSync(dirname(join(target, path)), { recursive: true });
    const link = join(target, path);
    // A link that leads nowhere is there, too.
    if (!lstatSync(link, { throwIfNoEntry: false })) symlinkSync(to, link);
  }
  return written;
}

/** How many entries a commit has. */
export const sizeOf = (repo: string, commit: string): number =>
  git(repo, ["ls-tree", "-r", "--name-only", commit]).toString().split("\n").length;

/**
 * The folders of a repository that changed files compile with, and the package.json of each: it
 * says what the package offers.
 */
export function foldersOf(repo: string, sources: readonly string[]): string[] {
  const own = sources.map((s) => {
    const parts = s.split("/"),
      at = parts.indexOf("src");
    return parts.slice(0, at < 0 ? 1 : at + 1).join("/");
  });
  const folders = [...own, ...(repo === "tensorflow/tfjs-models" ? ["shared"] : [])];
  const manifests = own.map((f) => f.replace(/(^|\/)src$/, "$1package.json"));
  return [...new Set([...folders, ...manifests])];
}

/** The source files a commit changed, tests and declarations left out. */
export function changedSources(repo: string, commit: string): string[] {
  const names = git(repo, ["diff-tree", "--no-commit-id", "--name-only", "-r", commit])
    .toString()
    .split("\n");
  return names.filter((n) => isSource(n));
}
/** Whether a path is a source file, tests and declarations left out. */
export const isSource = (path: string): boolean =>
  /\.tsx?$/.test(path) &&
  !/\.d\.ts$|(_|\.)(test|spec)\.ts$|test_utils?\.ts$/.test(path) &&
  !/(^|\/)(tests?|demos?|test_util\w*|dist|examples?)\/|_benchmark/.test(path) &&
  !/(^|\/)version\.ts$/.test(path);

/**
 * A tsconfig that compiles corpus sources loosely against the types of TF.js in `modules`;
 * `aliases` are the names by which the repository itself calls its folders.
 */
export function writeProject(
  target: string,
  modules: string,
  include: string[],
  name = "lint",
  aliases: Aliases = {},
): string {
  const path = join(target, `tsconfig.${name}.json`);
  // the methods of tensors, which later releases declare apart from the class
  const chainedDir = "@tensorflow/tfjs-core/dist/public/chained_ops";
  const chained = existsSync(join(modules, chainedDir))
    ? readdirSync(join(modules, chainedDir))
        .filter((f) => f.endsWith(".d.ts") && !f.includes("test"))
        .map((f) => join(modules, chainedDir, f))
    : [];
  const linked = join(target, "node_modules");
  if (!existsSync(linked)) {
    rmSync(linked, { force: true }); // a link of theirs that leads nowhere
    symlinkSync(modules, linked);
  }
  const node = "@tensorflow/tfjs-node/dist/index.d.ts"; // the first releases lack one of their own
  const own = existsSync(join(modules, node)) ? node : "@tensorflow/tfjs/dist/index.d.ts";
  const forNode = `./node_modules/${own}`;
  writeFileSync(
    path,
    JSON.stringify({
      compilerOptions: {
        target: "es2022",
        module: "esnext",
        moduleResolution: "bundler",
        lib: ["es2022", "dom", "dom.iterable"],
        types: existsSync(join(modules, "@types/node")) ? ["node"] : [],
        strictNullChecks: true,
        skipLibCheck: true,
        noEmit: true,
        allowJs: include.some((path) => /\.m?jsx?$/.test(path)),
        jsx: "preserve",
        resolveJsonModule: true,
        experimentalDecorators: true,
        ignoreDeprecations: "6.0",
        paths: {
          "dist/tfjs.esm.js": ["./node_modules/@tensorflow/tfjs/dist/index.d.ts"],
          "@tensorflow/tfjs-node": [forNode],
          "@tensorflow/tfjs-node-gpu": [forNode],
          "tfjs-image-recognition-base": ["./node_modules/@tensorflow/tfjs-core/dist/index.d.ts"],
          ...aliases,
          "*": [...(aliases["*"] ?? []), "./node_modules/*"],
        },
      },
      include,
      ...(chained.length > 0 ? { files: chained } : {}),
      exclude: ["node_modules", "**/dist"],
    }),
  );
  return path;
}

/** Writes the build of TF.js that vladmandic/human keeps among its own outputs. */
export function writeBuild(target: string): void {
  const build = join(target, "dist/tfjs.esm.d.ts");
  mkdirSync(dirname(build), { recursive: true });
  writeFileSync(build, 'export * from "@tensorflow/tfjs";\n');
}
