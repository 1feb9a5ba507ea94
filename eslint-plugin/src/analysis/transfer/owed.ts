/**
 * Owed: whether a resource about which nobody agreed on a protocol is owed an end by the code that
 * makes it. It is where the program ends others like it, and where nobody else can: it hands itself
 * to nobody, is made of nobody's resource, and does not last as long as the program. Used by
 * `is-fresh.ts`; unsure means no.
 */
import ts from "typescript";
import { callSitesOf } from "../program/call-sites.ts";
import type { Callee } from "../program/callee.ts";
import { endsSeen, madeBy } from "./ends-seen.ts";
import { enclosingFunction, returnsOf } from "./fate.ts";
import { handsOutWhenMade } from "./hands-out.ts";
import type { Oracle } from "../program/oracle.ts";
import type { Session } from "../session.ts";
import {
  baseOf,
  hasBody,
  isInLoop,
  memberName,
  unwrap,
  valuesOf,
  isAsync,
  isStatic,
  type CallLike,
} from "../program/syntax.ts";

/** Whether what `new` makes is owed an end by who makes it. */
export function isOwed(session: Session, made: ts.NewExpression): boolean {
  const { oracle } = session;
  if (lastsAsProgram(session, made)) return false;
  const found = oracle.declarationAt(made.expression);
  if (!found || !ts.isClassLike(found)) return isKindEnded(oracle, made);
  if (handsOutWhenMade(oracle, found)) return false;
  if (endsSeen(oracle).makers.has(found)) return true;
  if ((made.arguments ?? []).some((a) => mayEndIt(session, a))) return false;
  return isClassEnded(oracle, found) || (endsLate(found) && isAsync(enclosingFunction(made)));
}

/** Whether the program binds what the function gives with `using` elsewhere. */
export function isBoundElsewhere({ oracle }: Session, call: CallLike): boolean {
  const made = madeBy(oracle, call);
  return made !== undefined && endsSeen(oracle).bound.has(made);
}

/** Whether the result of a function is owed an end though its body does not show that it is new. */
export function isOwedResult(session: Session, call: ts.CallExpression, callee: Callee): boolean {
  const { oracle } = session;
  const made = madeBy(oracle, call);
  const isEnded = made !== undefined && endsSeen(oracle).makers.has(made);
  if (!callee.body) return isEnded || isKindEnded(oracle, call) || isAwaitedToEnd(session, call);
  return isEnded && oracle.facts.of(callee.body, returnsOf).every(isNew);
}

const isNew = (value: ts.Expression): boolean => ts.isNewExpression(unwrap(value));

/** Whether the program ends something of the type of an expression. */
function isKindEnded(oracle: Oracle, made: ts.Expression): boolean {
  const { kinds } = endsSeen(oracle);
  return oracle
    .declarationsAt(made)
    .some((d) => kinds.has(d) && !oracle.isBuiltin(d.getSourceFile()));
}

/** Whether the program ends an instance of a class, or of a class that it extends. */
function isClassEnded(oracle: Oracle, node: ts.ClassLikeDeclaration, hops = 0): boolean {
  if (endsSeen(oracle).kinds.has(node)) return true;
  const base = baseOf(node)?.expression;
  const parent = base && oracle.declarationAt(base);
  return (
    parent !== undefined &&
    ts.isClassLike(parent) &&
    parent !== node &&
    hops < 6 &&
    isClassEnded(oracle, parent, hops + 1)
  );
}

/** A class of the program whose end has to be awaited, as that of a connection. */
const endsLate = (node: ts.ClassLikeDeclaration): boolean =>
  node.members.some((m) => m.name !== undefined && memberName(m.name) === "@@asyncDispose");

/** `await open()`: what has to be awaited when it is made, and when it is ended. */
const isAwaitedToEnd = (session: Session, call: ts.CallExpression): boolean =>
  ts.isAwaitExpression(call.parent) &&
  session.oracle.declarationsAt(call).some((d) => ts.isClassLike(d) && endsLate(d));

/** An argument that may end what is made with it, or be what it is about. */
function mayEndIt(session: Session, argument: ts.Expression): boolean {
  const bare = unwrap(ts.isSpreadElement(argument) ? argument.expression : argument);
  if (hasBody(bare) || bare.kind === ts.SyntaxKind.ThisKeyword) return true;
  if (ts.isObjectLiteralExpression(bare))
    return (
      bare.properties.some((p) => ts.isMethodDeclaration(p)) ||
      valuesOf(bare).some((v) => mayEndIt(session, v))
    );
  return session.oracle.ownedAt(bare) !== null && session.freshness(bare) !== "fresh";
}

/** Whether what is made at a place is made once and may last as long as the program. */
export function lastsAsProgram(session: Session, made: CallLike): boolean {
  const home = enclosingFunction(made);
  if (isMadePerObject(made)) return false;
  if (!home) return !isInLoop(made, undefined);
  if (isInLoop(made, home) || enclosingFunction(home) || !hasBody(home)) return false;
  if (ts.isClassElement(home)) return false;
  if (isCalledAtOnce(home)) return true;
  const { calls, values } = callSitesOf(session.oracle, home, "program");
  return (
    calls.length > 0 &&
    values.length === 0 &&
    calls.every((c) => enclosingFunction(c) === undefined)
  );
}

/** What a field of each object begins with: `conn = new Conn()`. */
const isMadePerObject = (made: CallLike): boolean => {
  const place = ts.findAncestor(made, (n) => ts.isFunctionLike(n) || ts.isPropertyDeclaration(n));
  return place !== undefined && ts.isPropertyDeclaration(place) && !isStatic(place);
};

/** `(async () => { … })()` */
function isCalledAtOnce(fn: ts.Node): boolean {
  let node = fn;
  while (ts.isParenthesizedExpression(node.parent)) node = node.parent;
  return ts.isCallExpression(node.parent) && node.parent.expression === node;
}
