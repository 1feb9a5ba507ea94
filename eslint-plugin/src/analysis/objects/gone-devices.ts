/**
 * Gone devices: places that a program comes to only when a device is lost or destroyed, and with it
 * all that it made: `device.lost.then(() => this.textures.clear())`, what such a function alone
 * calls, what comes after `await device.lost` or `device.destroy()`, and what is done on an event
 * of such a name. Used by the verbs about emptied fields and lists, and by what runs often.
 */
import ts from "typescript";
import { callSitesOf, nameOf } from "../program/call-sites.ts";
import { isExported } from "../program/exported.ts";
import {
  calleeNameNode,
  hasBody,
  isNullish,
  someWithin,
  unwrap,
  valueGiven,
  type CallLike,
} from "../program/syntax.ts";
import { isAlwaysBefore } from "../program/ways.ts";
import type { Session } from "../session.ts";
import { eventOf, functionValue, handedTo } from "../transfer/callbacks.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { endsDevice, isDevice } from "./endings.ts";
import { fieldOfThis } from "./members.ts";

/**
 * Whether what a place holds is gone where the program comes to another place, with the device that
 * made it.
 *
 * @param made what was put there: a device goes with its own loss, and not with the end of others
 */
export const isGoneWithDevice = (
  session: Session,
  at: ts.Node,
  made: readonly ts.Expression[],
): boolean => isGoneAt({ session, made, seen: new Set() }, at);

/** What is asked of a place, and of those that lead to it. */
interface Asked {
  session: Session;
  made: readonly ts.Expression[];
  /** The functions whose callers are being asked. */
  seen: Set<ts.Node>;
}

/** `device.lost.then(() => …)`, `gpu.onDeviceLost(() => …)`: for when a device is lost. */
export const isForLoss = (fn: ts.Node): boolean => isForLossAs(fn) || tellsOfLoss(eventOf(fn));

/** The same of the name of a function, `device.lost.then(this.forget)`. */
function isForLossAs(value: ts.Node): boolean {
  const host = value.parent;
  if (!ts.isCallExpression(host)) return false;
  const at = host.arguments.findIndex((given) => given === value);
  if (at === 0 && ts.isPropertyAccessExpression(host.expression))
    if (isLoss(host.expression.expression)) return true;
  const name = calleeNameNode(host)?.text;
  if (at === 0) return tellsOfLoss(name);
  const [event] = host.arguments;
  if (at !== 1 || !event || !ts.isStringLiteralLike(event)) return false;
  return listens.test(name ?? "") && tellsOfLoss(event.text);
}
const listens = /^(on|once|listen|subscribe|add(Event)?Listener)$/;

/** `device.lost`, `lost`: the promise of a device that it is lost. */
const isLoss = (promise: ts.Expression): boolean => /(^|\.)lost$/.test(unwrap(promise).getText());

/** `onLost`, `loseDevice`, `handleDeviceLost`, `device-lost`, and not `onFocusLost`. */
function tellsOfLoss(name: string | undefined): boolean {
  const words = name?.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? [];
  return loss.test(words.join(" ").toLowerCase());
}
const loss = new RegExp(
  "^((on|handle|when|after) )?(lost|loss|lose)( (device|gpu|context|adapter|all|event))*$|" +
    "(device|gpu|context|adapter|graphics|renderer) ?(lost|loss)( |$)",
);

/** Whether the program comes to a place only when a device is gone. */
function isGoneAt(asked: Asked, at: ts.Node): boolean {
  const home = enclosingFunction(at);
  if (!home) return false;
  const isWait = (node: ts.Node): boolean =>
    ts.isAwaitExpression(node) && isLoss(node.expression) && isAlwaysBefore(node, at);
  return someWithin(home, isWait) || isEndedBefore(asked, home, at) || isRunForLoss(asked, home);
}

/** Whether a function runs only when a device is gone: by what it is given to, and who calls it. */
function isRunForLoss(asked: Asked, fn: ts.Node): boolean {
  const { session, seen } = asked;
  if (isForLoss(fn)) return true;
  const host = handedTo(fn);
  if (host) return session.callback(host, fn) === "inline" && isGoneAt(asked, host);
  if (!hasBody(fn) || seen.has(fn)) return false;
  seen.add(fn);
  const isNamed = tellsOfLoss(nameOf(fn));
  const { facts } = session.oracle;
  const { calls, values } = callSitesOf(session.oracle, fn, "program");
  if (!isNamed && (calls.length + values.length === 0 || isExported(facts, fn))) return false;
  return (
    calls.every((call) => isGoneAt(asked, call) || (isNamed && isSaidOfLoss(call))) &&
    values.every((value) => isNamed || isForLossAs(functionValue(value)))
  );
}

/** `if (event === "device-lost") this.loseDevice()`, where the name says the same. */
function isSaidOfLoss(call: CallLike): boolean {
  const home = enclosingFunction(call);
  if (tellsOfLoss(home && nameOf(home))) return true;
  const says = (node: ts.Node): boolean =>
    (ts.isIdentifier(node) || ts.isStringLiteralLike(node)) && tellsOfLoss(node.text);
  const test = ts.findAncestor(call, (node) => node === home || ts.isIfStatement(node));
  return test !== undefined && ts.isIfStatement(test) && someWithin(test.expression, says);
}

/** `this.device.destroy(); …`: whoever comes to a place has destroyed the device before. */
function isEndedBefore({ session, made }: Asked, home: ts.Node, at: ts.Node): boolean {
  if (made.some((value) => isDevice(session, value))) return false;
  return endsDevice(session, home, ({ expression: called }) => {
    const device = ts.isPropertyAccessExpression(called) ? called.expression : called;
    if (made.some((value) => isOfAnother(value, device))) return false;
    return isAlwaysBefore(called.parent, at, (test) => asksForPresence(test, device.getText()));
  });
}

/** `this.device.createBuffer(…)` beside `this.probe.destroy()`. */
function isOfAnother(value: ts.Expression, device: ts.Expression): boolean {
  const made = unwrap(value);
  const call = ts.isBinaryExpression(made) ? valueGiven(made) : made;
  if (!ts.isCallExpression(call) || !ts.isPropertyAccessExpression(call.expression)) return false;
  const maker = unwrap(call.expression.expression);
  const isField = fieldOfThis(maker) !== undefined && fieldOfThis(unwrap(device)) !== undefined;
  return isField && maker.getText() !== unwrap(device).getText();
}

/** `device`, `device !== null`: where there is none it has made nothing. */
function asksForPresence(test: ts.Expression, place: string): boolean {
  const asked = unwrap(test);
  if (!ts.isBinaryExpression(asked)) return asked.getText() === place;
  const isUnlike = /^!==?$/.test(asked.operatorToken.getText());
  return isUnlike && isNullish(unwrap(asked.right)) && asked.left.getText() === place;
}
