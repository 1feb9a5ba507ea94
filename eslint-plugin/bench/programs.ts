/**
 * Programs of the lint bench that share what they all read: the declarations of the language and of
 * installed packages are parsed once. Used by `blind.ts` and `deletions.ts`, which make hundreds of
 * programs.
 */
import { dirname } from "node:path";
import ts from "typescript";

/**
 * A function that makes the program of a tsconfig; it keeps the declarations it has parsed, and
 * with `keepSources` the other files too, each as long as its text is the same.
 */
export function programMaker(keepSources = false): (tsconfig: string) => ts.Program {
  const parsed = new Map<string, ts.SourceFile | undefined>();
  return (tsconfig) => {
    const json: unknown = ts.readConfigFile(tsconfig, (path) => ts.sys.readFile(path)).config;
    const config = ts.parseJsonConfigFileContent(json, ts.sys, dirname(tsconfig));
    const host = ts.createCompilerHost(config.options, true);
    const read = host.getSourceFile.bind(host);
    host.getSourceFile = (path, ...rest) => {
      if (!path.includes("/node_modules/")) {
        const known = keepSources ? parsed.get(path) : undefined;
        if (known && known.text === ts.sys.readFile(path)) return known;
        const source = read(path, ...rest);
        if (keepSources) parsed.set(path, source);
        return source;
      }
      if (!parsed.has(path)) parsed.set(path, read(path, ...rest));
      return parsed.get(path);
    };
    return ts.createProgram(config.fileNames, config.options, host);
  };
}
