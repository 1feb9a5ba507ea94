/**
 * Reads what a source file imports, with TypeScript's parser. Called by the layer check and by the
 * test runner when it watches. A pure function.
 */
import { posix } from "node:path";
import ts from "typescript";

/** One import of a file. */
export interface Import {
  /** As written: `./shape.ts`, `node:fs`, `webgpu`. */
  readonly target: string;
  /** `dynamic` is `import(…)`; a type that is named by `import("…").X` is a `type`. */
  readonly kind: "value" | "type" | "dynamic";
}

/** Everything a file imports or passes on, in the order of its text. */
export function importsOf(source: ts.SourceFile): Import[] {
  const imports: Import[] = [];
  const visit = (node: ts.Node): void => {
    const found = importOf(node);
    if (found !== undefined) imports.push(found);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return imports;
}

/** The path that a relative import of `file` leads to. */
export function resolveImport(file: string, target: string): string {
  return posix.normalize(posix.join(posix.dirname(file), target));
}

function importOf(node: ts.Node): Import | undefined {
  if (ts.isImportDeclaration(node)) {
    const typed = node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
    return literal(node.moduleSpecifier, typed ? "type" : "value");
  }
  if (ts.isExportDeclaration(node))
    return literal(node.moduleSpecifier, node.isTypeOnly ? "type" : "value");
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
    return literal(node.argument.literal, "type");
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
    return literal(node.arguments[0], "dynamic");
  return undefined;
}

function literal(node: ts.Node | undefined, kind: Import["kind"]): Import | undefined {
  return node !== undefined && ts.isStringLiteralLike(node)
    ? { target: node.text, kind }
    : undefined;
}
