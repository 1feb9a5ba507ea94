/**
 * Carriers: whether anything a file imports by name can give what somebody owns. A file may lead to
 * the library over files of which it takes a constant, a plain function or a shape of numbers, and
 * then holds nothing owned. Declarations are followed by the names in them, syntax only apart from
 * where an import leads; unsure means that it does. Used by `reach.ts`.
 */
import ts from "typescript";
import type { Facts } from "./facts.ts";
import type { Oracle } from "./oracle.ts";
import { assigns, isScript, rootOf } from "./syntax.ts";

/** What is asked about whole files and names. */
export interface Ways {
  /** Whether a file leads to a library, over any number of files. */
  leads(file: ts.SourceFile): boolean;
  /** Whether a name is that of a library's type, or of a library that is a global. */
  isName(name: string): boolean;
}

/** What is known of the declarations of one program. */
export class Carriers {
  readonly #oracle: Oracle;
  readonly #ways: Ways;
  readonly #plain = new Set<ts.Node>();
  readonly #owning = new Set<ts.Node>();
  #augmented: boolean | undefined;

  constructor(oracle: Oracle, ways: Ways) {
    this.#oracle = oracle;
    this.#ways = ways;
  }

  /** Whether a file names, over any number of declarations, what may give something owned. */
  of(file: ts.SourceFile): boolean {
    if (this.#plain.has(file)) return false;
    if (this.#owning.has(file)) return true;
    if (this.#isAugmented()) return true;
    const from = new Map<ts.Node, ts.Node | undefined>([[file, undefined]]);
    for (const unit of from.keys()) {
      const next = this.#owning.has(unit) ? null : this.#named(unit);
      if (next === null) {
        for (let at: ts.Node | undefined = unit; at; at = from.get(at)) this.#owning.add(at);
        return true;
      }
      for (const other of next)
        if (!this.#plain.has(other) && !from.has(other)) from.set(other, unit);
    }
    for (const unit of from.keys()) this.#plain.add(unit);
    return false;
  }

  /** The file of a declaration that gets more where the file runs. */
  #filled(declaration: ts.Declaration): ts.Node[] {
    const file = declaration.getSourceFile();
    const { name } = declaration as ts.NamedDeclaration;
    const isFilled = name && this.#oracle.facts.of(file, filledIn).has(name.getText(file));
    return isFilled ? [file] : [];
  }

  /** Whether a file of the project that leads to a library adds to what a module declares. */
  #isAugmented(): boolean {
    const { facts, program } = this.#oracle;
    return (this.#augmented ??= program
      .getSourceFiles()
      .some((f) => facts.of(f, augmentsModules) && this.#ways.leads(f)));
  }

  /** The declarations that one names; null where it may give what is owned. */
  #named(unit: ts.Node): ts.Node[] | null {
    const { facts } = this.#oracle;
    const file = unit.getSourceFile();
    if (this.#oracle.isBuiltin(file)) return [];
    if (file.isDeclarationFile || isScript(file)) return this.#ways.leads(file) ? null : [];
    const found: ts.Node[] = [];
    const { names, isOpen } = facts.of(unit, namesIn);
    if (isOpen) return null;
    const own = facts.of(file, declaredIn);
    for (const name of names) {
      if (this.#ways.isName(name)) return null;
      // what is put into a function or an object later, or stands in a block
      if (facts.of(file, filledIn).has(name)) found.push(file);
      for (const declared of own.get(name) ?? []) {
        if (!isImported(declared)) found.push(declared);
        else {
          const far = this.#oracle.symbolAt(declared)?.declarations ?? [];
          if (far.length === 0) return null;
          found.push(...far.map(unitOf), ...far.flatMap((d) => this.#filled(d)));
        }
      }
    }
    if (ts.isSourceFile(unit))
      for (const specifier of facts.of(unit, passedOn)) {
        const files = this.#oracle.filesOf(specifier);
        if (files.length === 0) return null;
        found.push(...files);
      }
    return found;
  }
}

/** What is followed for a declaration: a pattern's whole, and all of a file that says no more. */
function unitOf(declaration: ts.Declaration): ts.Node {
  const node = ts.isBindingElement(declaration)
    ? ts.walkUpBindingElementsAndPatterns(declaration)
    : declaration;
  return ts.isVariableDeclaration(node) && saysNothing(node) ? node.getSourceFile() : node;
}

/** `let model;`, `let model = null;`, `const all = [];`: what is put into it later tells. */
const saysNothing = ({ type, initializer }: ts.VariableDeclaration): boolean =>
  type === undefined &&
  (initializer === undefined || /^(null|undefined|\[\s*\])$/.test(initializer.getText()));

const isImported = (node: ts.Node): boolean =>
  ts.isIdentifier(node) &&
  (ts.isImportSpecifier(node.parent) ||
    ts.isImportClause(node.parent) ||
    ts.isNamespaceImport(node.parent) ||
    ts.isImportEqualsDeclaration(node.parent));

/** What stands at the top of a file by its name: declarations, and names of imports. */
function declaredIn(file: ts.SourceFile): ReadonlyMap<string, ts.Node[]> {
  const found = new Map<string, ts.Node[]>();
  const add = (name: string, node: ts.Node): void => {
    const list = found.get(name);
    if (list) list.push(node);
    else found.set(name, [node]);
  };
  const bind = (name: ts.BindingName, unit: ts.Node): void => {
    if (ts.isIdentifier(name)) add(name.text, unit);
    else for (const e of name.elements) if (!ts.isOmittedExpression(e)) bind(e.name, unit);
  };
  for (const s of file.statements) {
    if (ts.isImportDeclaration(s)) {
      const clause = s.importClause;
      if (clause?.name) add(clause.name.text, clause.name);
      const bindings = clause?.namedBindings;
      if (bindings && ts.isNamespaceImport(bindings)) add(bindings.name.text, bindings.name);
      else for (const e of bindings?.elements ?? []) add(e.name.text, e.name);
    } else if (ts.isImportEqualsDeclaration(s)) add(s.name.text, s.name);
    else if (ts.isVariableStatement(s))
      for (const d of s.declarationList.declarations) bind(d.name, unitOf(d));
    else if ("name" in s && s.name && ts.isIdentifier(s.name as ts.Node))
      add((s.name as ts.Identifier).text, s);
  }
  return found;
}

interface Names {
  names: ReadonlySet<string>;
  /** Something here may come from anywhere. */
  isOpen: boolean;
}

/** The names that tell what a declaration gives to those who use it. */
function namesIn(unit: ts.Node): Names {
  const names = new Set<string>();
  let isOpen = false;
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return;
    isOpen ||= comesFromAnywhere(node);
    if (ts.isIdentifier(node) && !isMemberName(node)) names.add(node.text);
    ts.forEachChild(node, visit);
  };
  visit(unit);
  return { names, isOpen };
}

/** `any`, and what is loaded where it is used. */
const comesFromAnywhere = (node: ts.Node): boolean =>
  node.kind === ts.SyntaxKind.AnyKeyword ||
  node.kind === ts.SyntaxKind.ImportKeyword ||
  ts.isImportTypeNode(node) ||
  (ts.isIdentifier(node) && node.text === "require");

/** `b` in `a.b`, in `{ b: x }` and in a member's declaration. */
function isMemberName(id: ts.Identifier): boolean {
  const { parent } = id;
  if (ts.isPropertyAccessExpression(parent)) return parent.name === id;
  if (ts.isQualifiedName(parent)) return parent.right === id;
  if (ts.isBindingElement(parent)) return parent.propertyName === id;
  return (
    (ts.isPropertyAssignment(parent) ||
      ts.isPropertySignature(parent) ||
      ts.isPropertyDeclaration(parent) ||
      ts.isMethodDeclaration(parent) ||
      ts.isMethodSignature(parent) ||
      ts.isEnumMember(parent)) &&
    parent.name === id
  );
}

/** The modules that a file passes on as its own. */
const passedOn = (file: ts.SourceFile): readonly ts.Expression[] =>
  file.statements.flatMap((s) =>
    ts.isExportDeclaration(s) && s.moduleSpecifier ? [s.moduleSpecifier] : [],
  );

/** Whether a module, not one of a package, declares more of what another one exports. */
const augmentsModules = (file: ts.SourceFile): boolean =>
  ts.isExternalModule(file) &&
  !/[\\/]node_modules[\\/]/.test(file.fileName) &&
  file.statements.some((s) => ts.isModuleDeclaration(s) && ts.isStringLiteral(s.name));

/** Names that get something beside their declarations: `tools.make = …`, `var` in a block. */
function filledIn(file: ts.SourceFile, facts: Facts): ReadonlySet<string> {
  const found = new Set<string>();
  const top = facts.of(file, declaredIn);
  const visit = (node: ts.Node): void => {
    if (ts.isBinaryExpression(node) && isMember(node.left) && assigns(node.operatorToken.kind)) {
      const root = rootOf(node.left);
      if (ts.isIdentifier(root) && top.has(root.text)) found.add(root.text);
    } else if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && isVar(node))
      found.add(node.name.text);
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

const isMember = (node: ts.Node): boolean =>
  ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node);

/** `var x`, in a block of a file or of a function. */
const isVar = ({ parent }: ts.VariableDeclaration): boolean =>
  ts.isVariableDeclarationList(parent) &&
  (parent.flags & ts.NodeFlags.BlockScoped) === 0 &&
  !ts.isSourceFile(parent.parent.parent);
