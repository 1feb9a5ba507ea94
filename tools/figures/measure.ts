/**
 * Measures one source file with TypeScript's parser: its lines and functions, its casts and
 * non-null assertions, its exports and how many of them are documented. Called by
 * `tools/figures.ts`; a pure function of path and text.
 */
import ts from "typescript";

/** The longest line that counts as readable, in columns. */
export const MAX_COLUMNS = 100;

/** A function, method, accessor or callback with a body. */
export interface MeasuredFunction {
  readonly name: string;
  /** Its first line, counted from 1. */
  readonly line: number;
  /** Lines from the first to the last, those of nested functions included. */
  readonly lines: number;
}

/** A place that somebody may want to look at, counted from line 1. */
export interface Place {
  readonly line: number;
  readonly what: string;
}

/** What one file amounts to. */
export interface FileFigures {
  readonly file: string;
  readonly lines: number;
  readonly functions: readonly MeasuredFunction[];
  readonly longLines: readonly Place[];
  /** `as X` and `<X>x`, but not `as const`; `as unknown as X` counts once. */
  readonly casts: number;
  readonly anyCasts: readonly Place[];
  readonly doubleCasts: readonly Place[];
  /** Postfix `!`. */
  readonly assertions: readonly Place[];
  readonly exports: number;
  readonly undocumented: readonly Place[];
}

/** Measures a file. The path decides how its text is read (TypeScript, JSX or JavaScript). */
export function measure(file: string, text: string): FileFigures {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ESNext, true);
  const lineOf = (position: number): number =>
    source.getLineAndCharacterOfPosition(position).line + 1;
  const functions: MeasuredFunction[] = [];
  const casts = new Casts(lineOf);
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && "body" in node && node.body !== undefined) {
      const line = lineOf(node.getStart(source));
      functions.push({ name: nameOf(node), line, lines: lineOf(node.getEnd()) - line + 1 });
    }
    casts.see(node);
    ts.forEachChild(node, visit);
  };
  visit(source);
  const exported = exportsOf(source);
  return {
    file,
    lines: text.trimEnd().split("\n").length,
    functions,
    longLines: longLines(text),
    casts: casts.count,
    anyCasts: casts.toAny,
    doubleCasts: casts.double,
    assertions: casts.assertions,
    exports: exported.size,
    undocumented: [...exported]
      .filter(([, { documented }]) => !documented)
      .map(([name, { position }]) => ({ line: lineOf(position), what: `export ${name}` })),
  };
}

/** Counts what a file claims about types without proof, node by node. */
class Casts {
  count = 0;
  readonly toAny: Place[] = [];
  readonly double: Place[] = [];
  readonly assertions: Place[] = [];
  readonly #lineOf: (position: number) => number;

  constructor(lineOf: (position: number) => number) {
    this.#lineOf = lineOf;
  }

  see(node: ts.Node): void {
    if (ts.isNonNullExpression(node)) this.assertions.push(this.#place(node, "!"));
    if (!isCast(node)) return;
    if (isCast(node.parent) && isUnknown(node.type)) return; // counted with the outer one
    this.count++;
    if (node.type.kind === ts.SyntaxKind.AnyKeyword) this.toAny.push(this.#place(node, "as any"));
    if (isCast(node.expression) && isUnknown(node.expression.type))
      this.double.push(this.#place(node, "as unknown as"));
  }

  #place(node: ts.Node, what: string): Place {
    return { line: this.#lineOf(node.getEnd()), what };
  }
}

/** `x as T` or `<T>x`, without `as const`. */
function isCast(node: ts.Node): node is ts.AsExpression | ts.TypeAssertion {
  return (ts.isAsExpression(node) || ts.isTypeAssertionExpression(node)) && !isConst(node.type);
}

function isConst(type: ts.TypeNode): boolean {
  return ts.isTypeReferenceNode(type) && type.typeName.getText() === "const";
}

function isUnknown(type: ts.TypeNode): boolean {
  return type.kind === ts.SyntaxKind.UnknownKeyword;
}

/** What to call a function in a list: its own name, or that of what it is given to. */
function nameOf(node: ts.SignatureDeclaration): string {
  if (ts.isConstructorDeclaration(node)) return "constructor";
  if (node.name !== undefined) return node.name.getText();
  const { parent } = node;
  if (ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent))
    return parent.name.getText();
  if (!ts.isCallExpression(parent)) return "(anonymous)";
  const [first] = parent.arguments;
  const title = first !== undefined && ts.isStringLiteralLike(first) ? `"${first.text}"` : "…";
  return `${parent.expression.getText()}(${title})`;
}

function longLines(text: string): Place[] {
  const places: Place[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    const columns = Array.from(line).length;
    if (columns > MAX_COLUMNS) places.push({ line: index + 1, what: `${columns} columns` });
  }
  return places;
}

interface Exported {
  position: number;
  documented: boolean;
}

/**
 * The names a file declares and exports. Overloads and merged declarations are one name, documented
 * when one of them is; what a file passes on from another file is not its own.
 */
function exportsOf(source: ts.SourceFile): Map<string, Exported> {
  const declared = new Map<string, Exported>();
  const exported = new Set<string>();
  for (const statement of source.statements) {
    for (const name of declaredNames(statement)) {
      const documented = ts.getJSDocCommentsAndTags(statement).length > 0;
      const before = declared.get(name);
      declared.set(name, {
        position: before?.position ?? statement.getStart(source),
        documented: documented || before?.documented === true,
      });
      if (isExported(statement)) exported.add(name);
    }
    for (const name of namedLater(statement)) exported.add(name);
  }
  return new Map([...declared].filter(([name]) => exported.has(name)));
}

function declaredNames(statement: ts.Statement): string[] {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.map(({ name }) => name.getText());
  if (
    ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement) ||
    ts.isEnumDeclaration(statement)
  )
    return [statement.name?.text ?? "default"];
  return ts.isExportAssignment(statement) ? ["default"] : [];
}

function isExported(statement: ts.Statement): boolean {
  if (ts.isExportAssignment(statement)) return true;
  const modifiers = ts.canHaveModifiers(statement) ? ts.getModifiers(statement) : undefined;
  return modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
}

/** Local names in `export { a, b as c }`. */
function namedLater(statement: ts.Statement): string[] {
  if (!ts.isExportDeclaration(statement) || statement.moduleSpecifier !== undefined) return [];
  const clause = statement.exportClause;
  if (clause === undefined || !ts.isNamedExports(clause)) return [];
  return clause.elements.map(({ name, propertyName }) => (propertyName ?? name).text);
}
