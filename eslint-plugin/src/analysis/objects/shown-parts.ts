/**
 * Shown parts: `return { middle, spread, dispose() { middle.dispose(); } }`. An object of functions
 * that ends one of the values it shows has the others like it, too; those that its end leaves and
 * nobody else ends are lost with it. Used by `left-behind.ts`.
 */
import ts from "typescript";
import { callsNamed, sourcesFor } from "../program/call-index.ts";
import { nameOf } from "../program/call-sites.ts";
import { accessesByName, elementsByName } from "../program/field-index.ts";
import { referencesTo } from "../program/references.ts";
import {
  isTarget,
  memberName,
  unwrap,
  valuesOf,
  type FunctionWithBody,
} from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { enclosingFunction, returnsOf } from "../transfer/fate.ts";
import { isWithin, literalOf, type ClosureEnding, type LeftShared } from "./closure-endings.ts";

/** A value that a function makes and the object it returns shows. */
interface Shown {
  /** What the object calls it. */
  name: string;
  value: ts.Identifier;
  mentions: readonly ts.Identifier[];
}

/** The values that the one object a function returns shows, and that its end leaves. */
export function leftShown(
  session: Session,
  fn: FunctionWithBody,
  { run }: ClosureEnding,
): LeftShared[] {
  const shown = session.oracle.facts
    .of(fn, returnsOf)
    .flatMap((value) => literalOf(session, unwrap(value)) ?? [])
    .flatMap((literal) => shownBy(session, fn, literal));
  const ends = (id: ts.Identifier): boolean => session.transfer(id).effect === "disposes";
  const isEnded = ({ mentions }: Shown): boolean =>
    mentions.some((m) => isWithin(m, run) && ends(m));
  if (!shown.some(isEnded)) return [];
  return shown.flatMap(({ name, value, mentions }): LeftShared[] => {
    const owned = session.oracle.ownedAt(value);
    const isLeft = mentions.every((m) => m === value || !(isWithin(m, run) || ends(m)));
    if (!owned || !isLeft || isEndedElsewhere(session, fn, name)) return [];
    return [{ label: name, at: value, owner: owned.owner }];
  });
}

/** What a literal shows by a name and under it, where the function makes it for this alone. */
function shownBy(
  session: Session,
  fn: FunctionWithBody,
  literal: ts.ObjectLiteralExpression,
): Shown[] {
  return valuesOf(literal).flatMap((given): Shown[] => {
    const value = unwrap(given);
    const property = given.parent;
    if (!ts.isIdentifier(value) || !ts.isObjectLiteralElementLike(property)) return [];
    const declaration = session.oracle.declarationAt(value);
    const isLocal = declaration && enclosingFunction(declaration) === fn;
    if (!isLocal || ts.isParameter(declaration) || !property.name) return [];
    const { name } = declaration as ts.NamedDeclaration;
    if (!name || !ts.isIdentifier(name) || session.oracle.ownedAt(value)?.shape !== "one")
      return [];
    const mentions = referencesTo(session.oracle, declaration, name, fn);
    if (mentions.some(isTarget) || session.freshness(value) !== "fresh") return [];
    return [{ name: memberName(property.name), value, mentions }];
  });
}

/** Whether anybody who may have the object ends a part of it by its name, or takes it out. */
function isEndedElsewhere(session: Session, fn: FunctionWithBody, part: string): boolean {
  const { oracle } = session;
  const name = nameOf(fn);
  const callers = name === undefined ? [] : callsNamed(oracle, name);
  const near = new Set([fn, ...callers].map((node) => node.getSourceFile()));
  const isOf = ({ name: read }: ts.PropertyAccessExpression): boolean => {
    const declared = oracle.declarationAt(read)?.getSourceFile();
    return declared === undefined || declared === fn.getSourceFile();
  };
  return sourcesFor(oracle, fn).some((file) => {
    if (near.has(file) && oracle.facts.of(file, elementsByName).has(part)) return true;
    const reads = oracle.facts.of(file, accessesByName).get(part) ?? [];
    return reads.some((at) => session.transfer(at).effect === "disposes" && isOf(at));
  });
}
