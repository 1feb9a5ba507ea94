/**
 * Runs often: whether a function is known to run more than once, so that what it stores replaces
 * what it stored the last time. Told by how the program calls it, then by its name. Used by
 * `lost-stores.ts`, and for the calls that call back by `made-again.ts`.
 */
import ts from "typescript";
import { callSitesOf, nameOf } from "./call-sites.ts";
import { handedTo } from "./callbacks.ts";
import { enclosingFunction, fateOf } from "./fate.ts";
import { isExported } from "./exported.ts";
import type { Session } from "./session.ts";
import { calleeNameNode, hasBody, unwrap, within, type CallLike } from "./syntax.ts";

/** Names of functions that are made to run again and again. */
const often =
  /^(set|update|process|handle|on|next|step|tick|render|draw|refresh|replace|reset)([A-Z_]|$)/;
/** Names of functions that make something ready, once. */
const once = new RegExp(
  "^#?_?(init|load|set_?up|build|create|make|connect|open|start|warm|prepare|alloc|configure|" +
    "fit|train|main|run|ready|compile|register|restore|import|download|fetch)",
  "i",
);
/** Calls that call back more than once. */
const repeats =
  /^(forEach|map|addEventListener|addListener|on|subscribe|setInterval|requestAnimationFrame)$/;

/** Whether a function is known to run more than once. */
export function runsOften(session: Session, place: ts.Node): boolean {
  if (ts.isSetAccessorDeclaration(place)) return true;
  const host = handedTo(place);
  if (host) return repeats.test(session.oracle.callee(host).name);
  const name = nameOf(place);
  if (name === undefined || !hasBody(place)) return false;
  if (often.test(name) || isCalledAgain(session, place, 0)) return true;
  if (place.parameters.length === 0 || once.test(name)) return false;
  const { calls, values } = callSitesOf(session.oracle, place, "program");
  if (calls.some(isInConstructor)) return false;
  // called by who knows whom
  return isExported(session.oracle.facts, place) || calls.length + values.length === 0;
}

/** Whether the program calls a function in a loop, from itself, or from one that runs often. */
function isCalledAgain(session: Session, fn: ts.Node, depth: number): boolean {
  if (!hasBody(fn) || depth > 3) return false;
  const { calls, values } = callSitesOf(session.oracle, fn, "program");
  return [...calls, ...values].some((site) => {
    if (within(site, fn) || isHandedToRepeat(site)) return true;
    const caller = enclosingFunction(site);
    if (isOfNewObject(session, site, caller)) return false; // another one's, each time
    if (isInLoop(site, caller)) return true;
    const host = caller && handedTo(caller);
    if (host) return repeats.test(session.oracle.callee(host).name);
    return caller !== undefined && caller !== fn && isCalledAgain(session, caller, depth + 1);
  });
}

/** `const model = new Model(); model.init()`. */
function isOfNewObject(session: Session, site: ts.Node, caller: ts.Node | undefined): boolean {
  const target = ts.isCallExpression(site) ? site.expression : site;
  const receiver = ts.isPropertyAccessExpression(target) ? target.expression : undefined;
  if (!receiver || !ts.isIdentifier(receiver)) return false;
  const declaration = session.oracle.declarationAt(receiver);
  return (
    declaration !== undefined &&
    ts.isVariableDeclaration(declaration) &&
    declaration.initializer !== undefined &&
    ts.isNewExpression(unwrap(declaration.initializer)) &&
    enclosingFunction(declaration) === caller &&
    innermostLoop(declaration) === innermostLoop(site)
  );
}

const innermostLoop = (node: ts.Node): ts.Node | undefined =>
  ts.findAncestor(node, (at) => ts.isIterationStatement(at, false) || ts.isFunctionLike(at));

/** `setInterval(tick, 100)`, `button.addEventListener("click", this.click)`. */
function isHandedToRepeat(site: ts.Node): boolean {
  const call = calledWith(site);
  return call !== undefined && repeats.test(calleeNameNode(call)?.text ?? "");
}

/** The call that a mention of a function, `tick` or the `click` of `this.click`, is handed to. */
export function calledWith(site: ts.Node): CallLike | undefined {
  const value = ts.isPropertyAccessExpression(site.parent) ? site.parent : site;
  if (!ts.isIdentifier(value) && !ts.isPropertyAccessExpression(value)) return undefined;
  const { kind, node } = fateOf(value);
  return kind === "argument" ? (node as CallLike) : undefined;
}

const isInConstructor = (node: ts.Node): boolean => {
  const caller = enclosingFunction(node);
  return caller !== undefined && ts.isConstructorDeclaration(caller);
};

function isInLoop(node: ts.Node, root: ts.Node | undefined): boolean {
  for (let at: ts.Node = node; at !== root && !ts.isSourceFile(at); at = at.parent)
    if (ts.isIterationStatement(at, false)) return true;
  return false;
}
