/**
 * The test bench of the rules: ESLint's RuleTester under uvu, plus `lint()` and `check()` for tests
 * that look at messages and fixes themselves. Every typed test file lives in `fixtures/project`,
 * which sees the library's own declarations, and a few of TensorFlow.js in `fixtures/tfjs.d.ts`.
 */
import { fileURLToPath } from "node:url";
import { Linter, RuleTester } from "eslint";
import ts from "typescript";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import plugin from "../src/index.ts";
import type { TenureSettings } from "../src/index.ts";
import { layDeclarations } from "./declarations.ts";
import { typedParser } from "./typed-parser.ts";

layDeclarations();

/** The folder whose tsconfig.json types the cases. */
export const projectDir = fileURLToPath(new URL("./fixtures/project/", import.meta.url));
/** The file that every case stands in for. */
export const filename = `${projectDir}file.ts`;

/** A RuleTester whose cases become tests of one uvu suite. */
export function testerFor(name: string): { tester: RuleTester; run: () => void } {
  const test = suite(name);
  const path: string[] = [];
  let count = 0;
  Object.assign(RuleTester, {
    describe: (title: string, body: () => void) => {
      path.push(title);
      try {
        body();
      } finally {
        path.pop();
      }
    },
    it: (title: string, body: () => void) => {
      test(`${[...path, title].join(" > ")} #${String(++count)}`, body);
    },
    itOnly: (title: string, body: () => void) => {
      test.only(title, body);
    },
    afterAll: (body: () => void) => {
      test.after(body);
    },
  });
  return {
    tester: new RuleTester({ languageOptions: languageOptions() } as never),
    run: () => {
      test.run();
    },
  };
}

const parser = typedParser(`${projectDir}tsconfig.json`);
const language = { parser };
/** How every text is read: with the types of the project. */
export const languageOptions = (): object => language;
/** How another parser reads a text: as those of users do, it finds the project itself. */
export const languageOf = (other: object): object => ({
  parser: other,
  parserOptions: {
    project: "./tsconfig.json",
    tsconfigRootDir: projectDir,
    disallowAutomaticSingleRunInference: true, // texts are linted often
  },
});

const linter = new Linter({ cwd: projectDir });

/** How a text is linted. */
export interface LintOptions {
  settings?: TenureSettings | Record<string, unknown>;
  rules?: Record<string, unknown>;
  file?: string;
  languageOptions?: object;
}

/** Every rule, on, with the options it has by itself. */
export const everyRule: Record<string, unknown> = Object.fromEntries(
  Object.keys(plugin.rules).map((name) => [`tenure/${name}`, "error"]),
);

/** Lints one text with the given rules (all of them by default); throws when one of them fails. */
export function lint(code: string, options: LintOptions = {}): Linter.LintMessage[] {
  const config = {
    files: ["**/*.ts", "**/*.tsx", "**/*.js"],
    languageOptions: options.languageOptions ?? languageOptions(),
    plugins: { tenure: plugin },
    settings: { tenure: options.settings },
    rules: options.rules ?? everyRule,
  };
  const found = linter.verify(code, [config] as never, { filename: options.file ?? filename });
  const failed = found.find(({ message }) => message.includes("failed on this file"));
  if (failed) throw new Error(failed.message);
  return found;
}

/** What was found, one line each: `line rule: message`. */
export const lines = (messages: readonly Linter.LintMessage[]): string[] =>
  messages.map((m) => `${m.line} ${m.ruleId?.replace("tenure/", "") ?? "fatal"}: ${m.message}`);

/** A text after one suggestion. */
export function applied(
  code: string,
  suggestion: { fix: { range: [number, number]; text: string } },
): string {
  const { range, text } = suggestion.fix;
  return code.slice(0, range[0]) + text + code.slice(range[1]);
}

/** A text after autofixes until nothing changes. */
export function fixed(code: string, options: LintOptions = {}): string {
  const config = {
    files: ["**/*.ts"],
    languageOptions: languageOptions(),
    plugins: { tenure: plugin },
    settings: { tenure: options.settings },
    rules: options.rules ?? everyRule,
  };
  return linter.verifyAndFix(code, [config] as never, { filename }).output;
}

/** TypeScript's own errors in a text, as one line each; the next `lint` has the same program. */
export function typeErrors(code: string): string[] {
  const program = parser.programOf(filename, code);
  const file = program.getSourceFile(filename);
  if (!file) throw new Error(`the program does not have ${filename}`);
  const all = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
  return all.map(
    (d) =>
      `${String(file.getLineAndCharacterOfPosition(d.start ?? 0).line + 1)}: ` +
      ts.flattenDiagnosticMessageText(d.messageText, " "),
  );
}

export { assert };
