/**
 * Module tables: lists, tables and records of a module that functions fill. A variable may keep one
 * thing as long as the program runs, but what is put beside the last one each time only grows. Used
 * by `trails.ts`, which follows such a table, and by `endless-values.ts`, for all that counts.
 */
import ts from "typescript";
import { sourcesOf } from "../program/call-index.ts";
import { isPromiseMember } from "../program/containers.ts";
import { accessesByName } from "../program/field-index.ts";
import type { Oracle } from "../program/oracle.ts";
import { referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";
import { handedTo } from "../transfer/callbacks.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { runsOften } from "./runs-often.ts";
import type { Path } from "./trail-path.ts";

/** Whether a variable lives as long as its file. */
export const isOfModule = (place: ts.Node): boolean =>
  ts.isVariableDeclaration(place) && enclosingFunction(place) === undefined;

/**
 * All that means a table of a module which has a value under a path; undefined for what is no such
 * table, and for one that others may name in another way.
 */
export function tableMentions(
  oracle: Oracle,
  declaration: ts.Declaration,
  name: ts.Identifier,
  path: Path,
): readonly ts.Expression[] | undefined {
  const home = declaration.getSourceFile();
  if (path[0] !== "*" || !isOfModule(declaration) || home.isDeclarationFile) return undefined;
  const files = oracle.facts.of(oracle.program, sourcesOf);
  const named = files.flatMap((file) => referencesTo(oracle, declaration, name, file));
  if (named.some((id) => isRenamed(id))) return undefined;
  const asked = files
    .flatMap((file) => oracle.facts.of(file, accessesByName).get(name.text) ?? [])
    .filter((access) => oracle.declarationAt(access.name) === declaration); // `state.table`
  const isMention = (id: ts.Identifier): boolean =>
    !ts.isImportSpecifier(id.parent) && !ts.isExportSpecifier(id.parent);
  return [...named.filter(isMention), ...asked];
}

/** `export { a as b }`, `import { a as b }`, `export default a`. */
const isRenamed = ({ parent }: ts.Identifier): boolean =>
  ts.isExportAssignment(parent) ||
  ((ts.isImportSpecifier(parent) || ts.isExportSpecifier(parent)) &&
    parent.propertyName !== undefined);

/**
 * Whether something is done again and again: in a function that runs often, or in what such a one
 * hands to `then` and `forEach`.
 */
export function isDoneAgain(session: Session, at: ts.Node): boolean {
  let fn = enclosingFunction(at);
  for (let host = fn && handedTo(fn); fn && host; host = fn && handedTo(fn)) {
    const isPart =
      session.callback(host, fn) === "inline" || isPromiseMember(session.oracle.callee(host).name);
    if (!isPart) break;
    fn = enclosingFunction(fn);
  }
  return fn !== undefined && runsOften(session, fn);
}
