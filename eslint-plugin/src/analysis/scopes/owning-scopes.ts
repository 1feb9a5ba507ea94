/**
 * Owning scopes: whether what is put in a field belongs to a scope that lives on, and so needs no
 * other end: `this.x = this.#scope.use(make())`, where the scope is in a field too and somebody
 * ends it. Used by `members.ts`.
 */
import ts from "typescript";
import { sourcesOf } from "../program/call-index.ts";
import { accessesByName, elementsByName } from "../program/field-index.ts";
import {
  calleeNameNode,
  isNullish,
  isSelf,
  isTarget,
  memberName,
  unwrap,
  within,
} from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { handedTo } from "../transfer/callbacks.ts";
import { enclosingFunction, fateOf } from "../transfer/fate.ts";
import { keptBy } from "../transfer/keeps.ts";
import { isMovedOn, opensScope } from "./open-scopes.ts";
import { isMove, scopeObjectAt } from "./scope-objects.ts";

/**
 * Whether a scope that lives on has what is made at a place: `this.scope.run(() => …)`,
 * `this.scope.attach(x)`, or anything before `this.scope = scope.move()`.
 */
export function isOfLastingScope(session: Session, value: ts.Expression): boolean {
  const made = unwrap(value);
  if (scopeObjectAt(session, made)) return false; // no scope has another
  const owner = ts.isCallExpression(made) ? ownerOf(session, made) : runningScope(session, value);
  if (owner && livesOn(session, owner)) return true;
  const home = enclosingFunction(value);
  return session.oracle.facts
    .variables(value.getSourceFile())
    .some(
      (d) =>
        enclosingFunction(d) === home &&
        d.initializer !== undefined &&
        opensScope(session, d.initializer) &&
        isMovedOn(session, d),
    );
}

/** The scope that has what a call gives: `scope` of `scope.use(t)`, `other.moveTo(scope, t)`. */
function ownerOf(session: Session, call: ts.CallExpression): ts.Expression | undefined {
  const target = call.expression;
  if (!ts.isPropertyAccessExpression(target)) return runningScope(session, call);
  const { expression: on, name } = target;
  const [first] = call.arguments;
  if (isMove(session, name.text)) return first && !isNullish(unwrap(first)) ? first : undefined;
  const scope = scopeObjectAt(session, on);
  if (scope && [scope.runs, scope.keeps, scope.carries].flat().includes(name.text)) return on;
  const owned = session.oracle.ownedAt(call);
  const isMoved = owned && keptBy(session, call, session.oracle.callee(call), owned);
  return isMoved ? undefined : runningScope(session, call);
}

/** `scope.run(() => { this.x = make(); })`: the scope in which a place runs. */
function runningScope(session: Session, value: ts.Expression): ts.Expression | undefined {
  for (let fn = enclosingFunction(value); fn; fn = enclosingFunction(fn)) {
    const target = handedTo(fn)?.expression;
    if (!target || !ts.isPropertyAccessExpression(target)) return undefined;
    const scope = scopeObjectAt(session, target.expression);
    if (scope?.runs.includes(target.name.text)) return target.expression;
  }
  return undefined;
}

/** Whether somebody ends a scope, or may: not one in a field that its class opens and leaves. */
function livesOn(session: Session, scope: ts.Expression): boolean {
  const field = unwrap(scope);
  const isField = ts.isPropertyAccessExpression(field) && isSelf(field.expression);
  const place = isField ? ts.findAncestor(field, ts.isClassLike) : undefined;
  if (!isField || !place) return true;
  const name = field.name.text;
  const { facts, program } = session.oracle;
  const isHere = ts.isPrivateIdentifier(field.name);
  const files = isHere ? [place.getSourceFile()] : sourcesOf(program);
  if (files.some((f) => facts.of(f, elementsByName).has(name))) return true;
  const accesses = files.flatMap((f) => facts.of(f, accessesByName).get(name) ?? []);
  const mentions = isHere ? accesses.filter((at) => within(at, place)) : accesses;
  const starts = place.members.flatMap((m) =>
    ts.isPropertyDeclaration(m) && memberName(m.name) === name && m.initializer
      ? [m.initializer]
      : [],
  );
  const given = [...starts, ...mentions.flatMap(storedAt)].filter((v) => !isNullish(unwrap(v)));
  const isOwn = given.length > 0 && given.every((v) => opensScope(session, v));
  return !isOwn || !mentions.every((at) => leavesIt(session, at));
}

/** `this.scope = newDisposeScope()`: what a field is given. */
const storedAt = (at: ts.PropertyAccessExpression): ts.Expression[] =>
  ts.isBinaryExpression(at.parent) && isTarget(at) ? [at.parent.right] : [];

/** Whether a mention of a scope leaves it open, and does not hand it on. */
function leavesIt(session: Session, at: ts.PropertyAccessExpression): boolean {
  if (isTarget(at)) return true;
  const { kind, member, node } = fateOf(at);
  if (kind === "read") return true;
  if (kind === "argument") {
    const name = ts.isCallExpression(node) ? calleeNameNode(node)?.text : undefined;
    return name !== undefined && isMove(session, name);
  }
  const scope = scopeObjectAt(session, at);
  if (kind !== "receiver" || !scope) return false;
  const { keeps, carries, runs, moves, others } = scope;
  return [keeps, carries, runs, moves, others].flat().includes(member);
}
