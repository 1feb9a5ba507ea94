/**
 * What users can call, read from the declarations by the TypeScript compiler: every function,
 * class, method, getter and setter that an entry point of the package exports. What is new there is
 * tried without being named anywhere else.
 */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import ts from "typescript";

/** One parameter of a signature. */
export interface Parameter {
  readonly name: string;
  readonly type: ts.Type;
  readonly rest: boolean;
  readonly optional: boolean;
}

/** How something is called; a result is a function that another callee gave. */
export type Kind = "function" | "constructor" | "method" | "getter" | "setter" | "result";

/** Something users can call. */
export interface Callee {
  /** `tensor`, `nn.Linear`, `nn.Linear.forward`, `nn.functional.relu`. */
  readonly name: string;
  readonly kind: Kind;
  /** The entry point, as it is imported. */
  readonly entry: string;
  /** The export that holds it, and its own name in there; symbols stand for themselves. */
  readonly path: readonly (string | symbol)[];
  /** The class whose instances have it. */
  readonly owner: ts.Symbol | undefined;
  /** The callee that gives it, or the object that has it, where no class can be made. */
  readonly of?: Callee | undefined;
  /** One list for each overload. */
  readonly signatures: readonly (readonly Parameter[])[];
  /** What each overload gives. */
  readonly gives: readonly ts.Type[];
  /** It ends what it is given, or what it is called on. */
  readonly takes: boolean;
}

/** A class that users can name. */
export interface ClassEntry {
  readonly name: string;
  readonly entry: string;
  readonly path: readonly string[];
  readonly symbol: ts.Symbol;
  readonly abstract: boolean;
}

/** The declarations of the package. */
export interface Declarations {
  readonly checker: ts.TypeChecker;
  readonly callees: readonly Callee[];
  readonly classes: ReadonlyMap<ts.Symbol, ClassEntry>;
}

const packageFolder = resolve(import.meta.dirname, "..", "..", "tenure");

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly "tenure:source": string }>>;
}

/** Reads the declarations behind every entry point in package.json. */
export function readDeclarations(): Declarations {
  const manifest = JSON.parse(
    readFileSync(join(packageFolder, "package.json"), "utf8"),
  ) as Manifest;
  const entries = Object.entries(manifest.exports).flatMap(([name, target]) =>
    typeof target === "string"
      ? []
      : [{ entry: join("tenure", name), file: join(packageFolder, target["tenure:source"]) }],
  );
  const program = ts.createProgram({
    rootNames: entries.map(({ file }) => file),
    options: {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      lib: ["lib.es2023.d.ts", "lib.esnext.disposable.d.ts", "lib.dom.d.ts"],
      types: ["@webgpu/types"],
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      allowImportingTsExtensions: true,
      exactOptionalPropertyTypes: true,
    },
  });
  return new Reader(program).read(entries);
}

class Reader {
  readonly #checker: ts.TypeChecker;
  readonly #callees: Callee[] = [];
  readonly #classes = new Map<ts.Symbol, ClassEntry>();
  readonly #seen = new Set<unknown>();
  readonly #program: ts.Program;

  constructor(program: ts.Program) {
    this.#program = program;
    this.#checker = program.getTypeChecker();
  }

  read(entries: readonly { entry: string; file: string }[]): Declarations {
    for (const { entry, file } of entries) {
      const source = this.#program.getSourceFile(file);
      const module = source && this.#checker.getSymbolAtLocation(source);
      if (module === undefined) throw new Error(`${file} is no module`);
      const short = entry.replace(/^tenure\/?/, "");
      this.#exports(module, entry, short === "" ? "" : `${short}.`, []);
    }
    for (const held of this.#classes.values()) if (!held.abstract) this.#members(held);
    // Grows while it is walked: what is given may give more.
    for (const callee of this.#callees) this.#results(callee);
    return { checker: this.#checker, callees: this.#callees, classes: this.#classes };
  }

  #exports(module: ts.Symbol, entry: string, prefix: string, path: readonly string[]): void {
    for (const exported of this.#checker.getExportsOfModule(module)) {
      const symbol =
        exported.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(exported) : exported;
      if (this.#hidden(symbol)) continue;
      const name = exported.name,
        at = [...path, name];
      if (symbol.flags & ts.SymbolFlags.ValueModule)
        this.#exports(symbol, entry, `${prefix}${name}.`, at);
      else if (symbol.flags & ts.SymbolFlags.Class && exported.declarations?.some(typeOnly))
        continue;
      else if (symbol.flags & ts.SymbolFlags.Class) this.#class(symbol, entry, prefix + name, at);
      else if (symbol.flags & (ts.SymbolFlags.Function | ts.SymbolFlags.Variable))
        this.#value(symbol, entry, prefix + name, at);
    }
  }

  #value(symbol: ts.Symbol, entry: string, name: string, path: readonly string[]): void {
    const type = this.#checker.getTypeOfSymbol(symbol);
    if (this.#add(symbol, type, "function", { name, entry, path, owner: undefined })) return;
    if (!(type.flags & ts.TypeFlags.Object)) return;
    for (const member of type.getProperties())
      this.#add(member, this.#checker.getTypeOfSymbol(member), "function", {
        name: `${name}.${member.name}`,
        entry,
        path: [...path, member.name],
        owner: undefined,
      });
  }

  #class(symbol: ts.Symbol, entry: string, name: string, path: readonly string[]): void {
    if (this.#classes.has(symbol)) return;
    const declaration = symbol.valueDeclaration;
    const abstract =
      declaration !== undefined &&
      (ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.Abstract) !== 0;
    this.#classes.set(symbol, { name, entry, path, symbol, abstract });
    const type = this.#checker.getTypeOfSymbol(symbol);
    const signatures = type.getConstructSignatures().filter((s) => !this.#internal(s));
    if (!abstract && signatures.length > 0)
      this.#callees.push({
        name,
        kind: "constructor",
        entry,
        path,
        owner: undefined,
        signatures: signatures.map((s) => this.#parameters(s)),
        gives: [],
        takes: false,
      });
    for (const member of type.getProperties())
      if (member.name !== "prototype" && !this.#foreign(member))
        this.#add(member, this.#checker.getTypeOfSymbol(member), "function", {
          name: `${name}.${member.name}`,
          entry,
          path: [...path, member.name],
          owner: undefined,
        });
  }

  #members({ name, entry, symbol }: ClassEntry): void {
    const type = this.#checker.getDeclaredTypeOfSymbol(symbol);
    this.#membersOf(type, { name, entry, path: [], owner: symbol, of: undefined });
  }

  #membersOf(type: ts.Type, holder: About): void {
    for (const member of type.getProperties()) {
      if (this.#hidden(member) || this.#foreign(member)) continue;
      const key = memberKey(member.name);
      if (key === undefined) continue;
      const about = {
        ...holder,
        name: `${holder.name}.${typeof key === "symbol" ? `[${key.description ?? ""}]` : key}`,
        path: [key],
      };
      if (member.flags & ts.SymbolFlags.Accessor) this.#accessor(member, about);
      else this.#add(member, this.#checker.getTypeOfSymbol(member), "method", about);
    }
  }

  /** What a callee gives: functions, and objects with methods of which users cannot make any. */
  #results(callee: Callee): void {
    for (const given of callee.gives) {
      const type = this.#checker.getAwaitedType(given) ?? given;
      for (const part of type.isUnion() ? type.types : [type]) {
        const { symbol } = part as { readonly symbol?: ts.Symbol };
        if (symbol === undefined || (part.flags & ts.TypeFlags.TypeParameter) !== 0) continue;
        const about = { entry: callee.entry, path: [], owner: undefined, of: callee };
        if (this.#add(symbol, part, "result", { ...about, name: `${callee.name}()` })) continue;
        if (this.#classes.has(symbol) || this.#seen.has(symbol) || !this.#ours(symbol)) continue;
        this.#seen.add(symbol);
        this.#membersOf(part, { ...about, name: `${callee.name}()` });
      }
    }
  }

  #accessor(member: ts.Symbol, about: About): void {
    for (const declaration of member.declarations ?? []) {
      if (ts.isGetAccessorDeclaration(declaration))
        this.#callees.push({ ...about, kind: "getter", signatures: [[]], gives: [], takes: false });
      else if (ts.isSetAccessorDeclaration(declaration)) {
        const type = this.#checker.getTypeOfSymbol(member);
        const value = { name: "value", type, rest: false, optional: false };
        this.#callees.push({
          ...about,
          kind: "setter",
          signatures: [[value]],
          gives: [],
          takes: false,
        });
      }
    }
  }

  /** Adds what can be called, once; says whether it can. */
  #add(symbol: ts.Symbol, type: ts.Type, kind: Kind, about: About): boolean {
    const signatures = type.getCallSignatures();
    if (signatures.length === 0) return false;
    // What a class inherits is tried on every class, what several entry points export once.
    const key = symbol.valueDeclaration ?? symbol;
    const once = about.owner === undefined && about.of === undefined;
    if (this.#hidden(symbol) || (once && this.#seen.has(key))) return true;
    this.#seen.add(key);
    this.#callees.push({
      ...about,
      kind,
      signatures: signatures.map((s) => this.#parameters(s)),
      gives: signatures.map((s) => s.getReturnType()),
      takes: /dispose|^carry$/i.test(symbol.name) || tagged(symbol, "takes"),
    });
    return true;
  }

  #parameters(signature: ts.Signature): Parameter[] {
    return signature.parameters.flatMap((parameter) => {
      const declaration = parameter.valueDeclaration;
      const written = declaration !== undefined && ts.isParameter(declaration) ? declaration : null;
      const type = this.#checker.getTypeOfSymbol(parameter);
      const rest = written?.dotDotDotToken !== undefined;
      if (rest && this.#checker.isTupleType(type)) return this.#spread(type as TupleReference);
      return [
        {
          name: parameter.name,
          type,
          rest,
          optional: rest || (written !== null && this.#checker.isOptionalParameter(written)),
        },
      ];
    });
  }

  /** The parameters that a tuple stands for: `...args: [x: Tensor]`. */
  #spread(type: TupleReference): Parameter[] {
    const { elementFlags, labeledElementDeclarations: labels } = type.target;
    return this.#checker.getTypeArguments(type).map((element, i) => {
      const label = labels?.[i];
      const flags = elementFlags[i] ?? ts.ElementFlags.Required;
      const rest = (flags & ts.ElementFlags.Variable) !== 0;
      return {
        name: label === undefined ? `arg${i}` : label.name.getText(),
        type: element,
        rest,
        optional: rest || (flags & ts.ElementFlags.Optional) !== 0,
      };
    });
  }

  #internal(signature: ts.Signature): boolean {
    return signature.getJsDocTags().some(({ name }) => name === "internal");
  }

  #hidden(symbol: ts.Symbol): boolean {
    const declaration = symbol.valueDeclaration;
    const flags = declaration === undefined ? 0 : ts.getCombinedModifierFlags(declaration);
    return (
      (flags & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) !== 0 ||
      symbol.name.startsWith("#") ||
      tagged(symbol, "internal")
    );
  }

  /** Declared by the language, like what errors and functions inherit. */
  #foreign(symbol: ts.Symbol): boolean {
    return symbol.valueDeclaration === undefined || !this.#ours(symbol);
  }

  #ours(symbol: ts.Symbol): boolean {
    const [declaration] = symbol.declarations ?? [];
    return declaration?.getSourceFile().fileName.startsWith(packageFolder) ?? false;
  }
}

type TupleReference = ts.TupleTypeReference;
type About = Pick<Callee, "name" | "entry" | "path" | "owner" | "of">;

/** Whether an export gives the type only: nobody can make one. */
function typeOnly(declaration: ts.Declaration): boolean {
  return ts.isTypeOnlyImportOrExportDeclaration(declaration);
}

function tagged(symbol: ts.Symbol, tag: string): boolean {
  return symbol.getJsDocTags(undefined).some(({ name }) => name === tag);
}

/** The key of a member at run time; undefined for the library's own symbols. */
function memberKey(name: string): string | symbol | undefined {
  if (!name.startsWith("__@")) return name;
  const known = /^__@(dispose|asyncDispose|iterator|asyncIterator)@/.exec(name)?.[1];
  return known === undefined ? undefined : (Symbol as unknown as Record<string, symbol>)[known];
}
