/**
 * Starts of programs: what the main function of a program, or what it calls once as it starts,
 * loses and does no harm until the exit: devices and what it has them make, tensors of libraries
 * without a protocol. Read by the analysis of a file, where such things may last.
 */
import ts from "typescript";
import { isHolder, type Owner } from "../../owner.ts";
import type { Owned } from "../program/oracle.ts";
import { callSitesOf } from "../program/call-sites.ts";
import { isExported } from "../program/exported.ts";
import { calleeNameNode, hasBody, isInLoop, unwrap, type CallLike } from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { isForStart } from "../trails/runs-often.ts";
import { handedTo } from "../transfer/callbacks.ts";
import { enclosingFunction } from "../transfer/fate.ts";

/** Whether what is lost was made once, as a program starts, and may go with it at the exit. */
export function isForProgram(session: Session, owned: Owned, at: ts.Node): boolean {
  const home = enclosingFunction(at);
  const ofDevice = endsWithDevices(session, owned);
  return (
    session.settings.untilExit === "allowed" &&
    (ofDevice || owned.owner.lost === "running") &&
    !isInLoop(at, home) &&
    (home === undefined || isOfStart(session, home, ofDevice))
  );
}

const furthest = 4;

/**
 * Whether a function runs once, as a program starts: at module level, or for one that does. Classes
 * are written to be made again, but what they make of a device that is asked for once.
 */
function isOfStart(session: Session, fn: ts.Node, ofDevice: boolean, depth = 0): boolean {
  const host = handedTo(fn);
  if (depth > furthest || !hasBody(fn) || (host && !runsOnceFrom(host, fn))) return false;
  if (!ofDevice && ts.isClassElement(fn)) return false;
  const { calls, values } = callSitesOf(session.oracle, fn, "program");
  const [site, ...others] = host ? [host] : calls;
  if (!site || others.length > 0 || values.length > 0) return false;
  if (!ofDevice && ts.isNewExpression(site)) return false;
  const home = enclosingFunction(site);
  if (home === fn || isInLoop(site, home)) return false;
  if (!home) return true;
  return (
    (host !== undefined || !isExported(session.oracle.facts, fn)) &&
    isOfStart(session, home, ofDevice, depth + 1)
  );
}

/** `(async () => { … })()`, `.then(() => …)`, `addEventListener("load", () => …)`. */
const runsOnceFrom = (host: CallLike, fn: ts.Node): boolean =>
  unwrap(host.expression) === fn ||
  isForStart(host) ||
  /^(then|catch|finally)$/.test(calleeNameNode(host)?.text ?? "");

/** Whether values of a family end with a device: it makes them, or they hold what it makes. */
function endsWithDevices({ settings }: Session, { owner }: Owned): boolean {
  return makesDevices(owner) || (isHolder(owner, settings) && settings.owners.some(makesDevices));
}

/** Whether devices are among the values of a family, all of which end with theirs. */
const makesDevices = ({ fresh }: Owner): boolean =>
  fresh.some((made) => (typeof made === "string" ? made : made.name) === "requestDevice");
