/**
 * Trail fields: who reads a field of a class, by its name or by way of an interface, by patterns or
 * by asking for all fields. Used by `trails.ts` and `trail-places.ts`.
 */
import ts from "typescript";
import { sourcesFor } from "../program/call-index.ts";
import { isExported } from "../program/exported.ts";
import { accessesByName, elementsByName } from "../program/field-index.ts";
import type { Session } from "../session.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { closureEnding } from "../objects/closure-endings.ts";
import { endingsOf } from "../objects/endings.ts";
import {
  hasBody,
  isTarget,
  memberName,
  someWithin,
  unwrap,
  wellKnownSymbol,
  within,
  isStatic,
} from "../program/syntax.ts";
import { leavesWithoutEnd } from "./trail-closures.ts";
import type { Path } from "./trail-path.ts";
import type { Trail } from "./trails.ts";

/** A field of a class has the value under a path; whoever reads it may end it. */
export function inField(trail: Trail, field: ts.Declaration, path: Path): void {
  trail.later(field, path, "field", () => {
    const { oracle } = trail.session;
    const text = fieldNameOf(field);
    const holder = ts.findAncestor(field, ts.isClassLike);
    const isOpen = (of: ts.ClassLikeDeclaration): boolean =>
      !trail.isWhole &&
      ((isExported(oracle.facts, of) && !isHidden(field, text) && !isOnlyShown(field, of)) ||
        leavesWithoutEnd(trail.session, of));
    if (
      !holder ||
      text === "" ||
      (trail.isWhole && isStatic(field)) ||
      isManager(trail, holder) ||
      (isOpen(holder) && !isEndedFromOutside(trail.session, holder))
    ) {
      trail.stop();
      return;
    }
    trail.found(field, path);
    for (const file of sourcesFor(oracle, field)) {
      const reads = oracle.facts.of(file, accessesByName).get(text) ?? [];
      for (const access of reads) if (mayRead(trail, access, field)) trail.climb(access, path);
      for (const element of oracle.facts.of(file, elementsByName).get(text) ?? [])
        trail.bind(element.name, path);
    }
    if (readsAllFields(holder) || (trail.isWhole && isHandedWhole(trail.session, holder)))
      trail.end(holder);
    for (const access of readsByKey(holder)) trail.climb(access, path);
  });
}

/** `get depth()`, `readonly depth` of a class that has an end: who reads it only looks. */
function isOnlyShown(field: ts.Declaration, holder: ts.ClassLikeDeclaration): boolean {
  const isFixed = (ts.getCombinedModifierFlags(field) & ts.ModifierFlags.Readonly) !== 0;
  const isSet = (member: ts.ClassElement): boolean =>
    ts.isSetAccessor(member) && memberName(member.name) === fieldNameOf(field);
  return (
    (ts.isGetAccessor(field) ? !holder.members.some(isSet) : isFixed && !isStatic(field)) &&
    endingsOf(holder).length > 0
  );
}

/** `for (const part of this.parts) part.points.destroy();`: others end the fields of a class. */
export function isEndedFromOutside(session: Session, holder: ts.ClassLikeDeclaration): boolean {
  const { oracle } = session;
  const fields = holder.members.filter(ts.isPropertyDeclaration);
  return sourcesFor(oracle, holder).some((file) => {
    const accesses = oracle.facts.of(file, accessesByName);
    return fields.some((field) =>
      (accesses.get(memberName(field.name)) ?? []).some(
        (at) =>
          !within(at, holder) &&
          oracle.declarationAt(at.name) === field &&
          session.transfer(at).effect === "disposes",
      ),
    );
  });
}

/** Whether a class has a base that owns what is in its fields. */
const isManager = (
  { session: { oracle, settings } }: Trail,
  holder: ts.ClassLikeDeclaration,
): boolean =>
  holder.heritageClauses !== undefined &&
  oracle.ancestors(holder).some((name) => settings.owners.some((o) => o.managers.includes(name)));

/** Whether an access may be one of a field: of the very one, or by way of an interface. */
function mayRead(
  trail: Trail,
  access: ts.PropertyAccessExpression,
  field: ts.Declaration,
): boolean {
  const found = trail.session.oracle.symbolAt(access.name);
  if (!found) return true;
  const declarations = found.declarations ?? [];
  if (declarations.includes(field)) return true;
  const holder = ts.findAncestor(field, ts.isClassLike);
  const isNear =
    access.getSourceFile() === field.getSourceFile() || holder?.heritageClauses !== undefined;
  return declarations.length === 0 || (isNear && declarations.some(ts.isTypeElement));
}

/** Whether a declaration is that of a field of a class. */
export const isField = (declaration: ts.Declaration): boolean =>
  ts.isPropertyDeclaration(declaration) ||
  (ts.isParameter(declaration) &&
    ts.isParameterPropertyDeclaration(declaration, declaration.parent)) ||
  fieldName(declaration) !== "";

/** Whether a place belongs to something with an end: a class, or the closures of a function. */
export function isDueAnEnd(session: Session, place: ts.Declaration): boolean {
  const holder = isField(place) ? ts.findAncestor(place, ts.isClassLike) : undefined;
  const home = enclosingFunction(place);
  return holder
    ? endingsOf(holder).length > 0
    : hasBody(home) && closureEnding(session, home) !== undefined;
}

/** What a field is called, be it declared or written by a script. */
export function fieldNameOf(field: ts.Declaration): string {
  const { name } = field as ts.NamedDeclaration;
  return name ? memberName(name as ts.PropertyName) : fieldName(field);
}

/** The field that a script declares by `this.x = …`. */
function fieldName(declaration: ts.Node): string {
  const target = ts.isBinaryExpression(declaration) ? declaration.left : declaration;
  return ts.isPropertyAccessExpression(target) &&
    target.expression.kind === ts.SyntaxKind.ThisKeyword
    ? target.name.text
    : "";
}

/** Whether nobody outside can name a member. */
export const isHidden = (member: ts.Node, text: string): boolean =>
  text.startsWith("#") ||
  (ts.isClassElement(member) && member.name !== undefined && ts.isPrivateIdentifier(member.name)) ||
  (ts.getCombinedModifierFlags(member as ts.Declaration) & ts.ModifierFlags.Private) !== 0;

/** `Object.values(this)`, `{ ...this }`. */
const readsAllFields = (holder: ts.ClassLikeDeclaration): boolean =>
  someWithin(
    holder,
    ({ kind, parent }) =>
      kind === ts.SyntaxKind.ThisKeyword &&
      (ts.isSpreadAssignment(parent) ||
        (ts.isCallExpression(parent) && readsFields.test(parent.expression.getText()))),
  );

/** Functions of `Object`, but for those that only fix what it is: `Object.seal(this)`. */
const readsFields = /^Object\.(?!(seal|freeze|preventExtensions|is\w+)$)/;

/** `tf.dispose(this)`, `registry.register(this)`: others may end all that an object has. */
const isHandedWhole = ({ oracle }: Session, holder: ts.ClassLikeDeclaration): boolean =>
  someWithin(holder, (node) => {
    const { parent } = node;
    const isGiven = node.kind === ts.SyntaxKind.ThisKeyword && ts.isCallExpression(parent);
    if (!isGiven || parent.expression === node) return false;
    const { body, builtin, name } = oracle.callee(parent);
    return body === undefined && (!builtin || name === "register");
  });

/** `this[key]`, which may be any field of a class. */
function readsByKey(holder: ts.ClassLikeDeclaration): readonly ts.ElementAccessExpression[] {
  const found: ts.ElementAccessExpression[] = [];
  someWithin(holder, (node) => {
    const isKey =
      ts.isElementAccessExpression(node) &&
      unwrap(node.expression).kind === ts.SyntaxKind.ThisKeyword;
    const isRead = isKey && wellKnownSymbol(node.argumentExpression) === undefined;
    if (isRead && !isTarget(node)) found.push(node);
    return false;
  });
  return found;
}
