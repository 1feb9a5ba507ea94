/**
 * Entry points: what a package offers to others, by its package.json. Callers of such functions may
 * be programs nobody here can see, so that a scope around every call site in this program proves
 * nothing about them. Used by `scope-context.ts` and the rule about members.
 */
import ts from "typescript";
import type { Oracle } from "./oracle.ts";

/**
 * Whether a package of the program exports a declaration through its entry files, or the class
 * whose public method it is.
 */
export function isOfferedByName(oracle: Oracle, declaration: ts.Node): boolean {
  if (offered(oracle).has(declaration)) return true;
  return (
    ts.isClassElement(declaration) &&
    isPublic(declaration) &&
    offered(oracle).has(declaration.parent)
  );
}

const isPublic = (member: ts.ClassElement): boolean =>
  !/^[#_]/.test(member.name?.getText() ?? "") &&
  !(ts.getCombinedModifierFlags(member) & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected));

/** The declarations that the packages of a program export through their entry files. */
const offered = (oracle: Oracle): ReadonlySet<ts.Node> => oracle.facts.of(oracle, collect);

function collect(oracle: Oracle): ReadonlySet<ts.Node> {
  const folders = new Set<string>(),
    declarations = new Set<ts.Node>();
  for (const file of oracle.program.getSourceFiles())
    if (!file.isDeclarationFile) folders.add(oracle.folderOf(file));
  for (const folder of folders) {
    const entries = entriesOf(folder);
    const named = entries.flatMap((entry) => sourceAt(oracle, entry));
    for (const file of named.length > 0 ? named : bundledFrom(oracle, folder, entries))
      addExports(oracle, oracle.exportsOf(file), declarations, 0);
  }
  return declarations;
}

const sourceAt = (oracle: Oracle, path: string): ts.SourceFile[] => {
  const file = oracle.program.getSourceFile(path);
  return file && !file.isDeclarationFile ? [file] : [];
};

/** What a bundle is made from whose own file is not there: `src/index.ts`, `src/TheName.js`. */
function bundledFrom(
  oracle: Oracle,
  folder: string,
  entries: readonly string[],
): readonly ts.SourceFile[] {
  const built = entries.filter((path) => inBuild.test(path.slice(folder.length)));
  if (built.length === 0) return [];
  const names = new Set(["index", ...built.map((path) => plainName(path))]);
  return oracle.program.getSourceFiles().filter((file) => {
    const { fileName, isDeclarationFile } = file;
    if (isDeclarationFile || !fileName.startsWith(`${folder}/`)) return false;
    const rest = fileName.slice(folder.length + 1);
    return /^((src|lib)\/)?[^/]+$/.test(rest) && names.has(plainName(rest));
  });
}

const inBuild = /^\/(dist|build|lib|out|es\d*|esm|cjs|umd)\//;

/** `build/the-name.min.js` as `thename`. */
const plainName = (path: string): string =>
  path
    .slice(path.lastIndexOf("/") + 1)
    .replace(/(\.(min|umd|esm?|cjs|iife|global|module|d))*\.[cm]?[jt]sx?$/, "")
    .replace(/[-_.]/g, "")
    .toLowerCase();

/** Adds what a module exports, through `export * as name` too. */
function addExports(
  oracle: Oracle,
  symbols: readonly ts.Symbol[],
  into: Set<ts.Node>,
  depth: number,
): void {
  for (const symbol of symbols) {
    if (!(symbol.flags & ts.SymbolFlags.ValueModule))
      for (const declaration of symbol.declarations ?? []) into.add(declaration);
    else if (depth < 2) addExports(oracle, oracle.membersOf(symbol), into, depth + 1);
  }
}

/** The files a package.json names: as they stand, and `dist/x.js` as `src/x.ts` or `src/x.js`. */
function entriesOf(folder: string): string[] {
  const text = folder === "" ? undefined : ts.sys.readFile(`${folder}/package.json`);
  if (text === undefined) return [];
  let parsed: Record<string, unknown>;
  try {
    parsed = JSON.parse(text) as Record<string, unknown>;
  } catch {
    return []; // a broken package.json offers nothing
  }
  const paths = new Set<string>();
  const visit = (value: unknown): void => {
    if (typeof value === "string") paths.add(value.replace(/^\.?\//, ""));
    else if (typeof value === "object" && value !== null) Object.values(value).forEach(visit);
  };
  for (const key of ["exports", "main", "module", "types", "source"]) visit(parsed[key]);
  const reads = parsed["private"] === true ? /\.[cm]?tsx?$/ : /\.[cm]?[jt]sx?$/;
  return [...paths].flatMap((path) => {
    const source = path.replace(/(^|\/)(dist|lib|build|out|es\d*|esm|cjs|umd)\//, "$1src/");
    return [path, source, source.replace(/(\.d)?\.([cm]?)[jt]sx?$/, ".$2ts")]
      .filter((p) => reads.test(p) && !p.includes("*"))
      .map((p) => `${folder}/${p}`);
  });
}
