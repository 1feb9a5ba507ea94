/**
 * Text helpers of the fixes: indentation, free names, the statement a node stands in, imports. Pure
 * syntax; used by the files beside it.
 */
import ts from "typescript";
import type { Facts } from "../analysis/program/facts.ts";

/** One replacement of source text. */
export interface Edit {
  start: number;
  end: number;
  text: string;
}

/** The white space before the first token of a node's line. */
export function indentOf(node: ts.Node): string {
  const text = node.getSourceFile().text;
  const start = text.lastIndexOf("\n", node.getStart() - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start))?.[0] ?? "";
}

/** One level of indentation, as the file uses it. */
export function unitOf(file: ts.SourceFile): string {
  return (
    /\n(\t|  +)\S/
      .exec(file.text)?.[1]
      ?.replace(/^ {4,}$/, (s) => (s.length % 4 === 0 ? "    " : "  ")) ?? "  "
  );
}

/** The statement a node stands in, without crossing a function boundary. */
export function statementOf(node: ts.Node): ts.Statement | undefined {
  let current: ts.Node | undefined = node;
  while (current && !ts.isFunctionLike(current)) {
    if (ts.isStatement(current) && !ts.isBlock(current)) return current;
    current = current.parent;
  }
  return undefined;
}

/**
 * Where a statement stands: a block that takes more statements, a single-statement place that needs
 * braces, or a switch case.
 */
export function slotOf(statement: ts.Statement): "block" | "single" | "case" {
  const parent = statement.parent;
  if (ts.isBlock(parent) || ts.isSourceFile(parent) || ts.isModuleBlock(parent)) return "block";
  return ts.isCaseOrDefaultClause(parent) ? "case" : "single";
}

const reserved = new Set(
  (
    "break case catch class const continue debugger default delete do else enum export " +
    "extends false finally for function if import in instanceof " +
    "new null return super switch this throw true try typeof var void while with let " +
    "static yield await async implements interface package private protected public " +
    "arguments eval undefined"
  ).split(" "),
);
/** What people call the results of some methods; all others are named after the method. */
const habits: Record<string, string> = {
  argmax: "am",
  argMax: "am",
  to: "moved",
  cpu: "moved",
  constructor: "made",
};

function taken(file: ts.SourceFile): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (
      ts.isIdentifier(node) &&
      !(ts.isPropertyAccessExpression(node.parent) && node.parent.name === node)
    )
      names.add(node.text);
    ts.forEachChild(node, visit);
  };
  visit(file);
  return names;
}

/** Hands out names that nothing visible in the file uses. */
export class Names {
  private readonly used: Set<string>;
  constructor(facts: Facts, file: ts.SourceFile) {
    this.used = new Set(facts.of(file, taken));
  }

  pick(wish: string): string {
    let base = habits[wish] ?? wish.replace(/^#/, "").replace(/_+$/, "");
    if (base === "" || reserved.has(base) || !/^[A-Za-z_$][\w$]*$/.test(base))
      base =
        base === "" || !/^[A-Za-z_$]/.test(base) ? "value" : `${base.replace(/[^\w$]/g, "")}Value`;
    base = base.charAt(0).toLowerCase() + base.slice(1);
    let name = base;
    for (let i = 2; this.used.has(name); i++) name = `${base}${i}`;
    this.used.add(name);
    return name;
  }
}

/** The method or function name of a call, or a property's name. */
export function nameOfValue(node: ts.Expression): string {
  const target = ts.isCallExpression(node) || ts.isNewExpression(node) ? node.expression : node;
  if (ts.isPropertyAccessExpression(target)) return target.name.text;
  return ts.isIdentifier(target) ? target.text : "value";
}

/** Source text between two positions with some ranges replaced; words stay apart. */
export function textWith(
  file: ts.SourceFile,
  start: number,
  end: number,
  edits: readonly Edit[],
): string {
  let out = "",
    at = start;
  for (const edit of [...edits]
    .filter((e) => e.start >= start && e.end <= end)
    .sort((a, b) => a.start - b.start)) {
    if (edit.start < at) continue;
    out = joined(joined(out, file.text.slice(at, edit.start)), edit.text);
    at = edit.end;
  }
  return joined(out, file.text.slice(at, end));
}

/** `f()as T` with a name for the call is `name as T`. */
const joined = (left: string, right: string): string =>
  /[\w$]$/.test(left) && /^[\w$]/.test(right) ? `${left} ${right}` : left + right;

/** Whether a piece of syntax contains, outside nested functions, a node of some kind. */
export function contains(root: ts.Node, test: (node: ts.Node) => boolean): boolean {
  const visit = (node: ts.Node): boolean =>
    test(node) ||
    (!ts.isFunctionLike(node) && (ts.forEachChild(node, (c) => visit(c) || undefined) ?? false));
  return visit(root);
}

/** `await`, `yield`, `break`, `continue` and `return` cannot move into a callback. */
export const isJump = (node: ts.Node): boolean =>
  ts.isAwaitExpression(node) ||
  ts.isYieldExpression(node) ||
  ts.isBreakOrContinueStatement(node) ||
  ts.isReturnStatement(node) ||
  (ts.isForOfStatement(node) && node.awaitModifier !== undefined);

/**
 * Indents every line but the first by one unit more; template literals are left alone by not
 * indenting at all when there is one.
 */
export function shift(text: string, unit: string): string {
  return text.includes("`") ? text : text.replace(/\n(?=[^\n])/g, `\n${unit}`);
}

/**
 * How a file can name an export of a module: already imported, through a namespace, or with an edit
 * that imports it.
 */
export function importName(
  file: ts.SourceFile,
  name: string,
  isModule: (specifier: string) => boolean,
  fallback: string | undefined,
): { local: string; edit: Edit | null } | null {
  const imports = file.statements
    .filter(ts.isImportDeclaration)
    .filter(
      (d) =>
        ts.isStringLiteral(d.moduleSpecifier) &&
        isModule(d.moduleSpecifier.text) &&
        d.importClause &&
        !/^import\s+type\b/.test(d.getText()),
    );
  for (const declaration of imports) {
    const bindings = declaration.importClause?.namedBindings;
    if (!bindings) continue;
    if (ts.isNamespaceImport(bindings))
      return { local: `${bindings.name.text}.${name}`, edit: null };
    const found = bindings.elements.find(
      (e) => (e.propertyName ?? e.name).text === name && !e.isTypeOnly,
    );
    if (found) return { local: found.name.text, edit: null };
  }
  if (taken(file).has(name)) return null;
  for (const declaration of imports) {
    const bindings = declaration.importClause?.namedBindings;
    if (!bindings || !ts.isNamedImports(bindings)) continue;
    const last = bindings.elements[bindings.elements.length - 1];
    if (last)
      return { local: name, edit: { start: last.getEnd(), end: last.getEnd(), text: `, ${name}` } };
  }
  if (fallback === undefined) return null;
  const quote = file.text.includes("from '") ? "'" : '"';
  const first = file.statements[0];
  const at = first ? first.getStart() : 0;
  return {
    local: name,
    edit: { start: at, end: at, text: `import { ${name} } from ${quote}${fallback}${quote};\n` },
  };
}
