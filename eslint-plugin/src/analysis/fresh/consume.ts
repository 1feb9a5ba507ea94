/**
 * Consume: where each fresh value of a file goes: bound, returned, kept, dropped, or used once as a
 * receiver, argument or operand and then out of reach. One walk over the syntax of a file; the
 * rules for temporaries, dropped results and escapes read its list.
 */
import ts from "typescript";
import { functionHanded } from "../program/callee.ts";
import { isPresenceFilter } from "../program/containers.ts";
import { enclosingFunction, fateOf, type Fate } from "../transfer/fate.ts";
import { callFreshness, lendsOnly, readIsFresh, returnedArgument } from "./is-fresh.ts";
import { keptBy, lasts } from "../transfer/keeps.ts";
import { transferOf, type Transfer } from "../transfer/mention.ts";
import type { Owned } from "../program/oracle.ts";
import { unwrap, type CallLike } from "../program/syntax.ts";
import type { Session } from "../session.ts";

/**
 * What becomes of a fresh value. `leaked`: used once, then unreachable; `elements`: a container's
 * elements are out of reach.
 */
export type Outcome =
  | "bound"
  | "assigned"
  | "returned"
  | "kept"
  | "dropped"
  /** Kept for good by a call whose result is dropped. */
  | "forsaken"
  | "leaked"
  | "elements"
  | "iterated"
  | "unknown";

/** A fresh value and where it goes. */
export interface FreshValue {
  /** The call, `new` or property read that makes the value. */
  node: ts.CallExpression | ts.NewExpression | ts.PropertyAccessExpression;
  owned: Owned;
  outcome: Outcome;
  /** The last fate, after calls that hand the value back. */
  fate: Fate;
}

/** Every fresh value a file makes, in source order. */
export function freshValues(session: Session, file: ts.SourceFile): FreshValue[] {
  const found: FreshValue[] = [];
  const { CallExpression, NewExpression, PropertyAccessExpression } = ts.SyntaxKind;
  const kinds = [CallExpression, NewExpression, PropertyAccessExpression] as const;
  for (const node of session.oracle.facts.nodes<FreshValue["node"]>(file, ...kinds)) {
    const owned = ts.isPropertyAccessExpression(node)
      ? readIsFresh(session, node) && session.oracle.ownedAt(node)
      : freshCall(session, node);
    if (owned) found.push({ node, owned, ...outcomeOf(session, node, owned) });
  }
  return found;
}

/**
 * Ownership of a call's result when the call makes it; calls that hand back their argument make
 * nothing.
 */
function freshCall(session: Session, call: CallLike): Owned | null {
  const owned = lendsOnly(session, call) ? null : session.oracle.ownedAt(call);
  if (!owned || callFreshness(session, call) !== "fresh") return null;
  const callee = session.oracle.callee(call);
  // an element nobody takes: see `removals.ts`
  const removes = callee.builtin && ["pop", "shift", "splice"].includes(callee.name);
  if (removes && fateOf(call).kind === "dropped") return null;
  if (isPresenceFilter(call) && !filtersNew(session, call)) return null;
  if (ts.isCallExpression(call) && keptBy(session, call, callee, owned)) return null;
  if (callee.body && callee.member === undefined && returnedArgument(session, call, callee.body))
    return null; // what it returns was made elsewhere
  return owned;
}

/** `xs.map((x) => maybe(x)).filter(Boolean)`: of a list that is told by nothing but its filter. */
function filtersNew(session: Session, { expression }: CallLike): boolean {
  const list = ts.isPropertyAccessExpression(expression)
    ? unwrap(expression.expression)
    : undefined;
  return list !== undefined && ts.isCallExpression(list) && session.freshness(list) !== "fresh";
}

/** Follows a value to its end, through calls that return it unchanged. */
export function outcomeOf(
  session: Session,
  expression: ts.Expression,
  owned: Owned,
  hops = 0,
): { outcome: Outcome; fate: Fate } {
  const found = transferOf(session, expression, owned, true);
  const { effect, fate, next } = found;
  if (effect === "moves" || effect === "passes") {
    const handed = next && (effect === "moves" ? owned : session.oracle.ownedAt(next));
    if (!next || !handed || hops >= 8) return { outcome: "unknown", fate };
    const end = outcomeOf(session, next, handed, hops + 1);
    if (isLeft(end.outcome, next) && lasts(session, next)) return { ...end, outcome: "forsaken" };
    return isKept(session, next, handed, effect) ? keptOutcome(end) : end;
  }
  return { outcome: outcomeAt(session, found), fate };
}

/** Whether nobody has the value afterwards: one that a file lends may be meant to last as that. */
const isLeft = (outcome: Outcome, value: ts.Expression): boolean =>
  outcome === "dropped" || (outcome === "leaked" && enclosingFunction(value) !== undefined);

/** What the effect of its one mention makes of a value that has no name. */
function outcomeAt(session: Session, { effect, fate }: Transfer): Outcome {
  switch (effect) {
    case "borrows":
    case "nothing":
      return fate.kind === "element" ? "unknown" : "leaked";
    case "drops":
      return "dropped";
    case "disposes":
    case "takes":
      return "kept";
    case "stores":
      return fate.kind === "assigned" ? "assigned" : "kept";
    case "returns":
      return "returned";
    case "aliases":
      if (fate.kind === "assigned") return "assigned";
      return fate.literal ? "unknown" : "bound";
    case "visits":
      return fate.kind === "iterated" ? "iterated" : visitedOutcome(session, fate);
    default:
      return "unknown";
  }
}

/** Whether a call that gives the value back also gives it to another owner. */
function isKept(
  session: Session,
  call: ts.Expression,
  owned: Owned,
  effect: "moves" | "passes",
): boolean {
  if (effect === "moves") return true;
  if (!ts.isCallExpression(call)) return false;
  return keptBy(session, call, session.oracle.callee(call), owned) !== undefined;
}

/** A value given to another owner need not be held by this code too. */
const keptOutcome = (found: { outcome: Outcome; fate: Fate }): { outcome: Outcome; fate: Fate } =>
  found.outcome === "dropped" || found.outcome === "leaked" || found.outcome === "bound"
    ? { ...found, outcome: "kept" }
    : found;

/** A temporary array that is only gone through: its elements are out of reach afterwards. */
function visitedOutcome(session: Session, fate: Fate): Outcome {
  const call = fate.node as ts.CallExpression;
  if (!session.oracle.callee(call).builtin) return "unknown";
  const [first] = call.arguments;
  const callback = first && functionHanded(session.oracle, first);
  const effect = callback && session.summary(callback).parameters[0];
  if (!effect || effect.disposes || effect.stores || effect.returns) return "unknown";
  return "elements";
}

/**
 * The expression a value is part of that no other expression contains: temporaries of one root are
 * one report.
 */
export function rootExpression(node: ts.Expression): ts.Expression {
  let root: ts.Expression = node;
  for (
    let current: ts.Node = node;
    current.parent as ts.Node | undefined;
    current = current.parent
  ) {
    const { parent } = current;
    if (
      ts.isFunctionLike(parent) ||
      ts.isStatement(parent) ||
      ts.isVariableDeclaration(parent) ||
      ts.isPropertyDeclaration(parent) ||
      ts.isClassLike(parent)
    )
      break;
    if (ts.isExpression(parent)) root = parent;
  }
  return root;
}

/**
 * The piece of source a report marks: from the method or function name to the end of its call,
 * never the whole chain.
 */
export function markOf(node: ts.Expression): { start: number; end: number } {
  if (ts.isPropertyAccessExpression(node))
    return { start: node.name.getStart(), end: node.getEnd() };
  if (!ts.isCallExpression(node)) return { start: node.getStart(), end: node.getEnd() };
  const target = node.expression;
  return {
    start: ts.isPropertyAccessExpression(target) ? target.name.getStart() : node.getStart(),
    end: node.getEnd(),
  };
}

/** A short name for a value in messages: `argmax(1)`, `eq(labels)`, `new Foo(…)`. */
export function labelOf(node: ts.Expression): string {
  const call = ts.isCallExpression(node) || ts.isNewExpression(node) ? node : undefined;
  const target = call ? call.expression : node;
  const name = ts.isPropertyAccessExpression(target) ? target.name.text : target.getText();
  if (!call) return name;
  const list = (call.arguments ?? []).map((a) => a.getText()).join(", ");
  const short = list.length > 12 || list.includes("\n") ? "…" : list;
  return `${ts.isNewExpression(call) ? "new " : ""}${name}(${short})`;
}
