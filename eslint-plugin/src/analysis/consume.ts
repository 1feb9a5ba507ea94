/**
 * Consume: where each fresh value of a file goes: bound, returned, kept, dropped, or used once as a
 * receiver, argument or operand and then out of reach. One walk over the syntax of a file; the
 * rules for temporaries, dropped results and escapes read its list.
 */
import ts from "typescript";
import { callsDisposeSymbol, isDisposer } from "./disposes.ts";
import { fateOf, type Fate } from "./fate.ts";
import { callFreshness, keptBy, readIsFresh, returnedArgument } from "./is-fresh.ts";
import type { Owned } from "./oracle.ts";
import { hasBody, unwrap, type CallLike } from "./syntax.ts";
import type { Session } from "./session.ts";
import { storesAlias } from "./takes.ts";

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
  | "leaked"
  | "elements"
  | "iterated"
  | "unknown";

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
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node)) return;
    ts.forEachChild(node, visit);
    const made =
      ts.isCallExpression(node) || ts.isNewExpression(node)
        ? freshCall(session, node)
        : ts.isPropertyAccessExpression(node) && readIsFresh(session, node)
          ? session.oracle.ownedAt(node)
          : null;
    if (made)
      found.push({
        node: node as FreshValue["node"],
        owned: made,
        ...outcomeOf(session, node as ts.Expression, made),
      });
  };
  visit(file);
  return found;
}

/**
 * Ownership of a call's result when the call makes it; calls that hand back their argument make
 * nothing.
 */
function freshCall(session: Session, call: CallLike): Owned | null {
  const owned = session.oracle.ownedAt(call);
  if (!owned || callFreshness(session, call) !== "fresh") return null;
  const callee = session.oracle.callee(call);
  if (ts.isCallExpression(call) && keptBy(session, call, callee, owned)) return null;
  if (callee.body && callee.member === undefined && returnedArgument(session, call, callee.body))
    return null; // what it returns was made elsewhere
  return owned;
}

/** Follows a value to its end, through calls that return it unchanged. */
export function outcomeOf(
  session: Session,
  expression: ts.Expression,
  owned: Owned,
  hops = 0,
): { outcome: Outcome; fate: Fate } {
  const fate = fateOf(expression);
  const done = (outcome: Outcome): { outcome: Outcome; fate: Fate } => ({ outcome, fate });
  switch (fate.kind) {
    case "dropped":
      return done("dropped");
    case "bound":
      return done(fate.literal ? "unknown" : "bound");
    case "assigned":
      return done(
        storesAlias(owned.owner, (fate.node as ts.BinaryExpression).left) ? "leaked" : "assigned",
      );
    case "returned":
    case "yielded":
      return done("returned");
    case "thrown":
    case "field":
      return done("kept");
    case "operand":
      return done(ts.isForInStatement(fate.node) ? "unknown" : "leaked");
    case "iterated":
      return done("iterated");
    case "read":
      return done(readOutcome(owned, fate));
    case "element":
      return done(callsDisposeSymbol(fate) ? "kept" : "unknown");
    case "receiver":
      return receiverOutcome(session, owned, fate, hops);
    case "argument":
      return argumentOutcome(session, expression, fate, hops);
    default:
      return done("unknown");
  }
}

function readOutcome(owned: Owned, fate: Fate): Outcome {
  return owned.shape === "one" && !isPromiseMember(fate.member) ? "leaked" : "unknown";
}
const isPromiseMember = (name: string): boolean =>
  name === "then" || name === "catch" || name === "finally";

function receiverOutcome(
  session: Session,
  owned: Owned,
  fate: Fate,
  hops: number,
): { outcome: Outcome; fate: Fate } {
  const call = fate.node as ts.CallExpression;
  if (isDisposer(owned, fate.member)) return { outcome: "kept", fate };
  if (isPromiseMember(fate.member)) return { outcome: "unknown", fate };
  if (owned.owner.keep.methods.includes(fate.member))
    return hops < 8
      ? keptOutcome(outcomeOf(session, call, owned, hops + 1))
      : { outcome: "unknown", fate };
  const callee = session.oracle.callee(call);
  if (owned.shape === "one") {
    if (callee.member === owned.owner)
      return {
        outcome:
          callee.tags.takes.length > 0 || callee.tags.keeps
            ? "unknown"
            : receiverKept(session, call),
        fate,
      };
    return {
      outcome:
        owned.owner.policy === "generic" && owned.owner.args === "transfer"
          ? "unknown"
          : callee.declaration
            ? "leaked"
            : "unknown",
      fate,
    };
  }
  if (!callee.builtin || !(fate.member === "map" || fate.member === "forEach"))
    return { outcome: "unknown", fate };
  return { outcome: elementsOutcome(session, call), fate };
}

/** A value given to another owner need not be held by this code too. */
const keptOutcome = (found: { outcome: Outcome; fate: Fate }): { outcome: Outcome; fate: Fate } =>
  found.outcome === "dropped" || found.outcome === "leaked" || found.outcome === "bound"
    ? { ...found, outcome: "kept" }
    : found;

/** A builder or fluent disposable that returns itself is not a temporary. */
function receiverKept(session: Session, call: ts.CallExpression): Outcome {
  const result = session.oracle.ownedAt(call);
  return result && callFreshness(session, call) !== "fresh" ? "unknown" : "leaked";
}

function elementsOutcome(session: Session, call: ts.CallExpression): Outcome {
  const first = call.arguments[0];
  const fn = first && unwrap(first);
  if (!fn || !hasBody(fn)) return "unknown";
  const effect = session.summary(fn).parameters[0];
  if (!effect || effect.disposes || effect.stores || effect.returns) return "unknown";
  return "elements";
}

function argumentOutcome(
  session: Session,
  expression: ts.Expression,
  fate: Fate,
  hops: number,
): { outcome: Outcome; fate: Fate } {
  const call = fate.node as CallLike;
  switch (session.effect(call, expression)) {
    case "borrows":
      return { outcome: "leaked", fate };
    case "takes":
    case "disposes":
      return { outcome: "kept", fate };
    case "identity": {
      const owned = session.oracle.ownedAt(call);
      if (!owned || hops >= 8) return { outcome: "unknown", fate };
      const next = outcomeOf(session, call, owned, hops + 1);
      return ts.isCallExpression(call) && keptBy(session, call, session.oracle.callee(call), owned)
        ? keptOutcome(next)
        : next;
    }
    default:
      return { outcome: "unknown", fate };
  }
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
  return `${ts.isNewExpression(call) ? "new " : ""}${name}(${list.length > 12 || list.includes("\n") ? "…" : list})`;
}
