/**
 * An editor's session with the real ESLint language server: open a file, type a leak, look at the
 * marks, take the fixes, and run what came out on the null device, whose counters say whether the
 * leak is gone. One server for all tests; each starts from the same clean text.
 */
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
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
const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const start =
  `import { newDisposeScope, type Tensor } from "tenure";\n\n` +
  "export async function accuracy(predicted: Tensor, labels: Tensor): Promise<number> {\n" +
  "  return 0;\n}\n";
const leak =
  "let total = 0;\n  total += await predicted.argMax(1).eq(labels).sum().item();\n" +
  "  const unused = predicted.neg();\n  return total;";
const config =
  'import tenure from "eslint-plugin-tenure";\nexport default [\n  { files: ["**/*.ts"], ' +
  "languageOptions: { parser: tenure.parser, parserOptions: { projectService: true, " +
  "tsconfigRootDir: import.meta.dirname } } },\n  tenure.configs.recommended,\n];\n";
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
  include: ["*.ts"],
};

let server: LanguageServer;
test.before(async () => {
  layDeclarations();
  const files = {
    "package.json": '{ "type": "module" }',
    "tsconfig.json": JSON.stringify(tsconfig),
    "eslint.config.js": config,
    "train.ts": start,
    "main.ts": `import { accuracy } from "./train.ts";\nexport const run = accuracy;\n`,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  symlinkSync(source("../../node_modules"), join(dir, "node_modules"));
  server = new LanguageServer(dir, join(dir, "train.ts"), [
    ...["--import", import.meta.resolve("tsx")],
    "--conditions=tenure:source",
  ]);
  await server.open(start);
});
test.before.each(() => {
  server.type(rangeOf(server.text, server.text), start);
});
test.after(async () => {
  await server.close();
  rmSync(dir, { recursive: true, force: true });
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
test.run();
