/**
 * Compiles the modules of snippets: their type errors, with the lines of the pages, in one program
 * for all, and the JavaScript that Node runs. Called by the snippet test; owns nothing.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { transform } from "esbuild";
import ts from "typescript";
import { REPOSITORY } from "../files.ts";
import type { SnippetModule } from "./module.ts";

/** Where the modules seem to lie: imports are found from here. */
const HOME = join(REPOSITORY, "tools/snippets");

/** What modules call the file of given names. */
export const GIVEN = "./given.ts";

/** Modules as the compiler sees them, with everything that they import. */
export interface Compiled {
  readonly program: ts.Program;
  /** What TypeScript says, one line each: `docs/lint.md:12: Cannot find name 'x'.` */
  readonly errors: readonly string[];
}

/** @param more files of the repository that are part of the program too */
export function compile(modules: readonly SnippetModule[], more: readonly string[]): Compiled {
  const byPath = new Map(
    modules.map((module, n) => [join(HOME, `snippet-${n}.ts`), module] as const),
  );
  const options = settings();
  const host = ts.createCompilerHost(options);
  const base = { ...host };
  host.fileExists = (path) => byPath.has(path) || base.fileExists(path);
  host.readFile = (path) => byPath.get(path)?.text ?? base.readFile(path);
  host.getSourceFile = (path, version, ...more) => {
    const module = byPath.get(path);
    if (module === undefined) return base.getSourceFile(path, version, ...more);
    return ts.createSourceFile(path, module.text, version);
  };
  const beside = more.map((file) => join(REPOSITORY, file));
  const program = ts.createProgram([...byPath.keys(), ...beside], options, host);
  const errors = [...byPath].flatMap(([path, module]) => {
    const file = program.getSourceFile(path);
    const found = [
      ...program.getSyntacticDiagnostics(file),
      ...program.getSemanticDiagnostics(file),
    ];
    return found.map((one) => `${placeOf(module, one)}: ${messageOf(one)}`);
  });
  return { program, errors };
}

/** The repository's own settings; a snippet may leave something unused. */
function settings(): ts.CompilerOptions {
  const path = join(REPOSITORY, "tsconfig.base.json");
  const read = ts.readConfigFile(path, (name) => readFileSync(name, "utf8"));
  const { options } = ts.parseJsonConfigFileContent(read.config, ts.sys, REPOSITORY);
  return { ...options, noEmit: true, noUnusedLocals: false, noUnusedParameters: false };
}

function placeOf({ snippet, lines }: SnippetModule, { file, start }: ts.Diagnostic): string {
  const line = file?.getLineAndCharacterOfPosition(start ?? 0).line ?? 0;
  const at = lines[line] ?? 0;
  return `${snippet.file}:${at === 0 ? snippet.line : at}`;
}

function messageOf({ messageText }: ts.Diagnostic): string {
  return ts.flattenDiagnosticMessageText(messageText, " ");
}

const SAYS = /^(\s*)console\.log\((.*)\); \/\/ → (.*)$/;

/** Lines of the page on which a module says what it prints. */
export function promises({ text, lines }: SnippetModule): number[] {
  return text.split("\n").flatMap((line, n) => (SAYS.test(line) ? [lines[n] ?? 0] : []));
}

/**
 * What Node 20 runs. `console.log(x); // → 5` becomes a check that 5 is what is printed.
 * @param given where its own copy of the given names is
 */
export async function javascript(module: SnippetModule, given: string): Promise<string> {
  const text = module.text
    .split("\n")
    .map((line, n) => {
      const [, indent, said, text] = SAYS.exec(line) ?? [];
      if (said === undefined) return line;
      return `${indent}snippetSays(${module.lines[n]}, ${JSON.stringify(text)}, ${said});`;
    })
    .join("\n");
  const { code } = await transform(text, { loader: "ts", format: "esm", target: "node20" });
  return code.replaceAll(`"${GIVEN}"`, JSON.stringify(given));
}
