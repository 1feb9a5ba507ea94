/**
 * Object members: functions written in an object that the outside gets, so that somebody unseen
 * calls them: an object that is all a module exports, the methods of a component that a framework
 * is given when the module loads, the `on…` callbacks of a call that trains. Used by
 * `scope-context.ts`.
 */
import ts from "typescript";
import { bindingOf, isCommonExport, nameOf } from "./call-sites.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import type { Session } from "../session.ts";

/**
 * Whether the object that a function is a member of, at any depth, leaves the program. Objects with
 * a name are left out: as a table, of which something inside a scope takes its functions.
 *
 * @param isStranger whether a call reaches code that opens no scope
 */
export function isOfferedMember(
  session: Session,
  fn: ts.Node,
  isStranger: (call: ts.CallExpression | ts.NewExpression) => boolean,
): boolean {
  const outer = outermost(fn);
  if (!outer) return false;
  const { parent } = outer;
  if (ts.isExportAssignment(parent)) return true;
  if (isCommonExport(parent)) return parent.right === outer;
  if (!ts.isCallExpression(parent) && !ts.isNewExpression(parent)) return false;
  if (parent.expression === outer) return false;
  if (isEvent(fn) && looksOnly(session, parent)) return true;
  return enclosingFunction(parent) === undefined && isStranger(parent);
}

/** The outermost literal around a member, where only literals are in between. */
function outermost(fn: ts.Node): ts.ObjectLiteralExpression | undefined {
  let member: ts.Node = bindingOf(fn) ?? fn;
  while (ts.isObjectLiteralExpression(member.parent)) {
    const literal = member.parent;
    if (!ts.isPropertyAssignment(literal.parent)) return literal;
    member = literal.parent;
  }
  return undefined;
}

const isEvent = (fn: ts.Node): boolean => /^on[A-Z]/.test(nameOf(fn) ?? "");

/** `model.fit(…)`: it waits for its callbacks, and no scope outlasts that. */
function looksOnly(session: Session, call: ts.CallExpression | ts.NewExpression): boolean {
  const { name } = session.oracle.callee(call);
  return session.settings.owners.some((o) => o.untyped.looks.includes(name));
}
