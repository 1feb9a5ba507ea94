/**
 * Pointers: fields of an object that only point at what another of its fields owns: `this.all
 * .push(part); this.last = part;`, where the object ends what `all` holds. Used by the verbs about
 * what fields hold and what they lose.
 */
import ts from "typescript";
import { putValues, puts } from "../program/containers.ts";
import { referencesTo } from "../program/references.ts";
import { someWithin, unwrap } from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { soundsLikeDisposal } from "../transfer/disposes.ts";
import { mayEndWithin } from "./ended-by-callers.ts";
import { fieldOfThis } from "./members.ts";

/** Whether a local that a field is given is ended by way of another field, never by this one. */
export function isPointer(session: Session, field: string, value: ts.Expression): boolean {
  const { oracle } = session;
  const id = unwrap(value);
  const source = ts.isIdentifier(id) ? oracle.declarationAt(id) : undefined;
  if (!source || !ts.isVariableDeclaration(source) || !ts.isIdentifier(source.name)) return false;
  const home = enclosingFunction(source);
  const holder = home && ts.findAncestor(home, ts.isClassLike);
  if (!holder) return false;
  const others = referencesTo(oracle, source, source.name, home).flatMap((mention) =>
    mention === source.name || mention === id ? [] : (fieldKeeping(session, mention) ?? []),
  );
  const isEnded = (name: string): boolean =>
    mayEndWithin(session, holder, (node) => fieldOf(node) === name && !isCleared(node)) ||
    someWithin(holder, (node) => isEndOf(node, name));
  return others.some((name) => name !== field && isEnded(name)) && !isEnded(field);
}

/** `this.all.clear()`: what was in it is not ended. */
export const isCleared = ({ parent }: ts.Node): boolean =>
  ts.isPropertyAccessExpression(parent) && /^(clear|delete)$/.test(parent.name.text);

/** `this.tracker.dispose()`, whatever kind of object that is. */
const isEndOf = (node: ts.Node, field: string): boolean =>
  ts.isPropertyAccessExpression(node) &&
  soundsLikeDisposal(node.name.text) &&
  !/^(clear|delete|drop|reset)/.test(node.name.text) &&
  fieldOf(node.expression) === field;

/**
 * The field of this object that a mention is put into, alone or in a record, or whose method keeps
 * it: `this.tracker.track(part)`.
 */
function fieldKeeping(session: Session, mention: ts.Identifier): string | undefined {
  let node: ts.Node = mention;
  while (isPartOfLiteral(node.parent)) node = node.parent;
  const { parent } = node;
  if (ts.isBinaryExpression(parent) && parent.right === node) {
    const { left, operatorToken } = parent;
    if (operatorToken.kind !== ts.SyntaxKind.EqualsToken) return undefined;
    return fieldOf(ts.isElementAccessExpression(left) ? left.expression : left);
  }
  if (!ts.isCallExpression(parent) || !ts.isPropertyAccessExpression(parent.expression))
    return undefined;
  const { name, expression: list } = parent.expression;
  const isPut = puts(name.text) && putValues(name.text, parent.arguments).some((v) => v === node);
  return isPut || isKeptBy(session, parent, node) ? fieldOf(list) : undefined;
}

/** Whether the method of a call keeps an argument, be it that it also gives it back. */
function isKeptBy(session: Session, call: ts.CallExpression, given: ts.Node): boolean {
  const { body } = session.oracle.callee(call);
  const at = call.arguments.findIndex((argument) => argument === given);
  return body !== undefined && session.summary(body).parameters[at]?.stores === true;
}

const isPartOfLiteral = (node: ts.Node): boolean =>
  ts.isShorthandPropertyAssignment(node) ||
  ts.isPropertyAssignment(node) ||
  ts.isObjectLiteralExpression(node) ||
  ts.isArrayLiteralExpression(node);

/** The name of a field of this object. */
const fieldOf = (node: ts.Node): string | undefined => fieldOfThis(node)?.name.text;
