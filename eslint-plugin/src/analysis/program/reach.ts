/**
 * Reach: which files of a program can hold anything that somebody owns: those that import, over any
 * number of files, one in which a library of the settings, or a type that looks like one of its
 * types, is declared. In any other file the rules have nothing to look at. Used by `analyse.ts`.
 * Syntax only, apart from where an import leads; unsure means reached.
 */
import ts from "typescript";
import type { Owner, ResolvedSettings } from "../../owner.ts";
import type { Facts } from "./facts.ts";
import { namesLibrary } from "../untyped/library-names.ts";
import { Carriers } from "./carriers.ts";
import type { Oracle } from "./oracle.ts";
import { typeNames } from "./ownership.ts";

/** What is known of the files of one program. */
export class Reach {
  readonly #oracle: Oracle;
  readonly #owners: readonly Owner[];
  readonly #known = new Map<ts.SourceFile, boolean>();
  /** Types told by their members, or declared anywhere: no file can be left out. */
  readonly #everywhere: boolean;
  #global: boolean | undefined;
  readonly #carriers: Carriers;

  constructor(oracle: Oracle, settings: ResolvedSettings) {
    this.#oracle = oracle;
    const packaged = settings.owners.filter(isOfPackages);
    // what is everybody's, as stacks are, counts where a library's values may be
    const others = settings.owners.filter((o) => !isOfPackages(o));
    const isOurs = packaged.length > 0 && others.every(isOfPlatform);
    this.#owners = isOurs ? packaged : settings.owners;
    const names = new Set(settings.owners.flatMap((o) => [...typeNames(o), ...o.untyped.globals]));
    this.#carriers = new Carriers(oracle, {
      leads: (file) => this.#leads(file),
      isName: (name) => names.has(name),
    });
    this.#everywhere = others.length > 0 && !isOurs;
  }

  /** Whether a file can hold owned values. */
  of(file: ts.SourceFile): boolean {
    if (this.#everywhere) return true;
    this.#global ??= this.#oracle.program
      .getSourceFiles()
      .some(
        (f) =>
          this.#oracle.facts.of(f, declaresGlobals) && !this.#oracle.isBuiltin(f) && this.#leads(f),
      );
    if (this.#global) return true;
    return this.#leads(file) && (this.#saysWords(file) || this.#carriers.of(file));
  }

  #leads(from: ts.SourceFile): boolean {
    const known = this.#known.get(from);
    if (known !== undefined) return known;
    const seen = new Set([from]);
    for (const file of seen) {
      if (this.#known.get(file) ?? this.#isStart(file)) {
        this.#known.set(from, true);
        return true;
      }
      for (const next of this.#imported(file)) if (!this.#oracle.isBuiltin(next)) seen.add(next);
    }
    for (const file of seen) this.#known.set(file, false);
    return false;
  }

  #isStart(file: ts.SourceFile): boolean {
    const { facts } = this.#oracle;
    return this.#owners.some(
      (owner) => facts.of(file, facts.of(owner, startsOf)) || this.#oracle.isOfLibrary(owner, file),
    );
  }

  #saysWords(file: ts.SourceFile): boolean {
    return this.#owners.some((owner) => this.#oracle.facts.of(owner, wordsOf)?.test(file.text));
  }

  #specifiers(file: ts.SourceFile): readonly ts.Expression[] {
    return this.#oracle.facts.of(file, specifiersIn);
  }
  #imported(file: ts.SourceFile): ts.SourceFile[] {
    return this.#specifiers(file).flatMap((s) => this.#oracle.filesOf(s));
  }
}

/** Whether an owner's types are those of packages, which files must import. */
const isOfPackages = ({ types }: Owner): boolean =>
  Array.isArray(types) && types.every((t) => t.from === "package" && t.package !== undefined);

const isOfPlatform = ({ types }: Owner): boolean =>
  Array.isArray(types) && types.every((t) => t.from === "lib");

type Reader = (file: ts.SourceFile, facts: Facts) => boolean;

/** Tells of a file, by its text alone, whether an owner's values can come from there. */
function startsOf(owner: Owner): Reader {
  const names = typeNames(owner);
  const words = wordsOf(owner);
  return (file, facts) =>
    facts.of(file, specifiersIn).some((s) => namesLibrary(s, owner)) ||
    declaresAny(file, names) ||
    facts.of(file, loads) ||
    (!file.isDeclarationFile && words?.test(file.text) === true);
}

/** Whether a file loads others as it runs. */
const loads = ({ text }: ts.SourceFile): boolean => /\b(import|require)\s*\(|@import\b/.test(text);

/** What a library is told by where there are no types. */
function wordsOf({ untyped }: Owner): RegExp | null {
  const { globals, marks, runs, looks, encloses, wants } = untyped;
  const words = [globals, marks, runs, looks, encloses, wants].flat().join("|");
  return globals.length > 0 ? new RegExp(`\\b(${words})\\b`) : null;
}

const declaresAny = (file: ts.SourceFile, names: readonly string[]): boolean => {
  const mentioned = names.filter((name) => file.text.includes(name));
  return mentioned.length > 0 && declares(file.statements, mentioned);
};

/** Whether statements declare a type of one of these names, in a module block too. */
const declares = (statements: readonly ts.Statement[], names: readonly string[]): boolean =>
  statements.some((s) => {
    if (ts.isModuleDeclaration(s))
      return s.body !== undefined && ts.isModuleBlock(s.body) && declares(s.body.statements, names);
    const isType = ts.isClassDeclaration(s) || ts.isInterfaceDeclaration(s);
    return isType && s.name !== undefined && names.includes(s.name.text);
  });

/** Whether a file declares what others see without importing it. */
const declaresGlobals = (file: ts.SourceFile): boolean =>
  ts.isExternalModule(file)
    ? file.statements.some(isGlobalBlock)
    : !file.statements.every(
        (s) =>
          ts.isImportDeclaration(s) || (ts.isModuleDeclaration(s) && ts.isStringLiteral(s.name)),
      );
const isGlobalBlock = (s: ts.Statement): boolean =>
  ts.isModuleDeclaration(s) && (s.flags & ts.NodeFlags.GlobalAugmentation) !== 0;

/** The modules that a file, or an ambient module in it, imports or exports from. */
const specifiersIn = (file: ts.SourceFile): readonly ts.Expression[] =>
  file.statements.flatMap(specifiersOf);
function specifiersOf(s: ts.Statement): ts.Expression[] {
  if (ts.isImportDeclaration(s) || ts.isExportDeclaration(s))
    return s.moduleSpecifier ? [s.moduleSpecifier] : [];
  if (ts.isImportEqualsDeclaration(s))
    return ts.isExternalModuleReference(s.moduleReference) ? [s.moduleReference.expression] : [];
  const isBlock = ts.isModuleDeclaration(s) && s.body !== undefined && ts.isModuleBlock(s.body);
  return isBlock ? s.body.statements.flatMap(specifiersOf) : [];
}
