/**
 * The checker: every question to TypeScript's type checker is asked here and nowhere else, so that
 * a new checker API touches one file. The oracle and its parts hold the one instance of a program;
 * rules speak to the oracle.
 */
import ts from "typescript";
import { declaredMember } from "./declared-member.ts";
import type { Questions } from "./questions.ts";
import { isScript, memberName } from "./syntax.ts";

const kinds = {
  object: ts.TypeFlags.Object,
  number: ts.TypeFlags.NumberLike,
  string: ts.TypeFlags.StringLike,
  anything: ts.TypeFlags.Any | ts.TypeFlags.Unknown | ts.TypeFlags.TypeParameter,
  nothing: ts.TypeFlags.Never,
} as const;

/** What the analysis may ask TypeScript about types and symbols. */
export class Checker implements Questions {
  /** The program the answers are about. */
  readonly program: ts.Program;
  readonly #checker: ts.TypeChecker;
  readonly #symbols = new Map<ts.Node, ts.Symbol | null>();
  /** Members whose declarations are being looked at. */
  readonly #asking = new Set<ts.Node>();
  readonly results = new Map<ts.Symbol, ts.Type | null>();
  readonly isOwner: (type: ts.Type) => boolean;

  /** `isOwner` tells a type that is that of one owned value, whatever its parameters are. */
  constructor(program: ts.Program, isOwner: (type: ts.Type) => boolean) {
    this.program = program;
    this.isOwner = isOwner;
    this.#checker = program.getTypeChecker();
  }

  // ---- types ----

  /** The type of an expression or name where it stands. */
  typeAt(node: ts.Node): ts.Type {
    return this.#checker.getTypeAtLocation(node);
  }
  /** The same without null and undefined. */
  presentTypeAt(node: ts.Node): ts.Type {
    return this.#checker.getNonNullableType(this.typeAt(node));
  }
  /** The type a type annotation names. */
  annotated(node: ts.TypeNode): ts.Type {
    return this.#checker.getTypeFromTypeNode(node);
  }
  /** The type of a property or variable symbol. */
  typeOf(symbol: ts.Symbol): ts.Type {
    return this.#checker.getTypeOfSymbol(symbol);
  }
  /** The instance type of a class symbol. */
  instanceOf(symbol: ts.Symbol): ts.Type {
    return this.#checker.getDeclaredTypeOfSymbol(symbol);
  }
  /** What a type parameter is bound to extend. */
  boundOf(type: ts.Type): ts.Type | undefined {
    return this.#checker.getBaseConstraintOfType(type);
  }
  /** The type arguments of a reference such as `Map<K, V>`. */
  argumentsOf(type: ts.Type): readonly ts.Type[] {
    return this.#checker.getTypeArguments(type as ts.TypeReference);
  }
  /** The classes and interfaces a class or interface extends, through a reference to it too. */
  basesOf(type: ts.Type): readonly ts.Type[] {
    const target: ts.Type = (type as Partial<ts.TypeReference>).target ?? type;
    return target.isClassOrInterface() ? this.#checker.getBaseTypes(target) : [];
  }
  /** What waiting for a promise gives; of anything else, itself. */
  awaited(type: ts.Type): ts.Type {
    return this.#checker.getAwaitedType(type) ?? type;
  }
  /** Whether a type is an array or a tuple. */
  isList(type: ts.Type): boolean {
    return this.#checker.isArrayType(type) || this.#checker.isTupleType(type);
  }
  /** Whether a type says nothing: `any`, and a promise or a list of it. */
  isUntyped(type: ts.Type): boolean {
    if (type.flags & ts.TypeFlags.Any) return true;
    const symbol = type.symbol as ts.Symbol | undefined;
    // a table that starts as `{}` in a script; its type goes by the variable once it is written to
    const first = symbol?.valueDeclaration;
    const isStarted = first && ts.isVariableDeclaration(first) && first.initializer;
    if (symbol && (symbol.flags & ts.SymbolFlags.ObjectLiteral || isStarted))
      return (
        type.getProperties().length === 0 &&
        (symbol.declarations?.some((d) => isScript(d.getSourceFile())) ?? false)
      );
    const isHolder =
      /^(Promise|Map|Set|\w*Iterator)$/.test(symbol?.name ?? "") || this.isList(type);
    const inner = isHolder ? this.argumentsOf(type).at(-1) : undefined;
    return inner !== undefined && this.isUntyped(inner);
  }
  /** The names of a class type and of everything it extends, nearest first. */
  ancestors(type: ts.Type): string[] {
    const names: string[] = [];
    let next: ts.Type | undefined = type;
    for (let hops = 0; next && hops < 10; hops++) {
      const symbol = next.symbol as ts.Symbol | undefined;
      names.push(symbol?.name ?? "");
      next = this.basesOf(next)[0];
    }
    return names;
  }
  /**
   * Whether an expression gives an object and no primitive, a number, who knows what, or null; or
   * one thing with elements, which a loop can go through.
   */
  gives(node: ts.Node, kind: keyof typeof kinds | "elements"): boolean {
    const type = this.presentTypeAt(node);
    if (kind === "elements") return !type.isUnion() && hasWellKnown(type, "iterator");
    const all = type.isUnion() && kind === "object" ? type.types : [type];
    return all.every((t) => (t.flags & kinds[kind]) !== 0);
  }
  /** Which `using` accepts what an expression gives, promises awaited. */
  usingKind(node: ts.Node): "using" | "await using" | null {
    const parts = this.#partsOf(node);
    if (parts.every((t) => hasWellKnown(t, "dispose"))) return "using";
    return parts.every((t) => hasWellKnown(t, "asyncDispose")) ? "await using" : null;
  }
  /**
   * Whether what an expression gives, promises awaited, has a member: `dispose`, or `@@dispose` for
   * that symbol. With `each`, what a list or table holds. Undefined where nobody knows.
   */
  hasMember(node: ts.Node, name: string, each: boolean): boolean | undefined {
    const parts = this.#partsOf(node).map((t) => (each ? this.#elementOf(t) : t));
    if (parts.some((t) => this.isAny(t))) return undefined;
    return parts.every((t) =>
      name === "@@dispose" || name === "@@asyncDispose"
        ? hasWellKnown(t, name === "@@dispose" ? "dispose" : "asyncDispose")
        : this.#checker.getPropertyOfType(t, name) !== undefined,
    );
  }
  /** The members of a union, promises awaited. */
  #partsOf(node: ts.Node): ts.Type[] {
    const type = this.presentTypeAt(node);
    return (type.isUnion() ? type.types : [type]).map((t) =>
      t.symbol?.name === "Promise" ? (this.argumentsOf(t)[0] ?? t) : t,
    );
  }
  /** What an array, a `Set` or a `Map` holds; of anything else, itself. */
  #elementOf(type: ts.Type): ts.Type {
    return hasWellKnown(type, "iterator") ? (this.argumentsOf(type).at(-1) ?? type) : type;
  }
  /** The name of what an expression gives, or of what its place wants, null left out. */
  typeName(node: ts.Node, wanted = false): string {
    const type = wanted
      ? this.#checker.getContextualType(node as ts.Expression)
      : this.typeAt(node);
    return type?.getNonNullableType().symbol?.name ?? "";
  }
  /** What declares the type of an expression or name: of each part of a union, promises awaited. */
  declarationsAt(node: ts.Node): readonly ts.Declaration[] {
    const type = this.awaited(this.presentTypeAt(node));
    const parts = type.isUnionOrIntersection() ? type.types : [type];
    return parts.flatMap((t) => (t.symbol as ts.Symbol | undefined)?.declarations ?? []);
  }
  /** Whether a type is `any`. */
  isAny(type: ts.Type): boolean {
    return (type.flags & ts.TypeFlags.Any) !== 0;
  }
  /** Whether a type is that of a function, or a part of it may be. */
  mayBeCalled(type: ts.Type): boolean {
    if (type.isUnion()) return type.types.some((part) => this.mayBeCalled(part));
    const symbol = type.symbol as ts.Symbol | undefined;
    return this.isAny(type) || type.getCallSignatures().length > 0 || symbol?.name === "Function";
  }
  /** Whether a type is a tuple. */
  isTuple(type: ts.Type): boolean {
    return this.#checker.isTupleType(type);
  }
  /** What a function gives back. */
  resultOf(fn: ts.SignatureDeclaration): ts.Type | undefined {
    return this.#checker.getSignatureFromDeclaration(fn)?.getReturnType();
  }
  /** A type as the user would write it at a node, for messages and inserted annotations. */
  textOf(node: ts.Node): string {
    return this.written(this.typeAt(node), node);
  }
  /** The result of a function as the user would write it, or nothing when there is none. */
  resultText(fn: ts.SignatureDeclaration): string | undefined {
    const type = this.resultOf(fn);
    return type && this.written(type, fn);
  }

  private written(type: ts.Type, at: ts.Node): string {
    return this.#checker.typeToString(type, at, ts.TypeFormatFlags.NoTruncation);
  }

  // ---- names ----

  /** The symbol a name refers to, through imports. */
  symbolAt(node: ts.Node): ts.Symbol | undefined {
    const known = this.#symbols.get(node);
    if (known !== undefined) return known ?? undefined;
    const symbol = this.#declared(node) ?? this.#asked(node);
    const found = symbol && this.throughAlias(symbol);
    this.#symbols.set(node, found ?? null);
    return found;
  }

  #declared(node: ts.Node): ts.Symbol | undefined {
    const { parent } = node;
    if (!ts.isPropertyAccessExpression(parent) || parent.name !== node) return undefined;
    if (this.#asking.has(node)) return undefined; // a variable made of itself
    this.#asking.add(node);
    try {
      return declaredMember(this, parent);
    } finally {
      this.#asking.delete(node);
    }
  }

  #asked(node: ts.Node): ts.Symbol | undefined {
    return ts.isShorthandPropertyAssignment(node.parent) && node.parent.name === node
      ? this.#checker.getShorthandAssignmentValueSymbol(node.parent)
      : this.#checker.getSymbolAtLocation(node);
  }

  /** The member of a type that has a name, through imports. */
  memberOf(type: ts.Type, name: string): ts.Symbol | undefined {
    const isNamed = ({ declarations = [] }: ts.Symbol): boolean =>
      declarations.some((d) => named(d) === name);
    const member = name.startsWith("@@")
      ? type.getProperties().find(isNamed)
      : this.#checker.getPropertyOfType(type, name);
    return member && this.throughAlias(member);
  }
  /** What a module exports under a name. */
  exportOf(module: ts.Symbol, name: string): ts.Symbol | undefined {
    return this.#checker.tryGetMemberInModuleExports(name, module);
  }

  /** The symbols a module exports, aliases resolved. */
  exportsOf(module: ts.Symbol): ts.Symbol[] {
    return this.#checker.getExportsOfModule(module).map((s) => this.throughAlias(s));
  }
  /** The names a module exports. */
  exportedNames(module: ts.Symbol): string[] {
    return this.#checker.getExportsOfModule(module).map((s) => s.name);
  }
  /** The module symbol of a file, or of the module an import or export names. */
  moduleAt(node: ts.SourceFile | ts.Expression): ts.Symbol | undefined {
    return this.#checker.getSymbolAtLocation(node);
  }

  private throughAlias(symbol: ts.Symbol): ts.Symbol {
    return symbol.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(symbol) : symbol;
  }
}

/** The name of a method or property, which may be a symbol. */
const named = (declaration: ts.Declaration): string | undefined =>
  (ts.isClassElement(declaration) || ts.isTypeElement(declaration)) && declaration.name
    ? memberName(declaration.name)
    : undefined;

/**
 * Whether a program was made by a TypeScript that numbers syntax and types as the one here does:
 * another version's answers would mean something else, and nobody would notice.
 */
export function isReadable(program: ts.Program, file: ts.SourceFile): boolean {
  if (file.kind !== ts.SyntaxKind.SourceFile) return false;
  const checker = program.getTypeChecker();
  return (
    checker.getStringType().flags === ts.TypeFlags.String &&
    checker.getNeverType().flags === ts.TypeFlags.Never
  );
}

/** Whether a type has the member of a well-known symbol; union members must be asked one by one. */
export const hasWellKnown = (
  type: ts.Type,
  name: "dispose" | "asyncDispose" | "iterator",
): boolean =>
  type.getProperties().some(({ escapedName }) => {
    const written = escapedName as string;
    return written === `__@${name}` || written.startsWith(`__@${name}@`);
  });
