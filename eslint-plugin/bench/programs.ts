/**
 * Programs of the lint bench that share what they all read: the declarations of the language and of
 * installed packages are parsed once. Used by `blind.ts`, which makes hundreds of programs.
 */
import { dirname } from "node:path";
import ts from "typescript";

/** A function that makes the program of a tsconfig; it keeps the declarations it has parsed. */
export function programMaker(): (tsconfig: string) => ts.Program {
  const parsed = new Map<string, ts.SourceFile | undefined>();
  return (tsconfig) => {
    const json: unknown = ts.readConfigFile(tsconfig, (path) => ts.sys.readFile(path)).config;
    const config = ts.parseJsonConfigFileContent(json, ts.sys, dirname(tsconfig));
    const host = ts.createCompilerHost(config.options, true);
    const read = host.getSourceFile.bind(host);
    host.getSourceFile = (path, ...rest) => {
      if (!path.includes("/node_modules/")) return read(path, ...rest);
      if (!parsed.has(path)) parsed.set(path, read(path, ...rest));
      return parsed.get(path);
    };
    return ts.createProgram(config.fileNames, config.options, host);
  };
}
