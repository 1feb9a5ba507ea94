/**
 * Islands: the files of a program that imports join, over any number of files and in either
 * direction. Files of two islands never call each other. Used by `scope-reach.ts`.
 */
import ts from "typescript";
import { sourcesOf } from "./call-index.ts";
import type { Facts } from "./facts.ts";
import type { Session } from "../session.ts";

/** Files that reach each other, in a session. */
export interface Island {
  readonly session: Session;
  readonly files: ReadonlySet<ts.SourceFile>;
}

/** The island that a file is on. */
export function islandOf(session: Session, file: ts.SourceFile): Island {
  const { facts } = session.oracle;
  return facts.of(session, islandsOf).get(file) ?? { session, files: new Set([file]) };
}

function islandsOf(session: Session): ReadonlyMap<ts.SourceFile, Island> {
  const { facts, program } = session.oracle;
  const sources = facts.of(program, sourcesOf);
  const found = new Map<ts.SourceFile, Island>();
  if (!sources.every((file) => isApart(file) && facts.of(file, namesItsModules))) {
    const all = { session, files: new Set(sources) };
    for (const file of sources) found.set(file, all);
    return found;
  }
  const beside = neighbours(session, sources);
  for (const file of sources) {
    if (found.has(file)) continue;
    const files = new Set([file]);
    for (const next of files) for (const other of beside.get(next) ?? []) files.add(other);
    const island = { session, files };
    for (const next of files) found.set(next, island);
  }
  return found;
}

/** Whether nobody sees what a file declares without importing it. */
const isApart = (file: ts.SourceFile): boolean =>
  ts.isExternalModule(file) || file.statements.length === 0;

function neighbours(
  { oracle }: Session,
  sources: readonly ts.SourceFile[],
): ReadonlyMap<ts.SourceFile, ReadonlySet<ts.SourceFile>> {
  const beside = new Map(sources.map((file) => [file, new Set<ts.SourceFile>()]));
  for (const file of sources)
    for (const specifier of oracle.facts.of(file, modulesNamed))
      for (const other of oracle.filesOf(specifier)) {
        beside.get(file)?.add(other);
        beside.get(other)?.add(file);
      }
  for (const others of beside.values())
    for (const other of others) if (!beside.has(other)) others.delete(other);
  return beside;
}

/** What a file imports, now or later. */
function modulesNamed(file: ts.SourceFile, facts: Facts): readonly ts.Expression[] {
  const named = file.statements.flatMap((s) =>
    (ts.isImportDeclaration(s) || ts.isExportDeclaration(s)) && s.moduleSpecifier
      ? [s.moduleSpecifier]
      : [],
  );
  return [...named, ...loadsOf(file, facts)];
}

/** Whether every module that a file loads as it runs is one it names. */
const namesItsModules = (file: ts.SourceFile, facts: Facts): boolean =>
  loadsOf(file, facts).every((s) => ts.isStringLiteralLike(s)) &&
  !file.statements.some((s) => ts.isImportEqualsDeclaration(s));

const loadsOf = (file: ts.SourceFile, facts: Facts): readonly ts.Expression[] =>
  facts
    .calls(file)
    .filter(
      ({ expression }) =>
        expression.kind === ts.SyntaxKind.ImportKeyword ||
        (ts.isIdentifier(expression) && expression.text === "require"),
    )
    .flatMap(({ arguments: [specifier] }) => specifier ?? []);
