/**
 * Exported functions: whether code outside its file can name a function, in modules and in scripts.
 * Used by `scope-context.ts`, `call-sites.ts` and `runs-often.ts`.
 */
import ts from "typescript";
import type { Facts } from "./facts.ts";
import { bindingOf, isCommonExport } from "./call-sites.ts";
import { isPrivate, unwrap, valuesOf } from "./syntax.ts";

/**
 * Whether code outside the program can name a function: exported itself, or a non-private member of
 * an exported class.
 */
export function isExported(facts: Facts, fn: ts.Node): boolean {
  const holder: ts.Node =
    ts.isArrowFunction(fn) || ts.isFunctionExpression(fn) ? (bindingOf(fn) ?? fn) : fn;
  const member = ts.isClassLike(holder.parent) ? holder.parent : undefined;
  if (member && isPrivate(holder as ts.ClassElement)) return false;
  if (isCommonExport(fn.parent)) return true;
  const declaration = (member ?? holder) as ts.Declaration;
  if (ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.Export) return true;
  const name = (declaration as ts.NamedDeclaration).name;
  return (
    name !== undefined &&
    ts.isIdentifier(name) &&
    facts.of(declaration.getSourceFile(), exportedNames).has(name.text)
  );
}

/** The names in what a script exports: `f`, or those of `{ f, g: h }`. */
function namesGiven(value: ts.Expression): string[] {
  const given = unwrap(value);
  const values = ts.isObjectLiteralExpression(given) ? valuesOf(given) : [given];
  return values.map(unwrap).flatMap((v) => (ts.isIdentifier(v) ? [v.text] : []));
}

function exportedNames(file: ts.SourceFile): ReadonlySet<string> {
  const found = new Set<string>();
  for (const statement of file.statements) {
    if (
      ts.isExportDeclaration(statement) &&
      !statement.moduleSpecifier &&
      statement.exportClause &&
      ts.isNamedExports(statement.exportClause)
    ) {
      for (const e of statement.exportClause.elements) found.add((e.propertyName ?? e.name).text);
    }
    if (ts.isExportAssignment(statement)) {
      const value = unwrap(statement.expression);
      if (ts.isIdentifier(value)) found.add(value.text);
    }
    if (ts.isExpressionStatement(statement) && isCommonExport(statement.expression))
      for (const name of namesGiven(statement.expression.right)) found.add(name);
  }
  return found;
}
