/**
 * Records made: what the object literals of a file give to the fields of records that are alike,
 * and whether two of those fields have one owner. Used by `half-ended.ts`.
 */
import ts from "typescript";
import { isAnything } from "../../owner.ts";
import { callSitesOf } from "../program/call-sites.ts";
import { partGiven } from "../flow/gathers.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { endsByName } from "../transfer/looked-at.ts";
import type { Owned } from "../program/oracle.ts";
import { referencesTo } from "../program/references.ts";
import { samePlace } from "../program/same-place.ts";
import type { Session } from "../session.ts";
import { calleeNameNode, hasBody, memberName, unwrap } from "../program/syntax.ts";

/**
 * Whether the records of a file that have both fields are given them alike: what is made for one
 * and borrowed for the other has two owners.
 */
export function areAlike(
  session: Session,
  file: ts.SourceFile,
  { owner }: Owned,
  ended: string,
  left: string,
): boolean {
  const { oracle } = session;
  const pairs = literalsOf(session, file).flatMap((literal) => {
    const one = partOf(session, literal, ended);
    const two = partOf(session, literal, left);
    if (!one || !two || isOfField(session, two, left)) return [];
    const other = oracle.ownedAt(two)?.owner;
    return other && (other === owner || !isAnything(other)) ? [[one, two] as const] : [];
  });
  const besides = (one: ts.Expression): ts.Expression[] =>
    pairs.filter(([other]) => samePlace(oracle, one, other)).map(([, two]) => two);
  return (
    pairs.length > 0 &&
    pairs.every(([one, two]) => {
      const isOne = one.getText() === two.getText() && !ts.isCallExpression(one);
      // `{ k, at: { buffer: k } }`: it may have the same value in it
      if (isOne || ts.isObjectLiteralExpression(two)) return false;
      if (isKept(session, two, besides(one))) return false;
      const given = session.freshness(two);
      if (given === "fresh") return true;
      const isSame = owner.policy === "protocol" && oracle.ownedAt(two)?.owner === owner;
      if (!isSame || isLentBeside(session, one, two)) return false;
      return given === session.freshness(one);
    })
  );
}

/** `{ data, norm: this.norm }`, `add(x.neg(), norm)`: one is handed over, the other is owned. */
function isLentBeside(session: Session, one: ts.Expression, two: ts.Expression): boolean {
  if (isPlace(two) && !isPlace(one)) return true;
  const [first, second] = [one, two].map((part) => parameterOf(session, part));
  const fn = first?.parent;
  if (!first || !second || second.parent !== fn || !hasBody(fn)) return false;
  const [at, beside] = [first, second].map((parameter) => fn.parameters.indexOf(parameter));
  const isLeft = (given: ts.Expression | undefined): boolean =>
    given !== undefined && session.freshness(given) === "fresh" && !isEndedAt(session, given);
  return callSitesOf(session.oracle, fn, "program").calls.some(
    ({ arguments: given }) => isLeft(given?.[at ?? -1]) && !isLeft(given?.[beside ?? -1]),
  );
}

/** Whether who gives a value by its name ends it as well. */
function isEndedAt(session: Session, value: ts.Expression): boolean {
  const bare = unwrap(value);
  return ts.isIdentifier(bare) && endsByName(session, bare, bare.getSourceFile());
}

/** `this.norm`, `faces[i]!`, `faces.get(name)!`: what has a place already. */
function isPlace(part: ts.Expression): boolean {
  const bare = unwrap(part);
  if (ts.isCallExpression(bare)) return calleeNameNode(bare)?.text === "get";
  return ts.isPropertyAccessExpression(bare) || ts.isElementAccessExpression(bare);
}

function parameterOf(
  { oracle }: Session,
  part: ts.Expression,
): ts.ParameterDeclaration | undefined {
  const bare = unwrap(part);
  const declaration = ts.isIdentifier(bare) ? oracle.declarationAt(bare) : undefined;
  return declaration && ts.isParameter(declaration) ? declaration : undefined;
}

/**
 * The fields of a record, as its type declares them, that hold what another owner frees, such as an
 * optimizer beside tensors: by what the records of its file are given that have all of some fields.
 */
export function fieldsBeside(
  session: Session,
  record: ts.Node,
  { owner, fields }: Owned,
  named: readonly string[],
): string[] {
  if (owner.policy !== "protocol") return [];
  const { oracle } = session;
  const declared = oracle
    .declarationsAt(record)
    .flatMap((type) => (ts.isInterfaceDeclaration(type) || ts.isTypeLiteralNode(type) ? type : []))
    .flatMap(({ members }) => members.map(({ name }) => (name ? memberName(name) : "")));
  const others = declared.filter((name) => !fields.includes(name));
  if (others.length === 0) return [];
  const literals = literalsOf(session, record.getSourceFile()).filter((literal) =>
    named.every((field) => partOf(session, literal, field)),
  );
  const isOwned = (name: string): boolean =>
    literals.some((literal) => {
      const given = partOf(session, literal, name);
      return given !== undefined && oracle.ownedAt(given)?.shape === "one";
    });
  return others.filter(isOwned);
}

const literalsOf = ({ oracle }: Session, file: ts.SourceFile) =>
  oracle.facts.nodes<ts.ObjectLiteralExpression>(file, ts.SyntaxKind.ObjectLiteralExpression);

/** What a literal gives a field, be it by `...rest` of a constant that is another literal. */
function partOf(
  session: Session,
  literal: ts.ObjectLiteralExpression,
  field: string,
): ts.Expression | undefined {
  const own = partGiven(literal, field);
  if (own) return own;
  const [given] = spreadIn(session, literal).flatMap((l) => partGiven(l, field) ?? []);
  return given;
}

/** The literals of the constants that a literal takes over: `{ ...head, more }`. */
const spreadIn = ({ oracle }: Session, literal: ts.ObjectLiteralExpression) =>
  literal.properties.flatMap((property) => {
    const rest = ts.isSpreadAssignment(property) ? unwrap(property.expression) : undefined;
    const source = rest && ts.isIdentifier(rest) ? oracle.declarationAt(rest) : undefined;
    const first = source && ts.isVariableDeclaration(source) ? source.initializer : undefined;
    const given = first && unwrap(first);
    return given && ts.isObjectLiteralExpression(given) ? [given] : [];
  });

/** `states` of `const { states } = this.cloud`, `old.states`: what such a record held before. */
function isOfField({ oracle }: Session, value: ts.Expression, field: string): boolean {
  if (ts.isPropertyAccessExpression(value)) return value.name.text === field;
  const source = ts.isIdentifier(value) ? oracle.declarationAt(value) : undefined;
  return (
    source !== undefined &&
    ts.isBindingElement(source) &&
    memberName(source.propertyName ?? source.name) === field
  );
}

/** `losses.push(loss); return { out, loss };`: a place that is no such record has it, too. */
function isKept(session: Session, value: ts.Expression, others: readonly ts.Expression[]): boolean {
  const source = ts.isIdentifier(value) ? session.oracle.declarationAt(value) : undefined;
  if (!source || !ts.isVariableDeclaration(source) || !ts.isIdentifier(source.name)) return false;
  const home = enclosingFunction(source) ?? source.getSourceFile();
  return referencesTo(session.oracle, source, source.name, home).some(
    (id) => !others.includes(id) && /^(stores|takes)$/.test(session.transfer(id).effect),
  );
}
