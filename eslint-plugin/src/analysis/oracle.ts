/**
 * The type oracle: every question to the TypeScript checker is asked here and nowhere else, so that
 * a new checker API touches one file. Used by all of `analysis/`. Answers are cached by `ts.Type`,
 * by node and by declaration, per program.
 */
import ts from "typescript";
import type { CalleeSpecifier, Owner, ResolvedSettings, Specifier } from "../owner.ts";
import { declaredResult, declaredVariable, isPageFunction } from "./declared.ts";
import { readTags, type Tags } from "./tags.ts";

/**
 * What owning a value of some type means. `one`: a single value; `many`: array, map or set of them;
 * `record`: an object with such fields.
 */
export interface Owned {
  owner: Owner;
  shape: "one" | "many" | "record";
  nullable: boolean;
  /** Field names of a record that hold owned values. */
  fields: readonly string[];
}

export type FunctionWithBody = ts.FunctionLikeDeclaration & { body: ts.Node };
export type CallLike = ts.CallExpression | ts.NewExpression;

/** A call as resolved: its name, what it refers to, and its body where the program has one. */
export interface Callee {
  name: string;
  receiver: ts.Expression | undefined;
  declaration: ts.Declaration | undefined;
  body: FunctionWithBody | undefined;
  tags: Tags;
  package: string;
  /** Declared in TypeScript's own library files. */
  builtin: boolean;
  /** Declared as a member of an owned type. */
  member: Owner | undefined;
}

const primitive =
  ts.TypeFlags.StringLike |
  ts.TypeFlags.NumberLike |
  ts.TypeFlags.BigIntLike |
  ts.TypeFlags.BooleanLike |
  ts.TypeFlags.ESSymbolLike |
  ts.TypeFlags.Null |
  ts.TypeFlags.Undefined |
  ts.TypeFlags.Void;
const noTags: Tags = {
  fresh: false,
  borrowed: false,
  scoped: false,
  keeps: false,
  takes: [],
  borrows: [],
};

/** Functions, methods, accessors, constructors and arrows that have a body. */
export const hasBody = (node: ts.Node | undefined): node is FunctionWithBody =>
  node !== undefined &&
  ts.isFunctionLike(node) &&
  (node as Partial<FunctionWithBody>).body !== undefined;

/** Looks through parentheses, `as`, `satisfies`, `!` and `await`. */
export function unwrap(node: ts.Expression): ts.Expression {
  while (
    ts.isParenthesizedExpression(node) ||
    ts.isAsExpression(node) ||
    ts.isSatisfiesExpression(node) ||
    ts.isNonNullExpression(node) ||
    ts.isTypeAssertionExpression(node) ||
    ts.isAwaitExpression(node)
  )
    node = node.expression;
  return node;
}

export class Oracle {
  readonly checker: ts.TypeChecker;
  readonly program: ts.Program;
  readonly settings: ResolvedSettings;
  private readonly byType = new Map<ts.Type, Owned | null>();
  private readonly byNode = new WeakMap<ts.Node, Owned | null>();
  private readonly callees = new WeakMap<ts.Node, Callee>();
  private readonly packages = new Map<string, { name: string; folder: string }>();
  private readonly bySymbol = new WeakMap<ts.Node, ts.Symbol | null>();
  private readonly tagsOf = new WeakMap<ts.Node, Tags>();
  private readonly memberNames: ReadonlyMap<string, readonly Owner[]>;

  constructor(program: ts.Program, settings: ResolvedSettings) {
    this.program = program;
    this.checker = program.getTypeChecker();
    this.settings = settings;
    const names = new Map<string, Owner[]>();
    for (const owner of settings.owners) {
      if (!Array.isArray(owner.types)) continue;
      for (const name of owner.types.flatMap((s) => s.name))
        names.set(name, [...(names.get(name) ?? []), owner]);
    }
    this.memberNames = names;
  }

  // ---- types ----

  /** Ownership of the value an expression gives; null when it is nobody's to free or unknown. */
  ownedAt(node: ts.Node): Owned | null {
    let found = this.byNode.get(node);
    if (found === undefined) this.byNode.set(node, (found = this.askOwned(node)));
    return found;
  }

  private askOwned(node: ts.Node): Owned | null {
    if (ts.isStringLiteralLike(node) || ts.isNumericLiteral(node)) return null;
    let declared: ts.Type | null = null;
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      const symbol = this.calleeSymbol(node);
      declared = symbol ? declaredResult(this.checker, node, symbol) : null;
      if (!declared && symbol && isPageFunction(node, symbol)) return null;
    } else if (ts.isIdentifier(node)) {
      const declaration =
        ts.isVariableDeclaration(node.parent) && node.parent.name === node
          ? node.parent
          : this.declarationAt(node);
      declared = declaration
        ? declaredVariable(this.checker, declaration, (call) => {
            const symbol = this.calleeSymbol(call);
            return symbol ? declaredResult(this.checker, call, symbol) : null;
          })
        : null;
    }
    return this.owned(declared ?? this.checker.getTypeAtLocation(node));
  }

  private calleeSymbol(call: CallLike): ts.Symbol | undefined {
    const target = skipWrappers(call.expression);
    const name = ts.isPropertyAccessExpression(target)
      ? target.name
      : ts.isIdentifier(target)
        ? target
        : undefined;
    return name && this.symbolAt(name);
  }

  owned(type: ts.Type, depth = 0): Owned | null {
    const known = this.byType.get(type);
    if (known !== undefined) return known;
    this.byType.set(type, null); // a type that contains itself owns nothing through itself
    const found = this.classify(type, depth);
    if (found === null && depth > 0)
      this.byType.delete(type); // asked from too far away, perhaps
    else this.byType.set(type, found);
    return found;
  }

  private classify(type: ts.Type, depth: number): Owned | null {
    if (type.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown | ts.TypeFlags.Never | primitive))
      return null;
    if (type.isUnion()) return this.union(type, depth);
    if (type.isIntersection())
      return type.types.map((t) => this.owned(t, depth)).find((o) => o !== null) ?? null;
    if (type.flags & ts.TypeFlags.TypeParameter) {
      const bound = this.checker.getBaseConstraintOfType(type);
      return bound && bound !== type ? this.owned(bound, depth) : null;
    }
    if (!(type.flags & ts.TypeFlags.Object) || depth > 3) return null;
    const owner = this.singleOwner(type);
    if (owner) return { owner, shape: "one", nullable: false, fields: [] };
    return this.container(type, depth);
  }

  private union(type: ts.UnionType, depth: number): Owned | null {
    const rest = type.types.filter(
      (t) => !(t.flags & (ts.TypeFlags.Null | ts.TypeFlags.Undefined | ts.TypeFlags.Void)),
    );
    const owned = rest.map((t) => this.owned(t, depth));
    const first = owned[0];
    if (!first || owned.some((o) => o?.owner !== first.owner)) return null;
    const shape = owned.every((o) => o?.shape === first.shape) ? first.shape : "many";
    return {
      owner: first.owner,
      shape,
      nullable: rest.length < type.types.length,
      fields: first.fields,
    };
  }

  private container(type: ts.Type, depth: number): Owned | null {
    const { checker } = this;
    const many = (inner: ts.Type | undefined): Owned | null => {
      const found = inner ? this.owned(inner, depth + 1) : null;
      return found && { owner: found.owner, shape: "many", nullable: false, fields: [] };
    };
    if (checker.isArrayType(type) || checker.isTupleType(type)) {
      const args = checker.getTypeArguments(type as ts.TypeReference);
      if (!checker.isTupleType(type) || args.length === 0) return many(args[0]);
      const each = args.map((t) => this.owned(t, depth + 1));
      const first = each[0];
      return first && each.every((o) => o?.owner === first.owner)
        ? { ...first, shape: "many", fields: [], nullable: false }
        : null;
    }
    const name = type.symbol?.name as string | undefined;
    if (name === "Promise" || name === "PromiseLike")
      return this.owned(checker.getTypeArguments(type as ts.TypeReference)[0] ?? type, depth);
    if (name === "Map" || name === "ReadonlyMap")
      return many(checker.getTypeArguments(type as ts.TypeReference)[1]);
    if (name === "Set" || name === "ReadonlySet")
      return many(checker.getTypeArguments(type as ts.TypeReference)[0]);
    if (type.getCallSignatures().length > 0 || type.getConstructSignatures().length > 0)
      return null;
    const index = type.getStringIndexType();
    if (index) return many(index);
    return this.record(type, depth);
  }

  private record(type: ts.Type, depth: number): Owned | null {
    const declaration = type.symbol?.declarations?.[0];
    if (!declaration || depth > 1) return null;
    if (
      !ts.isTypeLiteralNode(declaration) &&
      !ts.isObjectLiteralExpression(declaration) &&
      !ts.isInterfaceDeclaration(declaration)
    )
      return null;
    if (this.isBuiltin(declaration.getSourceFile())) return null;
    const properties = type.getProperties();
    if (properties.length === 0 || properties.length > 16) return null;
    const fields = new Map<Owner, string[]>();
    for (const property of properties) {
      if (property.flags & (ts.SymbolFlags.Method | ts.SymbolFlags.Accessor)) return null;
      const found = this.owned(this.checker.getTypeOfSymbol(property), depth + 1);
      if (found) fields.set(found.owner, [...(fields.get(found.owner) ?? []), property.name]);
    }
    // of several families, the one named first
    const owner = this.settings.owners.find((o) => fields.has(o));
    return owner
      ? { owner, shape: "record", nullable: false, fields: fields.get(owner) ?? [] }
      : null;
  }

  private singleOwner(type: ts.Type): Owner | undefined {
    const symbol = type.symbol as ts.Symbol | undefined;
    if (!symbol) return undefined;
    for (const owner of this.settings.owners) {
      if (
        Array.isArray(owner.types)
          ? this.named(type, owner, owner.types)
          : this.disposable(type, owner.types.disposable)
      )
        return owner;
    }
    return this.settings.holder && isHolder(this, symbol) ? this.settings.holder : undefined;
  }

  private named(type: ts.Type, owner: Owner, specifiers: Specifier[]): boolean {
    const symbol = type.symbol;
    if ((this.memberNames.get(symbol.name) ?? []).includes(owner)) {
      const file = symbol.declarations?.[0]?.getSourceFile();
      if (file && specifiers.some((s) => this.matches(s, symbol.name, file))) return true;
      if (owner.brand.length > 0 && owner.brand.every((m) => type.getProperty(m) !== undefined))
        return true;
    }
    if (!type.isClassOrInterface() && !(type as ts.TypeReference).target) return false;
    const bases = type.isClassOrInterface()
      ? this.checker.getBaseTypes(type)
      : this.checker.getBaseTypes((type as ts.TypeReference).target);
    return bases.some(
      (base) => base.symbol !== undefined && base !== type && this.named(base, owner, specifiers),
    );
  }

  private disposable(type: ts.Type, kind: "sync" | "async" | "any"): boolean {
    const declaration = type.symbol.declarations?.[0];
    const builtin = declaration && this.isBuiltin(declaration.getSourceFile());
    // Iterators and timers are Disposable too, but nobody is expected to dispose them.
    if (builtin && !/^(Async)?DisposableStack$/.test(type.symbol.name)) return false;
    if (/^(Timeout|Immediate|Timer)$/.test(type.symbol.name)) return false;
    return (
      (kind !== "async" && hasWellKnown(type, "dispose")) ||
      (kind !== "sync" && hasWellKnown(type, "asyncDispose"))
    );
  }

  /** Whether `using` (or `await using`) accepts the value an expression gives. */
  usingKind(node: ts.Node): "using" | "await using" | null {
    const type = this.checker.getNonNullableType(this.checker.getTypeAtLocation(node));
    const all = type.isUnion() ? type.types : [type];
    const inner = all.map((t) =>
      t.symbol?.name === "Promise"
        ? (this.checker.getTypeArguments(t as ts.TypeReference)[0] ?? t)
        : t,
    );
    if (inner.every((t) => hasWellKnown(t, "dispose"))) return "using";
    return inner.every((t) => hasWellKnown(t, "asyncDispose")) ? "await using" : null;
  }

  /** A type as the user would write it, for messages and inserted annotations. */
  typeText(node: ts.Node): string {
    return this.checker.typeToString(
      this.checker.getTypeAtLocation(node),
      node,
      ts.TypeFormatFlags.NoTruncation,
    );
  }

  isNumberLike(node: ts.Node): boolean {
    return (
      (this.checker.getTypeAtLocation(node).flags &
        (ts.TypeFlags.NumberLike | ts.TypeFlags.BooleanLike | ts.TypeFlags.StringLike)) !==
      0
    );
  }

  // ---- names ----

  /** The symbol a name refers to, through imports. */
  symbolAt(node: ts.Node): ts.Symbol | undefined {
    const known = this.bySymbol.get(node);
    if (known !== undefined) return known ?? undefined;
    let symbol =
      ts.isShorthandPropertyAssignment(node.parent) && node.parent.name === node
        ? this.checker.getShorthandAssignmentValueSymbol(node.parent)
        : this.checker.getSymbolAtLocation(node);
    if (symbol && symbol.flags & ts.SymbolFlags.Alias)
      symbol = this.checker.getAliasedSymbol(symbol);
    this.bySymbol.set(node, symbol ?? null);
    return symbol;
  }

  /**
   * Compare by declaration, never by symbol: symbols seen through `this.x` are transient copies.
   */
  declarationAt(node: ts.Node): ts.Declaration | undefined {
    const symbol = this.symbolAt(node);
    return symbol?.valueDeclaration ?? symbol?.declarations?.[0];
  }

  /** What a call calls. */
  callee(call: CallLike): Callee {
    const known = this.callees.get(call);
    if (known) return known;
    const found = this.resolveCallee(call);
    this.callees.set(call, found);
    return found;
  }

  private resolveCallee(call: CallLike): Callee {
    const target = skipWrappers(call.expression);
    const nameNode = ts.isPropertyAccessExpression(target)
      ? target.name
      : ts.isIdentifier(target)
        ? target
        : undefined;
    const receiver =
      ts.isPropertyAccessExpression(target) || ts.isElementAccessExpression(target)
        ? target.expression
        : undefined;
    const symbol = nameNode && this.symbolAt(nameNode);
    let declarations = symbol?.declarations ?? [];
    if (ts.isNewExpression(call)) declarations = this.constructors(declarations);
    const body = hasBody(target) ? target : declarations.map(bodyOf).find((b) => b !== undefined);
    const declaration = body ?? symbol?.valueDeclaration ?? declarations[0];
    const file = declaration?.getSourceFile();
    return {
      name: nameNode?.text ?? "",
      receiver,
      declaration,
      body,
      tags: declarations.map((d) => this.tags(d)).find((t) => t !== noTags) ?? noTags,
      package: file ? this.packageOf(file) : "",
      builtin: file ? this.isBuiltin(file) : false,
      member: declaration && this.memberOwner(declaration),
    };
  }

  private constructors(declarations: readonly ts.Declaration[]): ts.Declaration[] {
    const found: ts.Declaration[] = [];
    for (const declaration of declarations) {
      let current: ts.ClassLikeDeclaration | undefined = ts.isClassLike(declaration)
        ? declaration
        : undefined;
      for (let hops = 0; current && hops < 8; hops++) {
        const constructor: ts.Declaration | undefined = current.members.find(
          (m) => ts.isConstructorDeclaration(m) && m.body !== undefined,
        );
        if (constructor) {
          found.push(constructor);
          break;
        }
        const base = current.heritageClauses?.find((h) => h.token === ts.SyntaxKind.ExtendsKeyword)
          ?.types[0]?.expression;
        const parent: ts.Declaration | undefined =
          base && this.declarationAt(ts.isPropertyAccessExpression(base) ? base.name : base);
        if (!parent || !ts.isClassLike(parent)) {
          found.push(current);
          break;
        }
        current = parent;
      }
    }
    return found.length > 0 ? found : [...declarations];
  }

  private memberOwner(declaration: ts.Declaration): Owner | undefined {
    const holder = declaration.parent as ts.Node | undefined;
    if (!holder || !(ts.isClassLike(holder) || ts.isInterfaceDeclaration(holder)) || !holder.name)
      return undefined;
    const owners = this.memberNames.get(holder.name.text);
    if (!owners) return undefined;
    const found = this.owned(this.checker.getTypeAtLocation(holder));
    return found?.shape === "one" ? found.owner : undefined;
  }

  tags(declaration: ts.Node): Tags {
    let found = this.tagsOf.get(declaration);
    if (!found) this.tagsOf.set(declaration, (found = readTags(declaration) ?? noTags));
    return found;
  }

  // ---- packages ----

  isBuiltin(file: ts.SourceFile): boolean {
    return (
      this.program.isSourceFileDefaultLibrary(file) ||
      /[\\/]node_modules[\\/]@types[\\/]node[\\/]/.test(file.fileName)
    );
  }

  /** The npm package a file belongs to: its nearest package.json, found once per folder. */
  packageOf(file: ts.SourceFile): string {
    return this.packageAt(file.fileName.replace(/[\\/][^\\/]*$/, "")).name;
  }

  /** The folder of that package.json; empty when there is none. */
  folderOf(file: ts.SourceFile): string {
    return this.packageAt(file.fileName.replace(/[\\/][^\\/]*$/, "")).folder;
  }

  private packageAt(folder: string): { name: string; folder: string } {
    const known = this.packages.get(folder);
    if (known !== undefined) return known;
    let name = "";
    const text = ts.sys.readFile(`${folder}/package.json`);
    if (text !== undefined) {
      try {
        const parsed = JSON.parse(text) as { name?: unknown };
        if (typeof parsed.name === "string") name = parsed.name;
      } catch {
        name = ""; // a broken package.json names nothing; the folder above may
      }
    }
    const above = folder.replace(/[\\/][^\\/]*$/, "");
    const found =
      name === "" && above !== folder && above !== ""
        ? this.packageAt(above)
        : { name, folder: name === "" ? "" : folder };
    this.packages.set(folder, found);
    return found;
  }

  matches(specifier: Specifier, name: string, file: ts.SourceFile): boolean {
    const names = specifier.name;
    if (
      !(typeof names === "string"
        ? nameMatches(names, name)
        : names.some((n) => nameMatches(n, name)))
    )
      return false;
    if (specifier.from === "lib") return this.isBuiltin(file);
    if (specifier.from === "file" || specifier.path !== undefined) {
      return specifier.path === undefined
        ? !file.isDeclarationFile
        : file.fileName.endsWith(specifier.path.replace(/^\.\//, ""));
    }
    if (specifier.package === undefined) return true;
    const found = this.packageOf(file);
    return (
      found === specifier.package ||
      found === `@types/${specifier.package.replace(/^@/, "").replace("/", "__")}` ||
      ambientModules(file).includes(specifier.package)
    );
  }

  /**
   * Whether a callee is one of those an owner names. A bare name means: declared by the owner's
   * library, not by the user's own code.
   */
  is(callee: Callee, list: readonly CalleeSpecifier[], owner: Owner): boolean {
    if (callee.name === "") return false;
    for (const specifier of list) {
      if (typeof specifier !== "string") {
        const file = callee.declaration?.getSourceFile();
        if (
          file
            ? this.matches(specifier, callee.name, file)
            : nameMatches(typeof specifier.name === "string" ? specifier.name : "", callee.name)
        )
          return true;
      } else if (nameMatches(specifier, callee.name) && this.fromLibrary(callee, owner))
        return true;
    }
    return false;
  }

  /** Whether a function is declared by the library an owner's types come from. */
  fromLibrary(callee: Callee, owner: Owner): boolean {
    if (callee.member === owner) return true;
    const file = callee.declaration?.getSourceFile();
    if (!file || callee.builtin) return owner.policy === "generic" && !file;
    if (inLibrary(owner, callee.package) || ambientModules(file).some((m) => inLibrary(owner, m)))
      return true;
    if (owner.policy === "generic") return true;
    return file.isDeclarationFile && declaresBrand(this, file, owner);
  }
}

const holders = new WeakMap<ts.ClassLikeDeclaration, WeakMap<Oracle, boolean>>();
/** A class of the program that keeps owned values in fields and has a method that frees them. */
function isHolder(oracle: Oracle, symbol: ts.Symbol): boolean {
  const node = symbol.valueDeclaration;
  if (!node || !ts.isClassLike(node) || node.getSourceFile().isDeclarationFile) return false;
  let known = holders.get(node);
  if (!known) holders.set(node, (known = new WeakMap()));
  let found = known.get(oracle);
  if (found === undefined) {
    known.set(oracle, false); // a class that holds itself is decided by what else it holds
    known.set(oracle, (found = holds(oracle, node)));
  }
  return found;
}

function holds(oracle: Oracle, node: ts.ClassLikeDeclaration): boolean {
  const bodies = new Map(
    node.members.flatMap((m) =>
      ts.isMethodDeclaration(m) && m.body ? [[m.name.getText(), m.body] as const] : [],
    ),
  );
  const ends = ["dispose", "[Symbol.dispose]", "[Symbol.asyncDispose]"].flatMap(
    (name) => bodies.get(name) ?? [],
  );
  if (ends.length === 0) return false;
  const owned = (name: ts.Node): boolean => {
    const found = oracle.ownedAt(name);
    return found !== null && Array.isArray(found.owner.types) && found.shape !== "record";
  };
  const fields = new Set(
    node.members
      .filter(
        (m) =>
          ts.isPropertyDeclaration(m) &&
          !(ts.getCombinedModifierFlags(m) & ts.ModifierFlags.Static) &&
          owned(m.name),
      )
      .map((m) => m.name!.getText()),
  );
  for (const m of node.members)
    if (ts.isConstructorDeclaration(m))
      for (const p of m.parameters)
        if (ts.isParameterPropertyDeclaration(p, m) && owned(p.name)) fields.add(p.name.getText());
  if (fields.size === 0) return false;
  const seen = new Set<ts.Node>();
  const reads = (body: ts.Node): boolean => {
    if (seen.has(body)) return false;
    seen.add(body);
    const visit = (n: ts.Node): boolean => {
      const own =
        ts.isPropertyAccessExpression(n) && n.expression.kind === ts.SyntaxKind.ThisKeyword
          ? n.name.text
          : undefined;
      if (own !== undefined) {
        const next = bodies.get(own);
        if (fields.has(own) || (next && reads(next))) return true;
      }
      return ts.forEachChild(n, (c) => visit(c) || undefined) ?? false;
    };
    return visit(body);
  };
  return ends.some(reads);
}

const skipWrappers = (node: ts.Expression): ts.Expression => {
  while (
    ts.isParenthesizedExpression(node) ||
    ts.isNonNullExpression(node) ||
    ts.isAsExpression(node)
  )
    node = node.expression;
  return node;
};

function bodyOf(declaration: ts.Declaration): FunctionWithBody | undefined {
  if (hasBody(declaration)) return declaration;
  if (
    (ts.isVariableDeclaration(declaration) ||
      ts.isPropertyDeclaration(declaration) ||
      ts.isPropertyAssignment(declaration)) &&
    declaration.initializer
  ) {
    if (
      ts.isVariableDeclaration(declaration) &&
      !(ts.getCombinedNodeFlags(declaration) & ts.NodeFlags.Const)
    )
      return undefined;
    const value = unwrap(declaration.initializer);
    return hasBody(value) ? value : undefined;
  }
  return undefined;
}

/** Whether a type has the member of a well-known symbol; union members must be asked one by one. */
export const hasWellKnown = (type: ts.Type, name: "dispose" | "asyncDispose"): boolean =>
  type
    .getProperties()
    .some(
      (p) =>
        (p.escapedName as string).startsWith(`__@${name}@`) ||
        (p.escapedName as string) === `__@${name}`,
    );

const nameMatches = (pattern: string, name: string): boolean =>
  pattern.endsWith("*")
    ? name.startsWith(pattern.slice(0, -1)) &&
      /^[A-Z_]?/.test(name.slice(pattern.length - 1)) &&
      !/^[a-z]/.test(name.slice(pattern.length - 1))
    : pattern === name;

const ambient = new WeakMap<ts.SourceFile, string[]>();
function ambientModules(file: ts.SourceFile): string[] {
  let found = ambient.get(file);
  if (!found) {
    found = file.statements
      .filter(ts.isModuleDeclaration)
      .map((m) => m.name)
      .filter(ts.isStringLiteral)
      .map((n) => n.text);
    ambient.set(file, found);
  }
  return found;
}

const inLibrary = (owner: Owner, name: string): boolean =>
  (Array.isArray(owner.types) && owner.types.some((s) => s.package === name)) ||
  owner.library.some((l) => (l.endsWith("*") ? name.startsWith(l.slice(0, -1)) : l === name));

const brandFiles = new WeakMap<ts.SourceFile, Map<Owner, boolean>>();
/**
 * A declaration file that itself declares a type of the owner's brand: the library in another
 * dress.
 */
function declaresBrand(oracle: Oracle, file: ts.SourceFile, owner: Owner): boolean {
  const known = brandFiles.get(file)?.get(owner);
  if (known !== undefined) return known;
  const names = Array.isArray(owner.types) ? owner.types.flatMap((s) => s.name) : [];
  const found = file.statements.some(
    (s) =>
      (ts.isClassDeclaration(s) || ts.isInterfaceDeclaration(s)) &&
      s.name !== undefined &&
      names.includes(s.name.text) &&
      oracle.owned(oracle.checker.getTypeAtLocation(s))?.owner === owner,
  );
  const map = brandFiles.get(file) ?? new Map<Owner, boolean>();
  brandFiles.set(file, map.set(owner, found));
  return found;
}
