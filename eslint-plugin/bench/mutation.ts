/**
 * Mutation score: in clean sources of this repository one `using`, disposal or scope at a time is
 * taken out. Each mutant is run on the null device to see whether it really leaves tensors behind,
 * and linted with `strict`, as `npm run check` does, to see whether that is reported. The sources
 * are the library itself, exercised by `workload.ts`, the examples, run as they are, and the valid
 * programs of the plugin's tests. Used by `main.ts`.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import parser from "@typescript-eslint/parser";
import { build, transformSync } from "esbuild";
import { Linter } from "eslint";
import tenure from "eslint-plugin-tenure";
import ts from "typescript";
import { layDeclarations } from "../test/declarations.ts";
import { root } from "./corpus.ts";

const folder = join(root, "eslint-plugin/test/fixtures/valid");
const place = join(root, ".cache", "lint-mutants");

/** A program with one thing less. `line` is that of the statement or call taken out. */
export interface Mutant {
  file: string;
  line: number;
  what: string;
  text: string;
}

/** Functions that run another in a scope; the second is the library's own. */
const scopes: ReadonlySet<string> = new Set(["scoped", "composed"]);

/** Every text that differs from a program by one missing `using`, disposal or scope. */
export function mutantsOf(file: string, text: string): Mutant[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: Mutant[] = [];
  const add = (node: ts.Node, what: string, start: number, end: number, put: string): void => {
    found.push({
      file,
      line: source.getLineAndCharacterOfPosition(node.getStart()).line + 1,
      what,
      text: text.slice(0, start) + put + text.slice(end),
    });
  };
  const visit = (node: ts.Node): void => {
    ts.forEachChild(node, visit);
    if (ts.isVariableDeclarationList(node) && /^using\s/.test(node.getText())) {
      add(node, "using", node.getStart(), node.getStart() + "using".length, "const");
      const [only] = node.declarations,
        statement = node.parent;
      if (
        node.declarations.length === 1 &&
        only &&
        ts.isVariableStatement(statement) &&
        /^newDisposeScope\(/.test(only.initializer?.getText() ?? "") &&
        !isNamed(statement.parent, only.name.getText(), only)
      ) {
        add(node, "scope", statement.getStart(), statement.getEnd(), ";");
      }
    }
    if (ts.isExpressionStatement(node) && /\??\.dispose\(\)$/.test(node.expression.getText())) {
      const chained = /\)\.dispose\(\)$/.test(node.expression.getText());
      if (chained) add(node, "dispose", node.getEnd() - ".dispose();".length, node.getEnd(), ";");
      else add(node, "dispose", node.getStart(), node.getEnd(), ";");
    }
    if (ts.isCallExpression(node) && scopes.has(node.expression.getText()))
      add(
        node,
        "scoped",
        node.getStart(),
        node.getEnd(),
        `(${node.arguments[0]?.getText() ?? ""})()`,
      );
  };
  visit(source);
  return found;
}

/** Whether a name is mentioned below a node, its own declaration left out. */
function isNamed(below: ts.Node, name: string, declaration: ts.Node): boolean {
  const visit = (node: ts.Node): boolean =>
    node !== declaration &&
    ((ts.isIdentifier(node) && node.text === name) ||
      (ts.forEachChild(node, (c) => visit(c) || undefined) ?? false));
  return visit(below);
}

// ---- what a mutant leaves behind ----

let serial = 0;
async function imported<T>(code: string, use: (module: T) => Promise<number>): Promise<number> {
  mkdirSync(place, { recursive: true });
  const path = join(place, `mutant-${String(process.pid)}-${String(serial++)}.mjs`);
  writeFileSync(path, code);
  try {
    return await use((await import(pathToFileURL(path).href)) as T);
  } finally {
    rmSync(path, { force: true });
  }
}

/** How many tensors a valid program leaves behind: its `run()` with the library of this process. */
export async function leftBehind(text: string): Promise<number> {
  const { init, memory } = (await import("tenure")) as {
    init: (o: object) => Promise<unknown>;
    memory: { stats(): { threadTotalLiveCount: number } };
  };
  await init({ device: "null" });
  return imported<{ run: () => void }>(
    transformSync(text, { loader: "ts", target: "node20", format: "esm" }).code,
    async ({ run }) => {
      await new Promise((done) => setImmediate(done));
      const before = memory.stats().threadTotalLiveCount;
      run();
      const left = memory.stats().threadTotalLiveCount - before;
      // an open scope is noticed and set aside before the next program
      await new Promise((done) => setImmediate(done));
      return left;
    },
  );
}

/** The sources that are changed, and the program that shows what a change leaves behind. */
interface Subject {
  name: string;
  files: string[];
  entry: string;
}

const sourcesBelow = (path: string): string[] =>
  readdirSync(join(root, path), { recursive: true, encoding: "utf8" })
    .filter((f) => f.endsWith(".ts") && !/(^|\/)(test|node_modules)\//.test(f))
    .map((f) => join(root, path, f))
    .sort();

/** An example is run as it stands; what it says goes nowhere. */
const exampleEntry = (main: string, args: string[]): string => `
import { memory } from "tenure";
async function run() {
  process.argv = ["node", "example", ...${JSON.stringify(args)}];
  process.env.TENURE_DEVICE = "null";
  try {
    await import(${JSON.stringify(join(root, main))});
  } catch (error) {
    if (!/leak/i.test(String(error))) throw error;
    return { example: 1 };
  } finally {
    process.exitCode = 0;
  }
  const s = memory.stats();
  return { example: s.threadTotalLiveCount + s.finalized };
}`;

const subjects = (): Subject[] => [
  {
    name: "library",
    files: ["autograd", "data", "nn", "optim", "tensor"].flatMap((f) =>
      sourcesBelow(`packages/tenure/src/${f}`),
    ),
    entry: `import { run } from ${JSON.stringify(join(import.meta.dirname, "workload.ts"))};`,
  },
  {
    name: "mnist",
    files: sourcesBelow("examples/mnist"),
    entry: exampleEntry("examples/mnist/main.ts", [
      "--limit",
      "64",
      "--batch",
      "32",
      "--epochs",
      "1",
    ]),
  },
  {
    name: "char-transformer",
    files: sourcesBelow("examples/char-transformer"),
    entry: exampleEntry("examples/char-transformer/main.ts", ["--steps", "2", "--tell", "2"]),
  },
];

/**
 * How many tensors a subject leaves behind with one file changed; an error means the mutant does
 * not run, which is no leak.
 */
async function leftBySubject({ entry }: Subject, mutant: Mutant | null): Promise<number> {
  const { outputFiles } = await build({
    stdin: {
      contents:
        `import { parentPort } from "node:worker_threads";\n${entry}\n` +
        "parentPort.postMessage(await run());",
      resolveDir: import.meta.dirname,
      loader: "ts",
    },
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    target: "node20",
    conditions: ["tenure:source"],
    external: ["webgpu"],
    logLevel: "silent",
    plugins:
      mutant === null
        ? []
        : [
            {
              name: "mutant",
              setup: (b) => {
                b.onLoad({ filter: /\.ts$/ }, ({ path }) =>
                  path === mutant.file ? { contents: mutant.text, loader: "ts" } : undefined,
                );
              },
            },
          ],
  });
  mkdirSync(place, { recursive: true });
  const path = join(place, `mutant-${String(process.pid)}-${String(serial++)}.mjs`);
  writeFileSync(path, outputFiles[0]!.text);
  // A thread of its own: what a mutant leaves behind goes with it, and what it says goes nowhere.
  const worker = new Worker(pathToFileURL(path), { stdout: true, stderr: true, execArgv: [] });
  try {
    const found = await new Promise<Record<string, number>>((done, fail) => {
      worker
        .once("message", done)
        .once("error", fail)
        .once("exit", () => {
          fail(new Error("no answer"));
        });
      setTimeout(() => {
        fail(new Error("no answer in a minute"));
      }, 60_000).unref();
    });
    const broken = Object.keys(found).filter((name) => (found[name] ?? 0) < 0);
    if (mutant === null && broken.length > 0)
      throw new Error(`expected unchanged sources to run, got an error in ${broken.join()}`);
    return Math.max(...Object.values(found));
  } finally {
    await worker.terminate();
    rmSync(path, { force: true });
  }
}

/** The runtime complains about the scopes that mutants leave open, and examples talk. */
async function quietly<T>(fn: () => Promise<T>): Promise<T> {
  const { console: real } = globalThis,
    write = process.stdout.write.bind(process.stdout);
  globalThis.console = {
    ...real,
    log: () => undefined,
    error: () => undefined,
    warn: () => undefined,
  };
  process.stdout.write = () => true;
  try {
    return await fn();
  } finally {
    globalThis.console = real;
    process.stdout.write = write;
  }
}

// ---- what is said about it ----

/** What was reported; a text that cannot be linted is not one that is. */
function say(messages: readonly Linter.LintMessage[]): string[] {
  const [fatal] = messages.filter((m) => m.fatal === true);
  if (fatal) throw new Error(`a mutant cannot be linted: ${fatal.message}`);
  return messages.map((m) => `${String(m.line)} ${m.ruleId ?? ""}: ${m.message}`);
}
const linter = new Linter({ cwd: folder });
/** What the strict rules say about a text standing in the place of a valid program. */
export function lintValid(file: string, text: string): string[] {
  const config = {
    files: ["**/*.ts"],
    languageOptions: {
      parser,
      parserOptions: {
        project: [join(folder, "tsconfig.json")],
        tsconfigRootDir: folder,
        disallowAutomaticSingleRunInference: true,
      },
    },
    plugins: { tenure },
    rules: tenure.configs.recommended.rules,
  };
  return say(linter.verify(text, [config] as never, { filename: join(folder, file) }));
}

/** The names of the valid programs. */
export const validPrograms = (): string[] => readdirSync(folder).filter((f) => f.endsWith(".ts"));
/** The text of a valid program. */
export const readValid = (file: string): string => readFileSync(join(folder, file), "utf8");

/**
 * Lints files of this repository as `npm run check:lint` does, each with another text than it has.
 */
class Repository {
  readonly #options: ts.CompilerOptions;
  readonly #names: string[];
  readonly #host: ts.CompilerHost;
  readonly #files = new Map<string, ts.SourceFile | undefined>();
  readonly #linter = new Linter({ cwd: root });
  #program: ts.Program | undefined;
  #changed: { file: string; text: string } | undefined;

  constructor() {
    const config = ts.parseJsonConfigFileContent(
      ts.readConfigFile(join(root, "tsconfig.json"), (p) => readFileSync(p, "utf8")).config,
      ts.sys,
      root,
    );
    this.#options = config.options;
    this.#names = config.fileNames;
    this.#host = ts.createCompilerHost(config.options, true);
    const read = this.#host.getSourceFile.bind(this.#host);
    this.#host.getSourceFile = (name, options) => {
      if (name === this.#changed?.file)
        return ts.createSourceFile(name, this.#changed.text, options, true);
      if (!this.#files.has(name)) this.#files.set(name, read(name, options));
      return this.#files.get(name);
    };
  }

  lint(file: string, text: string): string[] {
    this.#changed = { file, text };
    this.#program = ts.createProgram({
      rootNames: this.#names,
      options: this.#options,
      host: this.#host,
      ...(this.#program ? { oldProgram: this.#program } : {}),
    });
    const config = {
      files: ["**/*.ts"],
      languageOptions: { parser, parserOptions: { programs: [this.#program] } },
      plugins: { tenure },
      rules: tenure.configs.strict.rules,
    };
    return say(
      this.#linter.verify(text, [config] as never, { filename: file, allowInlineConfig: true }),
    );
  }
}

// ---- the score ----

/** A deletion and what came of it. */
export interface Judged {
  subject: string;
  file: string;
  line: number;
  what: string;
  verdict: "reported" | "missed" | "harmless";
  says: string;
}

/** Every mutant of every subject, judged. */
export async function judge(
  only?: string,
  tell: (judged: Judged) => void = () => undefined,
): Promise<Judged[]> {
  layDeclarations(); // the valid programs are typed as their users are
  const found: Judged[] = [];
  const put = (subject: string, mutant: Mutant, left: number, said: string[]): void => {
    const verdict = left <= 0 ? "harmless" : said.length > 0 ? "reported" : "missed";
    const judged: Judged = {
      subject,
      file: relative(root, mutant.file),
      line: mutant.line,
      what: mutant.what,
      verdict,
      says: said[0]?.replace(/^\d+ tenure\/([a-z-]+):.*$/s, "$1") ?? "",
    };
    found.push(judged);
    tell(judged);
  };
  for (const file of only === undefined || only === "valid" ? validPrograms() : []) {
    for (const mutant of mutantsOf(join(folder, file), readValid(file))) {
      const left = await quietly(() => leftBehind(mutant.text)).catch(() => 0);
      put("valid programs", mutant, left, left > 0 ? lintValid(file, mutant.text) : []);
    }
  }
  const repository = new Repository();
  for (const subject of subjects()) {
    if (only !== undefined && only !== subject.name) continue;
    const before = await leftBySubject(subject, null);
    if (before !== 0)
      throw new Error(
        `${subject.name}: expected unchanged sources to leave nothing behind, got ` +
          String(before),
      );
    for (const file of subject.files) {
      const text = readFileSync(file, "utf8");
      for (const mutant of mutantsOf(file, text)) {
        const left = await leftBySubject(subject, mutant).catch(() => 0);
        put(subject.name, mutant, left, left > 0 ? repository.lint(file, mutant.text) : []);
      }
    }
  }
  return found;
}

/** The share of leaking mutants that are reported, as markdown, with every verdict. */
export async function mutationScore(): Promise<string> {
  const all = await judge();
  const leaking = all.filter((j) => j.verdict !== "harmless"),
    reported = leaking.filter((j) => j.verdict === "reported");
  const share = (part: number, whole: number): string =>
    whole === 0 ? "–" : `${String(Math.round((1000 * part) / whole) / 10)} %`;
  const rows = [...new Set(all.map((j) => j.subject))].map((name) => {
    const own = leaking.filter((j) => j.subject === name),
      seen = own.filter((j) => j.verdict === "reported").length;
    return (
      `| ${name} | ${String(all.filter((j) => j.subject === name).length)} | ` +
      `${String(own.length)} | ${String(seen)} | ${share(seen, own.length)} |`
    );
  });
  const list = leaking.map(
    (j) =>
      `${j.file}:${String(j.line)}:${j.what}:${j.verdict}${j.says === "" ? "" : ` (${j.says})`}`,
  );
  return (
    `## Mutation score\n\n${share(reported.length, leaking.length)}: of ` +
    `${String(leaking.length)} deletions that leave tensors behind at run time, ` +
    `${String(reported.length)} are reported by \`strict\` (target 95 %). ` +
    `${String(all.length - leaking.length)} further deletions leave nothing behind when ` +
    "they are run.\n\n| sources | deletions | leaking | reported | share |\n| --- | --: " +
    `| --: | --: | --: |\n${rows.join("\n")}\n\n\`\`\`\n${list.join("\n")}\n\`\`\``
  );
}
