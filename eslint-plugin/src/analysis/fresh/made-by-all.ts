/**
 * Made by all: whether each function that a call without a body of its own may run makes what it
 * gives: those that implement a member by its name, those that all callers hand in for a parameter,
 * those that a constant may hold; and whether one that nobody knows does so by its name. Used by
 * `is-fresh.ts`.
 */
import ts from "typescript";
import { functionsOf, implementationsOf } from "../program/possible-callees.ts";
import type { Callee } from "../program/oracle.ts";
import { memberName, type FunctionWithBody } from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { soundsLikeDisposal } from "../transfer/disposes.ts";

/** Whether all functions that a call may run make a value. */
export function isMadeByAll(session: Session, { declaration, name }: Callee): boolean {
  if (!declaration) return false;
  const all = possibleFor(session, declaration, name);
  return all.length > 0 && all.every((fn) => session.summary(fn).result === "fresh");
}

/** `make: () => Linear`, `this.#build(width)`: a function that is given, by a name that says it. */
export const isMaker = ({ oracle }: Session, { declaration, name }: Callee): boolean =>
  declaration !== undefined &&
  /^[#_]?(make|create|build)([A-Z]|$)/.test(name) &&
  (ts.isParameter(declaration) ||
    ts.isPropertyDeclaration(declaration) ||
    ts.isPropertySignature(declaration)) &&
  (functionsOf(oracle, declaration) ?? []).length === 0;

function possibleFor(
  { oracle }: Session,
  declaration: ts.Declaration,
  name: string,
): readonly FunctionWithBody[] {
  if (ts.isParameter(declaration) || ts.isVariableDeclaration(declaration))
    return functionsOf(oracle, declaration) ?? [];
  const isAbstract = ts.isMethodDeclaration(declaration) && !declaration.body;
  if (!isAbstract && !ts.isTypeElement(declaration)) return [];
  const { parent } = declaration;
  if (isAbstract && ts.isClassLike(parent) && parent.members.some(mayFree)) return [];
  if (declaration.getSourceFile().isDeclarationFile) return [];
  return implementationsOf(oracle, name);
}

/** `abstract free(): void`, which may end in a heir what another method makes. */
const mayFree = (member: ts.ClassElement): boolean =>
  ts.isMethodDeclaration(member) && !member.body && soundsLikeDisposal(memberName(member.name));
