/**
 * Partial records: fields of an object that a place holds, `this.parts = { a, b }`, which the end
 * of that place leaves out where it ends some of them one by one. Used by the rule about members
 * and by `closure-endings.ts`, as `partial-lists.ts` is for lists.
 */
import ts from "typescript";
import { enclosingFunction, fateOf } from "./fate.ts";
import type { Owned } from "./oracle.ts";
import { referencesTo } from "./references.ts";
import type { Session } from "./session.ts";
import { isTarget, memberName, unwrap } from "./syntax.ts";

/** A place that holds a record. */
export interface RecordPlace {
  /** How messages call it. */
  label: string;
  /** What makes the record. */
  at: ts.Expression;
  owned: Owned;
  /** What speaks of it where it is ended. */
  mentions: readonly ts.Expression[];
}

/** A field of a record that nobody ends, and the property that gives it its value. */
export interface LeftOut {
  label: string;
  at: ts.Expression;
}

/**
 * What of a record is left out where the rest is ended by name. Nothing where none is ended, or
 * anything else is done with the record, such as walking it.
 */
export function leftOutOf(
  session: Session,
  { label, at, owned, mentions }: RecordPlace,
): LeftOut[] {
  const literal = unwrap(at);
  if (owned.shape !== "record" || !ts.isObjectLiteralExpression(literal)) return [];
  const named = new Set<string>();
  let ends = false;
  for (const mention of mentions) {
    const place = partOf(mention);
    const pattern = place ? undefined : patternOf(mention);
    if (!place && !pattern && !isAsked(mention)) return [];
    if (place) named.add(place.name.text);
    ends ||= place !== undefined && endsPart(place, owned.owner.dispose.methods);
    for (const element of pattern?.elements ?? []) {
      named.add(memberName(element.propertyName ?? element.name));
      ends ||= isEnded(session, element);
    }
  }
  if (!ends) return [];
  return literal.properties.flatMap((property) => {
    const field = property.name && memberName(property.name);
    if (field === undefined || named.has(field) || !owned.fields.includes(field)) return [];
    const value = ts.isPropertyAssignment(property) ? property.initializer : property.name;
    return value && ts.isExpression(value) ? [{ label: `${label}.${field}`, at: value }] : [];
  });
}

/** `this.parts.a`, of a mention of `this.parts`. */
function partOf(node: ts.Node): ts.PropertyAccessExpression | undefined {
  const { parent } = node;
  if (ts.isNonNullExpression(parent)) return partOf(parent);
  return ts.isPropertyAccessExpression(parent) && parent.expression === node ? parent : undefined;
}

/** The pattern of `const { a, b } = this.parts`, if it has names alone. */
function patternOf(mention: ts.Expression): ts.ObjectBindingPattern | undefined {
  const { kind, node } = fateOf(mention);
  if (kind !== "bound" || !ts.isVariableDeclaration(node)) return undefined;
  const { name } = node;
  const isPlain = (e: ts.BindingElement): boolean => ts.isIdentifier(e.name) && !e.dotDotDotToken;
  return ts.isObjectBindingPattern(name) && name.elements.every(isPlain) ? name : undefined;
}

/** `this.parts.a.destroy()`. */
const endsPart = ({ parent }: ts.PropertyAccessExpression, methods: readonly string[]): boolean =>
  ts.isPropertyAccessExpression(parent) && methods.includes(parent.name.text);

/** Whether a name that a pattern gives is ended. */
function isEnded(session: Session, element: ts.BindingElement): boolean {
  const { name } = element;
  const root = enclosingFunction(element) ?? element.getSourceFile();
  return (
    ts.isIdentifier(name) &&
    referencesTo(session.oracle, element, name, root).some(
      (id) => id !== name && session.transfer(id).effect === "disposes",
    )
  );
}

/** `if (this.parts)`, `this.parts = null`: says nothing of what is inside. */
const isAsked = (node: ts.Node): boolean =>
  (ts.isIfStatement(node.parent) && node.parent.expression === node) ||
  ts.isPrefixUnaryExpression(node.parent) ||
  isTarget(node);
