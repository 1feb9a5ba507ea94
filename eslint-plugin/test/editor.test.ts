/**
 * An editor's session with the real ESLint language server: open a file, type a leak, look at the
 * marks, take the fixes, and run what came out on the null device, whose counters say whether the
 * leak is gone. One server for all tests; each starts from the same clean text.
 */
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { init, memory, type Tensor } from "tenure";
import { suite } from "uvu";
import { declarations, layDeclarations } from "./declarations.ts";
import { LanguageServer, rangeOf, textAt, type Diagnostic } from "./language-server.ts";
import { assert, typeErrors } from "./tester.ts";

const test = suite("editor session");

const dir = mkdtempSync(join(tmpdir(), "tenure-editor-"));
const scripts = mkdtempSync(join(tmpdir(), "tenure-editor-"));
const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const start =
  `import { newDisposeScope, type Tensor } from "tenure";\n\n` +
  "export async function accuracy(predicted: Tensor, labels: Tensor): Promise<number> {\n" +
  "  return 0;\n}\n";
const leak =
  "let total = 0;\n  total += await predicted.argMax(1).eq(labels).sum().item();\n" +
  "  const unused = predicted.neg();\n  return total;";
// typescript-eslint keeps the first project service for all folders of a server
const languageOptions =
  "const languageOptions = { parser: tenure.parser, parserOptions: { projectService: " +
  '{ allowDefaultProject: ["*.js"] }, tsconfigRootDir: import.meta.dirname } };\n';
const config =
  'import tenure from "eslint-plugin-tenure";\n' +
  languageOptions +
  'export default [\n  { files: ["**/*.ts"], ' +
  "languageOptions },\n  tenure.configs.recommended,\n" +
  ["tfjs", "webgpu", "disposable", "onnxruntime"]
    .map((p) => `  { files: ["${p}.ts"], settings: { tenure: { presets: ["${p}"] } } },\n`)
    .join("") +
  '  { ...tenure.configs.strict, files: ["strict.ts"] },\n' +
  '  { files: ["legacy.ts"], rules: tenure.configs.legacy.rules },\n];\n';
const scriptConfig =
  'import tenure from "eslint-plugin-tenure";\n' +
  languageOptions +
  'export default [\n  { files: ["**/*.js"], languageOptions, ' +
  'settings: { tenure: { presets: ["tfjs"] } } },\n' +
  '  { ...tenure.configs.recommended, files: ["**/*.js"] },\n];\n';
const tsconfig = {
  compilerOptions: {
    target: "es2022",
    module: "esnext",
    moduleResolution: "bundler",
    lib: ["es2023", "esnext.disposable"],
    strict: true,
    types: [],
    paths: { tenure: [join(declarations, "dist/index.d.ts")] },
  },
  include: ["*.ts", "*.d.ts"],
  exclude: ["outside.ts"],
};
const gpu =
  "interface GPUBuffer { destroy(): void; readonly size: number }\n" +
  "interface GPUDevice { createBuffer(d: { size: number; usage: number }): GPUBuffer }\n";

/** A program under a preset or config, and a leak typed in place of its `return 0;`. */
interface Typed {
  /** The name of the file, by which the config knows the preset. */
  file: string;
  start: string;
  leak: string;
  /** The rule and the text it marks. */
  marks: readonly [rule: string, text: string];
  severity?: number;
}
const typed: readonly Typed[] = [
  {
    file: "tfjs",
    start:
      'import * as tf from "@tensorflow/tfjs-core";\n' +
      "export async function mean(rows: number[]): Promise<number> {\n  return 0;\n}\n",
    leak: "const x = tf.tensor1d(rows);\n  return x.size;",
    marks: ["require-disposal", "tensor1d(rows)"],
  },
  {
    file: "webgpu",
    start: "export function room(device: GPUDevice, bytes: number[]): number {\n  return 0;\n}\n",
    leak: "const b = device.createBuffer({ size: bytes.length, usage: 8 });\n  return b.size;",
    marks: ["require-disposal", "createBuffer({ size: bytes.length, usage: 8 })"],
  },
  {
    file: "disposable",
    start:
      "class Lock implements Disposable { held = 1; [Symbol.dispose](): void {} }\n" +
      "export function other(): void {\n  using lock = new Lock();\n  lock.held = 2;\n}\n" +
      "export function hold(): number {\n  return 0;\n}\n",
    leak: "const lock = new Lock();\n  return lock.held;",
    marks: ["require-disposal", "new Lock()"],
  },
  {
    file: "onnxruntime",
    start:
      'import { InferenceSession } from "onnxruntime-common";\n' +
      "export async function names(path: string): Promise<number> {\n  return 0;\n}\n",
    leak: "const s = await InferenceSession.create(path);\n  return s.inputNames.length;",
    marks: ["require-disposal", "create(path)"],
  },
  {
    file: "strict",
    start,
    leak: "const x = predicted.neg();\n  try { return x.size; } finally { x.dispose(); }",
    marks: ["prefer-using", "x.dispose();"],
  },
  {
    file: "legacy",
    start,
    leak: "const x = predicted.neg();\n  return x.size;",
    marks: ["require-disposal", "neg()"],
    severity: 2,
  },
];

let server: LanguageServer;
test.before(async () => {
  layDeclarations();
  const files = {
    "package.json": '{ "type": "module" }',
    "tsconfig.json": JSON.stringify(tsconfig),
    "eslint.config.js": config,
    "train.ts": start,
    "main.ts": `import { accuracy } from "./train.ts";\nexport const run = accuracy;\n`,
    "gpu.d.ts": gpu,
    "tfjs.d.ts": readFileSync(source("fixtures/tfjs.d.ts")),
    "onnx.d.ts": readFileSync(source("fixtures/onnxruntime.d.ts")),
    ...Object.fromEntries(typed.map(({ file }) => [`${file}.ts`, ""])),
    "outside.ts": "",
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  const others = { "package.json": '{ "type": "module" }', "eslint.config.js": scriptConfig };
  for (const [name, text] of Object.entries(others)) writeFileSync(join(scripts, name), text);
  writeFileSync(join(scripts, "page.js"), "");
  for (const folder of [dir, scripts])
    symlinkSync(source("../../node_modules"), join(folder, "node_modules"));
  server = new LanguageServer(dir, join(dir, "train.ts"), [
    ...["--import", import.meta.resolve("tsx")],
    "--conditions=tenure:source",
  ]);
  await server.open(start);
});
test.before.each(() => {
  server.turnTo(join(dir, "train.ts"), start);
});
test.after(async () => {
  await server.close();
  for (const folder of [dir, scripts]) rmSync(folder, { recursive: true, force: true });
});

const rules = (found: readonly Diagnostic[]): string[] =>
  found.map((d) => d.code.replace("tenure/", ""));

/** Types the leaky body, takes the first offer at each mark until there are no marks. */
async function typedAndCured(): Promise<string[]> {
  server.type(rangeOf(server.text, "return 0;"), leak);
  const taken: string[] = [];
  for (let [mark] = await server.diagnostics(); mark; [mark] = await server.diagnostics()) {
    assert.ok(taken.length < 5, "fixes come to an end");
    const [first] = await server.actions(mark);
    assert.ok(first, `an offer for: ${mark.message}`);
    taken.push(first.title);
    await server.take(first);
  }
  return taken;
}

/** How many tensors one call of `accuracy` leaves behind on the null device. */
async function leftBehind(text: string, name: string): Promise<number> {
  const path = join(dir, name);
  writeFileSync(path, text);
  const { accuracy } = (await import(pathToFileURL(path).href)) as {
    accuracy(predicted: Tensor, labels: Tensor): Promise<number>;
  };
  const { zeros } = await import("tenure");
  using predicted = zeros([4, 3]);
  using labels = zeros([4], { dtype: "int32" });
  const before = memory.stats().threadTotalLiveCount;
  await accuracy(predicted, labels);
  return memory.stats().threadTotalLiveCount - before;
}

test("a mark covers the leaking call, not the chain", async () => {
  assert.equal(await server.diagnostics(), [], "opened clean");
  server.type(rangeOf(server.text, "return 0;"), leak);
  const marks = await server.diagnostics();
  assert.equal(
    marks.map(({ range }) => textAt(server.text, range)),
    ["argMax(1)", "neg()"],
  );
});

test("with the fixes taken the program compiles and leaves nothing behind", async () => {
  assert.equal(await typedAndCured(), [
    "Hoist into `using` variables. (tenure/no-leaked-temporary)",
    "Fix this tenure/require-disposal problem",
  ]);
  assert.ok(server.text.includes("using unused = predicted.neg();"));
  assert.equal(typeErrors(server.text), []);
  await init({ device: "null" });
  assert.is(await leftBehind(start.replace("return 0;", leak), "leaky.ts"), 4);
  assert.is(await leftBehind(server.text, "cured.ts"), 0);
});

test("half-typed code is borne", async () => {
  await typedAndCured();
  const done = server.text;
  const halves = [
    done.slice(0, -30),
    done.replace("am.eq(labels)", "am.eq("),
    `${done}\nexport function`,
  ];
  for (const half of halves) {
    server.type(rangeOf(server.text, server.text), half);
    const [first] = await server.diagnostics();
    assert.match(first?.message ?? "", /^Parsing error/);
  }
  server.type(rangeOf(server.text, server.text), done);
  assert.equal(await server.diagnostics(), [], "and clean again");
});

test("a caller elsewhere changes the answer for a helper", async () => {
  const helper =
    `${start}function helper(x: Tensor): Tensor { return x.neg().exp(); }\n` +
    "export function outside(x: Tensor): Tensor { return helper(x); }\n";
  server.type(rangeOf(server.text, server.text), helper);
  assert.equal(rules(await server.diagnostics()), ["no-leaked-temporary"]);
  server.type(
    rangeOf(server.text, "{ return helper(x); }"),
    "{ using s = newDisposeScope(); return s.moveToOuter(helper(x)); }",
  );
  assert.equal(await server.diagnostics(), []);
});
for (const { file, start: clean, leak: leaky, marks, severity = 1 } of typed)
  test(`${file}: a typed leak is marked, and the first offer cures it`, async () => {
    server.turnTo(join(dir, `${file}.ts`), clean);
    assert.equal(await server.diagnostics(), [], "opened clean");
    server.type(rangeOf(server.text, "return 0;"), leaky);
    assert.equal(typeErrors(file === "webgpu" ? gpu + server.text : server.text), []);
    const found = await server.diagnostics();
    const [mark] = found;
    assert.equal(rules(found), [marks[0]]);
    assert.is(mark && textAt(server.text, mark.range), marks[1]);
    assert.is(mark?.severity, severity);
    const [first] = mark ? await server.actions(mark) : [];
    assert.ok(first, "an offer");
    await server.take(first);
    assert.equal(await server.diagnostics(), [], server.text);
    assert.equal(typeErrors(file === "webgpu" ? gpu + server.text : server.text), [], server.text);
  });

test("a file outside the tsconfig gets one message that says so", async () => {
  server.turnTo(join(dir, "outside.ts"), start.replace("return 0;", leak));
  const [message, ...others] = await server.diagnostics();
  assert.match(message?.message ?? "", /was not found by the project service/);
  assert.equal(others, []);
});

test("JavaScript of a second folder that has no tsconfig", async () => {
  const script =
    'import * as tf from "@tensorflow/tfjs-core";\n' +
    "export function size(rows) {\n  return 0;\n}\n";
  server.addFolder(scripts);
  server.turnTo(join(scripts, "page.js"), script);
  assert.equal(await server.diagnostics(), [], "opened clean");
  server.type(rangeOf(server.text, "return 0;"), "const x = tf.tensor1d(rows);\n  return x.size;");
  const found = await server.diagnostics();
  assert.equal(rules(found), ["require-disposal"]);
  const [first] = found[0] ? await server.actions(found[0]) : [];
  assert.ok(first, "an offer");
  await server.take(first);
  assert.equal(await server.diagnostics(), [], server.text);
  server.turnTo(join(dir, "train.ts"), start.replace("return 0;", leak));
  assert.is((await server.diagnostics()).length, 2, "and the first folder's files as before");
});

test("syntax that breaks in the middle while the rest is typed", async () => {
  server.type(rangeOf(server.text, "return 0;"), "const unused = predicted.neg(;\n  return 0;");
  assert.match((await server.diagnostics())[0]?.message ?? "", /^Parsing error/);
  server.type(rangeOf(server.text, "neg(;"), "neg().exp(;");
  assert.match((await server.diagnostics())[0]?.message ?? "", /^Parsing error/);
  server.type(rangeOf(server.text, "exp(;"), "exp();");
  const marks = (await server.diagnostics()).map(({ range }) => textAt(server.text, range));
  assert.equal(marks, ["neg()", "exp()"]);
});
test.run();
