/**
 * What the plugin says to bad input: no types, no parser, wrong settings, JavaScript, syntax errors
 * elsewhere, strange and huge code. Always one clear message per file at most, never a crash.
 */
import { writeFileSync, mkdtempSync, rmSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import parser from "@typescript-eslint/parser";
import { ESLint, Linter } from "eslint";
import { suite } from "uvu";
import plugin, { resolveSettings, SettingsError } from "../src/index.ts";
import { rule } from "../src/create-rule.ts";
import {
  applied,
  assert,
  everyRule,
  filename,
  fixed,
  languageOptions,
  lines,
  lint,
  projectDir,
} from "./tester.ts";

const test = suite("bad input");
const chain = `import type { Tensor } from "tenure";\nexport function f(a: Tensor) { return a.add(1).sum(); }\n`;

test("no type information: one message, not fifteen", () => {
  const found = lint(chain, { languageOptions: { parser } });
  assert.is(found.length, 1);
  assert.match(
    found[0]!.message,
    /need type information; set `languageOptions\.parserOptions\.projectService: true`/,
  );
});
test("the second pass over a file in a single run, where the parser gives a program without types", () => {
  const singleRun = {
    parser,
    parserOptions: { project: "./tsconfig.json", tsconfigRootDir: projectDir },
  };
  process.env["TSESTREE_SINGLE_RUN"] = "true";
  try {
    lint(chain, { languageOptions: singleRun });
    const found = lint(chain, { languageOptions: singleRun });
    assert.is(found.length, 1);
    assert.match(
      found[0]!.message,
      /use `projectService: true`, or set `disallowAutomaticSingleRunInference: true`/,
    );
  } finally {
    delete process.env["TSESTREE_SINGLE_RUN"];
  }
});
test("no TypeScript parser", () => {
  const found = lint("export const f = (a) => a.add(1).sum();\n", {
    languageOptions: {},
    file: `${projectDir}plain.js`,
  });
  assert.is(found.length, 1);
  assert.match(found[0]!.message, /not parsed by @typescript-eslint\/parser/);
  assert.match(found[0]!.message, /files: \["\*\*\/\*\.ts"\]/);
});
test("a syntax error in the file is the parser's", () => {
  const found = lint("export function f( {\n");
  assert.is(found.length, 1);
  assert.ok(found[0]!.fatal);
});
test("a file outside the project is the parser's to report", () => {
  const found = lint(chain, { file: `${projectDir}elsewhere/other.ts` });
  assert.is(found.length, 1);
  assert.match(found[0]!.message, /project/i);
});

const wrong: [settings: unknown, message: RegExp][] = [
  [
    { presets: ["pytorch"] },
    /settings\.tenure\.presets\[0\]: unknown preset "pytorch"; known presets: tenure, tfjs, disposable, webgpu/,
  ],
  [{ presets: "tfjs" }, /settings\.tenure\.presets: expected an array, got "tfjs"/],
  [{ presets: [3] }, /settings\.tenure\.presets\[0\]: expected a non-empty string, got 3/],
  [{ presets: ["__proto__"] }, /unknown preset "__proto__"/],
  [
    { preset: ["tfjs"] },
    /settings\.tenure: unknown setting "preset"; known: presets, scopeInference, exportedFunctions, owners/,
  ],
  [
    { scopeInference: "global" },
    /settings\.tenure\.scopeInference: expected one of "program", "file", "off", got "global"/,
  ],
  [{ exportedFunctions: true }, /settings\.tenure\.exportedFunctions: expected one of/],
  [{ owners: {} }, /settings\.tenure\.owners: expected an array, got \{\}/],
  [{ owners: [{}] }, /settings\.tenure\.owners\[0\]\.types: expected a value, got undefined/],
  [
    { owners: [{ types: "Tensor" }] },
    /settings\.tenure\.owners\[0\]\.types: expected an object, got "Tensor"/,
  ],
  [{ owners: [{ types: [{ package: "x" }] }] }, /owners\[0\]\.types\[0\]\.name: expected a value/],
  [
    { owners: [{ types: [], calls: "new" }] },
    /owners\[0\]\.calls: expected one of "fresh", "identity", "unknown", got "new"/,
  ],
  [
    { owners: [{ types: [], takes: [{ callee: "f", args: [-1] }] }] },
    /owners\[0\]\.takes\[0\]\.args\[0\]: expected an argument position/,
  ],
  [
    { owners: [{ types: [], scopes: [{ begin: "a" }] }] },
    /owners\[0\]\.scopes\[0\]\.end: expected a value/,
  ],
  [{ owners: [{ types: [], scopes: [{ calee: "a" }] }] }, /unknown setting "calee"/],
  [
    { owners: [{ types: [], dispose: { method: ["free"] } }] },
    /unknown setting "method"; known: methods, functions/,
  ],
  [
    { owners: [{ types: { disposable: "yes" } }] },
    /types\.disposable: expected one of "sync", "async", "any"/,
  ],
  ["tfjs", /settings\.tenure: expected an object, got "tfjs"/],
  [42, /settings\.tenure: expected an object, got 42/],
  [[], /settings\.tenure: expected an object, got \[\]/],
];
for (const [settings, message] of wrong) {
  test(`settings ${JSON.stringify(settings)}`, () => {
    assert.throws(
      () => resolveSettings(settings),
      (error: unknown) => error instanceof SettingsError && message.test(error.message),
    );
    const found = lint(chain, { settings: settings as Record<string, unknown> });
    assert.is(found.length, 1, lines(found).join("\n"));
    assert.match(found[0]!.message, message);
  });
}
test("no settings mean the tenure preset", () => {
  assert.is(resolveSettings(undefined).owners[0]?.noun, "tensor");
  assert.equal(resolveSettings({ owners: [{ types: [{ name: "X" }] }] }).owners.length, 1);
});
test("wrong rule options are ESLint's to reject", () => {
  assert.throws(
    () => lint(chain, { rules: { "tenure/require-disposal": ["error", { paths: "some" }] } }),
    /require-disposal/,
  );
});
test("the settings of one file do not stick to the next", () => {
  assert.is(lint(chain, { settings: { presets: ["pytorch"] } }).length, 1);
  assert.match(lint(chain)[0]!.message, /add\(1\)/);
});

const strange: [name: string, code: string][] = [
  ["an empty file", ""],
  ["only a comment", "// nothing\n"],
  ["unresolved imports", `import { a } from "nowhere"; export const b = a.add(1).sum();`],
  [
    "any everywhere",
    `export function f(x: any) { const t = x.add(1); t.dispose(); t.use(); return x; }`,
  ],
  [
    "type errors",
    `import type { Tensor } from "tenure"; export function f(a: Tensor) { const t: number = a.add("x").nothing(); return t.dispose(); }`,
  ],
  [
    "a function that calls itself",
    `import type { Tensor } from "tenure"; export function f(a: Tensor): Tensor { return f(f(a)); }`,
  ],
  [
    "two functions that call each other",
    `import type { Tensor } from "tenure"; export function f(a: Tensor, n: number): Tensor { return n > 0 ? g(a, n - 1) : a.neg(); } export function g(a: Tensor, n: number): Tensor { return f(a, n); }`,
  ],
  [
    "a variable defined by itself",
    `import type { Tensor } from "tenure"; export function f(a: Tensor) { let x = a.neg(); x = x; x = ((x)); return x; }`,
  ],
  [
    "two variables defined by each other",
    `import type { Tensor } from "tenure"; export function f(a: Tensor) { let x = a.neg(); let y = x; for (;;) { x = y; y = x; if (y.size) break; } return x; }`,
  ],
  ["a class that extends itself", `class A extends A { dispose() {} } export { A };`],
  [
    "a class that extends an unknown",
    `declare const X: any; export class A extends X { w = 1; dispose() {} }`,
  ],
  [
    "classes whose bases form a ring",
    `class A extends B {} class B extends A {} export const a = new A();`,
  ],
  [
    "a type that contains itself",
    `interface N { next: N; value: import("tenure").Tensor } export function f(n: N) { return n.next.next.value; }`,
  ],
  [
    "a recursive callback",
    `import type { Tensor } from "tenure"; export const y = (f: (g: unknown) => Tensor) => f((x: any) => y(x)(x));`,
  ],
  [
    "a getter that reads itself",
    `export class A { get t(): import("tenure").Tensor { return this.t; } }`,
  ],
  [
    "every exit at once",
    `import type { Tensor } from "tenure"; export function f(a: Tensor) { l: for (;;) { try { const t = a.neg(); if (t.size) continue l; else break l; } catch { return 1; } finally { if (a.size) return 2; } } return 3; }`,
  ],
  [
    "labels and nested finally",
    `import type { Tensor } from "tenure"; export function f(a: Tensor) { a1: { try { try { const t = a.neg(); t.dispose(); break a1; } finally { console.log(1); } } finally { console.log(2); } } }`,
  ],
  [
    "destructuring in all forms",
    `import { zeros, type Tensor } from "tenure"; export function f({ a, b: [c, { d = zeros([1]) } = {}] = [] as never, ...r }: any) { let x: Tensor, y: Tensor; [x, y] = [zeros([1]), zeros([2])]; ({ x, y } = { x, y }); return [x, y, a, c, d, r]; }`,
  ],
  [
    "decorators, enums and namespaces",
    `declare const d: any; enum E { A } namespace N { export const t = 1; } @d class C { @d m(@d p: number) { return p + E.A + N.t; } } export { C };`,
  ],
  [
    "satisfies, as const and non-null",
    `import { zeros } from "tenure"; export const o = { a: zeros([1]) as unknown as never } satisfies object; export const n = o!.a!;`,
  ],
  [
    "generators and async generators",
    `import type { Tensor } from "tenure"; export async function* g(a: Tensor) { yield* h(a); for await (const x of g(a)) yield x; } function* h(a: Tensor) { const t = yield a.neg(); return t; }`,
  ],
  [
    "class static blocks and private names",
    `import { zeros } from "tenure"; export class A { static #t = zeros([1]); static { A.#t.add(1).sum(); } #m() { return A.#t; } n() { return this.#m(); } }`,
  ],
  [
    "optional calls of all kinds",
    `import type { Tensor } from "tenure"; export function f(a?: { b?: () => Tensor | null }) { return a?.b?.()?.add(1)?.sum()?.["size"]; }`,
  ],
  ["tagged templates and regexes", "declare const t: any; export const x = t`a${1}b`.exec(/a/u);"],
  [
    "new without parentheses",
    `declare class A { add(x: number): A } export const x = new A; export const y = new A().add(1);`,
  ],
  [
    "a computed Symbol.dispose",
    `export class A { [Symbol.dispose]() {} } export function f() { const a = new A(); a[Symbol.dispose](); return a; }`,
  ],
];
for (const [name, code] of strange) {
  test(`no crash on ${name}`, () => {
    const found = lint(code);
    assert.not(
      found.some((m) => m.fatal && !/Parsing/.test(m.message)),
      lines(found).join("\n"),
    );
    for (const presets of [
      ["tfjs"],
      ["disposable"],
      ["webgpu"],
      ["tenure", "tfjs", "disposable", "webgpu"],
    ])
      lint(code, { settings: { presets } });
  });
}

const repeat = (n: number, piece: (i: number) => string): string =>
  Array.from({ length: n }, (_, i) => piece(i)).join("");
const timed = (code: string, limit: number): void => {
  const started = performance.now();
  lint(code);
  assert.ok(
    performance.now() - started < limit,
    `took ${String(Math.round(performance.now() - started))} ms`,
  );
};
test("a chain of 300 calls", () => {
  timed(
    `import type { Tensor } from "tenure"; export function f(a: Tensor) { return a${repeat(300, () => ".neg()")}; }`,
    15_000,
  );
});
test("200 branches in a row", () => {
  timed(
    `import type { Tensor } from "tenure"; export function f(a: Tensor, n: number) { let t = a.neg();\n${repeat(200, (i) => `if (n > ${String(i)}) { const p = t; t = t.add(${String(i)}); p.dispose(); }\n`)} return t; }`,
    15_000,
  );
});
test("60 nested blocks", () => {
  timed(
    `import type { Tensor } from "tenure"; export function f(a: Tensor, n: number) { ${repeat(60, (i) => `if (n > ${String(i)}) { const t${String(i)} = a.neg(); `)} ${repeat(60, (i) => `t${String(59 - i)}.dispose(); } `)} }`,
    15_000,
  );
});
test("400 functions that call each other", () => {
  timed(
    `import type { Tensor } from "tenure";\n${repeat(400, (i) => `function f${String(i)}(a: Tensor): Tensor { return f${String((i + 1) % 400)}(a.neg()); }\n`)}export { f0 };`,
    15_000,
  );
});
test("a function of 500 variables", () => {
  timed(
    `import type { Tensor } from "tenure"; export function f(a: Tensor) {\n${repeat(500, (i) => `const t${String(i)} = a.add(${String(i)});\n`)}}`,
    20_000,
  );
});

test("a message names few of many temporaries", () => {
  const [message] = lint(
    `import type { Tensor } from "tenure"; export function f(a: Tensor) { return a${repeat(40, () => ".neg()")}; }`,
  );
  assert.match(message!.message, /^(`neg\(\)`, ){4}`neg\(\)` and 34 more are never disposed/);
});
test("a fix keeps the line ends of the file", () => {
  const code =
    `import type { Tensor } from "tenure";\nexport async function f(a: Tensor) {\n  const unused = a.log();\n  return await a.neg().exp().sum().item();\n}\n`.replaceAll(
      "\n",
      "\r\n",
    );
  const found = lint(code);
  assert.equal(
    found.map((m) => m.ruleId),
    ["tenure/require-disposal", "tenure/no-leaked-temporary"],
  );
  for (const suggestion of found[1]!.suggestions!)
    assert.not.match(applied(code, suggestion), /[^\r]\n/, suggestion.desc);
  assert.match(
    applied(code, found[1]!.suggestions![0]!),
    /using neg = a\.neg\(\);\r\n {2}using exp = neg\.exp\(\);\r\n/,
  );
  assert.not.match(fixed(code), /[^\r]\n/);
});
test("a stack that runs out is one message, other errors are errors", () => {
  const broken = (error: Error): object =>
    rule<"x", Record<string, never>>({
      name: "broken",
      description: "Breaks",
      type: "problem",
      config: "all",
      messages: { x: "x" },
      defaults: {},
      check() {
        throw error;
      },
    });
  const run = (error: Error): { message: string }[] =>
    new Linter({ cwd: projectDir }).verify(
      chain,
      [
        {
          files: ["**/*.ts"],
          languageOptions: languageOptions(),
          plugins: { broken: { rules: { broken: broken(error) } } },
          rules: { "broken/broken": "error" },
        },
      ] as never,
      { filename },
    );
  const found = run(new RangeError("Maximum call stack size exceeded"));
  assert.is(found.length, 1);
  assert.match(
    found[0]!.message,
    /^tenure\/broken cannot follow expressions that are nested this deeply \(Maximum call stack size exceeded\); split/,
  );
  assert.throws(() => run(new TypeError("a mistake of ours")), /a mistake of ours/);
});
test("a file outside the project, which the project service takes in by itself", async () => {
  const dir = mkdtempSync(join(tmpdir(), "tenure-lint-"));
  try {
    writeFileSync(
      join(dir, "tsconfig.json"),
      JSON.stringify({
        compilerOptions: {
          strict: true,
          module: "esnext",
          moduleResolution: "bundler",
          target: "es2022",
          lib: ["es2022", "esnext.disposable"],
          types: [],
        },
        include: ["src"],
      }),
    );
    mkdirSync(join(dir, "src"));
    writeFileSync(join(dir, "src/a.ts"), "export const a = 1;\n");
    writeFileSync(
      join(dir, "script.ts"),
      `class Tensor { add(x: number): Tensor { return this; } get isDisposed() { return false; } alias() { return this; } moveToOuter() { return this; } detachFromScope() { return this; } dispose() {} [Symbol.dispose]() {} }\nexport function f(a: Tensor) { a.add(1); }\n`,
    );
    writeFileSync(join(dir, "other.ts"), "export const b = 1;\n");
    const eslint = new ESLint({
      cwd: dir,
      overrideConfigFile: true,
      overrideConfig: [
        {
          files: ["**/*.ts"],
          languageOptions: {
            parser,
            parserOptions: {
              projectService: { allowDefaultProject: ["script.ts"] },
              tsconfigRootDir: dir,
            },
          },
          plugins: { tenure: plugin },
          rules: everyRule,
        },
      ] as never,
    });
    const [refused] = await eslint.lintFiles(["other.ts"]);
    assert.is(refused?.messages.length, 1);
    assert.match(refused!.messages[0]!.message, /other\.ts was not found by the project service/);
    const [taken] = await eslint.lintFiles(["script.ts"]);
    assert.not(
      taken!.messages.some((m) => m.fatal === true),
      JSON.stringify(taken?.messages),
    );
    assert.ok(
      taken!.messages.some((m) => m.ruleId === "tenure/no-dropped-result"),
      JSON.stringify(taken?.messages),
    );
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
test("a syntax error elsewhere in the program, and a broken package.json", async () => {
  const dir = mkdtempSync(join(tmpdir(), "tenure-lint-"));
  try {
    mkdirSync(join(dir, "src"));
    writeFileSync(join(dir, "package.json"), "{ not json");
    writeFileSync(
      join(dir, "tsconfig.json"),
      JSON.stringify({
        compilerOptions: {
          strict: true,
          module: "esnext",
          moduleResolution: "bundler",
          target: "es2022",
          lib: ["es2022", "esnext.disposable"],
          types: [],
        },
        include: ["src"],
      }),
    );
    writeFileSync(join(dir, "src/broken.ts"), "export function helper( { return x.add(1)\n");
    writeFileSync(
      join(dir, "src/tenure.d.ts"),
      `declare module "tenure" { export class Tensor { add(x: number): Tensor; sum(): Tensor; size: number; alias(): Tensor; isDisposed: boolean; moveToOuter(): this; detachFromScope(): this; dispose(): void; [Symbol.dispose](): void } }`,
    );
    writeFileSync(
      join(dir, "src/good.ts"),
      `import type { Tensor } from "tenure";\nimport { helper } from "./broken.ts";\nexport function f(a: Tensor) { helper(a.add(1)); return a.add(1).sum(); }\n`,
    );
    const eslint = new ESLint({
      cwd: dir,
      overrideConfigFile: true,
      overrideConfig: [
        {
          files: ["**/*.ts"],
          languageOptions: {
            parser,
            parserOptions: { projectService: true, tsconfigRootDir: dir },
          },
          plugins: { tenure: plugin },
          rules: everyRule,
        },
      ] as never,
    });
    const [result] = await eslint.lintFiles(["src/good.ts"]);
    assert.ok(
      result?.messages.some((m) => m.ruleId === "tenure/no-leaked-temporary"),
      JSON.stringify(result?.messages),
    );
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
test("JavaScript with types from the project", () => {
  const found = lint(
    `/** @param {import("tenure").Tensor} a */\nexport function f(a) { return a.add(1).sum(); }\n`,
    { file: `${projectDir}script.js` },
  );
  assert.equal(
    found.map((m) => m.ruleId),
    ["tenure/no-leaked-temporary"],
  );
});
test.run();
