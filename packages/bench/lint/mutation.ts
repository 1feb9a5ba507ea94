/**
 * Mutation score: in the valid programs of the plugin's tests, one `using`, disposal or scope at a time is taken out. Each mutant is run on the null
 * device to see whether it really leaves tensors behind, and linted to see whether that is reported. Used by `main.ts`.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import parser from "@typescript-eslint/parser";
import { transformSync } from "esbuild";
import { Linter } from "eslint";
import tenure from "eslint-plugin-tenure";
import ts from "typescript";
import { root } from "./corpus.ts";

const folder = join(root, "eslint-plugin/test/fixtures/valid");

interface Mutant { file: string; line: number; what: string; text: string }

/** Every text that differs from a program by one missing `using`, disposal or scope. */
export function mutantsOf(file: string, text: string): Mutant[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: Mutant[] = [];
  const add = (node: ts.Node, what: string, start: number, end: number, put: string): void => {
    found.push({ file, line: source.getLineAndCharacterOfPosition(node.getStart()).line + 1, what, text: text.slice(0, start) + put + text.slice(end) });
  };
  const visit = (node: ts.Node): void => {
    ts.forEachChild(node, visit);
    if (ts.isVariableDeclarationList(node) && /^using\s/.test(node.getText())) {
      add(node, "using", node.getStart(), node.getStart() + "using".length, "const");
    }
    if (ts.isExpressionStatement(node) && /\??\.dispose\(\)$/.test(node.expression.getText())) {
      const chained = /\)\.dispose\(\)$/.test(node.expression.getText());
      if (chained) add(node, "dispose", node.getEnd() - ".dispose();".length, node.getEnd(), ";");
      else add(node, "dispose", node.getStart(), node.getEnd(), ";");
    }
    if (ts.isCallExpression(node) && node.expression.getText() === "scoped") add(node, "scoped", node.getStart(), node.getEnd(), `(${node.arguments[0]?.getText() ?? ""})()`);
  };
  visit(source);
  return found;
}

const linter = new Linter({ cwd: folder });
/** What the recommended rules say about a text standing in the place of a valid program. */
export function lintValid(file: string, text: string): string[] {
  const config = { files: ["**/*.ts"], languageOptions: { parser, parserOptions: { project: [join(folder, "tsconfig.json")], tsconfigRootDir: folder, disallowAutomaticSingleRunInference: true } }, plugins: { tenure }, rules: tenure.configs.recommended.rules };
  return linter.verify(text, [config] as never, { filename: join(folder, file) }).map((m) => `${String(m.line)} ${m.ruleId ?? "fatal"}: ${m.message}`);
}

export const validPrograms = (): string[] => readdirSync(folder).filter((f) => f.endsWith(".ts"));
export const readValid = (file: string): string => readFileSync(join(folder, file), "utf8");

let serial = 0;
/** How many tensors a program leaves behind. */
export async function leftBehind(text: string): Promise<number> {
  const { init, memory } = (await import("tenure")) as { init: (o: object) => Promise<unknown>; memory: { stats(): { threadTotalLiveCount: number } } };
  await init({ device: "null" });
  const place = join(root, ".cache", "lint-mutants");
  mkdirSync(place, { recursive: true });
  const path = join(place, `mutant-${String(process.pid)}-${String(serial++)}.mjs`);
  writeFileSync(path, transformSync(text, { loader: "ts", target: "node20", format: "esm" }).code);
  try {
    const { run } = (await import(pathToFileURL(path).href)) as { run: () => void };
    await new Promise((done) => setImmediate(done));
    const before = memory.stats().threadTotalLiveCount;
    run();
    const left = memory.stats().threadTotalLiveCount - before;
    await new Promise((done) => setImmediate(done)); // an open scope is noticed and set aside before the next program
    return left;
  } finally {
    rmSync(path, { force: true });
  }
}

/** The share of leaking mutants that are reported, as markdown. */
export async function mutationScore(): Promise<string> {
  let leaking = 0, flagged = 0, harmless = 0;
  const missed: string[] = [];
  const { console: real } = globalThis;
  for (const file of validPrograms()) {
    for (const mutant of mutantsOf(file, readValid(file))) {
      globalThis.console = { ...real, error: () => undefined, warn: () => undefined }; // the runtime complains about the scopes these mutants leave open
      const left = await leftBehind(mutant.text).catch(() => 0).finally(() => { globalThis.console = real; });
      if (left <= 0) { harmless++; continue; }
      leaking++;
      if (lintValid(file, mutant.text).length > 0) flagged++;
      else missed.push(`${file}:${String(mutant.line)} ${mutant.what}`);
    }
  }
  const share = leaking === 0 ? "–" : `${String(Math.round((1000 * flagged) / leaking) / 10)} %`;
  return `## Mutation score\n\n${share}: of ${String(leaking)} deletions that leave tensors behind at run time, ${String(flagged)} are reported (target 90 %). ${String(harmless)} further deletions leave nothing behind.${missed.length > 0 ? `\n\nMissed: ${missed.join(", ")}.` : ""}`;
}
