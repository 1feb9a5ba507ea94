/**
 * Other names: what ends a field of an object without its name: by a key, `this[key]?.dispose()`,
 * or by what a getter, method or generator of the class gives, `tf.dispose(this.all)`. Used by
 * `slot-losses.ts`.
 */
import ts from "typescript";
import { fieldOfThis } from "../objects/members.ts";
import {
  calleeNameNode,
  hasBody,
  isTarget,
  memberName,
  someWithin,
  unwrap,
  wellKnownSymbol,
  within,
} from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { soundsLikeDisposal } from "../transfer/disposes.ts";
import type { Slot } from "./slots.ts";

/** Whether a function, or one of its file that it calls, may end a field by another name. */
export function mayEndByOtherName(
  session: Session,
  slot: Slot,
  fn: ts.Node,
  seen = new Set<ts.Node>(),
): boolean {
  const holder = ts.findAncestor(fn, ts.isClassLike);
  if (!holder || !slot.mentions.some((m) => fieldOfThis(m))) return false;
  if (seen.has(fn) || seen.size > 20) return false;
  seen.add(fn);
  if (endsSomething(fn) && namesOtherwise(slot, fn, holder)) return true;
  return someWithin(fn, (node) => {
    if (!ts.isCallExpression(node) || !fieldOfThis(node.expression)) return false;
    const { body } = session.oracle.callee(node);
    return body !== undefined && mayEndByOtherName(session, slot, body, seen);
  });
}

/** Whether anything within a function is called like an end. */
const endsSomething = (fn: ts.Node): boolean =>
  someWithin(
    fn,
    (n) => ts.isCallExpression(n) && soundsLikeDisposal(calleeNameNode(n)?.text ?? endedKey(n)),
  );

/** The `dispose` of `x[Symbol.dispose]()`. */
const endedKey = ({ expression }: ts.CallExpression): string =>
  ts.isElementAccessExpression(expression) ? expression.argumentExpression.getText() : "";

/** `return [this.h, this.c];`, and not only `return this.h.size;`. */
const isGivenIn = (mention: ts.Node, member: ts.Node): boolean =>
  within(mention, member) && !ts.isPropertyAccessExpression(mention.parent);

/** `this[key]`, or `this.all` of a member that speaks of the field and ends nothing itself. */
function namesOtherwise({ mentions }: Slot, fn: ts.Node, holder: ts.ClassLikeDeclaration): boolean {
  const speaking = new Set(
    holder.members
      .filter((m) => hasBody(m) && !within(fn, m) && mentions.some((at) => isGivenIn(at, m)))
      .filter((m) => !ts.isConstructorDeclaration(m) && !endsSomething(m))
      .filter((m) => !mentions.some((at) => within(at, m) && isTarget(at)))
      .map((m) => (m.name ? memberName(m.name) : "")),
  );
  return someWithin(fn, (node) => {
    if (ts.isElementAccessExpression(node))
      return (
        unwrap(node.expression).kind === ts.SyntaxKind.ThisKeyword &&
        !ts.isStringLiteralLike(node.argumentExpression) &&
        wellKnownSymbol(node.argumentExpression) === undefined
      );
    const field = fieldOfThis(node);
    return field !== undefined && speaking.has(field.name.text);
  });
}
