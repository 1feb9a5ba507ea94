/**
 * Made again: whether a program goes on making instances of a class, or values for a table in one,
 * while it runs, for what comes and goes, and not only when it starts. They are lost unless the
 * class can end them. Used by the rule about members.
 */
import ts from "typescript";
import { indexFile } from "../program/call-index.ts";
import { callSitesOf, nameOf } from "../program/call-sites.ts";
import { functionValue, handedTo, isEventHandler } from "../transfer/callbacks.ts";
import { isInStatic, madeWithObject, makersOf } from "../program/class-makers.ts";
import { endlessMembers } from "../objects/endings.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { lineage } from "../objects/holders.ts";
import { cleanedEffect } from "./cleaned-effects.ts";
import { isLeftHere } from "./left-locals.ts";
import { isForPool, leavesItsPlace } from "./left-places.ts";
import { fieldOfThis, type Member } from "../objects/members.ts";
import { startsFrames } from "./frame-loops.ts";
import { calledWith, isForStart } from "./runs-often.ts";
import type { Session } from "../session.ts";
import {
  calleeNameNode,
  hasBody,
  rootOf,
  someWithin,
  unwrap,
  within,
  type CallLike,
} from "../program/syntax.ts";
import { areApart } from "../program/ways.ts";

/** Calls that call back for what happens, or for each frame. */
const happens = new RegExp(
  "^(addEventListener|addListener|on|subscribe|setInterval|requestAnimationFrame|observe|" +
    "on(Finish)?(Change|Click|Resize|Update|Frame|Input|Select|Drop|(Key|Mouse|Pointer)\\w*))$",
);
/** Names of functions that run for each frame, or for what happens. */
const again =
  /^(update|render|draw|tick|frame|step|refresh|animate|loop|resize)$|^(on|handle)[A-Z]/;
/** What happens once, or ends all there was before, and names of functions for it. */
const first = new RegExp(
  "^(on|handle)?(First|Dom|Load|Init|Ready|Mount|Start|Attach|Create|Connect)|" +
    "Lost|Recover|Restore",
  "i",
);
const furthest = 4;

/**
 * Whether the program makes instances of a class again and again, as it runs: itself, or with each
 * object of another class that is.
 */
export function isMadeAgain(session: Session, node: ts.ClassLikeDeclaration, depth = 0): boolean {
  if (node.name === undefined || depth > furthest) return false;
  return makersOf(session.oracle, node).some((call) => {
    if (isMadeOnce(call) || isInOwnMethod(call, node) || isSaidOfHeir(session, call, node))
      return false;
    if (isForPool(session, call)) return false;
    const whole = madeWithObject(call);
    if (whole) return whole !== node && isMadeAgain(session, whole, depth + 1);
    if (recurs(session, call, depth) || leavesItsPlace(session, call)) return true;
    const home = enclosingFunction(call);
    if (!home || asksForDevice(session, home) || !isLeftHere(session, call)) return false;
    return endlessMembers(session, node).length > 0; // others are asked for where they are left
  });
}

/**
 * Whether the program calls a function that makes an object of functions again and again, as it
 * runs, or leaves what it made.
 */
export function isCalledForMore(session: Session, calls: readonly CallLike[]): boolean {
  return calls.some((call) => {
    if (isMadeOnce(call)) return false;
    const whole = madeWithObject(call);
    if (whole) return isMadeAgain(session, whole, 1);
    return recurs(session, call) || leavesItsPlace(session, call);
  });
}

/** Whether a class between one and what is made of it keeps such values, too: that one is told. */
function isSaidOfHeir(
  session: Session,
  { expression }: ts.NewExpression,
  node: ts.ClassLikeDeclaration,
): boolean {
  const made = session.oracle.declarationAt(expression);
  if (!made || made === node || !ts.isClassLike(made)) return false;
  const line = lineage(made, session.oracle);
  return line.slice(0, line.indexOf(node)).some((c) => endlessMembers(session, c).length > 0);
}

/** Whether an object of a class makes it, which may be a part of that object. */
const isInOwnMethod = (call: ts.Node, node: ts.ClassLikeDeclaration): boolean =>
  within(call, node) && !isInStatic(call, node);

/**
 * Whether a class goes on putting values into a table or list of its own and takes none out:
 * `register(part) { this.buffers.set(part, device.createBuffer(…)); }`. Keys that are numbers or
 * strings may come back, and a method that asks the table first fills a cache.
 */
export function onlyGrows(
  session: Session,
  node: ts.ClassLikeDeclaration,
  { name, at, owned }: Member,
): boolean {
  const put = at.parent;
  const home = enclosingFunction(put);
  if (owned.shape !== "many" || !ts.isCallExpression(put) || !home) return false;
  const [key, value] = put.arguments;
  if (value && key && !session.oracle.gives(key, "object")) return false;
  const leaves = (mention: ts.Node): boolean =>
    within(mention, put) || (!within(mention, home) && isLookup(mention.parent));
  return mentionsIn(node, name).every(leaves) && recurs(session, put);
}

/** `this.buffers.get(part)`: takes nothing out, and hands nobody the whole. */
const isLookup = (use: ts.Node): boolean =>
  ts.isPropertyAccessExpression(use) && /^(get|has|size|length)$/.test(use.name.text);

/** Where a class says `this.x`. */
function mentionsIn(node: ts.ClassLikeDeclaration, field: string): ts.Node[] {
  const found: ts.Node[] = [];
  const visit = (inner: ts.Node): void => {
    if (fieldOfThis(inner)?.name.text === field) found.push(inner);
    ts.forEachChild(inner, visit);
  };
  visit(node);
  return found;
}

/** Whether a place is reached again and again: through functions named or handed on for that. */
export function recurs(session: Session, at: ts.Node, depth = 0): boolean {
  const fn = enclosingFunction(at);
  if (!fn || ts.isConstructorDeclaration(fn) || depth > furthest) return false;
  if (ts.isSetAccessorDeclaration(fn)) return true;
  if (asksForDevice(session, fn) || startsFrames(session.oracle, fn)) return false;
  if (isEventHandler(fn)) return true;
  const host = handedTo(fn);
  if (host)
    return (
      cleanedEffect(at) === fn || // each time that a component is shown
      (happens.test(session.oracle.callee(host).name) && !isForStart(host)) ||
      (!isFirstRun(host) && recurs(session, host, depth + 1))
    );
  const name = nameOf(fn);
  if (name === undefined || !hasBody(fn)) return false;
  if (again.test(name)) return !first.test(name);
  const { calls, values } = callSitesOf(session.oracle, fn, "program");
  return (
    calls.some((c) => !within(c, fn) && !isMadeOnce(c) && recurs(session, c, depth + 1)) ||
    values.some((v) => isHandedOn(v) || isEventHandler(functionValue(v)))
  );
}

/**
 * `navigator.gpu.requestAdapter()`: starts a program, of which all goes with its device.
 *
 * @param at a place in the function, which other ways say nothing of
 */
export function asksForDevice(session: Session, fn: ts.Node, at?: ts.Node): boolean {
  const { calls } = session.oracle.facts.of(fn.getSourceFile(), indexFile);
  return ["requestAdapter", "requestDevice"].some((name) =>
    calls.get(name)?.some((call) => within(call, fn) && !(at && areApart(call, at))),
  );
}

/** `restore(device) { this.device = device; … }`: what there was is of the device before. */
export function takesDevice({ oracle }: Session, fn: ts.Node): boolean {
  if (!hasBody(fn) || ts.isConstructorDeclaration(fn)) return false;
  const given = new Set<ts.Node | undefined>(fn.parameters);
  return someWithin(fn, (at) => {
    if (!ts.isBinaryExpression(at) || at.operatorToken.kind !== ts.SyntaxKind.EqualsToken)
      return false;
    const value = unwrap(at.right);
    const isKept = fieldOfThis(at.left) !== undefined && ts.isIdentifier(value);
    return isKept && /device$/i.test(at.left.getText()) && given.has(oracle.declarationAt(value));
  });
}

/** `new Promise((done) => …)`, an effect: what runs in them runs as often as they do, or once. */
const isFirstRun = (host: CallLike): boolean =>
  /^use[A-Z]|^addEventListener$/.test(calleeNameNode(host)?.text ?? "");

/** `button.addEventListener("click", make)`. */
function isHandedOn(site: ts.Node): boolean {
  const call = calledWith(site);
  return call !== undefined && happens.test(calleeNameNode(call)?.text ?? "") && !isForStart(call);
}

/** `this.x ??= new X()`, `if (!this.x) this.x = new X()`: no more than one. */
function isMadeOnce(call: ts.Node): boolean {
  const store = ts.findAncestor(call, ts.isBinaryExpression);
  if (!store || !within(call, store.right)) return false;
  const { kind } = store.operatorToken;
  if (kind === ts.SyntaxKind.QuestionQuestionEqualsToken) return true;
  if (kind !== ts.SyntaxKind.EqualsToken || ts.isElementAccessExpression(store.left)) return false;
  const place = store.left.getText();
  const test = ts.findAncestor(store, ts.isIfStatement);
  return (
    test !== undefined &&
    enclosingFunction(test) === enclosingFunction(store) &&
    test.expression.getText().includes(place) &&
    rootOf(store.left) !== undefined
  );
}
