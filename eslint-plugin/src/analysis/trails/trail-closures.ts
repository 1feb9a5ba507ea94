/**
 * Trail closures: functions and objects that carry what they mention to where no trail follows: a
 * closure that is returned or kept for later, an object without an end that leaves its program.
 * Used by `trails.ts` and `trail-fields.ts`.
 */
import ts from "typescript";
import { callSitesOf, bindingOf } from "../program/call-sites.ts";
import { handedTo } from "../transfer/callbacks.ts";
import { makersOf } from "../program/class-makers.ts";
import { isFinal } from "../objects/closure-endings.ts";
import { soundsLikeDisposal } from "../transfer/disposes.ts";
import { freeing } from "../objects/endings.ts";
import { enclosingFunction, fateOf } from "../transfer/fate.ts";
import type { Session } from "../session.ts";
import { baseOf, hasBody, memberName, type FunctionWithBody } from "../program/syntax.ts";

/** Whether a method of a name may end what its object has. */
export const mayEnd = (name: string): boolean => freeing.test(name) || soundsLikeDisposal(name);

/** Whether a mention stands in a function that may run wherever it is carried to. */
export function isCarriedOff(
  session: Session,
  mention: ts.Node,
  home: ts.Node,
  seen = new Set<ts.Node>(),
): boolean {
  let fn = enclosingFunction(mention);
  while (fn && fn !== home && !seen.has(fn)) {
    seen.add(fn);
    if (!hasBody(fn) || isCarried(session, fn, home, seen)) return true;
    fn = enclosingFunction(fn);
  }
  return false;
}

function isCarried(
  session: Session,
  fn: FunctionWithBody,
  home: ts.Node,
  seen: Set<ts.Node>,
): boolean {
  if (ts.isClassLike(fn.parent)) return false;
  const call = handedTo(fn);
  if (call) {
    const mode = session.callback(call, fn);
    const isAnswer = mode === "later" && session.oracle.callee(call).builtin;
    return mode !== "inline" && mode !== "scoped" && !isAnswer;
  }
  const property = bindingOf(fn) ?? fn;
  const holder = property.parent;
  if (ts.isObjectLiteralExpression(holder)) return !holder.properties.some(isEnding);
  if (!ts.isFunctionDeclaration(fn) && !ts.isVariableDeclaration(property)) return true;
  const { calls, values } = callSitesOf(session.oracle, fn, "file");
  return (
    values.some((value) => !isOfEndingObject(value)) ||
    calls.some((by) => isCarriedOff(session, by, home, seen))
  );
}

const isOfEndingObject = ({ parent }: ts.Node): boolean =>
  (ts.isPropertyAssignment(parent) || ts.isShorthandPropertyAssignment(parent)) &&
  parent.parent.properties.some(isEnding);

const isEnding = ({ name }: ts.NamedDeclaration): boolean => {
  const text = name ? memberName(name as ts.PropertyName) : "";
  return isFinal(text) || mayEnd(text);
};

/** Whether objects of a class that cannot end leave the function that makes them. */
export function leavesWithoutEnd(session: Session, node: ts.ClassLikeDeclaration): boolean {
  if (baseOf(node) || node.members.some(isEnding)) return false;
  const makers = makersOf(session.oracle, node);
  return (
    makers.length === 0 ||
    makers.some((made) => !/^(bound|receiver|dropped)$/.test(fateOf(made).kind))
  );
}
