/**
 * Slot touches: what the functions of a file do to a slot beyond looking at what it holds: end it,
 * give it another name, hand it on, fill it. Tells what a call may change, and whether a function
 * can count on what it finds in a slot when it begins.
 */
import ts from "typescript";
import { callSitesOf } from "../program/call-sites.ts";
import { handedTo } from "../transfer/callbacks.ts";
import { calledBy, soundsLikeDisposal } from "../transfer/disposes.ts";
import { enclosingFunction, fateOf, type Fate } from "../transfer/fate.ts";
import { reach } from "../objects/class-reach.ts";
import { lineage } from "../objects/holders.ts";
import { fieldOfThis } from "../objects/members.ts";
import { heirsOf } from "../program/class-makers.ts";
import { onlyLooks } from "../transfer/looked-at.ts";
import { effectInside } from "../transfer/mention.ts";
import { visitVerb } from "./mention-events.ts";
import { boundNames } from "../program/references.ts";
import type { Session } from "../session.ts";
import type { Slot } from "./slots.ts";
import {
  calleeNameNode,
  hasBody,
  isTarget,
  memberName,
  someWithin,
  within,
  type CallLike,
} from "../program/syntax.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";
import { isUsedThere } from "../transfer/used-there.ts";

const furthest = 4;

/** Whether a mention leaves what a slot holds where it is, and alive. */
export function leaves(session: Session, mention: ts.Expression): boolean {
  if (isTarget(mention)) return true;
  const found = session.transfer(mention);
  const { effect, fate } = found;
  const walk = walkTogether(fate);
  if (walk) return !endsInside(walk);
  if (effect === "disposes") return false;
  if (onlyLooksAt(effect) || effect === "receives" || effect === "returns") return true;
  if (effect === "visits") return visitVerb(session, fate) === "use";
  if (effect === "aliases")
    return constantFor(fate.node, session) !== undefined || takesPlain(session, fate.node);
  if (effect === "enters") return onlyLooksAt(effectInside(session, found));
  if (fate.kind === "receiver" && /^(sort|reverse)$/.test(fate.member))
    return fateOf(fate.node as ts.Expression).kind === "dropped"; // in another order
  if (fate.kind === "receiver" && /^(slice|filter)$/.test(fate.member))
    return isPartLookedAt(session, fate.node as ts.Expression);
  if (fate.kind === "read") return !soundsLikeDisposal(fate.member); // `const ends = [a.dispose]`
  return isUsedByOther(session, mention);
}

/** The loop or call that goes over a literal: `for (const x of [a, b])`, `[a, b].forEach(…)`. */
export const walkTogether = ({ literal, kind, node, member }: Fate): ts.Node | undefined =>
  literal && (kind === "iterated" || (kind === "receiver" && /^(forEach|map)$/.test(member)))
    ? node
    : undefined;

/** `[a, b].forEach((x) => x.dispose())`, `const ends = [a.dispose, b.dispose]`. */
export function endsTogether(id: ts.Expression): boolean {
  const fate = fateOf(id);
  const walk = walkTogether(fate);
  return walk ? endsInside(walk) : fate.kind === "read" && soundsLikeDisposal(fate.member);
}

/** `for (const table of [a, b]) for (const t of table.values()) t.dispose();` */
export const endsInside = (loop: ts.Node): boolean =>
  someWithin(
    ts.isForOfStatement(loop) ? loop.statement : loop,
    (node) => ts.isCallExpression(node) && soundsLikeDisposal(calledBy(node)),
  );

/** `const stale = this.xs.slice(0, n)`, `for (const x of this.xs.slice(1))`: only asked. */
function isPartLookedAt(session: Session, part: ts.Expression): boolean {
  const fate = fateOf(part);
  if (fate.kind === "iterated") return visitVerb(session, fate) === "use";
  return fate.kind === "bound" && constantFor(fate.node, session) !== undefined;
}

/** `new Pass(this.target)`: in the hands of what goes on using it and never frees it. */
function isUsedByOther(session: Session, mention: ts.Expression): boolean {
  const owned = session.oracle.ownedAt(mention);
  return owned !== null && isUsedThere(session, mention, owned);
}

/** `const { lr } = this.optimizer;`: nothing of what it takes apart is owned. */
export const takesPlain = ({ oracle }: Session, at: ts.Node): boolean =>
  ts.isVariableDeclaration(at) &&
  ts.isObjectBindingPattern(at.name) &&
  boundNames(at.name, at).every(({ id }) => !oracle.ownedAt(id) && !oracle.mayBeFunction(id));

/** `const old = this.x;`: a constant that is only looked at. */
export function constantFor(
  at: ts.Node,
  session: Session,
): (ts.VariableDeclaration & { name: ts.Identifier }) | undefined {
  if (!ts.isVariableDeclaration(at) || !ts.isIdentifier(at.name)) return undefined;
  const flags = ts.getCombinedNodeFlags(at) & ts.NodeFlags.AwaitUsing;
  if (flags !== ts.NodeFlags.Const || !onlyLooks(session, at.name, true)) return undefined;
  return at as ts.VariableDeclaration & { name: ts.Identifier };
}

/** Whether a function that runs inside another may end or fill a slot, itself or by its calls. */
export function touches(
  session: Session,
  slot: Slot,
  fn: ts.Node,
  seen = new Set<ts.Node>(),
): boolean {
  if (seen.has(fn) || seen.size > 40) return seen.size > 40;
  seen.add(fn);
  if (slot.mentions.some((m) => within(m, fn) && (isTarget(m) || !leaves(session, m)))) return true;
  return someWithin(fn, (node) => {
    if (!ts.isCallExpression(node)) return false;
    const { body } = session.oracle.callee(node);
    return body !== undefined && body.getSourceFile() === fn.getSourceFile()
      ? touches(session, slot, body, seen)
      : false;
  });
}

/** Whether a call may end or fill a slot. */
export function callTouches(session: Session, slot: Slot, call: CallLike): boolean {
  const { body } = session.oracle.callee(call);
  const isNear = body !== undefined && body.getSourceFile() === call.getSourceFile();
  return (isNear && touches(session, slot, body)) || isTouchedAbroad(session, slot, call);
}

/** `this.release()` of a base class, or that heirs write otherwise, which ends or fills a field. */
function isTouchedAbroad(session: Session, { mentions }: Slot, call: CallLike): boolean {
  const method = ts.isCallExpression(call) ? fieldOfThis(call.expression) : undefined;
  const place = mentions.find(ts.isPropertyAccessExpression);
  const home = ts.findAncestor(call, ts.isClassLike);
  if (!method || !place || !home) return false;
  const { oracle } = session;
  const [, ...above] = lineage(home, oracle);
  const others = [...above, ...heirsOf(oracle, home)].flatMap((holder) =>
    holder.members
      .filter((m) => m.name && memberName(m.name) === method.name.text)
      .map((m) => ({ holder, m })),
  );
  const speaks = (at: ts.Node): boolean =>
    fieldOfThis(at)?.name.text === place.name.text &&
    (isTarget(at) || !leaves(session, at as ts.Expression));
  return others.some(({ holder, m }) =>
    [...reach(oracle, holder, [m])].some((run) => someWithin(run, speaks)),
  );
}

/**
 * Whether a function finds in a slot what was put there last: no function that runs it ends it
 * first, and none that it makes and that outlives it.
 */
export function findsHeld(session: Session, slot: Slot, fn: ts.Node): boolean {
  for (const mention of slot.mentions) {
    const inner = enclosingFunction(mention);
    if (!inner || inner === fn || !within(inner, fn)) continue;
    if ((isTarget(mention) || !leaves(session, mention)) && outlives(session, inner, fn))
      return false;
  }
  return !isEndedBefore(session, slot, fn, 0, new Set([fn]));
}

/** Whether a function within another may run when that has ended. */
function outlives(session: Session, inner: ts.Node, fn: ts.Node): boolean {
  for (let at: ts.Node | undefined = inner; at && at !== fn; at = enclosingFunction(at)) {
    const host = handedTo(at);
    if (host && isEffect(host)) return true;
    const mode = host && session.callback(host, at);
    if (mode !== "inline" && mode !== "scoped") return true;
  }
  return false;
}

/** `useEffect(…)`: a runtime runs what it is given when it sees fit. */
export const isEffect = (host: CallLike): boolean =>
  /^use\w*Effect$/.test(calleeNameNode(host)?.text ?? "");

/** Whether a function that runs this one, or makes it, ends what the slot holds. */
function isEndedBefore(
  session: Session,
  slot: Slot,
  fn: ts.Node,
  depth: number,
  seen: Set<ts.Node>,
): boolean {
  if (depth > furthest) return true;
  const reach = isProtected(fn) ? "program" : "file";
  const calls = hasBody(fn) ? callSitesOf(session.oracle, fn, reach).calls : [];
  const outer = enclosingFunction(fn);
  const callers = calls.map((call) => ({ caller: enclosingFunction(call), turns: turnsOf(call) }));
  if (outer !== slot.home) callers.push({ caller: outer, turns: undefined });
  return callers.some(({ caller, turns }) => {
    if (!caller || seen.has(caller) || !isOfHolder(session, caller, slot.holder)) return false;
    seen.add(caller);
    const runsNow = (node: ts.Node): boolean =>
      node === caller || !hasBody(node) || !outlives(session, node, caller);
    const ends = (node: ts.Node): boolean =>
      node !== fn &&
      runsNow(node) &&
      ((ts.isCallExpression(node) && callEnds(session, slot, node, seen)) ||
        (ts.forEachChild(node, (child) => ends(child) || undefined) ?? false));
    const isEnded = slot.mentions.some((m) => {
      const inner = within(m, turns ?? caller) && !within(m, fn) ? enclosingFunction(m) : undefined;
      return inner !== undefined && runsNow(inner) && !leaves(session, m);
    });
    if (isEnded || ends(turns ?? caller)) return true;
    return !turns && isEndedBefore(session, slot, caller, depth + 1, seen);
  });
}

/** Whether a function stands in what knows a slot, or in a class that extends that. */
function isOfHolder({ oracle }: Session, fn: ts.Node, holder: ts.Node): boolean {
  if (within(fn, holder)) return true;
  const heir = ts.isClassLike(holder) ? ts.findAncestor(fn, ts.isClassLike) : undefined;
  return heir !== undefined && lineage(heir, oracle).some((base) => base === holder);
}

/** A method that only heirs call, wherever they are. */
const isProtected = (fn: ts.Node): boolean =>
  ts.isMethodDeclaration(fn) &&
  (ts.getCombinedModifierFlags(fn) & ts.ModifierFlags.Protected) !== 0;

/** The loop around a call: in its second turn, the call finds what it left there in the first. */
function turnsOf(call: ts.Node): ts.Node | undefined {
  const loop = ts.findAncestor(call, (at) =>
    hasBody(at) ? "quit" : ts.isIterationStatement(at, false),
  );
  return loop && !someWithin(loop, (at) => ts.isBreakStatement(at) || ts.isReturnStatement(at))
    ? loop
    : undefined;
}

/** Whether a call ends what a slot holds, and is none of the functions in `except`. */
function callEnds(
  session: Session,
  slot: Slot,
  call: ts.CallExpression,
  except: ReadonlySet<ts.Node>,
): boolean {
  const { body } = session.oracle.callee(call);
  if (!body || except.has(body) || !within(body, slot.holder)) return false;
  return slot.mentions.some((m) => within(m, body) && !leaves(session, m));
}
