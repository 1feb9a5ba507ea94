/**
 * Refilled fields: `if (!state.wave || n !== state.n) state.wave = make(n);`. The test itself says
 * that the field may hold something when another takes its place, and the function only looks at
 * it. For fields of objects that the function is given or finds; what `this` and refs hold the
 * dataflow follows (`slots.ts`). Used by the rule about overwritten values.
 */
import ts from "typescript";
import { isDevice, soundsFreeing } from "./endings.ts";
import type { LostStore } from "../lists/lost-stores.ts";
import { samePlace } from "../program/same-place.ts";
import {
  hasBody,
  isNullish,
  isTarget,
  someWithin,
  unwrap,
  within,
  type FunctionWithBody,
} from "../program/syntax.ts";
import { mayLackScope } from "../scopes/open-scopes.ts";
import type { Session } from "../session.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";

/** The assignments of a file by which such fields lose what they held. */
export function refilledFields(session: Session, file: ts.SourceFile): LostStore[] {
  return session.oracle.facts.assignments(file).flatMap((node) => {
    const { left, right, operatorToken } = node;
    if (operatorToken.kind !== ts.SyntaxKind.EqualsToken || !isFieldOfOthers(left)) return [];
    const home = enclosingFunction(node);
    if (!hasBody(home) || !isForAnother(session, node, left, home)) return [];
    const owned = session.oracle.ownedAt(right);
    // under a name of its own another may have it, too
    if (owned?.shape !== "one" || ts.isIdentifier(unwrap(right))) return [];
    if (session.freshness(right) !== "fresh") return [];
    if (!mayLackScope(session, right) || !leavesIt(session, node, left, home)) return [];
    return [{ node, owned }];
  });
}

/** `state.wave`, and not `this.wave` or `ref.current`. */
const isFieldOfOthers = (left: ts.Expression): left is ts.PropertyAccessExpression =>
  ts.isPropertyAccessExpression(left) &&
  left.expression.kind !== ts.SyntaxKind.ThisKeyword &&
  !/^(current|value)$/.test(left.name.text);

/** Whether a test around a store is passed where a field is empty, and for other reasons too. */
function isForAnother(
  session: Session,
  store: ts.Node,
  field: ts.Expression,
  home: FunctionWithBody,
): boolean {
  const test = ts.findAncestor(store, (n) => n === home || ts.isIfStatement(n));
  if (!test || !ts.isIfStatement(test) || !within(store, test.thenStatement)) return false;
  const reasons = reasonsOf(test.expression);
  const [empty, ...others] = reasons.filter((r) => findsEmpty(session, r, field));
  if (!empty || others.length > 0 || reasons.length === 1) return false;
  return reasons.every((r) => r === empty || isChange(session, r));
}

/** `n !== state.n`, `state.wave.size < n`: and not a flag, or another device. */
function isChange(session: Session, reason: ts.Expression): boolean {
  if (!ts.isBinaryExpression(reason) || isGone.test(reason.getText())) return false;
  const { left, right, operatorToken } = reason;
  if (!/^([<>]=?|[!=]={1,2})$/.test(operatorToken.getText())) return false;
  return ![left, right].some((side) => isDevice(session, side));
}

/** What speaks of values that are no more, or of those of another device. */
const isGone = /disposed|destroyed|lost|stale|dead|device/i;

/** The `a` and the `b` of `a || b`. */
function reasonsOf(test: ts.Expression): ts.Expression[] {
  const bare = unwrap(test);
  return ts.isBinaryExpression(bare) && bare.operatorToken.kind === ts.SyntaxKind.BarBarToken
    ? [...reasonsOf(bare.left), ...reasonsOf(bare.right)]
    : [bare];
}

/** `!state.wave`, `state.wave === null`. */
function findsEmpty({ oracle }: Session, test: ts.Expression, field: ts.Expression): boolean {
  if (ts.isPrefixUnaryExpression(test))
    return (
      test.operator === ts.SyntaxKind.ExclamationToken && samePlace(oracle, test.operand, field)
    );
  return (
    ts.isBinaryExpression(test) &&
    /^={2,3}$/.test(test.operatorToken.getText()) &&
    isNullish(unwrap(test.right)) &&
    samePlace(oracle, test.left, field)
  );
}

/** Whether a function only looks at what a field holds, and calls nothing that may end it first. */
function leavesIt(
  session: Session,
  store: ts.Node,
  field: ts.PropertyAccessExpression,
  home: FunctionWithBody,
): boolean {
  const { oracle } = session;
  return !someWithin(home.body, (node) => {
    if (ts.isCallExpression(node) && node.end <= store.pos) return mayEnd(session, node, field);
    if (!ts.isPropertyAccessExpression(node) || node === field) return false;
    if (!samePlace(oracle, node, field)) return false;
    const { effect, fate } = session.transfer(node);
    const isLook = onlyLooksAt(effect) || fate.kind === "read" || fate.kind === "operand";
    return isTarget(node) || !isLook;
  });
}

/** `release(state)`, or a function that speaks of a field of that name and frees it. */
function mayEnd(
  session: Session,
  call: ts.CallExpression,
  { name: { text } }: ts.PropertyAccessExpression,
): boolean {
  if (soundsFreeing(call)) return true;
  const { body } = session.oracle.callee(call);
  return (
    body !== undefined &&
    someWithin(
      body.body,
      (node) =>
        ts.isPropertyAccessExpression(node) &&
        node.name.text === text &&
        session.transfer(node).effect === "disposes",
    )
  );
}
