/**
 * Moved lists: fields with lists into which a class puts what another of its fields held,
 * `this.past.push(this.shown); this.shown = next;`, and of which it ends what it takes out. Used by
 * the rule about members, beside `taken-fields.ts`, which tells of single values.
 */
import ts from "typescript";
import { putValues, puts } from "../program/containers.ts";
import { isTarget, someWithin, unwrap } from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { ownsElements } from "./ended-elements.ts";
import { fieldOfThis, ownedMembers, type Member } from "./members.ts";

/** The lists of a class that it fills so, and that it fills with nothing of its own making. */
export function movedLists(session: Session, node: ts.ClassLikeDeclaration): Member[] {
  const known = new Set(ownedMembers(session, node).map(({ name }) => name));
  const found = new Map<string, Member>();
  const visit = (inner: ts.Node): void => {
    ts.forEachChild(inner, visit);
    if (!ts.isCallExpression(inner) || !ts.isPropertyAccessExpression(inner.expression)) return;
    const { expression: list, name: method } = inner.expression;
    const field = fieldOfThis(list);
    if (!field || !puts(method.text) || known.has(field.name.text)) return;
    const [at] = putValues(method.text, inner.arguments).map(unwrap).filter(isMovedInto);
    if (!at || found.has(field.name.text) || !session.oracle.callee(inner).builtin) return;
    const owned = session.oracle.ownedAt(list);
    if (owned?.shape !== "many" || owned.owner.policy !== "protocol") return;
    if (!ownsElements(session, list)) return;
    const { text: name } = field.name;
    found.set(name, { name, at, makes: [at], owned, atOnce: false, inConstructor: false });
  };
  node.members.forEach(visit);
  return [...found.values()];
}

/** A field that the same function gives something else afterwards. */
function isMovedInto(value: ts.Expression): boolean {
  const field = fieldOfThis(value);
  const fn = enclosingFunction(value);
  const isRefilled = (at: ts.Node): boolean =>
    at.pos > value.end && isTarget(at) && fieldOfThis(at)?.name.text === field?.name.text;
  return field !== undefined && fn !== undefined && someWithin(fn, isRefilled);
}
