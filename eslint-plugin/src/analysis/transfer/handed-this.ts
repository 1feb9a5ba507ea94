/**
 * Handed this: `this` that goes somewhere as a whole, as in `camera.update(this)`, and whether who
 * gets it leaves a field of the object alone. Used where functions are entered that fill fields.
 */
import ts from "typescript";
import { enclosingFunction } from "./fate.ts";
import { reach } from "../objects/class-reach.ts";
import { fieldOfThis } from "../objects/members.ts";
import { referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";
import type { Slot } from "../flow/slots.ts";
import { memberName, someWithin } from "../program/syntax.ts";

/** Where a function has `this` as a whole, nested functions left out. */
export function wholesIn(root: ts.Node): ts.Node[] {
  const found: ts.Node[] = [];
  const visit = (node: ts.Node): void => {
    const isThis = node.kind === ts.SyntaxKind.ThisKeyword;
    if (isThis && !ts.isPropertyAccessExpression(node.parent) && enclosingFunction(node) === root)
      found.push(node);
    ts.forEachChild(node, visit);
  };
  visit(root);
  return found;
}

/**
 * Whether a function of the program is given `this`, and asks only for other fields of it and for
 * methods that do not speak of this one.
 */
export function leavesFieldAlone(session: Session, at: ts.Node, slot: Slot): boolean {
  const { parent: call } = at;
  const { holder } = slot;
  const field = slot.mentions.map((m) => fieldOfThis(m)?.name.text).find((n) => n !== undefined);
  if (!ts.isCallExpression(call) || call.expression === at || !ts.isClassLike(holder)) return false;
  const { body } = session.oracle.callee(call);
  const parameter = body?.parameters[call.arguments.findIndex((argument) => argument === at)];
  if (!body || !field || !parameter || parameter.dotDotDotToken || !ts.isIdentifier(parameter.name))
    return false;
  return referencesTo(session.oracle, parameter, parameter.name, body).every((id) => {
    if (id === parameter.name) return true;
    const use = id.parent;
    if (!ts.isPropertyAccessExpression(use) || use.expression !== id) return false;
    const asked = holder.members.filter((m) => m.name && memberName(m.name) === use.name.text);
    const reached = [...reach(session.oracle, holder, asked)];
    const speaks = (n: ts.Node): boolean => fieldOfThis(n)?.name.text === field;
    return use.name.text !== field && !reached.some((member) => someWithin(member, speaks));
  });
}
