/**
 * Left fields: a function that is made to end a record, by its name, and ends some of the fields
 * that hold owned values while it never speaks of the others. Used by the rule that requires
 * disposal, as `partial-records.ts` is by the one about members.
 */
import ts from "typescript";
import { sourcesOf } from "../program/call-index.ts";
import { callSitesOf, nameOf } from "../program/call-sites.ts";
import { accessesByName } from "../program/field-index.ts";
import { partGiven } from "../flow/gathers.ts";
import { valuesGiven } from "../program/possible-callees.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { madeInstead } from "../transfer/given-or-made.ts";
import { endsElements } from "./ended-elements.ts";
import { effectInside } from "../transfer/mention.ts";
import { mayLackScope } from "../scopes/open-scopes.ts";
import type { Owned } from "../program/oracle.ts";
import { referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";
import {
  hasBody,
  memberName,
  rootOf,
  someWithin,
  unwrap,
  within,
  type FunctionWithBody,
} from "../program/syntax.ts";

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
    for (const record of [...fn.parameters, ...partsOf(session, fn)]) {
      const owned = session.oracle.ownedAt(record.name);
      if (owned?.shape !== "record") continue;
      const ends = endsOf(session, fn, record);
      if (!ends || ![...ends.values()].includes(true) || isOfPart(session, fn, record.name, ends))
        continue;
      const isLeft = (f: string): boolean =>
        ts.isParameter(record)
          ? !isGiven(session, file, f) && !makesOthers(session, f, owned)
          : isMade(session, fn, owned, f, [...ends.keys()]);
      const field = owned.fields.find((f) => !ends.has(f) && isLeft(f));
      const at = fn.name ?? record.name;
      if (field === undefined) continue;
      // asked last: it walks through all callers
      if (mayLackScope(session, fn.body)) found.push({ fn: nameOf(fn) ?? "", field, at, owned });
    }
  }
  return found;
}

/** `state.device.createBuffer(…)`: what makes such values is shared, and nobody's part. */
const makesOthers = ({ oracle }: Session, field: string, { owner }: Owned): boolean =>
  owner.policy === "generic" &&
  oracle.facts.of(oracle.program, sourcesOf).some((file) =>
    oracle.facts
      .of(file, accessesByName)
      .get(field)
      ?.some(({ parent: method }) => {
        const call = ts.isPropertyAccessExpression(method) ? method.parent : undefined;
        return call && ts.isCallExpression(call) && oracle.ownedAt(call)?.owner === owner;
      }),
  );

const functions = [
  ts.SyntaxKind.FunctionDeclaration,
  ts.SyntaxKind.FunctionExpression,
  ts.SyntaxKind.ArrowFunction,
  ts.SyntaxKind.MethodDeclaration,
] as const;

/** `endColor(mesh)`, which ends `mesh.colorBuffer`: who ends a part says so by its name. */
function isOfPart(
  { oracle }: Session,
  fn: FunctionWithBody,
  record: ts.Node,
  ends: ReadonlyMap<string, boolean>,
): boolean {
  const part = /[A-Z].*/.exec(nameOf(fn) ?? "")?.[0].toLowerCase();
  if (part === undefined || oracle.typeName(record).toLowerCase().includes(part)) return false;
  return [...ends.keys()].some((field) => field.toLowerCase().includes(part.replace(/s$/, "")));
}

/** `const g = mesh.gpu;` in a function that is given the mesh: a record that is part of it. */
function partsOf({ oracle }: Session, fn: FunctionWithBody): ts.VariableDeclaration[] {
  const isGivenTo = (at: ts.VariableDeclaration): boolean => {
    const value = at.initializer && unwrap(at.initializer);
    const root = value && ts.isPropertyAccessExpression(value) ? rootOf(value) : undefined;
    const source = root && ts.isIdentifier(root) ? oracle.declarationAt(root) : undefined;
    return source !== undefined && ts.isParameter(source) && source.parent === fn;
  };
  return oracle.facts
    .variables(fn.getSourceFile())
    .filter((at) => within(at, fn) && enclosingFunction(at) === fn && isGivenTo(at));
}

/**
 * Whether the program makes what such a field of a part holds, by what records are given that have
 * one of the ended fields too, and no caller speaks of it, who may end it as well.
 */
function isMade(
  session: Session,
  fn: FunctionWithBody,
  { owner }: Owned,
  field: string,
  ended: readonly string[],
): boolean {
  const { oracle } = session;
  const isAlike = (value: ts.Expression): boolean => {
    const { parent } = value;
    if (ts.isBinaryExpression(parent) && ts.isPropertyAccessExpression(parent.left))
      return oracle.ownedAt(parent.left.expression)?.fields.some((f) => ended.includes(f)) ?? false;
    const literal = ts.findAncestor(value, ts.isObjectLiteralExpression);
    return literal !== undefined && ended.some((name) => partGiven(literal, name) !== undefined);
  };
  const given = valuesGiven(oracle, field).filter(
    (value) => oracle.ownedAt(value)?.owner === owner && isAlike(value),
  );
  const speaks = (at: ts.Node): boolean => ts.isIdentifier(at) && at.text === field;
  const { calls, values } = callSitesOf(oracle, fn, "program");
  return (
    !someWithin(fn, speaks) &&
    given.some((value) => isNew(session, value)) &&
    given.every((value) => isNew(session, value) || session.freshness(value) !== "borrowed") &&
    [...calls, ...values].every((site) => {
      const caller = enclosingFunction(site);
      return caller === undefined || !someWithin(caller, speaks);
    })
  );
}

/** A new value, or the name of one, or none. */
function isNew(session: Session, value: ts.Expression): boolean {
  const bare = unwrap(value);
  if (!ts.isIdentifier(bare)) return session.freshness(bare) === "fresh";
  const source = session.oracle.declarationAt(bare);
  if (!source || !ts.isVariableDeclaration(source) || !ts.isIdentifier(source.name)) return false;
  if (!source.initializer || session.freshness(source.initializer) !== "fresh") return false;
  const home = enclosingFunction(source) ?? source.getSourceFile();
  return referencesTo(session.oracle, source, source.name, home).every(
    (id) =>
      ts.findAncestor(id, ts.isObjectLiteralExpression) !== undefined ||
      onlyLooksAt(session.transfer(id).effect),
  );
}

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
  record: ts.ParameterDeclaration | ts.VariableDeclaration,
): ReadonlyMap<string, boolean> | undefined {
  const ends = new Map<string, boolean>();
  const note = (field: string, mention: ts.Expression): void => {
    const ended =
      effectInside(session, session.transfer(mention)) === "disposes" ||
      (!mayListOthers(session, mention) && endsElements(session, mention));
    ends.set(field, ended || ends.get(field) === true);
  };
  const { name } = record;
  if (ts.isIdentifier(name)) {
    for (const { parent } of referencesTo(session.oracle, record, name, fn)) {
      if (parent === record) continue;
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
