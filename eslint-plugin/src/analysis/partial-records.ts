/**
 * Partial records: fields of an object in a field, `this.parts = { a, b }`, that the method which
 * ends some of them one by one leaves out. Used by the rule about members, as `partial-lists.ts` is
 * for lists.
 */
import ts from "typescript";
import { fieldOfThis, type Member } from "./members.ts";
import { isTarget, memberName, unwrap } from "./syntax.ts";

/** A field of a record that nobody ends, and the property that gives it its value. */
export interface LeftOut {
  label: string;
  at: ts.Expression;
}

/**
 * What of a record in a field some methods leave out that end the rest by name. Nothing where they
 * end none, or do anything else with the record, such as walking it.
 */
export function leftOutOf({ name, at, owned }: Member, methods: Iterable<ts.Node>): LeftOut[] {
  const literal = unwrap(at);
  if (owned.shape !== "record" || !ts.isObjectLiteralExpression(literal)) return [];
  const named = new Set<string>();
  let whole = false,
    ends = false;
  const visit = (node: ts.Node): void => {
    if (fieldOfThis(node)?.name.text === name) {
      const place = partOf(node);
      if (place) named.add(place.name.text);
      else whole ||= !isAsked(node);
      ends ||= place !== undefined && endsPart(place, owned.owner.dispose.methods);
    }
    ts.forEachChild(node, visit);
  };
  for (const method of methods) visit(method);
  if (whole || !ends) return [];
  return literal.properties.flatMap((property) => {
    const field = property.name && memberName(property.name);
    if (field === undefined || named.has(field) || !owned.fields.includes(field)) return [];
    const value = ts.isPropertyAssignment(property) ? property.initializer : property.name;
    return value && ts.isExpression(value) ? [{ label: `this.${name}.${field}`, at: value }] : [];
  });
}

/** `this.parts.a`, of a mention of `this.parts`. */
function partOf(node: ts.Node): ts.PropertyAccessExpression | undefined {
  const { parent } = node;
  if (ts.isNonNullExpression(parent)) return partOf(parent);
  return ts.isPropertyAccessExpression(parent) && parent.expression === node ? parent : undefined;
}

/** `this.parts.a.destroy()`. */
const endsPart = ({ parent }: ts.PropertyAccessExpression, methods: readonly string[]): boolean =>
  ts.isPropertyAccessExpression(parent) && methods.includes(parent.name.text);

/** `if (this.parts)`, `this.parts = null`: says nothing of what is inside. */
const isAsked = (node: ts.Node): boolean =>
  (ts.isIfStatement(node.parent) && node.parent.expression === node) ||
  ts.isPrefixUnaryExpression(node.parent) ||
  isTarget(node);
