/**
 * Shared places: variables that the functions of one object share, and the properties of an object
 * in such a variable: what a field is to a class. Used by the verbs about what leaves a table.
 */
import ts from "typescript";
import { enclosingFunction } from "../transfer/fate.ts";
import type { Session } from "../session.ts";
import { slotsOfVariable, type Slot } from "./slots.ts";
import { rootOf } from "../program/syntax.ts";

/** Whether an expression speaks of a variable of the function around its own, or of a part. */
export function isShared({ oracle }: Session, place: ts.Expression): boolean {
  const declaration = variableOf(oracle, place);
  const home = declaration && enclosingFunction(declaration);
  return home !== undefined && home !== enclosingFunction(place);
}

/** The place that closures share and an expression speaks of, where they own what it holds. */
export function sharedPlace(session: Session, place: ts.Expression): Slot | undefined {
  const declaration = isShared(session, place) ? variableOf(session.oracle, place) : undefined;
  if (!declaration) return undefined;
  return slotsOfVariable(session, declaration).find(({ mentions }) => mentions.includes(place));
}

function variableOf(
  oracle: Session["oracle"],
  place: ts.Expression,
): ts.VariableDeclaration | undefined {
  const root = rootOf(place);
  const declaration = ts.isIdentifier(root) ? oracle.declarationAt(root) : undefined;
  return declaration && ts.isVariableDeclaration(declaration) ? declaration : undefined;
}
