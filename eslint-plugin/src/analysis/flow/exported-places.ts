/**
 * Exported places: variables, static fields and properties of a module's records that other files
 * can name. They own what they hold while all those files do is look at it. Used by `slots.ts`.
 */
import ts from "typescript";
import { sourcesFor } from "../program/call-index.ts";
import { isOfferedByName } from "../program/entry-points.ts";
import { accessesByName } from "../program/field-index.ts";
import { referencesTo } from "../program/references.ts";
import { isTarget } from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";

/** Whether others than its file give, keep or end what an exported variable or field holds. */
export const isSharedOut = (
  session: Session,
  declaration: ts.Declaration,
  name: ts.Identifier,
): boolean =>
  isOfferedByName(session.oracle, declaration) ||
  saidElsewhere(session, declaration, name).some((m) => isMore(session, m));

/** The same for a property of the record that an exported variable holds. */
export const isRecordSharedOut = (
  session: Session,
  record: ts.VariableDeclaration,
  name: ts.Identifier,
  key: string,
): boolean =>
  isOfferedByName(session.oracle, record) ||
  saidElsewhere(session, record, name).some(
    ({ parent: at }) =>
      !ts.isPropertyAccessExpression(at) || (at.name.text === key && isMore(session, at)),
  );

/** What other files say of a declaration, imports and exports under its own name left out. */
function saidElsewhere(
  { oracle }: Session,
  declaration: ts.Declaration,
  name: ts.Identifier,
): ts.Node[] {
  const own = declaration.getSourceFile();
  return sourcesFor(oracle, declaration).flatMap((file) => {
    if (file === own) return [];
    const accesses = (oracle.facts.of(file, accessesByName).get(name.text) ?? []).filter(
      (at) => oracle.declarationAt(at.name) === declaration,
    );
    const ids = referencesTo(oracle, declaration, name, file).filter(
      ({ parent }) => !isPassedOn(parent),
    );
    const renamed = oracle.facts.of(file, renamedHere).filter((at) => at.text === name.text);
    return [...accesses, ...ids, ...renamed];
  });
}

/** `app` of `import { app as other }` and of `export { app as other }`. */
const renamedHere = (file: ts.SourceFile): readonly ts.ModuleExportName[] =>
  file.statements.flatMap((statement) => {
    const clause = ts.isImportDeclaration(statement)
      ? statement.importClause?.namedBindings
      : ts.isExportDeclaration(statement)
        ? statement.exportClause
        : undefined;
    if (!clause || ts.isNamespaceImport(clause) || ts.isNamespaceExport(clause)) return [];
    return clause.elements.flatMap(({ propertyName }) => propertyName ?? []);
  });

/** `import { app }` and `export { app }`, under the same name. */
export const isPassedOn = (at: ts.Node): boolean =>
  (ts.isImportSpecifier(at) || ts.isExportSpecifier(at)) && !at.propertyName;

/** Whether a mention does more than look at what the place holds. */
const isMore = (session: Session, mention: ts.Node): boolean =>
  isTarget(mention) || !ts.isExpression(mention) || !onlyLooksAt(session.transfer(mention).effect);
