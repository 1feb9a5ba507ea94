/**
 * Pattern parts: the names that a parameter gives to what a function is handed, where what becomes
 * of them tells what becomes of that. Used by `summary.ts`.
 */
import ts from "typescript";
import { boundNames, type Bound } from "../program/references.ts";
import type { Session } from "../session.ts";

/**
 * All names of a parameter. Of a record with owned fields, `{ state, score }`, the others hold
 * nothing; of one that holds values of several owners, those of the owner that is named first.
 */
export function namesOf(session: Session, parameter: ts.ParameterDeclaration): readonly Bound[] {
  const names = boundNames(parameter.name, parameter);
  if (ts.isIdentifier(parameter.name)) return names;
  const ownerOf = ({ id }: Bound): object | undefined => session.oracle.ownedAt(id)?.owner;
  const owned = names.filter(ownerOf);
  const first = session.settings.owners.find((o) => owned.some((name) => ownerOf(name) === o));
  if (first) return owned.filter((name) => ownerOf(name) === first);
  return owned.length > 0 ? owned : names;
}
