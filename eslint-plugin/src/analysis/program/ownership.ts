/**
 * Ownership: what owning a value of some type means: nothing, one value to free, many, or a record
 * with fields that hold such values. Used by the oracle alone. An answer found while a type that
 * contains itself was still being classified is not kept, so that it never depends on which type
 * was asked about first.
 */
import ts from "typescript";
import type { Owner, ResolvedSettings, Specifier } from "../../owner.ts";
import { hasWellKnown, type Checker } from "./checker.ts";
import type { Packages } from "./packages.ts";

/**
 * What owning a value of some type means. `one`: a single value; `many`: array, map or set of them;
 * `record`: an object with such fields.
 */
export interface Owned {
  owner: Owner;
  shape: "one" | "many" | "record";
  nullable: boolean;
  /** Field names of a record, or of each in a list, that hold owned values. */
  fields: readonly string[];
  /** What those of them hold that are no single value: a list, or a record of its own. */
  inner?: ReadonlyMap<string, Owned>;
  /** For `many`: each is no single value but a record or a list, which has no end of its own. */
  each?: "many" | "record";
  /** The type is one value or a list of them: `many`, unless its uses say otherwise. */
  mixed?: true;
}

/** What a field of a record holds, when it is there. */
export const ownedMember = (record: Owned, field: string): Owned => ({
  ...(record.inner?.get(field) ?? { owner: record.owner, shape: "one", fields: [] }),
  nullable: false,
});

/** Whether two answers say the same. */
export const isSameOwned = (a: Owned | null, b: Owned | null): boolean =>
  a === b ||
  (a !== null &&
    b !== null &&
    a.owner === b.owner &&
    a.shape === b.shape &&
    a.nullable === b.nullable &&
    a.mixed === b.mixed &&
    a.fields.join() === b.fields.join());

const primitive =
  ts.TypeFlags.StringLike |
  ts.TypeFlags.NumberLike |
  ts.TypeFlags.BigIntLike |
  ts.TypeFlags.BooleanLike |
  ts.TypeFlags.ESSymbolLike |
  ts.TypeFlags.Null |
  ts.TypeFlags.Undefined |
  ts.TypeFlags.Void;
const nothing = ts.TypeFlags.Any | ts.TypeFlags.Unknown | ts.TypeFlags.Never | primitive;
const empty = ts.TypeFlags.Null | ts.TypeFlags.Undefined | ts.TypeFlags.Void;
const deepest = 3;
/** Objects of more fields are no records: they are tables, or classes in disguise. */
export const widest = 16;

/** What only the oracle knows: it looks at classes and expressions, not at types. */
interface AskedOfOracle {
  /** The method that ends an instance of a class which holds owned values. */
  endingNameOf(type: ts.Symbol): string | undefined;
  /** Ownership of what a property of no known type is given. */
  ownedPart(property: ts.Symbol): Owned | null;
}

/** Classifies types for one program and settings. */
export class Ownership {
  /** Settled answers, one map per depth: further away less is looked into. */
  readonly #known: Map<ts.Type, Owned | null>[] = [];
  /** Types being classified, by depth. */
  readonly #busy = new Map<ts.Type, Set<number>>();
  #open = 0;
  /** How often a type met itself; an answer found meanwhile may be incomplete. */
  #cuts = 0;
  readonly #checker: Checker;
  readonly #packages: Packages;
  readonly #settings: ResolvedSettings;
  readonly #byName = new Map<string, Owner[]>();
  readonly #asked: AskedOfOracle;
  /** The owners of objects that hold owned values, by what ends them. */
  readonly #holders = new Map<string, Owner>();

  constructor(
    checker: Checker,
    packages: Packages,
    settings: ResolvedSettings,
    asked: AskedOfOracle,
  ) {
    this.#checker = checker;
    this.#packages = packages;
    this.#settings = settings;
    this.#asked = asked;
    for (const owner of settings.owners)
      for (const name of typeNames(owner))
        this.#byName.set(name, [...(this.#byName.get(name) ?? []), owner]);
  }

  /** How many answers so far had to leave something out; see `settled`. */
  get cuts(): number {
    return this.#cuts;
  }
  /** Notes that a type met itself. */
  cut(): void {
    this.#cuts++;
  }
  /** Whether an answer is complete: nothing was cut since, or no question is still open. */
  settled(cutsBefore: number): boolean {
    return this.#open === 0 || this.#cuts === cutsBefore;
  }

  /** The owners that have a type of this name. */
  named(name: string): readonly Owner[] {
    return this.#byName.get(name) ?? [];
  }

  /** Ownership of a value of a type; null when it is nobody's to free or unknown. */
  of(type: ts.Type, depth = 0): Owned | null {
    const cache = (this.#known[depth] ??= new Map());
    const known = cache.get(type);
    if (known !== undefined) return known;
    const depths = this.#busy.get(type) ?? new Set<number>();
    if (depths.has(depth)) {
      this.cut();
      return null; // a type that contains itself owns nothing through itself
    }
    this.#busy.set(type, depths.add(depth));
    const before = this.#cuts;
    this.#open++;
    let found: Owned | null;
    try {
      found = this.#classify(type, depth);
    } finally {
      this.#open--;
      depths.delete(depth);
    }
    if (this.settled(before)) cache.set(type, found);
    return found;
  }

  #classify(type: ts.Type, depth: number): Owned | null {
    if (type.flags & nothing) return null;
    if (type.isUnion()) return this.#union(type, depth);
    if (type.isIntersection())
      return type.types.map((t) => this.of(t, depth)).find((o) => o !== null) ?? null;
    if (type.flags & ts.TypeFlags.TypeParameter) {
      const bound = this.#checker.boundOf(type);
      return bound && bound !== type ? this.of(bound, depth) : null;
    }
    if (!(type.flags & ts.TypeFlags.Object) || depth > deepest) return null;
    const owner = this.#singleOwner(type);
    if (owner) return single(owner);
    return this.#container(type, depth);
  }

  #union(type: ts.UnionType, depth: number): Owned | null {
    const rest = type.types.filter((t) => !(t.flags & empty) && !isLastResult(t));
    const owned = rest.map((t) => this.of(t, depth));
    const first = owned[0];
    if (!first || owned.some((o) => o?.owner !== first.owner)) return null;
    const alike = owned.every((o) => o?.shape === first.shape);
    const mixed = !alike && owned.every((o) => o?.shape === "one" || o?.shape === "many");
    return {
      owner: first.owner,
      shape: alike ? first.shape : "many",
      nullable: rest.length < type.types.length,
      fields: first.fields,
      ...(alike && first.inner ? { inner: first.inner } : {}),
      ...(alike && first.each ? { each: first.each } : {}),
      ...(mixed ? { mixed } : {}),
    };
  }

  #container(type: ts.Type, depth: number): Owned | null {
    const many = (inner: ts.Type | undefined): Owned | null =>
      inner ? listOf(this.of(inner, depth + 1)) : null;
    if (this.#checker.isList(type)) return this.#list(type, depth, many);
    const name = type.symbol?.name as string | undefined;
    const args = name === undefined ? [] : this.#argumentsOfKnown(type, name);
    if (name === "Promise" || name === "PromiseLike") return this.of(args[0] ?? type, depth);
    if (name === "Map" || name === "ReadonlyMap") return many(args[1]);
    if (name === "Set" || name === "ReadonlySet") return many(args[0]);
    if (type.getCallSignatures().length > 0 || type.getConstructSignatures().length > 0)
      return null;
    const index = type.getStringIndexType();
    if (index) return many(index);
    return many(type.getNumberIndexType()) ?? this.#record(type, depth);
  }

  #argumentsOfKnown(type: ts.Type, name: string): readonly ts.Type[] {
    return /^(Promise(Like)?|(Readonly)?(Map|Set))$/.test(name)
      ? this.#checker.argumentsOf(type)
      : [];
  }

  #list(
    type: ts.Type,
    depth: number,
    many: (inner: ts.Type | undefined) => Owned | null,
  ): Owned | null {
    const args = this.#checker.argumentsOf(type);
    if (!this.#checker.isTuple(type) || args.length === 0) return many(args[0]);
    // `[value, release]`: what is called may end the others
    if (args.some((t) => t.getCallSignatures().length > 0)) return null;
    const each = args.map((t) => this.of(t, depth + 1)).filter((o) => o !== null);
    const [first] = each;
    return first && each.every((o) => o.owner === first.owner)
      ? { ...first, shape: "many", fields: [], nullable: false }
      : null;
  }

  #record(type: ts.Type, depth: number): Owned | null {
    const declaration = type.symbol?.declarations?.[0];
    if (!declaration || depth > 2 || !isPlainObject(declaration)) return null;
    const isKnown = type.symbol.name === "IteratorYieldResult" || ts.isMappedTypeNode(declaration);
    if (!isKnown && this.#packages.isBuiltin(declaration.getSourceFile())) return null;
    const properties = type.getProperties();
    if (properties.length === 0 || properties.length > widest) return null;
    const fields = new Map<Owner, string[]>();
    const inner = new Map<string, Owned>();
    for (const property of properties) {
      if (property.flags & (ts.SymbolFlags.Method | ts.SymbolFlags.Accessor)) return null;
      const part = this.#checker.typeOf(property);
      const found = this.#checker.isUntyped(part)
        ? this.#asked.ownedPart(property)
        : this.of(part, depth + 1);
      if (found) fields.set(found.owner, [...(fields.get(found.owner) ?? []), property.name]);
      if (found && found.shape !== "one") inner.set(property.name, found);
    }
    // of several families the one named first, and objects of the program's own last
    const owner = this.#settings.owners.find((o) => fields.has(o)) ?? [...fields.keys()][0];
    return owner
      ? { owner, shape: "record", nullable: false, fields: fields.get(owner) ?? [], inner }
      : null;
  }

  #singleOwner(type: ts.Type): Owner | undefined {
    const symbol = type.symbol as ts.Symbol | undefined;
    if (!symbol) return undefined;
    const owner = this.#settings.owners.find((o) =>
      Array.isArray(o.types)
        ? this.#isNamed(type, o, o.types)
        : this.#isDisposable(type, o.types.disposable),
    );
    if (owner) return owner;
    const { holder } = this.#settings;
    const ending = holder ? this.#asked.endingNameOf(symbol) : undefined;
    return holder && ending !== undefined ? this.#holderEndedBy(holder, ending) : undefined;
  }

  /** The owner of objects that hold owned values, with the name of what ends these in front. */
  #holderEndedBy(holder: Owner, ending: string): Owner {
    const known = this.#holders.get(ending);
    if (known) return known;
    const { methods } = holder.dispose;
    const own = methods[0] === ending ? methods : [ending, ...methods.filter((m) => m !== ending)];
    const found = { ...holder, dispose: { ...holder.dispose, methods: own } };
    this.#holders.set(ending, found);
    return found;
  }

  #isNamed(type: ts.Type, owner: Owner, specifiers: readonly Specifier[]): boolean {
    const { symbol } = type;
    if (this.named(symbol.name).includes(owner)) {
      const file = symbol.declarations?.[0]?.getSourceFile();
      if (file && specifiers.some((s) => this.#packages.matches(s, symbol.name, file))) return true;
      if (owner.brand.length > 0 && owner.brand.every((m) => type.getProperty(m) !== undefined))
        return true;
    }
    return this.#checker
      .basesOf(type)
      .some(
        (base) =>
          base.symbol !== undefined && base !== type && this.#isNamed(base, owner, specifiers),
      );
  }

  #isDisposable(type: ts.Type, kind: "sync" | "async" | "any"): boolean {
    const declaration = type.symbol.declarations?.[0];
    const builtin = declaration && this.#packages.isBuiltin(declaration.getSourceFile());
    // Iterators and timers are Disposable too, but nobody is expected to dispose them.
    if (builtin && !/^(Async)?Disposable(Stack)?$/.test(type.symbol.name)) return false;
    if (/^(Timeout|Immediate|Timer)$/.test(type.symbol.name)) return false;
    return (
      (kind !== "async" && hasWellKnown(type, "dispose")) ||
      (kind !== "sync" && hasWellKnown(type, "asyncDispose"))
    );
  }
}

/** One value of an owner's. */
export const single = (owner: Owner): Owned => ({
  owner,
  shape: "one",
  nullable: false,
  fields: [],
});
/** A list of an owner's values. */
export const several = (owner: Owner): Owned => ({ ...single(owner), shape: "many" });

/** A list of such values. */
export function listOf(element: Owned): Owned;
export function listOf(element: Owned | null): Owned | null;
export function listOf(element: Owned | null): Owned | null {
  if (!element) return null;
  const { owner, shape, fields, inner } = element;
  if (shape === "one") return several(owner);
  if (shape === "many") return { ...several(owner), each: shape };
  return { ...several(owner), each: shape, fields, ...(inner ? { inner } : {}) };
}

/** The names of the types an owner lists; none when it is told by `[Symbol.dispose]`. */
export const typeNames = (owner: Owner): string[] =>
  Array.isArray(owner.types) ? owner.types.flatMap((s) => s.name) : [];

/** What an iterator gives when it is done: nothing anybody owns. */
const isLastResult = (type: ts.Type): boolean =>
  (type.symbol as ts.Symbol | undefined)?.name === "IteratorReturnResult";

/** An object type whose fields are known: of `Record<"low" | "high", Tensor>`, too. */
const isPlainObject = (declaration: ts.Declaration): boolean =>
  ts.isTypeLiteralNode(declaration) ||
  ts.isMappedTypeNode(declaration) ||
  ts.isObjectLiteralExpression(declaration) ||
  ts.isInterfaceDeclaration(declaration);
