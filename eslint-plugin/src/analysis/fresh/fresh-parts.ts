/**
 * Verb "is fresh", for parts: `step.w`, where `step` is a record that the function has made and
 * only reads fields of, and `grads[0]` of such a list. What takes the one part leaves nobody else
 * with it, so it is as fresh as the whole. Used by `is-fresh.ts`.
 */
import ts from "typescript";
import { enclosingFunction, fateOf } from "../transfer/fate.ts";
import { variableFreshness } from "./fresh-variables.ts";
import { effectInside } from "../transfer/mention.ts";
import { referencesTo } from "../program/references.ts";
import type { Freshness, Session } from "../session.ts";
import { isInLoop, isTarget, isUsing, unwrap, variableName, within } from "../program/syntax.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";
import { areApart } from "../program/ways.ts";

type Access = ts.PropertyAccessExpression | ts.ElementAccessExpression;

/** How fresh a part of a local record or list is: nothing is known where the whole goes on. */
export function partFreshness(session: Session, node: Access): Freshness {
  const name = partOf(node);
  const whole = unwrap(node.expression);
  if (name === undefined || !ts.isIdentifier(whole)) return "unknown";
  const declaration = session.oracle.declarationAt(whole);
  const id = declaration && variableName(declaration);
  const home = enclosingFunction(node);
  if (!id || !home || ts.isParameter(declaration) || isUsing(declaration)) return "unknown";
  if (enclosingFunction(declaration) !== home || mayRunTwice(node, declaration)) return "unknown";
  const stays = (at: ts.Identifier): boolean => {
    if (at === whole || at === id) return true;
    const part = accessOf(at);
    if (!part) return fateOf(at).kind === "operand";
    const other = partOf(part);
    if (other === undefined || isTarget(part) || isCalled(part)) return false;
    return other !== name || areApart(part, node) || onlyLookedAt(session, part);
  };
  return referencesTo(session.oracle, declaration, id, home).every(stays)
    ? variableFreshness(session, whole)
    : "unknown";
}

/** The name or the number of a part. */
function partOf(node: Access): string | undefined {
  if (ts.isPropertyAccessExpression(node)) return node.name.text;
  const { argumentExpression: at } = node;
  return ts.isNumericLiteral(at) || ts.isStringLiteralLike(at) ? at.text : undefined;
}

/** The access that a mention of a whole stands in. */
function accessOf(id: ts.Identifier): Access | undefined {
  let at: ts.Node = id;
  while (ts.isNonNullExpression(at.parent) || ts.isParenthesizedExpression(at.parent))
    at = at.parent;
  const { parent } = at;
  const isAccess = ts.isPropertyAccessExpression(parent) || ts.isElementAccessExpression(parent);
  return isAccess && parent.expression === at ? parent : undefined;
}

/** `list.forEach(…)`, `made.end()`: what a method does to the parts is not looked into. */
const isCalled = (part: Access): boolean =>
  ts.isCallExpression(part.parent) && part.parent.expression === part;

const onlyLookedAt = (session: Session, part: Access): boolean =>
  onlyLooksAt(effectInside(session, session.transfer(part)));

/** Whether a node may run twice for one turn of the block that declares a variable. */
function mayRunTwice(node: ts.Node, declaration: ts.Node): boolean {
  const common = ts.findAncestor(node, (n) => within(declaration, n));
  return isInLoop(node, common) || (common !== undefined && ts.isForStatement(common));
}
