/**
 * `@typescript-eslint/parser` for thousands of texts of a few files: it gets a program that shares
 * with the one before it every file but the text at hand, and asks the disk for nothing twice. The
 * tester lints with it; what projects do themselves is tested with the parser as it is.
 */
import parser from "@typescript-eslint/parser";
import ts from "typescript";
import { readProject } from "./declarations.ts";

/** A parser that also gives the program it reads a text with. */
export type TypedParser = typeof parser & {
  programOf: (path: string, text: string) => ts.Program;
};

/** A parser whose texts stand for files of one project. */
export function typedParser(tsconfig: string): TypedParser {
  const project = readProject(tsconfig);
  const disk = ts.createCompilerHost(project.options, true);
  const known = new Map<string, boolean>();
  const read = new Map<string, ts.SourceFile | undefined>();
  let program: ts.Program | undefined;

  const programOf = (path: string, text: string): ts.Program => {
    if (program?.getSourceFile(path)?.text === text) return program;
    const host: ts.CompilerHost = {
      ...disk,
      fileExists: (file) => remembered(known, file, () => disk.fileExists(file)),
      getSourceFile: (file, options) =>
        file === path
          ? ts.createSourceFile(file, text, options, true)
          : remembered(read, file, () => disk.getSourceFile(file, options)),
    };
    program = ts.createProgram({
      rootNames: project.fileNames,
      options: project.options,
      host,
      ...(program ? { oldProgram: program } : {}),
    });
    return program;
  };

  return {
    ...parser,
    programOf,
    parseForESLint: (code, options) => {
      const { filePath } = options ?? {};
      if (typeof code !== "string" || filePath === undefined)
        throw new TypeError("typedParser: expected the text of a file with a path");
      return parser.parseForESLint(code, { ...options, programs: [programOf(filePath, code)] });
    },
  };
}

function remembered<Value>(values: Map<string, Value>, key: string, make: () => Value): Value {
  if (!values.has(key)) values.set(key, make());
  return values.get(key) as Value;
}
