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
import type { Owner } from "../../owner.ts";
import type { Session } from "../session.ts";
import { boundNames, referencesTo } from "../program/references.ts";
import {
  hasBody,
  isTarget,
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
  if (owner.policy !== "protocol" || !ts.isCallExpression(call)) return false;
  const parameter = handedIn(session, call);
  if (!parameter || isReplaced(session, parameter)) return false;
  const given = functionsGiven(session, parameter);
  if (given.some((fn) => fn && !looksOnly(session, fn, index))) return false;
  return (given.length > 0 && !given.includes(undefined)) || givesBack(session, call);
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

/** The functions the program hands in for a parameter that is one; undefined for an unseen one. */
function functionsGiven(
  session: Session,
  { parent, name }: ts.ParameterDeclaration,
): readonly (FunctionWithBody | undefined)[] {
  if (!hasBody(parent) || !ts.isIdentifier(name)) return [];
  const at = parent.parameters.findIndex((p) => p.name === name);
  return callSitesOf(session.oracle, parent, "program").calls.flatMap((site) => {
    const argument = site.arguments?.[at];
    return argument ? [functionHanded(session.oracle, argument)] : [];
  });
}

/** Whether a function leaves what it gets where it was, or to its own caller. */
function looksOnly(session: Session, fn: FunctionWithBody, index: number): boolean {
  const effect = session.summary(fn).parameters[index];
  return !effect || !(effect.disposes || effect.stores || effect.returns);
}

/** Whether a call gives a value or a number: a function that only takes gives nothing back. */
const givesBack = ({ oracle }: Session, call: ts.CallExpression): boolean =>
  oracle.ownedAt(call) !== null || oracle.gives(call, "number");
