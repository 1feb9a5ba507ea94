/**
 * Replaced fields: values that a record loses where it is written anew with one field changed,
 * `this.state = { ...this.state, last: x.neg() }`, or gets that by `Object.assign`. The field must
 * be one that another function ends by hand, or that holds only what was made for it. Used by the
 * rule about overwritten values.
 */
import ts from "typescript";
import { enclosingFunction } from "../transfer/fate.ts";
import type { LostEntry } from "./lost-entries.ts";
import { mayLackScope } from "../scopes/open-scopes.ts";
import { isGoneWithDevice } from "../objects/gone-devices.ts";
import { runsOften } from "../trails/runs-often.ts";
import { isEndedByName } from "../flow/slots.ts";
import { samePlace } from "../program/same-place.ts";
import type { Owned } from "../program/oracle.ts";
import type { Session } from "../session.ts";
import {
  isNullish,
  isTarget,
  memberName,
  rootOf,
  someWithin,
  unwrap,
  within,
} from "../program/syntax.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";
import { givenTo } from "../untyped/untyped-records.ts";

/** Every such loss of a file. */
export function replacedFields(session: Session, file: ts.SourceFile): LostEntry[] {
  const { oracle } = session;
  const { facts } = oracle;
  const bySpread = facts.assignments(file).flatMap(({ left, right }) => {
    const literal = unwrap(right);
    if (!ts.isObjectLiteralExpression(literal)) return [];
    const at = literal.properties.findIndex(
      (p) => ts.isSpreadAssignment(p) && samePlace(oracle, p.expression, left),
    );
    return at < 0 ? [] : lostBy(session, left, literal.properties.slice(at + 1));
  });
  const byAssign = facts.calls(file).flatMap(({ expression, arguments: [target, ...given] }) => {
    if (!target || expression.getText() !== "Object.assign") return [];
    return given.map(unwrap).flatMap((value) => {
      return ts.isObjectLiteralExpression(value) ? lostBy(session, target, value.properties) : [];
    });
  });
  return [...bySpread, ...byAssign];
}

/** What some properties that are given to a record take the place of. */
function lostBy(
  session: Session,
  record: ts.Expression,
  properties: readonly ts.ObjectLiteralElementLike[],
): LostEntry[] {
  const home = enclosingFunction(record);
  if (!home || !outlives(session, record, home)) return [];
  if (isGoneWithDevice(session, record, [])) return [];
  return properties.flatMap((property) => {
    const given = givenTo(property);
    if (!given || !property.name || ts.isComputedPropertyName(property.name)) return [];
    const value = unwrap(given);
    const key = memberName(property.name);
    const isDropped = isNullish(value);
    const own =
      isDropped || runsOften(session, home) ? ownFilling(session, record, key) : undefined;
    const owned = own ?? session.oracle.ownedAt(value);
    if (owned?.shape !== "one" || !mayLackScope(session, value)) return [];
    if (!isDropped && session.freshness(value) !== "fresh") return [];
    return losesOld(session, record, key, home, own !== undefined)
      ? [{ call: value, table: `${record.getText()}.${key}`, owned }]
      : [];
  });
}

/** What a field of a record is filled with, where all of it is made for the record. */
function ownFilling(session: Session, record: ts.Expression, key: string): Owned | undefined {
  const { oracle } = session;
  const given = oracle.facts.assignments(record.getSourceFile()).flatMap(({ left, right }) => {
    const isField = ts.isPropertyAccessExpression(left) && left.name.text === key;
    if (isField && samePlace(oracle, left.expression, record)) return [right];
    const literal = unwrap(right);
    if (!ts.isObjectLiteralExpression(literal) || !samePlace(oracle, left, record)) return [];
    const property = literal.properties.find((p) => p.name && memberName(p.name) === key);
    return givenTo(property) ?? [];
  });
  const values = given.map(unwrap).filter((value) => !isNullish(value));
  const isOwn = values.every(
    (value) => session.freshness(value) === "fresh" && !isEndedByName(session, value),
  );
  const owned = isOwn && values[0] ? oracle.ownedAt(values[0]) : null;
  const holder = ts.findAncestor(record, ts.isClassLike) ?? record.getSourceFile();
  return owned && !endsAny(holder, owned) ? owned : undefined;
}

/** Whether code ends anything of the kind, a device too, which others may reach by other names. */
const endsAny = (holder: ts.Node, { owner }: Owned): boolean =>
  someWithin(
    holder,
    (at) => ts.isPropertyAccessExpression(at) && owner.dispose.methods.includes(at.name.text),
  );

/** A field of the object, or of what a variable outside the function holds. */
function outlives(session: Session, record: ts.Expression, home: ts.Node): boolean {
  const root = rootOf(record);
  if (root.kind === ts.SyntaxKind.ThisKeyword)
    return root !== record && !ts.isConstructorDeclaration(home);
  const source = ts.isIdentifier(root) ? session.oracle.declarationAt(root) : undefined;
  return source !== undefined && ts.isVariableDeclaration(source) && !within(source, home);
}

/**
 * Whether a function only looks at a field of a record, which others end.
 *
 * @param isOwn whether it is known to be the record's without an end
 */
function losesOld(
  session: Session,
  record: ts.Expression,
  key: string,
  home: ts.Node,
  isOwn: boolean,
): boolean {
  const holder = ts.findAncestor(record, ts.isClassLike) ?? record.getSourceFile();
  const fields: ts.PropertyAccessExpression[] = [];
  const others: ts.Expression[] = [];
  let isWhole = false;
  const visit = (node: ts.Node): void => {
    ts.forEachChild(node, visit);
    if (!ts.isIdentifier(node) && !ts.isPropertyAccessExpression(node)) return;
    if (node.kind !== record.kind || !samePlace(session.oracle, node, record)) return;
    const { parent } = node;
    if (ts.isPropertyAccessExpression(parent) && parent.expression === node) {
      if (parent.name.text === key) fields.push(parent);
    } else if (within(node, home)) isWhole ||= !isWritten(node, record);
    else others.push(node);
  };
  visit(holder);
  const ends = (at: ts.Expression): boolean => session.transfer(at).effect === "disposes";
  // `end(this.state)` ends all of it
  const [ended] = [...fields.filter((at) => !within(at, home)), ...others].filter(ends);
  if ((!ended && !isOwn) || isWhole) return false;
  const mayBeNone = ended && session.oracle.ownedAt(ended)?.nullable === true;
  if (mayBeNone && !runsOften(session, home)) return false;
  const inside = fields.filter((at) => within(at, home));
  if (!inside.every((at) => !isTarget(at) && onlyLooksAt(session.transfer(at).effect)))
    return false;
  return !someWithin(home, (node) => {
    const body = ts.isCallExpression(node) ? session.oracle.callee(node).body : undefined;
    return body !== undefined && body !== home && fields.some((at) => within(at, body) && ends(at));
  });
}

/** The record where it is given its fields: as target, spread, or first argument. */
const isWritten = (node: ts.Node, record: ts.Expression): boolean =>
  node === record || (ts.isSpreadAssignment(node.parent) && within(node, record.parent));
