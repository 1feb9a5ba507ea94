/**
 * Frame loops: functions that have themselves called for each frame, and what starts one. A button
 * that does so is pressed once, since a second loop beside the first would be of no use. Used by
 * `runs-often.ts` and `made-again.ts`.
 */
import ts from "typescript";
import { callsNamed } from "../program/call-index.ts";
import { callSitesOf } from "../program/call-sites.ts";
import { functionHanded } from "../program/callee.ts";
import type { Oracle } from "../program/oracle.ts";
import { handedTo } from "../transfer/callbacks.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import {
  calleeNameNode,
  someWithin,
  within,
  type CallLike,
  type FunctionWithBody,
} from "../program/syntax.ts";

const asksFrame = "requestAnimationFrame";

/** Whether a function starts a loop of frames, which nothing in the program stops. */
export function startsFrames(oracle: Oracle, fn: ts.Node): boolean {
  const { facts, program } = oracle;
  return facts.once(program, frameStarters, () => frameStarters(oracle)).has(fn);
}

function frameStarters(oracle: Oracle): ReadonlySet<ts.Node> {
  const starters = new Set<ts.Node>();
  if (callsNamed(oracle, "cancelAnimationFrame").length > 0) return starters;
  for (const loop of loopsOf(oracle)) {
    const { calls, values } = callSitesOf(oracle, loop, "program");
    for (const site of [...calls, ...values]) {
      const at = enclosingFunction(site);
      const host = at && handedTo(at);
      const starter = host && isFrame(host) ? enclosingFunction(host) : at;
      if (starter && !within(starter, loop)) starters.add(starter);
    }
  }
  return starters;
}

/** `const frame = () => { …; requestAnimationFrame(frame); }`, or `… (() => frame())`. */
function loopsOf(oracle: Oracle): ReadonlySet<FunctionWithBody> {
  const loops = new Set<FunctionWithBody>();
  for (const call of callsNamed(oracle, asksFrame)) {
    const given = call.arguments?.[0] && functionHanded(oracle, call.arguments[0]);
    for (let at = enclosingFunction(call); given && at; at = enclosingFunction(at)) {
      const fn = at;
      const again = (n: ts.Node): boolean => ts.isCallExpression(n) && oracle.callee(n).body === fn;
      if (given === fn || someWithin(given, again)) loops.add(fn as FunctionWithBody);
    }
  }
  return loops;
}

const isFrame = (call: CallLike): boolean => calleeNameNode(call)?.text === asksFrame;
