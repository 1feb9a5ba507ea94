/**
 * The code in the documents: every TypeScript snippet of the pages and docstrings compiles, those
 * that stand alone run on the device of the tests, and what a page says they print is what they
 * print. The pages of lint rules are compiled and linted by the plugin's own test. Docstrings say
 * what they must, and are looked at in the same program.
 */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import * as core from "tenure";
import * as data from "tenure/data";
import * as nn from "tenure/nn";
import * as optim from "tenure/optim";
import * as scheduler from "tenure/scheduler";
import * as testing from "tenure/testing";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { filesBelow, REPOSITORY } from "../files.ts";
import { docstringProblems } from "../docstrings/check.ts";
import { compile, type Compiled, GIVEN, javascript, promises } from "../snippets/compile.ts";
import { modulesOf, type SnippetModule, type Surroundings } from "../snippets/module.ts";
import { snippetsOfPage, snippetsOfSource } from "../snippets/read.ts";
import type { Runnable } from "../snippets/run.ts";

const run = promisify(execFile);
const CACHE = join(REPOSITORY, "node_modules/.cache");
const read = (file: string): string => readFileSync(join(REPOSITORY, file), "utf8");

const surroundings: Surroundings = {
  given: new Map(
    [...read("tools/snippets/given.ts").matchAll(/^export const (\w+)/gm)].map(
      ([, name = ""]) => [name, GIVEN] as const,
    ),
  ),
  exports: new Map(
    Object.entries({ core, nn, optim, data, scheduler, testing }).flatMap(([entry, module]) =>
      Object.keys(module).map(
        (name) => [name, entry === "core" ? "tenure" : `tenure/${entry}`] as const,
      ),
    ),
  ),
};

/** The modules of one file, named as it is. */
function modules(file: string, text: string): SnippetModule[] {
  const snippets = file.endsWith(".md") ? snippetsOfPage(file, text) : snippetsOfSource(file, text);
  return modulesOf(snippets, surroundings);
}

/** What goes wrong when modules run, in a process of their own. */
async function failures(all: readonly SnippetModule[]): Promise<string[]> {
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, "snippets-"));
  try {
    const list: Runnable[] = [];
    const broken: string[] = [];
    for (const [n, module] of all.entries()) {
      const given = `${pathToFileURL(join(REPOSITORY, "tools/snippets", GIVEN)).href}?${n}`;
      const path = join(folder, `snippet-${n}.mjs`);
      const { file: page, line } = module.snippet;
      try {
        writeFileSync(path, await javascript(module, given));
        list.push({ path: pathToFileURL(path).href, page, line, says: promises(module) });
      } catch (error) {
        broken.push(`${page}:${line} is no TypeScript: ${String(error)}`);
      }
    }
    writeFileSync(join(folder, "list.json"), JSON.stringify(list));
    const program = join(REPOSITORY, "tools/snippets/run.ts");
    const { stdout } = await run(
      process.execPath,
      ["--import", import.meta.resolve("tsx"), "--conditions=tenure:source", program, "list.json"],
      { cwd: folder },
    );
    return [...broken, ...(JSON.parse(stdout) as string[])];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A fence of TypeScript, below what says how it is treated. */
function fence(code: string, directive?: string): string {
  const above = directive === undefined ? "" : `<!-- snippet: ${directive} -->\n\n`;
  return `${above}\`\`\`ts\n${code}\n\`\`\`\n\n`;
}

const reading = suite("reading snippets");

reading("fences of TypeScript are found, with their lines and how they are treated", () => {
  const page = `# A\n\n${fence("a();")}\`\`\`js\nb();\n\`\`\`\n${fence("c();", "continues")}`;
  const found = snippetsOfPage("a.md", page + fence("d();", "not run, it waits; continues"));
  assert.equal(
    found.map(({ code, line, continues, notRun }) => [code, line, continues, notRun]),
    [
      ["a();", 4, false, undefined],
      ["c();", 13, true, undefined],
      ["d();", 19, true, "it waits"],
    ],
  );
  assert.throws(
    () => snippetsOfPage("a.md", fence("", "not run")),
    /a\.md:3: expected "continues"/,
  );
  assert.throws(() => snippetsOfPage("a.md", "```ts\n"), /a\.md:1: the code block has no end/);
});

reading("docstrings have snippets, and other comments have none", () => {
  const code = "/**\n * What it does.\n * ```ts\n * f();\n *   g();\n * ```\n */\n// ```ts\n";
  const [one, ...more] = snippetsOfSource("a.ts", `const a = 1;\n${code}`);
  assert.equal([one?.code, one?.line, one?.bare, more], ["f();\n  g();", 5, true, []]);
});

reading("cells below our name are snippets, a line for each row", () => {
  const table = "| Other | Tenure |\n| --- | --- |\n| a | `b()`; `c \\| d` |\n| e | words |\n";
  const [one, ...more] = snippetsOfPage("a.md", `\n${table}\n| x | y |\n| - | - |\n`);
  assert.equal([one?.code, one?.line, more], ["{ b(); c | d }\n{  }", 4, []]);
});

reading("imports of a page go on, and what is declared is not taken for given", () => {
  const page = fence('import { zeros as z } from "tenure";') + fence("z([1]).add(x);");
  const [, second] = modules("a.md", page);
  assert.match(second?.text ?? "", /^import \{ zeros as z \} from "tenure"; import \{ x \} from/);
  const [own] = modules("a.md", fence("const [{ x }, { y: [z] }] = f();\nx.add(z);"));
  assert.match(own?.text ?? "", /^\nconst/);
  const [bare] = modules("a.md", fence("zeros([1]);"));
  assert.match(bare?.text ?? "", /^\nzeros/, "a page imports what it uses");
});

reading.run();

const documents = suite("documents");

const pages = ["docs", "packages", "examples", "eslint-plugin"]
  .flatMap((place) => filesBelow(REPOSITORY, place, /\.md$/))
  .filter((file) => !/\/(?:results|records|rules)\//.test(file))
  .concat("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md");
const sources = filesBelow(REPOSITORY, "packages/tenure/src", /\.ts$/);
const bad = [
  'const a: number = "a";',
  "throw new Error(`on ${globalThis.process.platform}`);",
  "console.log(1 + 1); // → 3",
  "const say = () => {\n  console.log(1); // → 1\n};",
  "console.log(1 + 1); // → 2",
];

const found = [...pages, ...sources].flatMap((file) => modules(file, read(file)));
const all = [...found, ...modules("bad.md", bad.map((code) => fence(code)).join(""))];

const manifest = JSON.parse(read("packages/tenure/package.json")) as {
  readonly exports: Readonly<Record<string, { readonly "tenure:source": string }>>;
};
const entries = Object.values(manifest.exports).map((entry) =>
  join("packages/tenure", entry["tenure:source"]),
);
const lacking = "tools/test/fixtures/packages/tenure/src/tensor/lacking.ts";
let compiled: Compiled | undefined;
/** All snippets and all entry points in one program, which both tests look at. */
const compileAll = (): Compiled => (compiled ??= compile(all, [...entries, lacking]));

documents("compile, run, and print what they say", async () => {
  assert.ok(found.length > 15, `only ${found.length} snippets found`);
  const running = failures(all.filter(({ snippet }) => snippet.notRun === undefined));
  const { errors } = compileAll();
  const wrong = [...errors, ...(await running)];
  const ofBad = wrong.filter((problem) => problem.startsWith("bad.md"));
  assert.equal(
    wrong.filter((problem) => !ofBad.includes(problem)),
    [],
  );
  const expected = [
    /^bad\.md:2: Type 'string' is not assignable to type 'number'\.$/,
    /^bad\.md:6 failed: Error: on /,
    /^bad\.md:10 says it prints 3, got 2$/,
    /^bad\.md:15 never prints$/,
  ];
  assert.is(ofBad.length, expected.length, ofBad.join("\n"));
  for (const [n, pattern] of expected.entries()) assert.match(ofBad[n] ?? "", pattern);
});

/** What docstrings of some modules lack. */
function lacks(...files: readonly string[]): string[] {
  const { program } = compileAll();
  const named = files.flatMap((file) => program.getSourceFile(join(REPOSITORY, file)) ?? []);
  assert.is(named.length, files.length);
  return docstringProblems(program.getTypeChecker(), named);
}

documents("docstrings say shapes, errors and units, and each family has an example", () => {
  assert.equal(lacks(...entries), []);
});

documents("a docstring that lacks its part is found", () => {
  assert.equal(
    lacks(lacking).map((problem) => problem.replace(/^\S*\/tensor\//, "")),
    [
      "lacking.ts has no example",
      "lacking.ts:14 throwing does not name ShapeError",
      "lacking.ts:24 waiting gives timeout no unit",
      "lacking.ts:6 silent says nothing",
      "lacking.ts:9 shapeless says no shapes",
    ],
  );
});

documents.run();
