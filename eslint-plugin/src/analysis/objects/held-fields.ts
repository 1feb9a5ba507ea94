/**
 * Held fields: which fields of a class hold owned values: those that are declared so, those that
 * plain JavaScript gives a value, tables without a type by what is put into them, and lists of
 * functions that each end a value. Used by `holders.ts` while types are being classified.
 */
import ts from "typescript";
import { puts } from "../program/containers.ts";
import type { Owned } from "../program/ownership.ts";
import {
  hasBody,
  isEmptyContainer,
  isScript,
  isStatic,
  isTarget,
  memberName,
  unwrap,
  type FunctionWithBody,
} from "../program/syntax.ts";
import { endsAt } from "./field-deeds.ts";

/** What is asked about the names in a class. */
interface FieldQuestions {
  /** The ownership of a field or value, by its name node. */
  ownedAt(name: ts.Node): Owned | null;
}

/** The fields that hold owned values, by name, of a class and of those that it extends. */
export function heldFields(
  line: readonly ts.ClassLikeDeclaration[],
  ask: FieldQuestions,
): ReadonlyMap<string, Owned> {
  const found = new Map<string, Owned>();
  const tables = new Set<string>();
  const note = (name: string, at: ts.Node): void => {
    const owned = ask.ownedAt(at);
    if (owned && Array.isArray(owned.owner.types)) found.set(name, owned);
  };
  const given = (name: string, value: ts.Expression): void => {
    if (isEmptyContainer(unwrap(value))) tables.add(name);
    else note(name, value);
  };
  const members = line.flatMap((c) => [...c.members]);
  for (const m of members)
    if (ts.isPropertyDeclaration(m) && !isStatic(m)) {
      note(memberName(m.name), m.name);
      if (m.initializer && isEmptyContainer(unwrap(m.initializer))) tables.add(memberName(m.name));
    } else if (ts.isConstructorDeclaration(m)) {
      for (const p of m.parameters)
        if (ts.isParameterPropertyDeclaration(p, m)) note(memberName(p.name), p.name);
    }
  const scripts = bodiesOf(members.filter((m) => isScript(m.getSourceFile())));
  for (const [field, name] of fieldsIn(scripts)) {
    if (found.has(name)) continue;
    const { parent } = field;
    if (isTarget(field) && ts.isBinaryExpression(parent)) given(name, parent.right);
    else if (tables.has(name)) note(name, placeIn(field) ?? field);
  }
  if (found.size > 0 || tables.size === 0) return found;
  for (const [field, name] of fieldsIn(bodiesOf(members))) {
    const owned = tables.has(name) ? endedByFunction(field, ask) : undefined;
    if (owned) found.set(name, owned);
  }
  return found;
}

/** What is done to each object: in the constructors and methods, the constructors first. */
const bodiesOf = (members: readonly ts.ClassElement[]): readonly ts.Block[] =>
  [
    ...members.filter(ts.isConstructorDeclaration),
    ...members.filter(ts.isMethodDeclaration).filter((m) => !isStatic(m)),
  ].flatMap(({ body }) => body ?? []);

/** The mentions of fields of `this` in some bodies, with the names of the fields. */
function fieldsIn(bodies: readonly ts.Block[]): [ts.PropertyAccessExpression, string][] {
  const found: [ts.PropertyAccessExpression, string][] = [];
  const visit = (n: ts.Node): void => {
    if (ts.isPropertyAccessExpression(n) && n.expression.kind === ts.SyntaxKind.ThisKeyword)
      found.push([n, memberName(n.name)]);
    if (!ts.isFunctionLike(n) || ts.isArrowFunction(n)) ts.forEachChild(n, visit);
  };
  for (const body of bodies) visit(body);
  return found;
}

/** What `this.all[key] = value` gives one place of a table. */
function placeIn(field: ts.Expression): ts.Expression | undefined {
  const { parent: place } = field;
  if (!ts.isElementAccessExpression(place) || !isTarget(place)) return undefined;
  return ts.isBinaryExpression(place.parent) ? place.parent.right : undefined;
}

/** The value that a function ends which is put into a list: `this.ends.push(() => x.dispose())`. */
function endedByFunction(field: ts.Expression, ask: FieldQuestions): Owned | undefined {
  const { parent: access } = field;
  const call = access.parent;
  if (!ts.isPropertyAccessExpression(access) || !ts.isCallExpression(call)) return undefined;
  if (!puts(access.name.text)) return undefined;
  return call.arguments
    .map((given): ts.Node => unwrap(given))
    .filter(hasBody)
    .map((fn) => endedIn(fn, ask))
    .find((owned) => owned !== undefined);
}

/** What a function ends that it does not make itself. */
function endedIn(fn: FunctionWithBody, ask: FieldQuestions): Owned | undefined {
  let found: Owned | undefined;
  const visit = (n: ts.Node): void => {
    const owned = ts.isIdentifier(n) && found === undefined ? ask.ownedAt(n) : null;
    if (owned && Array.isArray(owned.owner.types) && endsAt(n as ts.Identifier, fn, owned))
      found = owned;
    ts.forEachChild(n, visit);
  };
  visit(fn.body);
  return found;
}
