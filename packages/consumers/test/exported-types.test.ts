/**
 * Every type that a public signature mentions can be imported: read from the declarations in the
 * packed packages, as a user's editor reads them.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { pack, type PackageName, packages } from "../packed.ts";

const test = suite("exported types");

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
}

for (const name of Object.keys(packages) as PackageName[])
  test(`${name} exports every type that its signatures mention`, async () => {
    const { folder } = await pack(name);
    const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
    const entries = Object.values(manifest.exports).flatMap((entry) =>
      typeof entry === "string" ? [] : [join(folder, entry.types)],
    );
    assert.equal(hiddenTypes(folder, entries), []);
  });

/** What is mentioned in the signatures of a package's entry points and exported by none. */
function hiddenTypes(folder: string, entries: readonly string[]): string[] {
  const program = ts.createProgram([...entries], {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    lib: ["lib.es2023.d.ts", "lib.esnext.disposable.d.ts", "lib.dom.d.ts"],
    types: [],
  });
  const checker = program.getTypeChecker();
  const exported = new Set<ts.Symbol>();
  for (const entry of entries) {
    const source = program.getSourceFile(entry);
    const module = source && checker.getSymbolAtLocation(source);
    if (module === undefined) throw new Error(`expected a module, got ${entry}`);
    addExports(module);
  }
  const named = new Set([...exported].flatMap((symbol) => [symbol, ...renamed(checker, symbol)]));
  const hidden = new Map<ts.Symbol, string>();
  const seen = new Set<ts.Symbol>();
  for (const symbol of exported) visitSymbol(symbol, symbol.name);
  return [...hidden].map(([symbol, by]) => `${symbol.name}, by ${by}`).sort();

  /** What a module exports, and what the modules do that it exports as names. */
  function addExports(module: ts.Symbol): void {
    for (const each of checker.getExportsOfModule(module)) {
      const symbol = resolved(checker, each);
      if (symbol.flags & ts.SymbolFlags.ValueModule) addExports(symbol);
      else exported.add(symbol);
    }
  }

  function visitSymbol(symbol: ts.Symbol, by: string): void {
    if (seen.has(symbol)) return;
    seen.add(symbol);
    for (const declaration of symbol.declarations ?? []) visit(declaration, by);
  }

  function visit(node: ts.Node, by: string): void {
    if (isUnspeakable(node)) return;
    const mentioned = mentionedName(node);
    const symbol = mentioned && checker.getSymbolAtLocation(mentioned);
    // What is inherited counts as written here: nobody has to name where it comes from.
    if (symbol !== undefined && ts.isHeritageClause(node.parent))
      inherit(resolved(checker, symbol), by);
    else if (symbol !== undefined) note(resolved(checker, symbol), by);
    node.forEachChild((child) => {
      visit(child, by);
    });
  }

  function inherit(symbol: ts.Symbol, by: string): void {
    const [declaration] = symbol.declarations ?? [];
    if (declaration?.getSourceFile().fileName.startsWith(folder) !== true) return;
    if (seen.has(symbol)) return;
    seen.add(symbol);
    for (const { declarations = [] } of symbol.members?.values() ?? [])
      for (const member of declarations)
        if (!ts.isConstructorDeclaration(member)) visit(member, by);
    for (const each of symbol.declarations ?? [])
      if (ts.isClassDeclaration(each) || ts.isInterfaceDeclaration(each))
        for (const clause of each.heritageClauses ?? []) visit(clause, by);
  }

  function note(symbol: ts.Symbol, by: string): void {
    if (named.has(symbol) || symbol.flags & ts.SymbolFlags.TypeParameter) return;
    const [declaration] = symbol.declarations ?? [];
    if (declaration?.getSourceFile().fileName.startsWith(folder) !== true) return;
    if (ts.isClassElement(declaration) || ts.isTypeElement(declaration)) return;
    if (!hidden.has(symbol)) hidden.set(symbol, by);
  }
}

/** What an import leads to. */
function resolved(checker: ts.TypeChecker, symbol: ts.Symbol): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

/** Types that have a second name: `type A = B<C>` names B, `const a: B` names it `typeof a`. */
function renamed(checker: ts.TypeChecker, symbol: ts.Symbol): ts.Symbol[] {
  return (symbol.declarations ?? []).flatMap((declaration) => {
    if (!ts.isTypeAliasDeclaration(declaration) && !ts.isVariableDeclaration(declaration))
      return [];
    const { type } = declaration;
    const other =
      type && ts.isTypeReferenceNode(type) && checker.getSymbolAtLocation(type.typeName);
    return other === undefined || other === false ? [] : [resolved(checker, other)];
  });
}

/** A member under a symbol of ours, which nobody outside can say. */
function isUnspeakable(node: ts.Node): boolean {
  if (!ts.isClassElement(node) && !ts.isTypeElement(node)) return false;
  const { name } = node;
  if (name === undefined || !ts.isComputedPropertyName(name)) return false;
  return !name.expression.getText().startsWith("Symbol.");
}

/** The name of a type that a node mentions. */
function mentionedName(node: ts.Node): ts.Node | undefined {
  if (ts.isTypeReferenceNode(node)) return node.typeName;
  if (ts.isExpressionWithTypeArguments(node)) return node.expression;
  if (ts.isImportTypeNode(node)) return node.qualifier;
  return undefined;
}

test.run();
