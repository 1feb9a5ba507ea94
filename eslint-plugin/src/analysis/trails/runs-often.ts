/**
 * Runs often: whether a function is known to run more than once, so that what it stores replaces
 * what it stored the last time. Told by how the program calls it, then by its name. Used by
 * `slot-losses.ts`, and for the calls that call back by `made-again.ts`.
 */
import ts from "typescript";
import { callsByProperty, callSitesOf, memberOfScript, nameOf } from "../program/call-sites.ts";
import { functionValue, handedTo, isEventHandler } from "../transfer/callbacks.ts";
import { enclosingFunction, fateOf } from "../transfer/fate.ts";
import { isExported } from "../program/exported.ts";
import { makersOf } from "../program/class-makers.ts";
import { isForLoss } from "../objects/gone-devices.ts";
import { isCalledThrough } from "../scopes/layer-calls.ts";
import type { Owned } from "../program/oracle.ts";
import type { Session } from "../session.ts";
import {
  calleeNameNode,
  hasBody,
  isInLoop,
  isPrivate,
  rootOf,
  someWithin,
  unwrap,
  within,
  type CallLike,
  type FunctionWithBody,
} from "../program/syntax.ts";
import { addsListener, isCallbackHook } from "./callback-hooks.ts";
import { isForChange } from "./for-changes.ts";
import { startsFrames } from "./frame-loops.ts";
import { isOnNew } from "./new-objects.ts";
import { isOnOtherWay, isStraight } from "../program/ways.ts";

/** Names of functions that are made to run again and again. */
const often = new RegExp(
  "^(set|update|process|handle|on|next|step|tick|render|draw|refresh|replace|reset)([A-Z_]|$)|" +
    "^(animate|advance|paint|frame)$|" +
    "^(mouse|key|touch)(Pressed|Released|Clicked|Dragged|Moved|Typed|Started|Ended)$",
);
/** Ends of names of functions that begin something: `renderStart`. */
const begins = /(Start|Begin|Init|Initiali[sz]e|Set[uU]p|Ready)$/;
/** Names of functions that make anew what is there already. */
const anew =
  /^#?_?(on_?|handle_?)?(re_?size|set_?size|re_?create|re_?build|re_?alloc)([A-Z_]|ate|$)/i;
/** Names of functions that make something ready, once. */
const once = new RegExp(
  "^#?_?(init|load|set_?up|build|create|make|connect|open|start|warm|prepare|alloc|configure|" +
    "fit|train|main|run|ready|compile|register|restore|import|download|fetch|" +
    "begin|attach|mount|on_?(add|attach|mount|enter|init)|" +
    // a component is put on the page once
    "oncreate$|oninit$|mounted$|component_?did_?mount$|connected_?callback$)",
  "i",
);
/** Calls that call back more than once. */
const repeats = new RegExp(
  "^(forEach|forEachAsync|map|addEventListener|addListener|on|subscribe|setInterval|watch|" +
    "requestAnimationFrame|handle|click|change|submit|keydown|keyup|mousePressed|mouseClicked)$",
);

/**
 * Whether a function is known to run more than once, or called by who knows whom.
 *
 * @param bare whether those may call one more than once that takes nothing, too
 */
export function runsOften(session: Session, place: ts.Node, bare = false, depth = 0): boolean {
  if (surelyRunsOften(session, place) || isCallbackHook(session, place, once)) return true;
  const name = nameOf(place);
  if (handedTo(place) || name === undefined || !hasBody(place)) return false;
  if (memberOfScript(place)) return false; // anything may have a method of that name
  if ((place.parameters.length === 0 && !bare) || once.test(name) || begins.test(name))
    return false;
  const { calls, values } = callSitesOf(session.oracle, place, "program");
  if (calls.some(isInConstructor)) return false;
  if (calls.length > 0 && calls.every((call) => isFirstCall(session, call))) return false;
  // called by who knows whom
  const isGiven = (value: ts.Node): boolean =>
    isGivenOut(value) && callsByProperty(session.oracle, value).length === 0;
  if (isExported(session.oracle.facts, place)) return true;
  if (calls.length === 0) return values.every(isGiven);
  return depth < 3 && calls.some((call) => isPartOfOften(session, call, bare, depth + 1));
}

/** Whether a function that runs more than once comes to a call each time. */
function isPartOfOften(session: Session, call: CallLike, bare: boolean, depth: number): boolean {
  const caller = enclosingFunction(call);
  if (!caller || isForLoss(caller) || isForFirst(call, caller)) return false;
  return isStraight(call, caller) && runsOften(session, caller, bare, depth);
}

/** `return { show, hide }`, `return Object.assign(show, { hide })`: others call it. */
function isGivenOut(value: ts.Node): boolean {
  const { kind, node } = fateOf(value as ts.Expression);
  if (kind !== "argument" || !ts.isCallExpression(node)) return kind === "returned";
  return node.expression.getText() === "Object.assign" && fateOf(node).kind === "returned";
}

/** Whether a call runs a function for the first time, or a method for each object once. */
function isFirstCall(session: Session, call: CallLike, depth = 0): boolean {
  const caller = enclosingFunction(call);
  if (isOncePerPart(session, call) || isOnNew(call) || isForFirst(call, caller)) return true;
  if (!caller || !hasBody(caller) || !isOfThis(call) || depth > 2)
    return isOnLocalNew(session, call);
  const { calls, values } = callSitesOf(session.oracle, caller, "program");
  return (
    calls.length > 0 &&
    values.length === 0 &&
    calls.every((site) => isFirstCall(session, site, depth + 1))
  );
}

/** `const mesh = new Mesh(device); mesh.load(data);`, outside of any loop between the two. */
function isOnLocalNew(session: Session, call: CallLike): boolean {
  const root = rootOf(call.expression);
  const source = ts.isIdentifier(root) ? session.oracle.declarationAt(root) : undefined;
  const made = source && ts.isVariableDeclaration(source) ? source.initializer : undefined;
  const home = homeOfReceiver(session, call);
  return (
    made !== undefined &&
    ts.isNewExpression(unwrap(made)) &&
    home !== undefined &&
    within(call, home) &&
    !isInLoop(call, home)
  );
}

/**
 * Whether what is lost where it is made counts: it does wherever it stands, or, for values that may
 * last as long as the program, where they are made again and again.
 */
export function pilesUp(session: Session, { owner }: Owned, at: ts.Node): boolean {
  if (owner.lost !== "repeated") return true;
  const place = enclosingFunction(at);
  if (isInLoop(at, place)) return true;
  return place !== undefined && (isForChange(at, place) || runsOften(session, place));
}

/** `setTimeout(() => …, 100)`, which runs the function once each time. */
const isDelay = (call: CallLike): boolean =>
  /^(setTimeout|setImmediate|queueMicrotask|nextTick)$/.test(calleeNameNode(call)?.text ?? "");

/** Whether a function is known to run more than once, by its name or by its callers. */
export function surelyRunsOften(session: Session, place: ts.Node): boolean {
  if (startsFrames(session.oracle, place)) return false;
  if (ts.isSetAccessorDeclaration(place) || isEventHandler(place)) return true;
  const host = handedTo(place);
  const caller = host && isDelay(host) ? enclosingFunction(host) : undefined;
  if (caller) return surelyRunsOften(session, caller);
  if (host) return isHandler(session, place);
  const name = nameOf(place);
  if (name === undefined || !hasBody(place)) return false;
  if (isOftenByName(session, place) || makesAnew(session, place)) return true;
  return isCalledThrough(session, place) || isCalledAgain(session, place, 0);
}

/**
 * `resize()`, unless all that calls it makes something ready; of an exported class others may call
 * it, too, which counts where the program makes none, or what lasts until the end is reported.
 */
const makesAnew = (session: Session, fn: FunctionWithBody): boolean =>
  anew.test(nameOf(fn) ?? "") &&
  (isOffered(session, fn) || isOfUnmade(session, fn) || !isForReady(session, fn));

/** A public method of an exported class, where what lasts until the end is reported. */
export const isOffered = (session: Session, fn: FunctionWithBody): boolean =>
  session.settings.untilExit === "reported" && isPublic(session, fn);

/** A public method, that takes something, of an exported class of which the program makes none. */
const isOfUnmade = (session: Session, fn: FunctionWithBody): boolean =>
  fn.parameters.length > 0 &&
  isPublic(session, fn) &&
  ts.isClassLike(fn.parent) &&
  makersOf(session.oracle, fn.parent).length === 0;

const isPublic = ({ oracle }: Session, fn: FunctionWithBody): boolean =>
  ts.isMethodDeclaration(fn) && !isPrivate(fn) && isExported(oracle.facts, fn);

/** `update()`; nothing is known of a `setSize()` that all who call it make something ready with. */
function isOftenByName(session: Session, fn: ts.Node): boolean {
  const name = nameOf(fn) ?? "";
  if (!often.test(name) || (!/^(on|handle)/.test(name) && begins.test(name))) return false;
  if (/^on_?(add|attach|mount|enter|init)/i.test(name)) return false; // to an object, once
  if (!hasBody(fn)) return true;
  if (isCalledByModules(session, fn)) return false;
  // nobody else calls a `private handleIndices()` of the constructor
  const isOpen = !/^(process|set)/.test(name) && !(ts.isMethodDeclaration(fn) && isPrivate(fn));
  return isOpen || !isForReady(session, fn);
}

/** `await scene.renderPng();` in a module, outside of any function or loop, and nowhere else. */
function isCalledByModules(session: Session, fn: FunctionWithBody): boolean {
  const { calls, values } = callSitesOf(session.oracle, fn, "program");
  const isOnce = (call: CallLike): boolean =>
    enclosingFunction(call) === undefined && !isInLoop(call, undefined);
  return calls.length > 0 && values.length === 0 && calls.every(isOnce);
}

/** Whether a function is called, and only by what makes something ready. */
function isForReady(session: Session, fn: FunctionWithBody): boolean {
  const { calls, values } = callSitesOf(session.oracle, fn, "program");
  const isFirst = (call: CallLike): boolean => {
    const caller = enclosingFunction(call);
    return !caller || ts.isConstructorDeclaration(caller) || once.test(nameOf(caller) ?? "");
  };
  return calls.length > 0 && values.length === 0 && calls.every(isFirst);
}

/** Whether a function is handed to something that calls it for what happens, or for each item. */
export function isHandler(session: Session, fn: ts.Node): boolean {
  const host = handedTo(fn);
  if (!host || isForStart(host)) return false;
  const { name, body } = session.oracle.callee(host);
  return (
    repeats.test(name) || isRoute(host) || (body !== undefined && addsListener(host, fn, body))
  );
}

/** Events that come once, or that end all there was before. */
const onceOnly = new RegExp(
  "^(dom_?content_?)?load(ed)?$|^(before_?)?unload$|^(device|document)?_?ready$|" +
    "^(init(iali[sz]ed?)?|start(up|ed)?|mount(ed)?|attach(ed)?|created?|connect(ed)?)$|" +
    "lost$|restored?$",
  "i",
);

/** `addEventListener("DOMContentLoaded", () => …)`: what a page or a worker does once. */
export function isForStart({ arguments: given }: CallLike): boolean {
  const event = given?.[0];
  return event !== undefined && ts.isStringLiteralLike(event) && onceOnly.test(event.text);
}

/** `app.post("/train", async (req, res) => …)`: what a server does for each request. */
function isRoute(host: CallLike): boolean {
  const [path, ...rest] = host.arguments ?? [];
  return (
    path !== undefined &&
    rest.length > 0 &&
    ts.isStringLiteralLike(path) &&
    path.text.startsWith("/") &&
    /^(get|post|put|patch|delete|all|use)$/.test(calleeNameNode(host)?.text ?? "")
  );
}

/** `reload() { this.load(); }`: what was done once is done again. */
const isForAnother = (fn: ts.Node): boolean =>
  /^#?_?re_?(load|open|run|fetch|train|init|fill|compute)([A-Z_]|$)/i.test(nameOf(fn) ?? "");

/** Whether the program calls a function in a loop, from itself, or from one that runs often. */
function isCalledAgain(session: Session, fn: ts.Node, depth: number): boolean {
  if (!hasBody(fn) || depth > 3 || startsFrames(session.oracle, fn)) return false;
  const { calls: named, values } = callSitesOf(session.oracle, fn, "program");
  const kept = values.map((value) => callsByProperty(session.oracle, value));
  const calls = [...named, ...kept.flat()];
  if (isCalledTwice(session, calls, once.test(nameOf(fn) ?? ""))) return true;
  const others = values.filter((_, i) => kept[i]?.length === 0);
  return [...calls.filter((c) => isSurely(session, c, fn)), ...others].some((site) => {
    const caller = enclosingFunction(site);
    if (caller && (isForLoss(caller) || isForFirst(site, caller))) return false;
    if (isOfObject(fn) && isOnNew(site)) return false;
    const isMember = isOfObject(fn) || kept.some((list) => list.some((call) => call === site));
    const home = isMember ? homeOfReceiver(session, site) : undefined;
    if (home && within(home, caller ?? home)) {
      if (isInLoop(site, home)) return true;
      const turns = goesOverKept(session, home);
      const next = turns && enclosingFunction(turns);
      if (!next) return false;
      return isInLoop(turns.parent, next) || isCalledAgain(session, next, depth + 1);
    }
    if (within(site, fn) && isOnOther(site, fn)) return false;
    if (within(site, fn) || isHandedToRepeat(site) || isEventHandler(functionValue(site)))
      return true;
    if (isInLoop(site, caller)) return true;
    if (caller && isToStart(site, caller)) return false;
    if (caller && isCalledByOthers(session, caller)) return true;
    if (caller && ts.isConstructorDeclaration(caller) && isOfThis(site)) return false;
    if (caller && handedTo(caller)) return isHandler(session, caller);
    if (!caller || caller === fn) return false;
    if ((isOftenByName(session, caller) || isForAnother(caller)) && isStraight(site, caller))
      return true;
    return (
      (hasBody(caller) && makesAnew(session, caller)) || isCalledAgain(session, caller, depth + 1)
    );
  });
}

/** `if (!this.compute) { this.make(); … }`: what is made where nothing is there yet comes once. */
function isForFirst(site: ts.Node, caller: ts.Node | undefined): boolean {
  const test = ts.findAncestor(site, (n) => n === caller || ts.isIfStatement(n));
  if (!test || !ts.isIfStatement(test) || !within(site, test.thenStatement)) return false;
  return /^!(this\.)?[\w#$]+$|^[\w#$.]+ ?={2,3} ?(null|undefined)$/.test(test.expression.getText());
}

/** `if (type === "init") await setUp();`: what starts a worker comes once. */
function isToStart(site: ts.Node, caller: ts.Node): boolean {
  const asks = (at: ts.Node): boolean => ts.isStringLiteralLike(at) && starting.test(at.text);
  const clause = ts.findAncestor(site, (n) => {
    if (n === caller) return "quit";
    if (ts.isIfStatement(n)) return within(site, n.thenStatement) && someWithin(n.expression, asks);
    return ts.isCaseClause(n) && asks(n.expression);
  });
  return clause !== undefined;
}
const starting = /^(init|set_?up|start|boot|config|connect|ready)/i;

/** `this.inner.setUp()` in a `setUp()`: the same of another object. */
const isOnOther = (site: ts.Node, fn: ts.Node): boolean =>
  isOfObject(fn) &&
  ts.isCallExpression(site) &&
  ts.isPropertyAccessExpression(site.expression) &&
  site.expression.expression.kind !== ts.SyntaxKind.ThisKeyword;

/** A method, of a class or of an object: what it fills is of the object it is called on. */
const isOfObject = (fn: ts.Node): boolean =>
  ts.isClassElement(fn) || ts.isObjectLiteralExpression(fn.parent);

/**
 * The loop, or the call with a callback, that takes one after the other from a list that outlives
 * the function: `for (const part of this.parts)`. The next time it takes the same ones.
 */
function goesOverKept(session: Session, home: ts.Node): ts.Node | undefined {
  const turns = ts.isForOfStatement(home) ? home : handedTo(home);
  const walked = turns && (ts.isForOfStatement(turns) ? turns.expression : receiverOf(turns));
  if (!turns || !walked) return undefined;
  const root = rootOf(walked);
  if (root.kind === ts.SyntaxKind.ThisKeyword) return turns;
  const list = ts.isIdentifier(root) ? session.oracle.declarationAt(root) : undefined;
  const isOuter =
    list && ts.isVariableDeclaration(list) && enclosingFunction(list) !== enclosingFunction(turns);
  return isOuter ? turns : undefined;
}

const receiverOf = ({ expression }: CallLike): ts.Expression | undefined =>
  ts.isPropertyAccessExpression(expression) && expression.name.text === "forEach"
    ? expression.expression
    : undefined;

/** Whether a loop calls a function on the same object each time. */
export function isCalledInLoop(session: Session, fn: ts.Node): boolean {
  if (!hasBody(fn)) return false;
  return callSitesOf(session.oracle, fn, "program").calls.some((call) => {
    const caller = enclosingFunction(call);
    const home = homeOfReceiver(session, call);
    const region = home && within(home, caller ?? home) ? home : caller;
    return isSurely(session, call, fn) && isInLoop(call, region);
  });
}

/**
 * `x.roll(a).size + x.roll(b).size`: a function calls it twice, on the same object. What makes
 * something ready, it does so in two statements of one block.
 */
function isCalledTwice(session: Session, calls: readonly CallLike[], isFirst: boolean): boolean {
  const homes = new Map<ts.Node, CallLike[]>();
  return calls.some((call) => {
    const home = isFirst
      ? ts.isExpressionStatement(call.parent) && call.parent.parent
      : enclosingFunction(call);
    if (!home) return false;
    const before = homes.get(home) ?? [];
    homes.set(home, [...before, call]);
    return before.some(
      (other) =>
        call.expression.getText() === other.expression.getText() &&
        isOnSame(session, other, call) &&
        !isOnOtherWay(other, call),
    );
  });
}

/** Whether two calls are on `this`, or on one variable that stays what it is. */
function isOnSame({ oracle }: Session, call: CallLike, other: CallLike): boolean {
  const [root, its] = [rootOf(call.expression), rootOf(other.expression)];
  if (root === call.expression || !ts.isIdentifier(root) || !ts.isIdentifier(its)) return true;
  const declaration = oracle.declarationAt(root);
  if (!declaration || declaration !== oracle.declarationAt(its)) return false;
  return (
    !ts.isVariableDeclaration(declaration) ||
    (ts.getCombinedNodeFlags(declaration) & ts.NodeFlags.Let) === 0
  );
}

/** Whether the event loop or the library calls a function each time that something happens. */
const isCalledByOthers = (session: Session, fn: ts.Node): boolean =>
  isEventHandler(fn) || isCalledThrough(session, fn);

/** `this.setUp()`: in a constructor that is an object of its own each time. */
const isOfThis = (site: ts.Node): boolean =>
  ts.isCallExpression(site) && rootOf(site.expression).kind === ts.SyntaxKind.ThisKeyword;

/**
 * `tf.split()`, `super.split()`, and with an `x` of no type `x.split()` within `split()`, or
 * `x.split(a, b)` where `split()` takes less, are other functions.
 */
function isSurely(session: Session, call: CallLike, fn: FunctionWithBody): boolean {
  if (rootOf(call.expression).kind === ts.SyntaxKind.SuperKeyword && within(call, fn)) return false;
  const { declaration, library } = session.oracle.callee(call);
  if (library !== undefined || declaration !== undefined) return library === undefined;
  const rest = fn.parameters.at(-1)?.dotDotDotToken;
  const fits = rest !== undefined || (call.arguments?.length ?? 0) <= fn.parameters.length;
  return fits && !within(call, fn);
}

/**
 * The loop or function that declares what a method is called on: `for (const part of parts)
 * part.upload()` runs `upload` once for each part, and so does `parts[i].upload()` for each `i`.
 */
function homeOfReceiver(session: Session, site: ts.Node): ts.Node | undefined {
  if (!ts.isCallExpression(site)) return undefined;
  const root = unwrap(placeOf(site.expression) ?? rootOf(site.expression));
  const declaration = ts.isIdentifier(root) && session.oracle.declarationAt(root);
  if (!declaration) return undefined;
  return ts.findAncestor(
    declaration.parent,
    (n) => ts.isIterationStatement(n, false) || ts.isFunctionLike(n),
  );
}

/** The `i` of `parts[i].upload`. */
function placeOf(callee: ts.Expression): ts.Expression | undefined {
  const on = ts.isPropertyAccessExpression(callee) ? unwrap(callee.expression) : callee;
  return ts.isElementAccessExpression(on) && ts.isIdentifier(on.argumentExpression)
    ? on.argumentExpression
    : undefined;
}

/** `setInterval(tick, 100)`, `button.addEventListener("click", this.click)`. */
function isHandedToRepeat(site: ts.Node): boolean {
  const call = calledWith(site);
  return call !== undefined && repeats.test(calleeNameNode(call)?.text ?? "") && !isForStart(call);
}

/** The call that a mention of a function, `tick` or the `click` of `this.click`, is handed to. */
export function calledWith(site: ts.Node): CallLike | undefined {
  const { kind, node } = fateOf(functionValue(site));
  return kind === "argument" ? (node as CallLike) : undefined;
}

const isInConstructor = (node: ts.Node): boolean => {
  const caller = enclosingFunction(node);
  return caller !== undefined && ts.isConstructorDeclaration(caller);
};

/** `for (const part of parts) part.upload()`, `parts.forEach((part) => part.upload())`. */
function isOncePerPart(session: Session, call: CallLike): boolean {
  const home = homeOfReceiver(session, call);
  if (!home || !within(call, home)) return false;
  return ts.isIterationStatement(home, false) || handedTo(home) !== undefined;
}
