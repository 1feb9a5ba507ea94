/**
 * What the plugin says to bad input: no types, no parser, wrong settings, JavaScript, syntax errors
 * elsewhere, strange and huge code. Always one clear message per file at most, never a crash.
 */
import { writeFileSync, mkdtempSync, rmSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import parser from "@typescript-eslint/parser";
import type { ParserServicesWithTypeInformation } from "@typescript-eslint/utils";
import { ESLint, Linter } from "eslint";
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { rule } from "../src/create-rule.ts";
import {
  applied,
  assert,
  everyRule,
  filename,
  fixed,
  languageOf,
  languageOptions,
  lint,
  projectDir,
} from "./tester.ts";

const test = suite("bad input");
const chain =
  `import type { Tensor } from "tenure";\nexport function f(a: Tensor) { return ` +
  "a.add(1).sum(); }\n";

test("no type information: one message, not fifteen", () => {
  const found = lint(chain, { languageOptions: { parser } });
  assert.is(found.length, 1);
  assert.match(
    found[0]!.message,
    /need type information; set `languageOptions\.parserOptions\.projectService: true`/,
  );
});
test(
  "the second pass over a file in a single run, where the parser gives a program without " +
    "types",
  () => {
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
  },
);
/** The parser, its services changed. */
const parserWith = (change: (services: Services) => object): object => ({
  parseForESLint(code: string, options: Record<string, unknown>): object {
    const parsed = parser.parseForESLint(code, options);
    const services = parsed.services as Services;
    return { ...parsed, services: { ...services, ...change(services) } };
  },
});
type Services = ParserServicesWithTypeInformation;

test("a parser with another TypeScript, whose kinds of nodes or types have other numbers", () => {
  const parsers = {
    nodes: parserWith(({ esTreeNodeToTSNodeMap: map }) => ({
      esTreeNodeToTSNodeMap: {
        get: (node: never): object => Object.create(map.get(node), { kind: { value: 1 } }),
      },
    })),
    // as 5.9 beside 6.0, where both are installed: strings are 4 in the one and 32 in the other
    types: parserWith(({ program }) => {
      const checker = { ...program.getTypeChecker(), getStringType: () => ({ flags: 4 }) };
      return { program: { ...program, getTypeChecker: () => checker } };
    }),
  };
  for (const [name, other] of Object.entries(parsers)) {
    const languages = languageOf(other);
    const found = lint(chain, { languageOptions: languages });
    assert.is(found.length, 1, name);
    assert.match(
      found[0]!.message,
      /read types with TypeScript [\d.]+, and this file was parsed with another version; set `lan/,
    );
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

test("a message names few of many temporaries", () => {
  const [message] = lint(
    `import type { Tensor } from "tenure"; export function f(a: Tensor) { return ` +
      `a${".neg()".repeat(40)}; }`,
  );
  assert.match(message!.message, /^(`neg\(\)`, ){4}`neg\(\)` and 34 more are never disposed/);
});
test("a fix keeps the line ends of the file", () => {
  const code = (
    `import type { Tensor } from "tenure";\nexport async function f(a: Tensor) {\n  ` +
    "const unused = a.log();\n  return await a.neg().exp().sum().item();\n}\n"
  ).replaceAll("\n", "\r\n");
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
test("a stack that runs out is one message, and so is a mistake of a rule", () => {
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
    new RegExp(
      "^tenure/broken cannot follow expressions that are nested this deeply " +
        "\\(Maximum call stack size exceeded\\); split",
    ),
  );
  const failed = run(new TypeError("a mistake of ours"));
  assert.is(failed.length, 1);
  assert.match(
    failed[0]!.message,
    /^tenure\/broken failed on this file \(a mistake of ours at .*\); .* please report it/,
  );
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
      "class Tensor { add(x: number): Tensor { return this; } get isDisposed() { return " +
        "false; } alias() { return this; } moveToOuter() { return this; } " +
        "detachFromScope() { return this; } dispose() {} [Symbol.dispose]() {} }\nexport " +
        "function f(a: Tensor) { a.add(1); }\n",
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
      `declare module "tenure" { export class Tensor { add(x: number): Tensor; sum(): ` +
        "Tensor; size: number; alias(): Tensor; isDisposed: boolean; moveToOuter(): this; " +
        "detachFromScope(): this; dispose(): void; [Symbol.dispose](): void } }",
    );
    writeFileSync(
      join(dir, "src/good.ts"),
      `import type { Tensor } from "tenure";\nimport { helper } from "./broken.ts";\n` +
        "export function f(a: Tensor) { helper(a.add(1)); return a.add(1).sum(); }\n",
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
