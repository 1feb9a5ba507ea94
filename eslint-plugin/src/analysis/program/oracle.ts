/**
 * The type oracle: what expressions own, what names and calls refer to, and of which library. One
 * per program and settings, for all of `analysis/` and the rules; answers are cached by type, by
 * node and by declaration. It asks TypeScript through `checker.ts` only.
 */
import ts from "typescript";
import type { CalleeSpecifier, Owner, ResolvedSettings } from "../../owner.ts";
import { resolveCallee, type Callee } from "./callee.ts";
import { callsNamed } from "./call-index.ts";
import { calleeSymbol, ownedByArguments, startsUnowned, type CalledContext } from "./called.ts";
import { Checker } from "./checker.ts";
import {
  annotatedResult,
  boundOf,
  declaredProperty,
  declaredResult,
  declaredVariable,
  isPageFunction,
  settled,
} from "./declared.ts";
import type { Facts } from "./facts.ts";
import { Holders } from "../objects/holders.ts";
import { takenByUses, takenFor } from "../untyped/mixed.ts";
import { Ownership, single, typeNames, type Owned } from "./ownership.ts";
import { nameMatches, Packages } from "./packages.ts";
import { ownedByParts } from "../fresh/parts.ts";
import { holdsPlain, isPlain } from "./plain.ts";
import { classesNamed, isScript, variableName, type CallLike } from "./syntax.ts";
import { tagsOf, type Tags } from "./tags.ts";
import { isLibraryCall, mayUse } from "../untyped/library-names.ts";
import { calledByName, methodByName } from "../untyped/methods-by-name.ts";
import { enclosesByName, guesses, isOfLibrary, type UntypedContext } from "../untyped/untyped.ts";
import { isListCall, isOfUntyped } from "../untyped/list-calls.ts";
import { usesOf } from "../untyped/untyped-parameters.ts";
import { givenTo, isUnset, startsAsTable, startsEmpty } from "../untyped/untyped-records.ts";

export type { Callee } from "./callee.ts";
export type { Owned } from "./ownership.ts";

/** Everything the rules and verbs ask about types and names. */
export class Oracle {
  /** The program the answers are about. */
  readonly program: ts.Program;
  /** What was read from the syntax of files, which outlives the program. */
  readonly facts: Facts;
  readonly #checker: Checker;
  readonly #packages: Packages;
  readonly #ownership: Ownership;
  readonly #byNode = new Map<ts.Node, Owned | null>();
  readonly #callees = new Map<ts.Node, Callee>();
  readonly #holders: Holders;
  readonly #untyped: readonly Owner[];
  /** The owners whose types have names. */
  readonly #named: readonly Owner[];
  /** What names say where there are no types; a variable made of itself is nothing. */
  readonly #guesses = guesses(() => this.#names);
  /** How often an open guess was asked for; what hangs on one is not kept. */
  #openGuesses = 0;
  readonly #names: UntypedContext;
  readonly #called: CalledContext;
  readonly #brandFiles = new Map<ts.SourceFile, Map<Owner, boolean>>();

  constructor(program: ts.Program, settings: ResolvedSettings, facts: Facts) {
    this.program = program;
    this.facts = facts;
    this.#named = settings.owners.filter((o) => typeNames(o).length > 0);
    this.#untyped = settings.owners.filter(
      ({ policy, untyped: { globals, described } }) =>
        policy === "protocol" || globals.length + described.length > 0,
    );
    this.#names = {
      facts,
      owners: this.#untyped,
      stored: new Map(),
      declarationAt: (node) => this.declarationAt(node),
      ownedAt: (node) => this.ownedAt(node),
      callsNamed: (name) => callsNamed(this, name),
      methodOf: (call) => methodByName(this, this.#names, call),
    };
    this.#checker = new Checker(program, (type) => {
      const owned = this.#ownership.of(type);
      return owned?.shape === "one" && !owned.nullable;
    });
    this.#packages = new Packages(program, facts);
    this.#ownership = new Ownership(this.#checker, this.#packages, settings, {
      endingNameOf: (symbol) =>
        this.#holders.endingNameOf(symbol.valueDeclaration ?? symbol.declarations?.[0]),
      ownedPart: (property) => this.#ownedPart(property),
    });
    this.#called = { checker: this.#checker, ownership: this.#ownership, oracle: this };
    this.#holders = new Holders(this, this.#ownership, settings.owners);
  }

  // ---- types ----

  /** Ownership of the value an expression gives; null when it is nobody's to free or unknown. */
  ownedAt(node: ts.Node): Owned | null {
    const known = this.#byNode.get(node);
    if (known !== undefined) return known;
    const before = this.#ownership.cuts,
      openBefore = this.#openGuesses;
    const found = this.#askOwned(node);
    if (this.#openGuesses === openBefore && this.#ownership.settled(before))
      this.#byNode.set(node, found);
    return found;
  }

  #askOwned(node: ts.Node): Owned | null {
    if (isPlain(node)) return null;
    if (ts.isAwaitExpression(node)) return this.ownedAt(node.expression);
    const parts = ownedByParts(node, (part) => this.ownedAt(part));
    if (parts !== undefined) return parts;
    let declared: ts.Type | null = null;
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      const symbol = calleeSymbol(this.#checker, node);
      declared = symbol ? declaredResult(this.#checker, node, symbol) : null;
      if (!declared && symbol && isPageFunction(node, symbol)) return null;
      const given = declared || !symbol ? undefined : ownedByArguments(this.#called, node, symbol);
      if (given !== undefined) return given;
      if (!declared && !symbol && this.#asksNames(node) && isOfUntyped(this.#checker, node))
        return this.#guess(node);
    } else if (ts.isIdentifier(node)) {
      const declaration = this.#declarationOf(node);
      if (declaration && holdsPlain(declaration)) return null;
      const filled = this.#filledLater(node, declaration);
      if (filled !== undefined) return filled;
      declared = declaration ? this.#declaredType(declaration) : null;
      if (!declared && declaration && startsUnowned(this.#called, declaration)) return null;
    } else if (ts.isPropertyAccessExpression(node)) {
      const symbol = this.#checker.symbolAt(node.name);
      if (symbol?.declarations?.every(holdsPlain)) return null;
      const filled = this.#filledLater(node, symbol?.valueDeclaration);
      if (filled !== undefined) return filled;
      declared = declaredProperty(this.#checker, symbol);
    }
    const type = declared ?? this.#checker.typeAt(node);
    const isUntyped = this.#checker.isUntyped(type) || isUnset(node, type);
    if (isUntyped && this.#asksNames(node)) return this.#guess(node);
    const owned = this.#ownership.of(type);
    return owned?.mixed && ts.isExpression(node) ? this.#unmixed(node, owned) : owned;
  }

  /**
   * Whether names may tell what types do not: in scripts, or where the library has a name, or what
   * it is given says what a call makes.
   */
  #asksNames(node: ts.Node): boolean {
    if (this.#untyped.length === 0) return false;
    const isNamed = this.#untyped.some(
      ({ untyped: { globals, described } }) => globals.length > 0 || described.length > 0,
    );
    return isNamed || isScript(node.getSourceFile());
  }

  /** What a place of a script gets later that starts as nothing, or as `{}`. */
  #filledLater(node: ts.Node, at: ts.Declaration | undefined): Owned | null | undefined {
    if (!at || !this.#asksNames(node)) return undefined;
    if (startsEmpty(at)) return this.#guess(node);
    return startsAsTable(at) ? (this.#guess(node) ?? undefined) : undefined;
  }

  /** One value or a list of them, in a script that cannot say which: as it is used. */
  #unmixed(node: ts.Expression, owned: Owned): Owned {
    const declaration = ts.isIdentifier(node) ? this.#declarationOf(node) : undefined;
    const taken = declaration ? takenByUses(usesOf(this, declaration)) : takenFor(node, this);
    return taken === "one" ? { ...single(owned.owner), nullable: owned.nullable } : owned;
  }

  /** What a property of no known type is given where its object is written, or is declared for. */
  #ownedPart({ valueDeclaration: at }: ts.Symbol): Owned | null {
    const before = this.#openGuesses;
    const given = this.#untyped.length > 0 ? givenTo(at) : undefined;
    const bound = given ? null : boundOf(this.#checker, at);
    const found = given ? this.ownedAt(given) : bound && this.#ownership.of(bound);
    if (this.#openGuesses > before) this.#ownership.cut();
    return found;
  }

  #guess(node: ts.Node): Owned | null {
    const declared = ts.isIdentifier(node) ? this.#declarationOf(node) : undefined;
    const key = (declared && variableName(declared)) ?? node;
    const before = this.#openGuesses;
    const found = this.#guesses.get(key);
    this.#openGuesses = this.#guesses.isSettled(key) ? before : this.#openGuesses + 1;
    return found;
  }

  /** What declares a name; for a name being declared that needs no question. */
  #declarationOf(id: ts.Identifier): ts.Declaration | undefined {
    const { parent } = id;
    const isName = ts.isVariableDeclaration(parent) || ts.isParameter(parent);
    return isName && parent.name === id ? parent : this.declarationAt(id);
  }

  #declaredType(declaration: ts.Declaration): ts.Type | null {
    return declaredVariable(this.#checker, declaration, (call) => {
      const symbol = calleeSymbol(this.#checker, call);
      return symbol ? declaredResult(this.#checker, call, symbol) : null;
    });
  }

  /** Ownership of what a function gives its caller. */
  ownedResult(fn: ts.SignatureDeclaration): Owned | null {
    const type = this.#checker.resultOf(fn);
    return type ? this.#ownership.of(type) : null;
  }

  /** Whether the annotation of a function says that nobody owns what it gives. */
  givesNothing(fn: ts.SignatureDeclaration): boolean {
    const type = annotatedResult(this.#checker, fn);
    return type !== null && !(type.flags & ts.TypeFlags.Any) && !this.#ownership.of(type);
  }

  /** Whether the annotation of a function says that all it gives is owned, and there. */
  givesOwned(fn: ts.SignatureDeclaration): boolean {
    const type = annotatedResult(this.#checker, fn);
    if (type === null || this.#ownership.of(type) === null) return false;
    return settled(this.#checker.awaited(type)) !== null;
  }

  /** Ownership of instances of a class, or of values of an interface. */
  ownedInstance(node: ts.ClassLikeDeclaration | ts.InterfaceDeclaration): Owned | null {
    return this.#ownership.of(this.#checker.typeAt(node));
  }

  /** Whether a call of a method of an object ends or empties what a field of the object holds. */
  endsWhatIsHeld(call: CallLike): boolean {
    const { body } = this.callee(call);
    return body !== undefined && this.#holders.endsWhatIsHeld(body);
  }

  /** Whether `using` (or `await using`) accepts the value an expression gives. */
  usingKind(node: ts.Node): "using" | "await using" | null {
    return mayUse(node.getSourceFile()) ? this.#checker.usingKind(node) : null;
  }
  /** Whether what an expression gives, or each of it, has a member; undefined: nobody knows. */
  hasMember(node: ts.Node, name: string, each: boolean): boolean | undefined {
    return this.#checker.hasMember(node, name, each);
  }

  /** Whether an expression gives a promise, or anything else with a `then`. */
  isPromise(node: ts.Node): boolean {
    return this.#checker.typeAt(node).getProperty("then") !== undefined;
  }
  /** How an expression can be called, where it gives a function. */
  signatureAt(node: ts.Node): ts.Signature | undefined {
    return this.#checker.presentTypeAt(node).getCallSignatures()[0];
  }
  /** Whether an expression gives a function, or who knows what. */
  mayBeFunction(node: ts.Identifier | ts.PropertyAccessExpression): boolean {
    const declaration = ts.isIdentifier(node) ? this.#declarationOf(node) : undefined;
    const declared = ts.isPropertyAccessExpression(node)
      ? declaredProperty(this.#checker, this.#checker.symbolAt(node.name))
      : declaration && this.#declaredType(declaration);
    return this.#checker.mayBeCalled(declared ?? this.#checker.typeAt(node));
  }
  /** The name of an expression's type, or of the type that its place wants, where it has one. */
  typeName(node: ts.Node, wanted = false): string {
    return this.#checker.typeName(node, wanted);
  }

  /** What declares the type of an expression, promises awaited. */
  declarationsAt(node: ts.Node): readonly ts.Declaration[] {
    return this.#checker.declarationsAt(node);
  }

  /** Whether an expression gives an object, a number, who knows what, or null and no more. */
  gives(node: ts.Node, kind: Parameters<Checker["gives"]>[1]): boolean {
    return this.#checker.gives(node, kind);
  }

  /** The names of a class and of everything it extends, nearest first. */
  ancestors(node: ts.ClassLikeDeclaration): string[] {
    return this.#checker.ancestors(this.#checker.typeAt(node));
  }

  /** Which places of a tuple are owned; none of anything else. */
  ownedPlaces(node: ts.Node): readonly number[] {
    const type = this.#checker.typeAt(node);
    const all = this.#checker.isTuple(type) ? this.#checker.argumentsOf(type) : [];
    return all.flatMap((place, at) => (this.#ownership.of(place) ? [at] : []));
  }

  // ---- names ----
  /** The symbol a name refers to, through imports. */
  symbolAt(node: ts.Node): ts.Symbol | undefined {
    return this.#checker.symbolAt(node);
  }

  /**
   * Compare by declaration, never by symbol: symbols seen through `this.x` are transient copies.
   */
  declarationAt(node: ts.Node): ts.Declaration | undefined {
    const symbol = this.#checker.symbolAt(node);
    return symbol?.valueDeclaration ?? symbol?.declarations?.[0];
  }

  /** What the value of an expression has under a name, through imports. */
  memberAt(node: ts.Expression, name: string): ts.Symbol | undefined {
    return this.#checker.memberOf(this.#checker.typeAt(node), name);
  }

  /** Declarations of a member in what a heritage clause names, and the class named there. */
  inherited(
    clause: ts.ExpressionWithTypeArguments,
    member: string,
  ): { members: readonly ts.Declaration[]; holder: ts.Declaration | undefined } {
    const type = this.#checker.typeAt(clause);
    const symbol = type.symbol as ts.Symbol | undefined;
    return {
      members: type.getProperty(member)?.declarations ?? [],
      holder: symbol?.declarations?.find((d) => ts.isClassLike(d) || ts.isInterfaceDeclaration(d)),
    };
  }
  /** The symbols a source file exports. */
  exportsOf(file: ts.SourceFile): ts.Symbol[] {
    const module = this.#checker.moduleAt(file);
    return module ? this.#checker.exportsOf(module) : [];
  }
  /** The symbols a namespace or module symbol exports. */
  membersOf(module: ts.Symbol): ts.Symbol[] {
    return this.#checker.exportsOf(module);
  }
  /** Whether the module an import names exports something under a name. */
  moduleExports(specifier: ts.Expression, name: string): boolean {
    const module = this.#checker.moduleAt(specifier);
    return module !== undefined && this.#checker.exportedNames(module).includes(name);
  }

  /** What a call calls. */
  callee(call: CallLike): Callee {
    const known = this.#callees.get(call);
    if (known) return known;
    const found = resolveCallee(this, call);
    found.member ??= this.#inheritedFrom(found) ?? this.#guessedMember(found);
    found.library = this.#untyped.find(
      (owner) =>
        found.member !== owner &&
        (isLibraryCall(this.#names, call, owner) ||
          enclosesByName(this.#names, call, owner) ||
          (!found.body && isOfLibrary(this.#names, call, owner))),
    );
    found.builtin ||=
      !found.declaration && this.#untyped.length > 0 && isListCall(this.#names, call);
    if (!found.declaration && !found.library && !found.builtin && !found.member)
      Object.assign(found, calledByName(this, this.#names, call));
    this.#callees.set(call, found);
    return found;
  }

  /** The owner of a receiver of no known type. */
  #guessedMember({ receiver, declaration }: Callee): Owner | undefined {
    if (!receiver || declaration || this.#untyped.length === 0) return undefined;
    const owned = this.ownedAt(receiver);
    return owned?.shape === "one" && this.#untyped.includes(owned.owner) ? owned.owner : undefined;
  }

  /** The owner of a receiver whose method the library declares in a class above the owned one. */
  #inheritedFrom({ receiver, declaration }: Callee): Owner | undefined {
    const holder = declaration?.parent;
    if (!receiver || !holder || !(ts.isClassLike(holder) || ts.isInterfaceDeclaration(holder)))
      return undefined;
    const file = holder.getSourceFile();
    const owners = this.#named.filter((o) => this.#packages.isOfLibrary(o, file));
    const owned = owners.length > 0 ? this.ownedAt(receiver) : null;
    return owned?.shape === "one" ? owners.find((o) => o === owned.owner) : undefined;
  }

  /** The owner whose type declares a member, when that type is a single owned value. */
  memberOwner(declaration: ts.Declaration): Owner | undefined {
    const holder = declaration.parent as ts.Node | undefined;
    if (!holder || !(ts.isClassLike(holder) || ts.isInterfaceDeclaration(holder)) || !holder.name)
      return undefined;
    if (this.#ownership.named(holder.name.text).length === 0) return undefined;
    const found = this.ownedInstance(holder);
    return found?.shape === "one" ? found.owner : undefined;
  }

  /** The ownership tags of a declaration. */
  tags(declaration: ts.Node): Tags {
    return this.facts.of(declaration, tagsOf);
  }

  // ---- packages ----

  /** Whether a file is TypeScript's own library, or Node's. */
  isBuiltin(file: ts.SourceFile): boolean {
    return this.#packages.isBuiltin(file);
  }
  /** Whether a file belongs to the library of an owner. */
  isOfLibrary(owner: Owner, file: ts.SourceFile): boolean {
    return this.#packages.isOfLibrary(owner, file);
  }
  /** The files that declare the module a specifier names. */
  filesOf(specifier: ts.Expression): ts.SourceFile[] {
    return (this.#checker.moduleAt(specifier)?.declarations ?? []).map((d) => d.getSourceFile());
  }
  /** The npm package a file belongs to. */
  packageOf(file: ts.SourceFile): string {
    return this.#packages.nameOf(file);
  }
  /** The folder of that package; empty when there is none. */
  folderOf(file: ts.SourceFile): string {
    return this.#packages.folderOf(file);
  }

  /**
   * Whether a callee is one of those an owner names. A bare name means: declared by the owner's
   * library, not by the user's own code.
   */
  is(callee: Callee, list: readonly CalleeSpecifier[], owner: Owner): boolean {
    if (callee.name === "") return false;
    const file = callee.declaration?.getSourceFile();
    return list.some((specifier) => {
      if (typeof specifier === "string")
        return nameMatches(specifier, callee.name) && this.fromLibrary(callee, owner);
      if (file) return this.#packages.matches(specifier, callee.name, file);
      return typeof specifier.name === "string" && nameMatches(specifier.name, callee.name);
    });
  }

  /** Whether a function is declared by the library an owner's types come from. */
  fromLibrary(callee: Callee, owner: Owner): boolean {
    if (callee.member === owner || callee.library === owner) return true;
    const file = callee.declaration?.getSourceFile();
    if (!file || callee.builtin)
      return owner.policy === "generic" && (!file || isOfPlatform(owner));
    if (this.#packages.isOfLibrary(owner, file)) return true;
    if (owner.policy === "generic") return true;
    return file.isDeclarationFile && this.#declaresBrand(file, owner);
  }

  /**
   * Whether a declaration file itself declares a type of the owner's brand: the library in another
   * dress.
   */
  #declaresBrand(file: ts.SourceFile, owner: Owner): boolean {
    const known = this.#brandFiles.get(file)?.get(owner);
    if (known !== undefined) return known;
    const names = typeNames(owner);
    const found = classesNamed(file, names).some((s) => this.ownedInstance(s)?.owner === owner);
    const map = this.#brandFiles.get(file) ?? new Map<Owner, boolean>();
    this.#brandFiles.set(file, map.set(owner, found));
    return found;
  }
}

/** Whether types of an owner are of the platform, which TypeScript itself declares, too. */
const isOfPlatform = ({ types }: Owner): boolean =>
  Array.isArray(types) && types.some(({ from }) => from === undefined);
