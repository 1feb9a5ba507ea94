/**
 * Rescues: what code does about a value that a scope would free: it keeps or moves it, hands it on,
 * or needs it no longer when the scope ends. Used by `escapes.ts`.
 */
import ts from "typescript";
import { functionHanded } from "../program/callee.ts";
import { enclosingFunction, fateOf, returnsOf } from "../transfer/fate.ts";
import { keptBy } from "../transfer/keeps.ts";
import { isCarry, putsInside, type OpenScope } from "./open-scopes.ts";
import type { Owned } from "../program/oracle.ts";
import { referencesTo } from "../program/references.ts";
import { samePlace } from "../program/same-place.ts";
import type { Session } from "../session.ts";
import { unwrap, within } from "../program/syntax.ts";

/**
 * Whether a value is moved, detached or kept in the expression that makes it, or by the function
 * that does.
 *
 * @param scope what it has to leave; what its callers have open when not given
 */
export function makerKeeps(
  session: Session,
  value: ts.Expression,
  owned: Owned,
  scope?: OpenScope,
): boolean {
  const bare = unwrap(value);
  if (ts.isConditionalExpression(bare))
    return [bare.whenTrue, bare.whenFalse].some((arm) => makerKeeps(session, arm, owned, scope));
  if (ts.isCallExpression(bare)) {
    const callee = session.oracle.callee(bare);
    if (callee.body && keepsIn(session, owned, callee.body, 0, scope)) return true;
    const kept = keptBy(session, bare, callee, owned);
    if (kept) return !putsInside(session, bare, scope) || makerKeeps(session, kept, owned, scope);
    if (bare.arguments.some((a) => callbackKeeps(session, bare, a, owned, scope))) return true;
  }
  if (owned.shape !== "one" && keepsIn(session, owned, bare, 2, scope)) return true; // one by one
  return isMovedOn(session, value, owned, scope);
}

/** `t.neg().moveToOuter()`, `scope.detach(t.neg())`: whether the calls around a value keep it. */
function isMovedOn(
  session: Session,
  value: ts.Expression,
  owned: Owned,
  scope: OpenScope | undefined,
): boolean {
  const { kind, member, node } = fateOf(value);
  if (kind === "receiver") return owned.owner.keep.methods.includes(member);
  if (kind !== "argument") return false;
  const call = node as ts.CallExpression;
  if (session.effect(call, value) !== "passes") return false;
  return !putsInside(session, call, scope) || isMovedOn(session, call, owned, scope);
}

/**
 * `noGrad(() => scope.moveToOuter(t))`: whether a callback that its call runs at once keeps what it
 * gives the call.
 */
function callbackKeeps(
  session: Session,
  call: ts.CallExpression,
  argument: ts.Expression,
  owned: Owned,
  scope: OpenScope | undefined,
): boolean {
  const fn = functionHanded(session.oracle, argument);
  if (!fn) return false;
  const mode = session.callback(call, argument);
  if (mode !== "inline" && mode !== "scoped") return false;
  return returnsOf(fn).some((value) => {
    const bare = unwrap(value);
    if (!ts.isIdentifier(bare)) return makerKeeps(session, bare, owned, scope);
    const declaration = session.oracle.declarationAt(bare);
    if (!declaration || !ts.isVariableDeclaration(declaration) || !within(declaration, fn))
      return false;
    const { name, initializer } = declaration;
    if (initializer && makerKeeps(session, initializer, owned, scope)) return true;
    return (
      ts.isIdentifier(name) &&
      referencesTo(session.oracle, declaration, name, fn).some(
        (id) => id !== bare && keptInside(session, id, owned, "returned", scope),
      )
    );
  });
}

/**
 * Whether a body, or one it calls, keeps what it makes: `const c = t.clone(); keep(c); return c;`.
 */
function keepsIn(
  session: Session,
  owned: Owned,
  body: ts.Node,
  depth: number,
  scope: OpenScope | undefined,
): boolean {
  const { oracle } = session;
  const { keep } = owned.owner;
  const visit = (node: ts.Node): boolean => {
    if (ts.isCallExpression(node)) {
      const callee = oracle.callee(node);
      if (keep.methods.includes(callee.name) || oracle.is(callee, keep.functions, owned.owner))
        return !putsInside(session, node, scope);
      const inner = depth < 2 && callee.body !== body ? callee.body : undefined;
      if (inner && oracle.ownedAt(node) && keepsIn(session, owned, inner, depth + 1, scope))
        return true;
    }
    return ts.forEachChild(node, (c) => visit(c) || undefined) ?? false;
  };
  return visit(body);
}

/** Whether a mention of a variable keeps, moves or hands on the value it holds. */
export function keptInside(
  session: Session,
  id: ts.Identifier,
  { owner }: Owned,
  how: string,
  scope?: OpenScope,
): boolean {
  const { effect, fate } = session.transfer(id);
  if (ts.isCallExpression(fate.node) && putsInside(session, fate.node, scope)) return false;
  if (fate.kind === "receiver" && owner.keep.methods.includes(fate.member)) return true;
  if (how !== "returned" && (effect === "moves" || effect === "disposes")) return true;
  return (
    fate.kind === "argument" &&
    ts.isCallExpression(fate.node) &&
    !isCarry(session, fate.node) && // see `carried.ts`
    session.effect(fate.node, id) !== "borrows"
  );
}

/**
 * Mentioned again inside the scope as something moved, kept, disposed or returned: somebody has
 * thought about it.
 */
export function rescued(session: Session, left: ts.Identifier, scope: OpenScope): boolean {
  const declaration = session.oracle.declarationAt(left);
  const name = declaration && (declaration as ts.NamedDeclaration).name;
  if (!declaration || !name || !ts.isIdentifier(name)) return true;
  return referencesTo(session.oracle, declaration, name, scope.region).some((id) => {
    const { effect, fate } = session.transfer(id);
    if (effect === "disposes") return !isBefore(id, left); // what was there until now
    if (effect === "moves" || fate.kind === "returned") return true;
    return fate.kind === "argument" && effect !== "borrows" && session.oracle.ownedAt(id) !== null;
  });
}

/** Declared outside, but used up before the scope ends: nothing reads it afterwards. */
export function usedUpInside(session: Session, left: ts.Identifier, scope: OpenScope): boolean {
  const declaration = session.oracle.declarationAt(left);
  const name = declaration && (declaration as ts.NamedDeclaration).name;
  const fn = declaration && enclosingFunction(declaration);
  if (!declaration || !name || !ts.isIdentifier(name)) return true;
  return !referencesTo(session.oracle, declaration, name, fn ?? left.getSourceFile()).some(
    (id) =>
      id !== left &&
      !onlyLookedAt(session, id) &&
      (id.pos > scope.region.end ||
        loops(scope.region) ||
        (enclosingFunction(id) !== fn && id.pos < scope.opening.pos)),
  );
}

/** `t.shape` and its like stay readable when the scope has freed `t`. */
const onlyLookedAt = ({ oracle }: Session, id: ts.Identifier): boolean => {
  const fate = fateOf(id);
  return (
    fate.kind === "read" &&
    oracle.ownedAt(id)?.owner.safeAfterDispose.includes(fate.member) === true
  );
};

const loops = (region: ts.Node): boolean => {
  for (
    let n: ts.Node | undefined = region;
    n && !ts.isSourceFile(n);
    n = n.parent as ts.Node | undefined
  )
    if (ts.isIterationStatement(n, false)) return true;
  return false;
};

/** Whether a node is another one, or comes before it and not again after: what was there then. */
const isBefore = (node: ts.Node, left: ts.Node): boolean =>
  node === left ||
  (node.end <= left.pos &&
    ts.findAncestor(left, (n) => ts.isIterationStatement(n, false) && within(node, n)) ===
      undefined);

/** Whether the scope moves, disposes or hands on what stands in a place, under any spelling. */
export function mentionedLater(session: Session, left: ts.Expression, scope: OpenScope): boolean {
  const visit = (node: ts.Node): boolean => {
    const isAccess = ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node);
    if (isAccess && !isBefore(node, left) && samePlace(session.oracle, node, left)) {
      const { effect, fate } = session.transfer(node);
      if (effect === "moves" || effect === "disposes") return true;
      const handedOn = ts.isCallExpression(fate.node) && fate.kind === "argument";
      if (handedOn && effect !== "borrows" && session.oracle.ownedAt(node)) return true;
    }
    return ts.forEachChild(node, (child) => visit(child) || undefined) ?? false;
  };
  return visit(scope.region);
}
