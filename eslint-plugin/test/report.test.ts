/**
 * The leak report: what it looks at, what it leaves out, which presets it takes, and what it prints
 * for people and programs. Writes a small code base for each case; the command itself is run once
 * for each of its sentences.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { readCommand, usage } from "../src/report/command-line.ts";
import { Ignored } from "../src/report/ignored.ts";
import { partsOf } from "../src/report/programs.ts";
import { reportText } from "../src/report/report-text.ts";
import { presetsFor } from "../src/report/seen-libraries.ts";
import { sourcesAt } from "../src/report/sources.ts";
import { leaky, oldFiles, OldCode } from "./old-code.ts";
import { assert } from "./tester.ts";

const test = suite("leak report");
const files = (report: { leaks: readonly { file: string }[] }): string[] => [
  ...new Set(report.leaks.map((l) => l.file)),
];

test("leaks are counted by file, function and rule", () => {
  using code = new OldCode();
  const report = code.report({ presets: [] });
  assert.is(
    reportText(report),
    [
      "    3  src/train.ts",
      "        2  Trainer.step(): lines 7, 8",
      "        1  norm(): line 3",
      "",
      "    2  no-leaked-temporary",
      "    1  require-disposal",
      "",
      "3 reports in 1 of 2 files, read with --preset tenure",
      "",
    ].join("\n"),
  );
  const part = code.report({ paths: ["src/fine.ts"] });
  assert.is(reportText(part), "0 reports in 0 of 1 files, read with --preset tenure\n");
  const leak = "src/train.ts:3 `mul(x)` is never disposed; hoist it into `using`, or open a scope.";
  assert.ok(reportText(report, true).startsWith(`${leak} (no-leaked-temporary)\n`));
  const elsewhere = code.report({ folder: `${code.folder}/src/deep`, paths: [".."] });
  assert.equal(files(elsewhere), ["../train.ts"], "outside of the folder it is asked in");
});

test("what is named and not there is one sentence", () => {
  using code = new OldCode();
  assert.throws(() => code.report({ project: "none.json" }), /expected a tsconfig\.json/);
  assert.throws(() => code.report({ paths: ["nowhere"] }), /expected a file or folder at \S*nowh/);
  assert.throws(
    () => code.report({ project: "tsconfig.json", paths: ["elsewhere"] }),
    /expected scripts of tsconfig\.json at elsewhere, got none$/,
  );
  rmSync(code.at("src"), { recursive: true });
  code.write("test/a.ts", leaky);
  assert.throws(() => code.report(), /got none but tests; look at those with --tests$/);
});

test("the report leaves out tests unless asked, and what comments say of other rules", () => {
  using code = new OldCode();
  for (const path of ["test/more.ts", "src/train_test.ts", "src/__tests__/a.ts", "src/b.spec.ts"])
    code.write(path, leaky);
  code.write("src/fine.ts", "/* eslint foo/bar: error */\nexport {};\n");
  const plain = code.report();
  assert.equal([files(plain), plain.files], [["src/train.ts"], 2]);
  assert.is(code.report({ tests: true }).leaks.length, plain.leaks.length * 5);
});

test("what is installed, built, vendored, minified or ignored is left out", () => {
  using code = new OldCode();
  for (const folder of ["node_modules/a", "dist", "build/x", "coverage", "vendor", ".cache", "own"])
    code.write(`${folder}/train.ts`, leaky);
  code.write(".git/config", "");
  code.write(".gitignore", "# no\n/own/\n*.gen.ts\n!kept.gen.ts\ndeep/**/skip\n");
  code.write("src/.gitignore", "local.ts\n");
  for (const path of ["a.gen.ts", "src/local.ts", "src/lib.min.js", "deep/a/b/skip/train.ts"])
    code.write(path, leaky);
  for (const path of ["kept.gen.ts", "local.ts", "deep/a/own/train.ts"]) code.write(path, leaky);
  const umd = 'typeof define === "function" && define.amd ? define(f) : f();\n';
  code.write("src/bundle.js", umd + "var a = 1;\n".repeat(10_000));
  const found = code.report();
  assert.equal(files(found).sort(), [
    ...["deep/a/own/train.ts", "kept.gen.ts", "local.ts", "src/train.ts"],
  ]);
  assert.is(found.files, 5, "and src/fine.ts");
  assert.equal(files(code.report({ paths: ["own"] })), ["own/train.ts"], "unless it is named");
});

test("patterns of .gitignore mean what they mean to git", () => {
  using code = new OldCode({});
  const patterns = [
    "*.log",
    "/top",
    "a/b",
    "dir/",
    "!keep.log",
    "x/**",
    "**/y/z",
    "q?.[ab]s",
    "\\!w",
  ];
  code.write(".gitignore", `${patterns.join("\n")}\n`);
  const paths = [
    ...["t.log", "d/t.log", "keep.log", "top", "d/top", "a/b", "d/a/b", "dir", "d/dir/f.ts"],
    ...["x/f", "x/g/f", "y/z", "d/y/z", "q1.as", "q.as", "q1.cs", "!w", "w", "dir.ts"],
  ];
  execFileSync("git", ["init", "-q", code.folder]);
  const ours = Ignored.at(code.folder);
  const { stdout } = spawnSync("git", ["check-ignore", "--stdin"], {
    ...{ cwd: code.folder, input: paths.join("\n"), encoding: "utf8" },
  });
  const isOurs = (path: string): boolean =>
    path.split("/").some((_, i, all) => {
      const upTo = all.slice(0, i + 1).join("/");
      return ours.has(code.at(upTo), i < all.length - 1);
    });
  assert.equal(paths.filter(isOurs), stdout.trim().split("\n"));
});

test("every sub-project is read with its own options, and each file once", () => {
  const options = { ...(JSON.parse(oldFiles["tsconfig.json"] ?? "") as object), include: ["src"] };
  using code = new OldCode({
    "tsconfig.json": JSON.stringify({ files: [], references: [{ path: "./a" }] }),
    "a/tsconfig.json": JSON.stringify(options),
    "a/src/train.ts": leaky,
    "b/tsconfig.json": JSON.stringify({ ...options, references: [{ path: "../a" }] }),
    "b/src/train.ts": leaky,
    "scripts/package.json": "{}",
    "scripts/size.js": 'import { zeros } from "tenure";\nexport const f = () => zeros([2]).size;\n',
  });
  const found = code.report({ presets: [] });
  assert.equal(files(found), ["a/src/train.ts", "b/src/train.ts", "scripts/size.js"]);
  assert.is(found.leaks.length, 7);
  const parts = [...partsOf(sourcesAt([code.folder]))].map((p) => p.name.replace(code.folder, ""));
  assert.equal(parts, ["/a/tsconfig.json", "/b/tsconfig.json", "/scripts"]);
  const solution = code.report({ project: "tsconfig.json" });
  assert.equal(files(solution), ["a/src/train.ts"], "what the named project refers to");
});

test("scripts without a tsconfig.json have a leak report", () => {
  using code = new OldCode({
    "src/size.js": 'import { zeros } from "tenure";\nexport const size = () => zeros([2]).size;\n',
    "src/broken.js": "const = 1;\n",
  });
  const report = code.report();
  assert.equal([report.files, report.leaks.map((l) => l.rule)], [2, ["no-leaked-temporary"]]);
  assert.match(reportText(report), /\n1 file could not be read; --list says why\n$/);
  assert.match(reportText(report, true), /\nsrc\/broken\.js: Parsing error: /);
});

test("presets are those of the libraries that the code names", () => {
  assert.equal(presetsFor(['import * as tf from "@tensorflow/tfjs-node";']), ["tfjs"]);
  assert.equal(presetsFor(["<script></script>", "tf.tidy(() => 1)"]), ["tfjs"]);
  const both = ["await navigator.gpu.requestAdapter()", 'require("onnxruntime-node")'];
  assert.equal(presetsFor(both), ["webgpu", "onnxruntime"]);
  assert.equal(presetsFor(['import { nn } from "tenure/nn";']), ["tenure"]);
  assert.equal(presetsFor(["const tenure = 3; tf.js"]), []);
});

test("the command line answers mistakes with a sentence", () => {
  const said = (...words: string[]): string => {
    try {
      return JSON.stringify(readCommand(words));
    } catch (error) {
      return (error as Error).message;
    }
  };
  assert.is(said("--lst"), "tenure-lint-report: unknown option --lst; see --help");
  assert.match(said("--lists"), /unknown option --lists; did you mean --list\? See --help$/);
  assert.match(said("-x"), /unknown option -x; see --help$/);
  assert.match(said("--preset", "tf"), /unknown preset tf; known presets: tenure, tfjs,/);
  assert.match(said("--preset"), /--preset.*argument missing/);
  assert.match(said("--eslint", "--tests"), /leave out --tests$/);
  assert.match(said("--json", "src"), /"json":true.*"paths":\["src"\]/);
  for (const [, option = ""] of usage.matchAll(/^ {2}(--[\w-]+)/gm))
    assert.not.match(said(option, "x"), /unknown option/, option);
});

const cli = fileURLToPath(new URL("../src/report/cli.ts", import.meta.url));
/** Runs the command in a folder. */
function run(folder: string, ...words: string[]): { status: number | null; out: string } {
  const loader = ["--import", import.meta.resolve("tsx"), "--conditions=tenure:source"];
  const { status, stdout, stderr } = spawnSync(process.execPath, [...loader, cli, ...words], {
    ...{ cwd: folder, encoding: "utf8" },
  });
  return { status, out: stdout + stderr };
}

test("the command prints, writes and exits as it says", () => {
  using code = new OldCode();
  const json = run(code.folder, "--json", "--exit-code", "--write-baseline", "src/known.json");
  assert.is(json.status, 1);
  const { leaks, presets } = JSON.parse(json.out) as { leaks: object[]; presets: string[] };
  assert.equal([leaks.length, presets], [3, ["tenure"]]);
  assert.equal(JSON.parse(readFileSync(code.at("src/known.json"), "utf8")), {
    version: 2,
    files: {
      "train.ts": {
        "no-leaked-temporary": { "norm mul(x)": 1, "Trainer.step mul(y)": 1 },
        "require-disposal": { "Trainer.step neg()": 1 },
      },
    },
  });
  assert.is(run(code.folder, "nowhere").status, 2);
  rmSync(code.at("src/train.ts"));
  const nothing = run(code.folder);
  assert.is(nothing.status, 2);
  assert.match(nothing.out, /^tenure-lint-report: no script here uses Tenure, TensorFlow\.js/);
});

test("the command reads the code as its ESLint configuration says", () => {
  using code = new OldCode();
  const plugin = JSON.stringify(fileURLToPath(new URL("../src/index.ts", import.meta.url)));
  const text = `import tenure from ${plugin};
export default [
  { files: ["**/*.ts"], languageOptions: { parser: tenure.parser,
    parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } } },
  { ...tenure.configs.legacy, settings: { tenure: { baseline: "none-yet.json" } },
    rules: { "tenure/require-disposal": "warn" } },
];
`;
  code.write("eslint.config.mjs", text);
  const { status, out } = run(code.folder, "--eslint", "--write-baseline", "none-yet.json");
  assert.is(status, 0, out);
  assert.match(out, /^ {4}1 {2}src\/train\.ts\n {8}1 {2}Trainer\.step\(\): line 7\n/);
  assert.ok(readFileSync(code.at("none-yet.json"), "utf8").includes("Trainer.step"));
});

test("a baseline keeps what it said of files that were not read", () => {
  using code = new OldCode();
  code.write("lib/other.ts", leaky);
  const write = ["--write-baseline", "tenure-baseline.json"];
  const kept = (): string[] => {
    const text = readFileSync(code.at("tenure-baseline.json"), "utf8");
    return Object.keys((JSON.parse(text) as { files: object }).files);
  };
  run(code.folder, ...write);
  assert.equal(kept(), ["lib/other.ts", "src/train.ts"]);
  run(code.folder, "src", ...write);
  assert.equal(kept(), ["lib/other.ts", "src/train.ts"], "another folder");
  code.write("src/train.ts", `${leaky}\nexport function (`);
  assert.is(run(code.folder, "--exit-code", ...write).status, 2, "a file that cannot be read");
  assert.equal(kept(), ["lib/other.ts", "src/train.ts"]);
  rmSync(code.at("lib"), { recursive: true });
  run(code.folder, ...write);
  assert.equal(kept(), ["src/train.ts"], "a file that is gone");
  const nowhere = run(code.folder, "--write-baseline", "none/x.json");
  assert.is(nowhere.status, 2);
  assert.match(nowhere.out, /expected a folder at \S*none, got none; make it, or write elsewhere/);
});

test("the configuration for tests silences what the report leaves out", async () => {
  using code = new OldCode();
  const { ESLint } = await import("eslint");
  const { recommended, tests } = plugin.configs;
  const all = [{ ...recommended, files: ["**/*.{ts,tsx,mts,js}"] }, tests];
  const eslint = new ESLint({
    ...{ cwd: code.folder, overrideConfigFile: true, overrideConfig: all as never },
  });
  const paths = ["a.test.ts", "b.spec.tsx", "c_test.mts", "d.test.js", "test/e.ts", "tests/f.ts"];
  for (const path of [...paths, "__tests__/g.ts", "src/tests/h.ts", "src/testing.ts"]) {
    code.write(path, leaky);
    const config = (await eslint.calculateConfigForFile(code.at(path))) as {
      rules: Record<string, [number]>;
    };
    const isSilent = config.rules["tenure/no-leaked-temporary"]?.[0] === 0;
    const isLeftOut = !files(code.report()).includes(path);
    assert.equal([path, isSilent, isLeftOut], [path, isLeftOut, path !== "src/testing.ts"]);
  }
});

test("what is named is looked at, a test or a project's folder", () => {
  using code = new OldCode();
  code.write("src/a.test.ts", leaky);
  assert.equal(files(code.report({ paths: ["src/a.test.ts"] })), ["src/a.test.ts"]);
  assert.equal(files(code.report({ project: "." })), ["src/train.ts"]);
});

test.run();
