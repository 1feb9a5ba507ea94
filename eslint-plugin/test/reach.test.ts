/**
 * Reach: which files of a program the rules look at. A file that imports nothing that leads to the
 * library is left alone, and the type checker is asked nothing about it; when in doubt it is not.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { suite } from "uvu";
import { Workspace } from "../src/analysis/open.ts";
import { resolveSettings } from "../src/settings.ts";
import type { TenureSettings } from "../src/index.ts";
import { declarations, layDeclarations } from "./declarations.ts";
import { assert } from "./tester.ts";

const test = suite("reach");
layDeclarations();
const installed = "/project/node_modules/tenure/";
const ofLibrary = new Map<string, ts.SourceFile>();

/** A file of the library as if it were installed in the project. */
function libraryText(path: string): string | undefined {
  const file = join(declarations, path.slice(installed.length));
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

/** Which of the files the rules look at, of a program of these files and the library's types. */
function reached(files: Record<string, string>, settings: TenureSettings = {}): string[] {
  const options = {
    ...{ target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, noLib: true, types: [] },
    ...{ moduleResolution: ts.ModuleResolutionKind.Bundler, allowJs: true, noEmit: true },
    allowImportingTsExtensions: true,
  };
  const text = (path: string): string | undefined =>
    path.startsWith(installed) ? libraryText(path) : files[path.replace("/project/", "")];
  const host: ts.CompilerHost = {
    ...ts.createCompilerHost(options),
    fileExists: (path) => text(path) !== undefined,
    directoryExists: () => true,
    readFile: text,
    getCurrentDirectory: () => "/project",
    getSourceFile: (path, target) => {
      const known = ofLibrary.get(path);
      const code = known ? undefined : text(path);
      if (code === undefined) return known;
      const file = ts.createSourceFile(path, code, target, true);
      if (path.startsWith(installed)) ofLibrary.set(path, file);
      return file;
    },
  };
  const names = Object.keys(files).map((path) => `/project/${path}`);
  const program = ts.createProgram({ rootNames: names, options, host });
  const session = new Workspace().open(program, resolveSettings(settings));
  return Object.keys(files).filter((path) => {
    const file = program.getSourceFile(`/project/${path}`);
    assert.ok(file, path);
    return session.reaches(file);
  });
}

test("files that lead to the library are looked at, over any number of files", () => {
  const files = {
    "direct.ts": 'import { zeros } from "tenure"; export const make = () => zeros([1]);',
    "second.ts": 'export * from "./direct.ts";',
    "third.ts": 'import { make } from "./second.ts"; make();',
    "round.ts": 'import "./about.ts"; import { make } from "./direct.ts"; make();',
    "about.ts": 'import "./round.ts"; export {};',
    "plain.ts": "export const one = 1;",
    "beside.ts": 'import { one } from "./plain.ts"; console.log(one);',
  };
  assert.equal(reached(files), ["direct.ts", "second.ts", "third.ts", "round.ts"]);
});

/** Whether a file is looked at that says this, beside one that makes, keeps and counts tensors. */
const isReached = (code: string): boolean => {
  const files = {
    "made.ts":
      'import { zeros, Tensor } from "tenure"; export const sizes = [1, 2];\n' +
      "export interface Shape { rows: number; next?: Shape }\n" +
      "export interface Layer { shape: Shape; weights: Tensor }\n" +
      "export type Named = Record<string, Layer>; export enum Kind { a, b }\n" +
      "export const half = (n: number) => n / sizes[1];\n" +
      "export function count() { const made = zeros([1]); made.dispose(); return half(1); }\n" +
      "export class Net { layers: Named = {}; }  export class Deep extends Net {}\n" +
      "export const loose: any = {}; export let late;\n" +
      "export const { rows } = { rows: half(1) };\n" +
      "export function use() { late = zeros([1]); }",
    "passed.ts":
      'export { sizes, Named as Names } from "./made.ts"; export * as all from "./made.ts";',
    "page.ts": code,
  };
  return reached(files).includes("page.ts");
};

test("a file that takes nothing owned from those that lead to the library is left alone", () => {
  const from = (names: string, file = "made"): string =>
    `import { ${names} } from "./${file}.ts"; export type Used = [${names}];`;
  for (const names of ["sizes", "Shape", "Kind", "half", "rows", "sizes, Kind"])
    assert.not.ok(isReached(from(names)), names);
  assert.not.ok(isReached(from("sizes", "passed")));
  assert.not.ok(isReached(`${from("sizes")} const zeros = sizes[0]; export default zeros;`));
  for (const names of ["count", "Layer", "Named", "Net", "Deep", "sizes, Net", "loose", "late"])
    assert.ok(isReached(from(names)), names);
  for (const names of ["Names", "all", "missing"])
    assert.ok(isReached(from(names, "passed")), names);
  assert.ok(isReached('import * as made from "./made.ts"; made.sizes;'));
  assert.ok(isReached('import { x } from "./nowhere.ts"; import { sizes } from "./made.ts"; x();'));
  assert.ok(isReached(`${from("sizes")} export const load = () => import("./made.ts");`));
  assert.ok(isReached('export { sizes } from "./made.ts";'));
});

test("what is put into a declaration elsewhere counts", () => {
  const page = (names: string): string =>
    `import { ${names} } from "./made.ts"; export type Used = [${names}];`;
  const isSeen = (made: string, names: string, more = ""): boolean => {
    const library = 'import { zeros } from "tenure"; export const end = () => zeros([1]);\n';
    const files = { "made.ts": library + made, "more.ts": more, "page.ts": page(names) };
    return reached(files).includes("page.ts");
  };
  assert.not.ok(isSeen("export interface Events { size: number }", "Events"));
  const adds =
    'import type { Tensor } from "tenure";\n' +
    'declare module "./made.ts" { interface Events { frame: Tensor } }';
  assert.ok(isSeen("export interface Events { size: number }", "Events", adds));
  assert.not.ok(isSeen("export const tools = () => 1;", "tools"));
  assert.ok(isSeen("export const tools = () => 1; tools.make = () => zeros([1]);", "tools"));
  assert.ok(isSeen("{ var engine = zeros([1]); } export const get = () => engine;", "get"));
});

test("a type that looks like the library's counts, whatever declares it", () => {
  const files = {
    "fork.ts": "export class Tensor {}",
    "user.ts": 'import { Tensor } from "./fork.ts"; new Tensor();',
    "other.ts": "export class Matrix {}",
  };
  assert.equal(reached(files), ["fork.ts", "user.ts"]);
});

test("what may be loaded as it runs is looked at", () => {
  const files = {
    "lazy.ts": 'export const load = () => import("./" + "x");',
    "said.mjs": "/** @import { X } from 'x' */ export const one = 1;",
    "plain.mjs": "export const one = 1;",
  };
  assert.equal(reached(files), ["lazy.ts", "said.mjs"]);
});

test("globals reach every file", () => {
  const own = { "plain.ts": "export const one = 1;" };
  const global = 'declare const kept: import("tenure").Tensor;';
  assert.equal(reached({ ...own, "globals.d.ts": global }), ["plain.ts", "globals.d.ts"]);
  const inModule = 'import { Tensor } from "tenure"; declare global { const kept: Tensor; }';
  assert.equal(reached({ ...own, "globals.ts": inModule }), ["plain.ts", "globals.ts"]);
  assert.equal(reached({ ...own, "window.d.ts": "declare const kept: number;" }), []);
});

test("a library known by name is found by its names", () => {
  const files = {
    "script.mjs": "export const x = tf.zeros([1]);",
    "model.mjs": "export const f = (model) => model.predict(1);",
    "page.mjs": "export const add = (a, b) => a.add(b);",
    "unresolved.ts": 'import { zeros } from "@tensorflow/tfjs"; zeros([1]);',
  };
  const tfjs = reached(files, { presets: ["tfjs"] });
  assert.equal(tfjs, ["script.mjs", "model.mjs", "unresolved.ts"]);
});

test("types that are not of a package are looked for everywhere", () => {
  const files = { "plain.ts": "export const one = 1;" };
  assert.equal(reached(files, { presets: ["disposable"] }), ["plain.ts"]);
  assert.equal(reached(files, { presets: ["webgpu"] }), ["plain.ts"]);
});

test.run();
