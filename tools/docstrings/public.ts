/**
 * What users can call or read, with its docstring: the exports of entry points and the public
 * members of their classes, interfaces and objects. Called by the docstring check; owns nothing.
 */
import ts from "typescript";

/** Something public, at the place where it is declared. */
export interface PublicName {
  /** `Tensor.matmul`, `zeros`. */
  readonly name: string;
  /** All of its overloads; only the first has to be documented. */
  readonly declarations: readonly ts.Declaration[];
  /** Text and tags; a member that has none inherits them. */
  readonly text: string;
  /** Of a class, its own or the nearest above. */
  readonly constructors: readonly ts.Declaration[];
}

/** Everything public of some modules, each declaration once. */
export function publicNames(
  checker: ts.TypeChecker,
  modules: readonly ts.SourceFile[],
): PublicName[] {
  const found: PublicName[] = [];
  const seen = new Set<ts.Declaration>();
  const homes = new Set(modules.map(({ fileName }) => fileName.replace(/src\/.*/, "src/")));

  function add(name: string, symbol: ts.Symbol): boolean {
    const declarations = symbol.declarations ?? [];
    const [first] = declarations;
    if (first === undefined || seen.has(first) || isHidden(symbol, first)) return false;
    if (![...homes].some((home) => first.getSourceFile().fileName.startsWith(home))) return false;
    seen.add(first);
    const constructors = constructorsOf(checker, symbol);
    found.push({ name, declarations, text: textOf(checker, symbol), constructors });
    return true;
  }

  function visit(name: string, each: ts.Symbol): void {
    const symbol = each.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(each) : each;
    if (symbol.flags & ts.SymbolFlags.ValueModule) {
      for (const inner of checker.getExportsOfModule(symbol)) visit(`${name}.${inner.name}`, inner);
      return;
    }
    if (!add(name, symbol)) return;
    for (const member of membersOf(checker, symbol)) add(`${name}.${member.name}`, member);
  }

  for (const module of modules) {
    const symbol = checker.getSymbolAtLocation(module);
    if (symbol === undefined) throw new Error(`expected a module, got ${module.fileName}`);
    for (const each of checker.getExportsOfModule(symbol)) visit(each.name, each);
  }
  return found;
}

function membersOf(checker: ts.TypeChecker, symbol: ts.Symbol): ts.Symbol[] {
  const types: ts.Type[] = [];
  if (symbol.flags & (ts.SymbolFlags.Class | ts.SymbolFlags.Interface))
    types.push(checker.getDeclaredTypeOfSymbol(symbol));
  if (symbol.flags & (ts.SymbolFlags.Class | ts.SymbolFlags.Variable))
    types.push(checker.getTypeOfSymbol(symbol));
  return types.flatMap((type) => checker.getPropertiesOfType(type));
}

function constructorsOf(checker: ts.TypeChecker, symbol: ts.Symbol): ts.Declaration[] {
  if (!(symbol.flags & ts.SymbolFlags.Class)) return [];
  const signatures = checker.getTypeOfSymbol(symbol).getConstructSignatures();
  return signatures.flatMap(({ declaration }) => (declaration === undefined ? [] : [declaration]));
}

function isHidden(symbol: ts.Symbol, declaration: ts.Declaration): boolean {
  const hidden = ts.ModifierFlags.Private | ts.ModifierFlags.Protected;
  if (ts.getCombinedModifierFlags(declaration) & hidden) return true;
  const name = ts.getNameOfDeclaration(declaration);
  if (name !== undefined && ts.isPrivateIdentifier(name)) return true;
  if (symbol.name === "prototype") return true;
  return symbol.getJsDocTags().some((tag) => tag.name === "internal");
}

function textOf(checker: ts.TypeChecker, symbol: ts.Symbol): string {
  const tags = symbol.getJsDocTags(checker).map(({ name, text }) => {
    return `@${name} ${ts.displayPartsToString(text)}`;
  });
  return [ts.displayPartsToString(symbol.getDocumentationComment(checker)), ...tags].join("\n");
}
