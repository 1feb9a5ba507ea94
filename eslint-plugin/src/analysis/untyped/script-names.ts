/**
 * Names without types: what a script calls its functions, and which calls by a name alone are of
 * one of them. Used by `scope-context.ts` alone, which asks who calls a function.
 */
import ts from "typescript";
import { fieldOfThis } from "../objects/members.ts";
import type { Session } from "../session.ts";
import { calleeNameNode, type CallLike } from "../program/syntax.ts";

/** `this.model.predict(t)`: a call of the library's, of what a field or a variable holds. */
export function isOfLibrary(session: Session, call: CallLike): boolean {
  if (!ts.isPropertyAccessExpression(call.expression)) return false;
  const { library, member } = session.oracle.callee(call);
  const isKept = fieldOfThis(call.expression.expression) !== undefined;
  return member !== undefined || (isKept && library !== undefined);
}

/** The name of a method that a script gives a class: `Net.prototype.predict = function () {}`. */
export function methodName({ parent }: ts.Node): string | undefined {
  if (!ts.isBinaryExpression(parent) || !ts.isPropertyAccessExpression(parent.left))
    return undefined;
  const { expression, name } = parent.left;
  return ts.isPropertyAccessExpression(expression) && expression.name.text === "prototype"
    ? name.text
    : undefined;
}

/** The name that a script gives a function and nobody declares: `load = async () => {}`. */
export function nameInScript(session: Session, { parent }: ts.Node): ts.Identifier | undefined {
  const isGiven =
    ts.isBinaryExpression(parent) && parent.operatorToken.kind === ts.SyntaxKind.EqualsToken;
  return isGiven && ts.isIdentifier(parent.left) && !session.oracle.symbolAt(parent.left)
    ? parent.left
    : undefined;
}

/** Whether a name is read out of something: `page.load`. */
export const isMemberName = ({ parent }: ts.Identifier): boolean =>
  ts.isPropertyAccessExpression(parent);

/** Whether a call names its function: `x.f()` of an unknown `x` only may call it. */
export function isNamedSurely(session: Session, site: ts.Node): boolean {
  const callee = isCallLike(site) ? calleeNameNode(site) : undefined;
  return callee === undefined || session.oracle.symbolAt(callee) !== undefined;
}

const isCallLike = (node: ts.Node): node is CallLike =>
  ts.isCallExpression(node) || ts.isNewExpression(node);
