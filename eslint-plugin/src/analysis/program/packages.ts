/**
 * Packages: where a declaration comes from and whether a specifier of the settings names it. Reads
 * package.json files, once per folder. Used by the oracle and by `ownership.ts`.
 */
import ts from "typescript";
import type { Owner, Specifier } from "../../owner.ts";
import type { Facts } from "./facts.ts";

interface Package {
  name: string;
  folder: string;
}

/** Where the package of a file is kept. */
interface Place {
  package?: Package;
}
const place = (): Place => ({});

/** The npm packages of a program's files. */
export class Packages {
  readonly #program: ts.Program;
  readonly #facts: Facts;
  readonly #known = new Map<string, Package>();
  readonly #byFile = new Map<ts.SourceFile, Package>();
  readonly #builtin = new Map<ts.SourceFile, boolean>();

  constructor(program: ts.Program, facts: Facts) {
    this.#program = program;
    this.#facts = facts;
  }

  /** Whether a file is TypeScript's own library, or Node's. */
  isBuiltin(file: ts.SourceFile): boolean {
    let found = this.#builtin.get(file);
    if (found === undefined) {
      found =
        this.#program.isSourceFileDefaultLibrary(file) ||
        /[\\/]node_modules[\\/]@types[\\/]node[\\/]/.test(file.fileName);
      this.#builtin.set(file, found);
    }
    return found;
  }

  /** The npm package a file belongs to: its nearest package.json, found once per folder. */
  nameOf(file: ts.SourceFile): string {
    return this.#of(file).name;
  }

  /** The folder of that package.json; empty when there is none. */
  folderOf(file: ts.SourceFile): string {
    return this.#of(file).folder;
  }

  /** Of declarations, which are installed, it is found once; of sources, once per program. */
  #of(file: ts.SourceFile): Package {
    let found = this.#byFile.get(file);
    if (found) return found;
    const kept = file.isDeclarationFile ? this.#facts.of(file, place) : {};
    found = kept.package ??= this.#at(folderOf(file));
    this.#byFile.set(file, found);
    return found;
  }

  #at(folder: string): Package {
    const known = this.#known.get(folder);
    if (known !== undefined) return known;
    const path = `${folder}/package.json`;
    const name = ts.sys.fileExists(path) ? nameIn(ts.sys.readFile(path)) : "";
    const above = folder.replace(/[\\/][^\\/]*$/, "");
    const goesUp = name === "" && above !== folder && above !== "";
    const found = goesUp ? this.#at(above) : { name, folder: name === "" ? "" : folder };
    this.#known.set(folder, found);
    return found;
  }

  /** Whether a specifier names something called `name` that `file` declares. */
  matches(specifier: Specifier, name: string, file: ts.SourceFile): boolean {
    const names = typeof specifier.name === "string" ? [specifier.name] : specifier.name;
    if (!names.some((n) => nameMatches(n, name))) return false;
    if (specifier.from === "lib") return this.isBuiltin(file);
    if (specifier.from === "file" || specifier.path !== undefined) {
      return specifier.path === undefined
        ? !file.isDeclarationFile
        : file.fileName.endsWith(specifier.path.replace(/^\.\//, ""));
    }
    if (specifier.package === undefined) return true;
    const found = this.nameOf(file);
    return (
      found === specifier.package ||
      found === `@types/${specifier.package.replace(/^@/, "").replace("/", "__")}` ||
      this.#facts.of(file, ambientModules).includes(specifier.package)
    );
  }

  /** Whether a file belongs to the library of an owner, by package or by ambient module. */
  isOfLibrary(owner: Owner, file: ts.SourceFile): boolean {
    return (
      inLibrary(owner, this.nameOf(file)) ||
      this.#facts.of(file, ambientModules).some((m) => inLibrary(owner, m))
    );
  }
}

/** Where to look for the package.json of a file: of an installed one, the package's own folder. */
const folderOf = ({ fileName }: ts.SourceFile): string =>
  /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+(?=[\\/])/.exec(fileName)?.[0] ??
  fileName.replace(/[\\/][^\\/]*$/, "");

/** The name a package.json gives; a broken one names nothing, and the folder above may. */
function nameIn(text: string | undefined): string {
  if (text === undefined) return "";
  try {
    const { name } = JSON.parse(text) as { name?: unknown };
    return typeof name === "string" ? name : "";
  } catch {
    return "";
  }
}

/** Whether a name is the one a setting gives; a trailing `*` stands for more words. */
export function nameMatches(pattern: string, name: string): boolean {
  if (!pattern.endsWith("*")) return pattern === name;
  const rest = name.slice(pattern.length - 1);
  return name.startsWith(pattern.slice(0, -1)) && !/^[a-z]/.test(rest);
}

const inLibrary = (owner: Owner, name: string): boolean =>
  (Array.isArray(owner.types) && owner.types.some((s) => s.package === name)) ||
  owner.library.some((l) => (l.endsWith("*") ? name.startsWith(l.slice(0, -1)) : l === name));

const ambientModules = (file: ts.SourceFile): string[] =>
  file.statements
    .filter(ts.isModuleDeclaration)
    .map((m) => m.name)
    .filter(ts.isStringLiteral)
    .map((n) => n.text);
