/**
 * Layer calls: methods that a class with a base of the library writes and the library calls. Some
 * models run the `call()` of a layer in a scope of their own, with `predict`, `evaluate` and `fit`
 * alike; others run `forward` in the scope of whoever calls the model. Used by `scope-context.ts`
 * alone.
 */
import ts from "typescript";
import type { Owner } from "../../owner.ts";
import { callsNamed } from "../program/call-index.ts";
import { extendsLibrary } from "../untyped/library-names.ts";
import { makersOf } from "../program/class-makers.ts";
import { fateOf } from "../transfer/fate.ts";
import { managed } from "../objects/members.ts";
import type { Session } from "../session.ts";
import { isUsing, memberName, someWithin, type CallLike } from "../program/syntax.ts";

/** Whether a method is the `call()` of a layer, which the model it is in runs in a scope. */
export function isLayerCall(session: Session, fn: ts.Node): boolean {
  if (!ts.isMethodDeclaration(fn) || memberName(fn.name) !== "call") return false;
  const node = fn.parent;
  return (
    ts.isClassLike(node) &&
    session.settings.owners.some(
      (owner) => owner.policy === "scoped" && isLayer(session, node, owner),
    )
  );
}

const isLayer = (session: Session, node: ts.ClassLikeDeclaration, owner: Owner): boolean =>
  managed(session, node, owner.managers) || extendsLibrary(session.oracle, node, owner);

/** Whether the library calls a method, each time that one of its own is called. */
export const isCalledThrough = (session: Session, fn: ts.Node): boolean =>
  callersOf(session, fn).length > 0;

/** The methods of the library that call one that a class with a base of it writes. */
function callersOf(session: Session, fn: ts.Node): string[] {
  const node = fn.parent;
  if (!ts.isMethodDeclaration(fn) || !ts.isClassLike(node)) return [];
  const name = memberName(fn.name);
  return session.settings.owners.flatMap((owner) =>
    owner.overrides
      .filter(({ method }) => method === name && managed(session, node, owner.managers))
      .flatMap(({ calledBy }) => calledBy),
  );
}

/**
 * Whether a method that the library comes to by one of its own counts on no scope of whoever calls
 * that: it ends a value that it makes with `using`, and no object of its class goes to somebody who
 * may call it elsewhere.
 */
export function countsOnNoScope(session: Session, fn: ts.Node): boolean {
  const node = fn.parent;
  if (!isCalledThrough(session, fn) || !ts.isClassLike(node)) return false;
  const endsOwn = (at: ts.Node): boolean =>
    ts.isVariableDeclaration(at) &&
    isUsing(at) &&
    at.initializer !== undefined &&
    session.oracle.ownedAt(at.initializer)?.owner.policy === "protocol";
  return (
    someWithin(fn, endsOwn) &&
    makersOf(session.oracle, node).every((made) => fateOf(made).kind !== "argument")
  );
}

/** The calls by which the library comes to a method: `model.call(x)` for its `forward`. */
export function callsThrough(session: Session, fn: ts.Node): CallLike[] {
  const by = callersOf(session, fn);
  if (by.length === 0) return [];
  const names = session.oracle.ancestors(fn.parent as ts.ClassLikeDeclaration);
  return by
    .flatMap((caller) => callsNamed(session.oracle, caller))
    .filter((call) => names.includes(receiverOf(session, call)));
}

/** The name of the class that a call of a method which only the library has is asked of. */
function receiverOf(session: Session, call: CallLike): string {
  const { expression } = call;
  if (!ts.isPropertyAccessExpression(expression) || session.oracle.callee(call).body) return "";
  if (expression.expression.kind !== ts.SyntaxKind.SuperKeyword)
    return session.oracle.typeName(expression.expression);
  return ts.findAncestor(call, ts.isClassLike)?.name?.text ?? "";
}
