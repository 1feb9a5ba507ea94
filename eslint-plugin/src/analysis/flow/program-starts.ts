/**
 * Starts of programs: what the main function of a program, or what it calls once as it starts,
 * loses without harm until the exit: devices and what it has them make, tensors of libraries
 * without a protocol. Read by the analysis of a file, where such things may last.
 */
import ts from "typescript";
import { isHolder, type Owner } from "../../owner.ts";
import type { Owned } from "../program/oracle.ts";
import { bindingOf, callSitesOf } from "../program/call-sites.ts";
import { isOfferedByName } from "../program/entry-points.ts";
import { isExported } from "../program/exported.ts";
import {
  calleeNameNode,
  hasBody,
  isInLoop,
  someWithin,
  unwrap,
  type CallLike,
  type FunctionWithBody,
} from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { calledWith } from "../trails/runs-often.ts";
import { handedTo } from "../transfer/callbacks.ts";
import { enclosingFunction } from "../transfer/fate.ts";

/** Whether what is lost was made once, as a program starts, and may go with it at the exit. */
export function isForProgram(session: Session, owned: Owned, at: ts.Node): boolean {
  if (session.settings.untilExit !== "allowed") return false;
  const ofDevice = endsWithDevices(session, owned);
  if (!ofDevice && owned.owner.lost !== "running") return false;
  const home = enclosingFunction(at);
  return !isInLoop(at, home) && (home === undefined || isOfStart(session, home, ofDevice));
}

const furthest = 4;

/**
 * Whether a function runs once, as a program starts: at module level, or for one that does. Classes
 * are written to be made again, but what they make of a device that is asked for once.
 */
function isOfStart(session: Session, fn: ts.Node, ofDevice: boolean, depth = 0): boolean {
  if (depth > furthest || !hasBody(fn) || (!ofDevice && ts.isClassElement(fn))) return false;
  const site = onlyRunOf(session, fn);
  if (!site || (!ofDevice && ts.isNewExpression(site))) return false;
  const home = enclosingFunction(site);
  if (home === fn || isInLoop(site, home)) return false;
  if (!home && ofDevice) return true;
  if (isOffered(session, fn, ofDevice)) return false;
  return home === undefined || isOfStart(session, home, ofDevice, depth + 1);
}

/**
 * Whether others may call a function with another device, or a package gives it to programs that
 * nobody here can see.
 */
const isOffered = ({ oracle }: Session, fn: FunctionWithBody, ofDevice: boolean): boolean =>
  handedTo(fn) === undefined &&
  isExported(oracle.facts, fn) &&
  (ofDevice || isOfferedByName(oracle, bindingOf(fn) ?? fn));

/** The one place that runs a function, once. */
function onlyRunOf(session: Session, fn: FunctionWithBody): ts.Node | undefined {
  if (isNamedWithin(fn)) return undefined;
  const host = handedTo(fn);
  if (host) {
    const isAtOnce = unwrap(host.expression) === fn || session.callback(host, fn) === "scoped";
    return isAtOnce || runsOnce(host) ? host : undefined;
  }
  if (isForLoad(fn)) return fn;
  const { calls, values } = callSitesOf(session.oracle, fn, "program");
  const [site, ...others] = [...calls, ...values];
  if (!site || others.length > 0) return undefined;
  const given = calledWith(site);
  return calls.length > 0 || (given && runsOnce(given)) || isForLoad(site) ? site : undefined;
}

/** `(function loop() { …; requestAnimationFrame(loop); })()`: goes on by its own name. */
const isNamedWithin = (fn: FunctionWithBody): boolean =>
  ts.isFunctionExpression(fn) &&
  fn.name !== undefined &&
  someWithin(fn.body, (at) => ts.isIdentifier(at) && at.text === fn.name?.text);

/** `.then(() => …)`, `addEventListener("load", () => …)`, `$(document).ready(main)`. */
function runsOnce(host: CallLike): boolean {
  const name = calleeNameNode(host)?.text ?? "";
  const event = host.arguments?.[0];
  if (name !== "addEventListener" || !event || !ts.isStringLiteralLike(event))
    return /^(then|catch|finally|ready|jQuery|\$|setTimeout|readFile|exec)$/.test(name);
  return event.text === "DOMContentLoaded" || (event.text === "load" && isOfPage(host.expression));
}

/** `window.onload = main`. */
const isForLoad = (fn: ts.Node): boolean => {
  const { parent } = fn;
  return (
    ts.isBinaryExpression(parent) &&
    parent.right === fn &&
    /\bonload$/.test(parent.left.getText()) &&
    isOfPage(parent.left)
  );
};

/** `window.addEventListener`, `onload`: not of an image, which may be loaded again. */
const isOfPage = (member: ts.Expression): boolean =>
  ts.isIdentifier(member) ||
  (ts.isPropertyAccessExpression(member) &&
    /^(window|document|self|globalThis|document\.body)$/.test(member.expression.getText()));

/** Whether values of a family end with a device: it makes them, or they hold what it makes. */
function endsWithDevices({ settings }: Session, { owner }: Owned): boolean {
  return makesDevices(owner) || (isHolder(owner, settings) && settings.owners.some(makesDevices));
}

/** Whether devices are among the values of a family, all of which end with theirs. */
const makesDevices = ({ fresh }: Owner): boolean =>
  fresh.some((made) => (typeof made === "string" ? made : made.name) === "requestDevice");
