/**
 * Given for good: whether all that call a function hand over what they have no more afterwards:
 * `flush(queue.splice(0))`, `beams = step(beams)`, `show(await model.predict(x))`. Where nobody
 * agreed on who ends an input, such a function may. Used by the rule about ended inputs.
 */
import ts from "typescript";
import { callSitesOf } from "../program/call-sites.ts";
import { isOfferedByName } from "../program/entry-points.ts";
import type { Owned } from "../program/oracle.ts";
import { referencesTo } from "../program/references.ts";
import {
  calleeNameNode,
  someWithin,
  unwrap,
  within,
  type CallLike,
  type FunctionWithBody,
} from "../program/syntax.ts";
import { areApart } from "../program/ways.ts";
import { isGivenAnew } from "../fresh/fresh-results.ts";
import type { Session } from "../session.ts";
import { enclosingFunction } from "./fate.ts";

/** Whether every caller of a function gives a parameter what it has no more afterwards. */
export function isGivenForGood(
  session: Session,
  fn: FunctionWithBody,
  index: number,
  { owner }: Owned,
): boolean {
  const { oracle } = session;
  const { calls, values } = callSitesOf(oracle, fn, "program");
  if (calls.length === 0 || values.length > 0) return false;
  const isOwn = !isOfferedByName(oracle, fn);
  const isFree = isOwn && owner.policy !== "protocol";
  return calls.every((call) => {
    const given = call.arguments?.[index];
    if (!given) return false;
    if (isTakenOut(given) || isGivenAnew(oracle, given)) return true;
    if (isOwn && runsOn(session, fn, index) && isUnnamed(session, given)) return true;
    return isFree && isMadeForCall(session, call, given);
  });
}

/** `during(made, use) { … use(made); … made.dispose(); }`: runs another function on a value. */
function runsOn({ oracle }: Session, fn: FunctionWithBody, index: number): boolean {
  const parameterAt = (node: ts.Expression): number => {
    const source = ts.isIdentifier(node) ? oracle.declarationAt(node) : undefined;
    return fn.parameters.findIndex((p) => p === source);
  };
  return someWithin(
    fn.body,
    (at) =>
      ts.isCallExpression(at) &&
      parameterAt(at.expression) >= 0 &&
      at.arguments.some((argument) => parameterAt(argument) === index),
  );
}

/** `during(zeros([2]), use)`: nobody else can end what has no name. */
const isUnnamed = (session: Session, given: ts.Expression): boolean =>
  ts.isCallExpression(unwrap(given)) && session.freshness(given) === "fresh";

/** `queue.splice(0)`, `queue.shift()!`. */
function isTakenOut(given: ts.Expression): boolean {
  const call = unwrap(given);
  return ts.isCallExpression(call) && /^(splice|shift|pop)$/.test(calleeNameNode(call)?.text ?? "");
}

/** What is made in the call, or has a name that nobody speaks of after it. */
function isMadeForCall(session: Session, call: CallLike, given: ts.Expression): boolean {
  const { oracle } = session;
  const value = unwrap(given);
  if (session.freshness(value) !== "fresh") return false;
  if (!ts.isIdentifier(value)) return ts.isCallExpression(value) || ts.isNewExpression(value);
  const declaration = oracle.declarationAt(value);
  const home = enclosingFunction(call);
  if (!home || !declaration || !ts.isVariableDeclaration(declaration)) return false;
  if (!ts.isIdentifier(declaration.name) || enclosingFunction(declaration) !== home) return false;
  if (loopAround(call) !== loopAround(declaration)) return false;
  return referencesTo(oracle, declaration, declaration.name, home).every((id) => {
    if (id === value) return true;
    if (within(id, call) || enclosingFunction(id) !== home) return false;
    return id.end <= call.pos || areApart(id, call);
  });
}

const loopAround = (node: ts.Node): ts.Node | undefined =>
  ts.findAncestor(node, (at) =>
    ts.isFunctionLike(at) ? "quit" : ts.isIterationStatement(at, false),
  );
