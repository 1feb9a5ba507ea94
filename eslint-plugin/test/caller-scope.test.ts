/**
 * Functions whose callers are in other files: what is said of them, where, and with which setting.
 * Every case is a project on disk of which one file is linted, as an editor does; each is linted
 * with its files listed forwards and backwards.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import parser from "@typescript-eslint/parser";
import { Linter } from "eslint";
import ts from "typescript";
import { suite } from "uvu";
import plugin from "../src/index.ts";
import type { TenureSettings } from "../src/index.ts";
import { installDeclarations } from "./declarations.ts";
import { assert } from "./tester.ts";

const test = suite("scopes of callers");
type Choice = NonNullable<TenureSettings["exportedFunctions"]>;

const libraries = new Map<string, ts.SourceFile | undefined>();
let cases = 0;
const home = mkdtempSync(join(tmpdir(), "tenure-callers-"));
installDeclarations(home);
test.after(() => {
  rmSync(home, { recursive: true, force: true });
});

/** The program of a folder; what lies in `node_modules` and libraries is read once for all. */
function programOf(names: readonly string[]): ts.Program {
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    lib: ["lib.es2023.d.ts", "lib.esnext.disposable.d.ts"],
    ...{ allowImportingTsExtensions: true, noEmit: true, allowJs: true, strict: true, types: [] },
  };
  const host = ts.createCompilerHost(options, true);
  const read = host.getSourceFile.bind(host);
  host.getSourceFile = (name, target) => {
    if (!name.includes("node_modules")) return read(name, target);
    if (!libraries.has(name)) libraries.set(name, read(name, target));
    return libraries.get(name);
  };
  return ts.createProgram(names, options, host);
}

/** Reports on one file of a project, `line:column rule: message`, by the setting. */
function report(
  files: Record<string, string>,
  file: string,
  exportedFunctions?: Choice,
  forwards = true,
): string[] {
  const dir = join(home, String(cases++));
  mkdirSync(dir);
  for (const [path, text] of Object.entries(files)) writeFileSync(join(dir, path), text);
  const names = Object.keys(files)
    .filter((name) => !name.endsWith(".json"))
    .map((name) => join(dir, name));
  const programs = [programOf(forwards ? names : names.reverse())];
  const config = {
    files: ["**/*.ts", "**/*.js"],
    languageOptions: { parser, parserOptions: { programs, tsconfigRootDir: dir } },
    plugins: { tenure: plugin },
    settings: { tenure: exportedFunctions ? { exportedFunctions } : {} },
    rules: plugin.configs.recommended.rules,
  };
  return new Linter({ cwd: dir })
    .verify(files[file] ?? "", [config] as never, { filename: join(dir, file) })
    .map((m) => {
      const rule = (m.ruleId ?? "fatal").replace("tenure/", "");
      return `${String(m.line)}:${String(m.column)} ${rule}: ${m.message}`;
    });
}

const norm = `import type { Tensor } from "tenure";
export function norm(x: Tensor): Tensor {
  const y = x.mul(x);
  return y.neg().sum();
}
`;
const head = (from: string): string =>
  `import { scoped, type Tensor } from "tenure";\nimport { norm } from "${from}";\n`;
const inside = (from = "./norm.ts"): string =>
  `${head(from)}export const run = (x: Tensor): Tensor => scoped(() => norm(x));\n`;
const outside = (from = "./norm.ts"): string =>
  `${head(from)}export const run = (x: Tensor): Tensor => norm(x);\nvoid scoped;\n`;

/** The rules that reported. */
function rules(files: Record<string, string>, file: string, choice?: Choice): string[] {
  const found = report(files, file, choice);
  return found.map((line) => line.replace(/^\S+ ([\w-]+): .*$/, "$1"));
}
const each = ["require-disposal", "no-leaked-temporary"];
const once = ["require-caller-scope"];

test("a caller in a scope", () => {
  const files = { "norm.ts": norm, "inside.ts": inside() };
  for (const choice of ["strict", "callers", "once", "assume-scoped"] as const)
    assert.equal(rules(files, "norm.ts", choice), [], choice);
});
test("a caller outside", () => {
  const files = { "norm.ts": norm, "outside.ts": outside() };
  assert.equal(rules(files, "norm.ts", "strict"), each);
  assert.equal(rules(files, "norm.ts", "callers"), each);
  assert.equal(rules(files, "norm.ts", "once"), once);
  assert.equal(rules(files, "norm.ts", "assume-scoped"), []);
});
test("no caller in the project", () => {
  const files = { "norm.ts": norm };
  assert.equal(rules(files, "norm.ts", "strict"), each);
  assert.equal(rules(files, "norm.ts", "callers"), each);
  assert.equal(report(files, "norm.ts", "once"), [
    "3:15 require-caller-scope: `norm()` leaves `mul(x)` and 1 more to its caller's scope, and " +
      "callers outside may have none; open one in it.",
  ]);
  assert.equal(rules(files, "norm.ts", "assume-scoped"), []);
});
const mixed = { "norm.ts": norm, "inside.ts": inside(), "outside.ts": outside() };
test("one caller in a scope and one outside", () => {
  assert.equal(rules(mixed, "norm.ts", "strict"), each);
  assert.equal(report(mixed, "norm.ts", "callers"), [
    "3:15 require-caller-scope: `norm()` leaves `mul(x)` and 1 more to a scope that outside.ts:3 " +
      "lacks; open one in it or there.",
  ]);
  assert.equal(rules(mixed, "norm.ts", "once"), once);
});
test("the order of files decides nothing", () => {
  const files = { ...mixed, "a.ts": outside() };
  assert.equal(report(files, "norm.ts", "callers", false), report(files, "norm.ts", "callers"));
});
test("callers are named in the order of files, the first two", () => {
  const files = { ...mixed, "a.ts": outside(), "z.ts": outside() };
  assert.match(report(files, "norm.ts")[0] ?? "", "a scope that a.ts:3, outside.ts:3 and 1 more");
  const long = Object.fromEntries(
    [1, 2, 3].map((n) => [`${"very-".repeat(9)}${String(n)}.ts`, outside()]),
  );
  const message = (report({ ...mixed, ...long }, "norm.ts")[0] ?? "").replace(/^.*?: /, "");
  assert.ok(message.length <= 140, message);
  assert.match(message, "and 3 more lack;");
});
test("callers through a file that exports it again", () => {
  const again = { "index.ts": `export { norm } from "./norm.ts";\n` };
  const files = { "norm.ts": norm, ...again, "inside.ts": inside("./index.ts") };
  assert.equal(rules(files, "norm.ts"), []);
  const both = { ...files, "outside.ts": outside("./index.ts") };
  assert.equal(rules(both, "norm.ts"), once);
  assert.equal(rules(both, "index.ts"), []);
});
test("a package that offers it to callers nobody sees", () => {
  const files = {
    "norm.ts": norm,
    "package.json": `{ "name": "maths", "main": "index.ts" }`,
    "index.ts": `export * from "./norm.ts";\n`,
    "inside.ts": inside(),
  };
  const { "package.json": _, ...sources } = files;
  assert.equal(rules(sources, "norm.ts"), []);
  assert.equal(rules(files, "norm.ts", "strict"), each);
  assert.equal(rules(files, "norm.ts", "callers"), once);
});
test("behind an await no scope of a caller is open", () => {
  const files = {
    ...mixed,
    "norm.ts": norm.replace("function", "async function").replace(": Tensor {", " {\n  await 0;"),
  };
  assert.equal(rules(files, "norm.ts", "callers"), each);
});
test("a call of a method by its name alone is no caller", () => {
  const files = {
    "norm.ts":
      `import { scoped, type Tensor } from "tenure";\nexport class Norm {\n` +
      "  of(x: Tensor): Tensor { return x.neg().sum(); }\n}\n" +
      "export const run = (n: Norm, x: Tensor) => scoped(() => n.of(x));\n",
    "other.js": "export const f = (x) => x.of(1);\n",
  };
  assert.equal(report(files, "norm.ts"), []);
  const sure =
    'import type { Norm } from "./norm.ts";\n' +
    "export const g = (n: Norm) => n.of(1 as never);\n";
  assert.equal(report({ ...files, "sure.ts": sure }, "norm.ts"), [
    "3:36 require-caller-scope: `of()` leaves `neg()` to a scope that sure.ts:2 lacks; open one " +
      "in it or there.",
  ]);
});
test("a call on `this` in another file is none of a method", () => {
  const files = {
    "norm.js":
      `import { zeros } from "tenure";\n` +
      `export class Norm {\n  of() { return zeros([2]).neg(); }\n}\n` +
      `new Norm().of().dispose();\n`,
    "other.js":
      `import { scoped } from "tenure";\n` +
      `export const page = { methods: { f() { scoped(() => this.of()); } } };\n`,
  };
  assert.equal(rules(files, "norm.js"), ["no-leaked-temporary"]);
});
test("scripts", () => {
  const js = `/** @typedef {import("tenure").Tensor} Tensor */
/** @param {Tensor} x */
exports.norm = function (x) {
  return x.neg().sum();
};
`;
  const script = (body: string): string =>
    `const { scoped } = require("tenure");\nconst { norm } = require("./norm.js");\n` +
    `/** @param {import("tenure").Tensor} x */\nmodule.exports = (x) => ${body};\nvoid scoped;\n`;
  const files = { "norm.js": js, "inside.js": script("scoped(() => norm(x))") };
  assert.equal(rules(files, "norm.js"), []);
  assert.equal(report({ ...files, "outside.js": script("norm(x)") }, "norm.js"), [
    "4:12 require-caller-scope: `norm()` leaves `neg()` to a scope that outside.js:4 lacks; " +
      "open one in it or there.",
  ]);
  assert.equal(rules({ "norm.js": js, "outside.js": script("norm(x)") }, "norm.js"), [
    "no-leaked-temporary",
  ]);
});
test("a helper of a function that runs in a scope, both exported by a script", () => {
  const js =
    `const { scoped } = require("tenure");\n/** @param {import("tenure").Tensor} x */\n` +
    "function half(x) { return x.neg().sum(); }\n" +
    `/** @param {import("tenure").Tensor} x */\nfunction all(x) { return half(x); }\n`;
  const read =
    `/** @param {import("tenure").Tensor} x */\n` +
    "const read = (x) => scoped(() => all(x).item());\n";
  assert.equal(rules({ "m.js": `${js}${read}module.exports = { half, all, read };` }, "m.js"), []);
  assert.equal(rules({ "m.js": `${js}void scoped;\nmodule.exports = { half, all };` }, "m.js"), [
    "no-leaked-temporary",
  ]);
});
test.run();
