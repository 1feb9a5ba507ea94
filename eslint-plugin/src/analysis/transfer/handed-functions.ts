/**
 * Handed functions: `fn(t)` where `fn` is a function that the caller hands in, a parameter or a
 * field of one. Where an owner's protocol says that functions only look at what they get, so does
 * this one: all that are handed in, where the program shows them, or one that gives something back.
 * Used by the description of arguments.
 */
import ts from "typescript";
import { functionHanded } from "../program/callee.ts";
import { callSitesOf } from "../program/call-sites.ts";
import { fateOf } from "./fate.ts";
import { functionsKept } from "./kept-functions.ts";
import type { Owner } from "../../owner.ts";
import type { Session } from "../session.ts";
import { boundNames, referencesTo } from "../program/references.ts";
import {
  hasBody,
  isTarget,
  someWithin,
  unwrap,
  unwrapCallee,
  type CallLike,
  type FunctionWithBody,
} from "../program/syntax.ts";

/** Whether a call of a function that is handed in only looks at its argument of that index. */
export function lendsToHanded(
  session: Session,
  call: CallLike,
  index: number,
  owner: Owner,
): boolean {
  if (!ts.isCallExpression(call)) return false;
  const parameter = handedIn(session, call);
  if (parameter && isReplaced(session, parameter)) return false;
  const seen = new Set<ts.Node>();
  const handed = parameter ? functionsGiven(session, parameter, seen) : [];
  const kept = handed.length > 0 ? [] : functionsKept(session, call);
  const given =
    handed.length > 0 ? handed : kept.flatMap((value) => functionsOf(session, value, seen));
  const isSeen = kept.length === 0 || given.some((fn) => fn && speaksOf(fn, index));
  if (given.some((fn) => fn && !looksOnly(session, fn, index))) return false;
  if (given.length > 0 && !given.includes(undefined) && isSeen) return true;
  return parameter !== undefined && owner.policy === "protocol" && givesBack(session, call);
}

/**
 * `listener(this.#last)`: what an object goes on holding is shown to a function that it is handed,
 * or that it has in a list of such.
 */
export function isShownTo(session: Session, mention: ts.Expression): boolean {
  const { kind, node } = fateOf(mention);
  const owner = session.oracle.ownedAt(mention)?.owner;
  if (kind !== "argument" || !ts.isCallExpression(node) || owner?.policy !== "protocol")
    return false;
  const name = unwrapCallee(node.expression);
  const source = ts.isIdentifier(name) ? session.oracle.declarationAt(name) : undefined;
  if (!source) return false;
  return ts.isParameter(source) || (ts.isVariableDeclaration(source) && !source.initializer);
}

/** The parameter that a called function is, or that has it in a field. */
function handedIn(session: Session, call: ts.CallExpression): ts.ParameterDeclaration | undefined {
  let target: ts.Expression = unwrapCallee(call.expression);
  if (ts.isPropertyAccessExpression(target)) target = unwrap(target.expression);
  if (!ts.isIdentifier(target)) return undefined;
  let at: ts.Node | undefined = session.oracle.declarationAt(target);
  while (at && (ts.isBindingElement(at) || ts.isObjectBindingPattern(at))) at = at.parent;
  return at && ts.isParameter(at) && ts.isFunctionLike(at.parent) ? at : undefined;
}

/** `fn = (t) => …`: another function takes the place of the one that is handed in. */
const isReplaced = ({ oracle }: Session, parameter: ts.ParameterDeclaration): boolean =>
  boundNames(parameter.name, parameter).some(({ id, declaration }) =>
    referencesTo(oracle, declaration, id, parameter.parent).some((m) => m !== id && isTarget(m)),
  );

/**
 * The functions the program hands in for a parameter that is one, also by way of functions that
 * hand on what they are handed; undefined for an unseen one.
 */
function functionsGiven(
  session: Session,
  parameter: ts.ParameterDeclaration,
  seen: Set<ts.Node>,
): Given {
  const { parent, name } = parameter;
  if (!hasBody(parent) || !ts.isIdentifier(name) || seen.has(parameter)) return [];
  seen.add(parameter);
  const { calls } = callSitesOf(session.oracle, parent, "program");
  const at = parent.parameters.findIndex((p) => p.name === name);
  return calls.flatMap((site) => {
    const argument = site.arguments?.[at];
    return argument ? functionsOf(session, argument, seen) : [];
  });
}

/** The functions that a value may be: itself, or those that a parameter stands for. */
function functionsOf(session: Session, value: ts.Expression, seen: Set<ts.Node>): Given {
  const bare = unwrap(value);
  const source = ts.isIdentifier(bare) ? session.oracle.declarationAt(bare) : undefined;
  if (!source || !ts.isParameter(source)) return [functionHanded(session.oracle, value)];
  if (isReplaced(session, source)) return [undefined];
  const given = functionsGiven(session, source, seen);
  return given.length > 0 ? given : [undefined];
}

type Given = readonly (FunctionWithBody | undefined)[];

/** Whether a function leaves what it gets where it was, or to its own caller. */
function looksOnly(session: Session, fn: FunctionWithBody, index: number): boolean {
  const effect = session.summary(fn).parameters[index];
  return !effect || !(effect.disposes || effect.stores || effect.returns);
}

/** Whether a function has something to do with what it gets: `onFrame = () => {}` says nothing. */
function speaksOf(fn: FunctionWithBody, index: number): boolean {
  const names = fn.parameters.slice(index, index + 1).flatMap((p) => boundNames(p.name, p));
  return names.some(({ id }) =>
    someWithin(fn.body, (node) => ts.isIdentifier(node) && node.text === id.text),
  );
}

/** Whether a call gives a value or a number: a function that only takes gives nothing back. */
const givesBack = ({ oracle }: Session, call: ts.CallExpression): boolean =>
  oracle.ownedAt(call) !== null || oracle.gives(call, "number");
