/**
 * Left fields: a function that is made to end a record, by its name, and ends some of the fields
 * that hold owned values while it never speaks of the others. Used by the rule that requires
 * disposal, as `partial-records.ts` is by the one about members.
 */
import ts from "typescript";
import { nameOf } from "../program/call-sites.ts";
import { madeInstead } from "../transfer/given-or-made.ts";
import { endsElements } from "./ended-elements.ts";
import { effectInside } from "../transfer/mention.ts";
import { mayLackScope } from "../scopes/open-scopes.ts";
import type { Owned } from "../program/oracle.ts";
import { referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";
import { hasBody, memberName, type FunctionWithBody } from "../program/syntax.ts";

/** A field that the end of its record forgets. */
export interface LeftField {
  fn: string;
  field: string;
  /** What a report marks: the name of the function. */
  at: ts.Node;
  owned: Owned;
}

/**
 * Whether a function ends what it is given, by its name: `free`, `disposeAll`; `cleanUp`, but not
 * `cleanUpOptions`, which may only tidy them.
 */
export const isMadeToEnd = (fn: ts.Node): boolean =>
  /^_?((dispose|free|release|destroy|end|drop|discard|tear_?[dD]own)([A-Z_]|$)|clean_?[uU]p$)/.test(
    nameOf(fn) ?? "",
  );

/** The first such field of every function of a file. */
export function leftFields(session: Session, file: ts.SourceFile): LeftField[] {
  const found: LeftField[] = [];
  for (const fn of session.oracle.facts.nodes<ts.FunctionLikeDeclaration>(file, ...functions)) {
    if (!hasBody(fn) || !isMadeToEnd(fn)) continue;
    for (const parameter of fn.parameters) {
      const owned = session.oracle.ownedAt(parameter.name);
      if (owned?.shape !== "record") continue;
      const ends = endsOf(session, fn, parameter);
      const field = ends && owned.fields.find((f) => !ends.has(f) && !isGiven(session, file, f));
      const at = fn.name ?? parameter.name;
      if (!ends || field === undefined || ![...ends.values()].includes(true)) continue;
      // asked last: it walks through all callers
      if (mayLackScope(session, fn.body)) found.push({ fn: nameOf(fn) ?? "", field, at, owned });
    }
  }
  return found;
}

const functions = [
  ts.SyntaxKind.FunctionDeclaration,
  ts.SyntaxKind.FunctionExpression,
  ts.SyntaxKind.ArrowFunction,
  ts.SyntaxKind.MethodDeclaration,
] as const;

/** `create(device) { return { device, … }; }`: what every such record of a file is given. */
function isGiven(session: Session, file: ts.SourceFile, field: string): boolean {
  const literals = session.oracle.facts.nodes<
    ts.PropertyAssignment | ts.ShorthandPropertyAssignment
  >(file, ts.SyntaxKind.PropertyAssignment, ts.SyntaxKind.ShorthandPropertyAssignment);
  const given = literals.filter(({ name }) => memberName(name) === field);
  const isLent = (p: ts.PropertyAssignment | ts.ShorthandPropertyAssignment): boolean => {
    const value = ts.isPropertyAssignment(p) ? p.initializer : p.name;
    return session.freshness(value) === "borrowed" && !madeInstead(session, value);
  };
  return given.length > 0 && given.every(isLent);
}

/** `resources.buffers`: a list of GPU objects may have those of the other fields in it. */
export const mayListOthers = ({ oracle }: Session, list: ts.Expression): boolean => {
  const owned = oracle.ownedAt(list);
  return owned?.shape === "many" && owned.owner.policy === "generic";
};

/** The fields a function speaks of, and whether it ends them; nothing where it has the whole. */
function endsOf(
  session: Session,
  fn: FunctionWithBody,
  parameter: ts.ParameterDeclaration,
): ReadonlyMap<string, boolean> | undefined {
  const ends = new Map<string, boolean>();
  const note = (field: string, mention: ts.Expression): void => {
    const ended =
      effectInside(session, session.transfer(mention)) === "disposes" ||
      (!mayListOthers(session, mention) && endsElements(session, mention));
    ends.set(field, ended || ends.get(field) === true);
  };
  const { name } = parameter;
  if (ts.isIdentifier(name)) {
    for (const { parent } of referencesTo(session.oracle, parameter, name, fn)) {
      if (!ts.isPropertyAccessExpression(parent)) return undefined;
      note(parent.name.text, parent);
    }
    return ends;
  }
  for (const element of name.elements) {
    if (!ts.isBindingElement(element) || !ts.isIdentifier(element.name)) return undefined;
    if (element.dotDotDotToken) return undefined;
    const field = memberName(element.propertyName ?? element.name);
    for (const id of referencesTo(session.oracle, element, element.name, fn)) note(field, id);
  }
  return ends;
}
