/**
 * The names by which a repository of the corpus calls its own folders: `paths` and `baseUrl` of its
 * tsconfig or jsconfig, and the packages of its workspaces, which an installed checkout resolves.
 * Used by `blind.ts`; reads only files that were written to a temporary folder.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import ts from "typescript";

/** `paths` of a tsconfig, absolute. */
export type Aliases = Record<string, string[]>;

/**
 * The aliases that hold for a file (absolute), in a repository written to `target`; packages that
 * are installed in `modules` keep their names.
 */
export function aliasesOf(
  target: string,
  modules: string,
  written: readonly string[],
  file: string,
): Aliases {
  const own = Object.entries(workspaces(target, written)).filter(
    ([name]) => !existsSync(join(modules, name.replace(/\/\*$/, ""))),
  );
  return { ...Object.fromEntries(own), ...configured(target, dirname(file)) };
}

/** What the nearest tsconfig or jsconfig above a folder says. */
function configured(target: string, from: string): Aliases {
  for (let folder = from; folder.startsWith(target); folder = dirname(folder)) {
    const config = ["tsconfig.json", "tsconfig.app.json", "jsconfig.json"]
      .map((name) => join(folder, name))
      .filter((path) => existsSync(path));
    const found = Object.fromEntries(config.reverse().flatMap((path) => pathsOf(path)));
    if (Object.keys(found).length > 0) return found;
  }
  return {};
}

function pathsOf(path: string): [string, string[]][] {
  const read = ts.readConfigFile(path, (file) => ts.sys.readFile(file));
  const json: unknown = read.config ?? {};
  const { options } = ts.parseJsonConfigFileContent(
    json,
    { ...ts.sys, readDirectory: () => [] },
    dirname(path),
    undefined,
    path,
  );
  // `baseUrl` is deprecated, and what older programs have
  const { baseUrl, pathsBasePath } = options as Record<string, unknown>;
  const base = [baseUrl, pathsBasePath, dirname(path)].find((one) => typeof one === "string");
  const bare: [string, string[]][] =
    typeof baseUrl === "string" ? [["*", [join(baseUrl, "*")]]] : [];
  return [
    ...bare,
    ...Object.entries(options.paths ?? {}).map(([name, to]): [string, string[]] => [
      name,
      to.map((one) => resolve(String(base), one)),
    ]),
  ];
}

/** The packages of a repository by their names, at their sources. */
function workspaces(target: string, written: readonly string[]): Aliases {
  const found: Aliases = {};
  for (const path of written.filter((one) => /(^|\/)package\.json$/.test(one))) {
    const folder = dirname(join(target, path));
    const name = nameOf(join(target, path));
    if (name === undefined) continue;
    const entry = ["src/index.ts", "index.ts", "src/index.js", "index.js", "src", ""];
    found[name] = entry.map((one) => join(folder, one));
    found[`${name}/*`] = ["src/*", "*"].map((one) => join(folder, one));
  }
  return found;
}

function nameOf(path: string): string | undefined {
  try {
    const { name } = JSON.parse(readFileSync(path, "utf8")) as { name?: unknown };
    return typeof name === "string" && name !== "" ? name : undefined;
  } catch {
    return undefined;
  }
}
