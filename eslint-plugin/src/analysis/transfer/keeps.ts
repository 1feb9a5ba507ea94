/**
 * Keeping: what the owner's settings say about calls that hand a value back: those that keep or
 * move it, those that run a callback in a scope and give its result; and about properties that keep
 * an alias. Used by the verbs and by the table of `transfer.ts`.
 */
import ts from "typescript";
import { isHolder, type Owner } from "../../owner.ts";
import { functionHanded } from "../program/callee.ts";
import { fateOf } from "./fate.ts";
import { scopeObjectAt } from "../scopes/scope-objects.ts";
import type { Callee, Owned } from "../program/oracle.ts";
import type { Session } from "../session.ts";
import { isNullish, someWithin, unwrap } from "../program/syntax.ts";

/**
 * The expression a keeping call (`keep(t)`, `t.moveToOuter()`, `scope.detach(t)`) hands back
 * unchanged.
 */
export function keptBy(
  session: Session,
  call: ts.CallExpression,
  callee: Callee,
  { owner }: Owned,
): ts.Expression | undefined {
  const { oracle } = session;
  if (
    callee.receiver &&
    owner.keep.methods.includes(callee.name) &&
    oracle.ownedAt(callee.receiver)?.owner === owner
  )
    return callee.receiver;
  const [first, second] = call.arguments;
  const given = owner.scopeObject.moves.includes(callee.name) ? second : first;
  if (
    given &&
    oracle.is(callee, owner.keep.functions, owner) &&
    oracle.ownedAt(given)?.owner === owner
  )
    return given;
  return undefined;
}

/** Whether no scope frees what a call keeps: `tf.keep(t)`, `scope.moveTo(null, t)`. */
export function detaches({ oracle }: Session, call: ts.CallExpression, owner: Owner): boolean {
  const callee = oracle.callee(call);
  if (oracle.is(callee, owner.lasting, owner)) return true;
  const [target] = call.arguments;
  if (!owner.scopeObject.moves.includes(callee.name) || !target) return false;
  return isNullish(unwrap(target)) && oracle.is(callee, owner.keep.functions, owner);
}

/**
 * Whether a call, or one below it, keeps its value for good: no scope frees it after that, and
 * nobody else has a name for it.
 */
export function lasts(session: Session, value: ts.Expression): boolean {
  const call = unwrap(value);
  const owned = session.oracle.ownedAt(call);
  if (owned && isDetachedNext(session, call, owned.owner)) return true;
  if (!ts.isCallExpression(call) || owned?.shape !== "one") return false;
  const callee = session.oracle.callee(call);
  const kept = keptBy(session, call, callee, owned);
  if (!kept) return false;
  return detaches(session, call, owned.owner)
    ? ts.isCallExpression(unwrap(kept))
    : lasts(session, kept);
}

/** Whether a call keeps its value for good (`tf.keep(t)`), in whatever scope it stands. */
export function isKeptForGood(session: Session, value: ts.Expression, owner: Owner): boolean {
  const call = unwrap(value);
  return ts.isCallExpression(call) && detaches(session, call, owner);
}

/** `const t = f(); … scope.detach(t);`: a name whose value no scope frees, on every way. */
function isDetachedNext(session: Session, value: ts.Expression, owner: Owner): boolean {
  const { kind, node } = fateOf(value);
  if (owner.lasting.length === 0 || kind !== "bound") return false;
  if (!ts.isVariableDeclaration(node) || !ts.isIdentifier(node.name)) return false;
  const { text } = node.name;
  const statement = node.parent.parent;
  if (!ts.isVariableStatement(statement) || !ts.isBlock(statement.parent)) return false;
  const { statements } = statement.parent;
  for (const next of statements.slice(statements.indexOf(statement) + 1)) {
    if (ts.isExpressionStatement(next) && isDetaching(session, next.expression, owner)) {
      const call = next.expression as ts.CallExpression;
      const { receiver } = session.oracle.callee(call);
      const named = [...call.arguments, ...(receiver ? [receiver] : [])].map(unwrap);
      if (named.some((n) => ts.isIdentifier(n) && n.text === text)) return true;
    }
    if (someWithin(next, isWayOut)) return false;
  }
  return false;
}

const isWayOut = (node: ts.Node): boolean =>
  ts.isReturnStatement(node) || ts.isThrowStatement(node) || ts.isBreakOrContinueStatement(node);

/** `scope.detach(t);`, `t.detachFromScope();`: no scope frees `t` after that. */
export const isDetaching = (session: Session, call: ts.Node, owner: Owner): boolean =>
  ts.isCallExpression(call) && fateOf(call).kind === "dropped" && detaches(session, call, owner);

/** The callback of a scope function that moves its result out, or of one that runs it inline. */
export function scopeCallback(
  session: Session,
  call: ts.CallExpression,
  callee: Callee,
  { owner }: Owned,
): ts.Expression | undefined {
  const functions = call.arguments.filter((a) => functionHanded(session.oracle, a));
  const last = functions[functions.length - 1];
  if (!last) return undefined;
  const isFor = (of: Owner): boolean => {
    const scopes = of.scopes.flatMap((s) =>
      "callee" in s && s.movesResultOut !== false ? [s.callee] : [],
    );
    return session.oracle.is(callee, scopes, of) || session.oracle.is(callee, of.runsInline, of);
  };
  if (isFor(owner)) return last;
  const isSeen = ({ listing }: Owner): boolean =>
    listing === "" || listsParts(session, call, listing);
  const isOfOthers = isHolder(owner, session.settings) && ts.isCallExpression(call);
  return isOfOthers && session.settings.owners.some((of) => isFor(of) && isSeen(of))
    ? last
    : undefined;
}

/** Whether a scope sees into an object that its callback gives: its class has `[tensors]()`. */
const listsParts = ({ oracle }: Session, call: ts.CallExpression, listing: string): boolean =>
  oracle
    .declarationsAt(call)
    .some(
      (declared) =>
        ts.isClassLike(declared) &&
        declared.members.some(({ name }) => name?.getText() === `[${listing}]`),
    );

/** `scope.attach(t);`, `scope.attach(t).neg()`: the scope has what it is given from then on. */
export function isAttached(session: Session, call: ts.Node): boolean {
  if (!ts.isCallExpression(call)) return false;
  const { builtin, name, receiver } = session.oracle.callee(call);
  const isScope = (at: ts.Expression): boolean =>
    scopeObjectAt(session, at)?.keeps.includes(name) === true;
  const isLast = fateOf(call).kind === "dropped";
  return !builtin && (isLast || (receiver !== undefined && isScope(receiver)));
}

/** `p.grad = g`: a property whose every read is fresh keeps an alias of what it is given. */
export const storesAlias = (owner: Owner, left: ts.Expression): boolean =>
  ts.isPropertyAccessExpression(left) && owner.freshProperties.includes(left.name.text);

/** `for (using row of t)`: whether a loop through one value gets new ones, and leaves it alone. */
export const makesParts = ({ oracle }: Session, node: ts.Node, { owner, shape }: Owned): boolean =>
  shape === "one" && owner.calls === "fresh" && oracle.gives(node, "elements");
