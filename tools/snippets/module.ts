/**
 * Makes a module of a snippet: adds the imports that its page leaves out, and remembers which line
 * of the module is which line of the page. Called by the snippet test; owns nothing.
 */
import ts from "typescript";
import type { Snippet } from "./read.ts";

/** A module that the compiler and Node understand. */
export interface SnippetModule {
  readonly snippet: Snippet;
  readonly text: string;
  /** Lines of the page, in the order of the module's; 0 for a line that was added. */
  readonly lines: readonly number[];
}

/** Where names come from that a snippet uses and does not declare, by name. */
export interface Surroundings {
  /** What every page may take for granted, from which module. */
  readonly given: ReadonlyMap<string, string>;
  /** What a docstring needs not import, from which entry point. */
  readonly exports: ReadonlyMap<string, string>;
}

/** The modules of one file's snippets, in order. */
export function modulesOf(
  snippets: readonly Snippet[],
  { given, exports }: Surroundings,
): SnippetModule[] {
  const modules: SnippetModule[] = [];
  const imported = new Map<string, string>(); // by the page's earlier snippets: name → import
  let last: readonly Line[] = [];
  for (const snippet of snippets) {
    const own = linesOf(snippet);
    const all: readonly Line[] = snippet.continues ? [...last, ...own] : own;
    const code = all.map((line) => line.text).join("\n");
    const { declared, used, imports } = namesIn(code);
    const missing = [...used].filter((name) => !declared.has(name));
    const added = missing.flatMap((name) => {
      const known = imported.get(name);
      if (known !== undefined) return [known];
      const from = given.get(name) ?? (snippet.bare ? exports.get(name) : undefined);
      return from === undefined ? [] : [`import { ${name} } from "${from}";`];
    });
    for (const [name, statement] of imports) imported.set(name, statement);
    last = all;
    modules.push({
      snippet,
      text: `${added.join(" ")}\n${code}\nexport {};\n`,
      lines: [0, ...all.map((line) => line.at), 0],
    });
  }
  return modules;
}

interface Line {
  readonly text: string;
  readonly at: number;
}

function linesOf({ code, line }: Snippet): Line[] {
  return code.split("\n").map((text, index) => ({ text, at: line + index }));
}

interface Names {
  /** At the top of the module, imports included. */
  readonly declared: ReadonlySet<string>;
  /** Every identifier that is not the name of a property. */
  readonly used: ReadonlySet<string>;
  /** What it imports, each with an import of its own. */
  readonly imports: ReadonlyMap<string, string>;
}

function namesIn(code: string): Names {
  const declared = new Set<string>();
  const used = new Set<string>();
  const imports = new Map<string, string>();
  const file = ts.createSourceFile("snippet.ts", code, ts.ScriptTarget.ESNext, true);
  const bind = (name: ts.BindingName): void => {
    if (ts.isIdentifier(name)) declared.add(name.text);
    else for (const item of name.elements) if (ts.isBindingElement(item)) bind(item.name);
  };
  for (const statement of file.statements) {
    if (ts.isVariableStatement(statement))
      for (const { name } of statement.declarationList.declarations) bind(name);
    else if (ts.isImportDeclaration(statement)) readImports(statement, imports);
    else if (isNamed(statement) && statement.name !== undefined) declared.add(statement.name.text);
  }
  for (const name of imports.keys()) declared.add(name);
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) && !isProperty(node)) used.add(node.text);
    ts.forEachChild(node, visit);
  };
  visit(file);
  return { declared, used, imports };
}

/** The name of a property: `a.name`, `{ name: 1 }`, `const { name: a } = b`. */
function isProperty(node: ts.Identifier): boolean {
  const { parent } = node;
  return (
    (ts.isPropertyAccessExpression(parent) && parent.name === node) ||
    (ts.isPropertyAssignment(parent) && parent.name === node) ||
    (ts.isBindingElement(parent) && parent.propertyName === node)
  );
}

type Named = ts.FunctionDeclaration | ts.ClassDeclaration | ts.InterfaceDeclaration;

function isNamed(node: ts.Node): node is Named | ts.TypeAliasDeclaration {
  return (
    ts.isFunctionDeclaration(node) ||
    ts.isClassDeclaration(node) ||
    ts.isInterfaceDeclaration(node) ||
    ts.isTypeAliasDeclaration(node)
  );
}

/** One import for each name of a statement. */
function readImports(statement: ts.ImportDeclaration, into: Map<string, string>): void {
  const { importClause: clause } = statement;
  const from = statement.moduleSpecifier.getText();
  if (clause === undefined) return;
  const word = clause.phaseModifier === ts.SyntaxKind.TypeKeyword ? "import type" : "import";
  if (clause.name !== undefined)
    into.set(clause.name.text, `${word} ${clause.name.text} from ${from};`);
  const { namedBindings: bindings } = clause;
  if (bindings === undefined) return;
  if (ts.isNamespaceImport(bindings))
    into.set(bindings.name.text, `${word} ${bindings.getText()} from ${from};`);
  else
    for (const item of bindings.elements)
      into.set(item.name.text, `${word} { ${item.getText()} } from ${from};`);
}
