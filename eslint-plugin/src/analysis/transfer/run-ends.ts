/**
 * Run ends: whether what keeps functions that end values ever runs them: `for (const end of
 * this.ends) end()`, `scope.close()`, `using stack`. Emptying a list of them or asking how many
 * there are does not. Used where such functions are kept, see `kept-ends.ts`.
 */
import ts from "typescript";
import { sourcesFor } from "../program/call-index.ts";
import { functionHanded } from "../program/callee.ts";
import { callSitesOf } from "../program/call-sites.ts";
import { builtinArgument } from "../program/containers.ts";
import { isExported } from "../program/exported.ts";
import { accessesByName, elementsByName } from "../program/field-index.ts";
import { boundNames, referencesTo } from "../program/references.ts";
import {
  hasBody,
  isTarget,
  isUsing,
  someWithin,
  unwrap,
  variableName,
  type CallLike,
} from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { fieldOfThis } from "../objects/members.ts";
import { runWith } from "../objects/own-calls.ts";
import { argumentOf, enclosingFunction, fateOf, returnsOf } from "./fate.ts";
import {
  keepersOfEnd,
  keepsGiven,
  placesOf,
  variablesIn,
  type Keeper,
  type Kept,
  type Place,
} from "./kept-ends.ts";

/** Whether a returned value has an owner that runs its end, whoever calls the function. */
export function isEndKept(session: Session, fn: ts.Node, value: ts.Expression): boolean {
  const isOwn = (keeper: Keeper): boolean => parameterOf(session, fn, keeper) !== undefined;
  return areKept(session, fn, value, (keeper) => !isOwn(keeper) && isRun(session, keeper));
}

/** `temp(device, scope)`: whether what one call gives is ended by what it hands in. */
export function isEndedByGiven(session: Session, call: CallLike, fn: ts.Node): boolean {
  if (!hasBody(fn)) return false;
  const isRunHere = (keeper: Keeper): boolean => {
    const parameter = parameterOf(session, fn, keeper);
    if (!parameter || keeper.kind !== "place") return isRun(session, keeper);
    const given = call.arguments?.[fn.parameters.indexOf(parameter)];
    const places = given ? placesOf(session, given, keeper) : [];
    return places.some((place) => isRun(session, place));
  };
  const values = session.oracle.facts.of(fn, returnsOf).filter((v) => session.oracle.ownedAt(v));
  return values.length > 0 && values.every((value) => areKept(session, fn, value, isRunHere));
}

/** Whether all that a returned value is made of has a keeper as asked. */
function areKept(
  session: Session,
  fn: ts.Node,
  value: ts.Expression,
  counts: (keeper: Keeper) => boolean,
): boolean {
  const variables = variablesIn(session, value);
  return (
    variables.length > 0 &&
    variables.every((v) => v !== undefined && keepersOfEnd(session, v, fn).some(counts))
  );
}

/** The parameter of a function that keeps. */
function parameterOf(
  { oracle }: Session,
  fn: ts.Node,
  keeper: Keeper,
): ts.ParameterDeclaration | undefined {
  if (keeper.kind !== "place" || !ts.isIdentifier(keeper.place)) return undefined;
  const source = oracle.declarationAt(keeper.place);
  return source && ts.isParameter(source) && source.parent === fn ? source : undefined;
}

/** Whether a keeper ever runs what it keeps; of strangers that is their business. */
export function isRun(session: Session, keeper: Keeper, seen = new Set<ts.Node>()): boolean {
  if (keeper.kind !== "place") return keeper.kind === "others";
  const { place } = keeper;
  if (!ts.isIdentifier(place)) return isFieldRun(session, keeper);
  const source = session.oracle.declarationAt(place);
  const name = source && variableName(source);
  if (!name || isUsing(source)) return true;
  if (seen.has(source)) return false;
  seen.add(source);
  const home = enclosingFunction(source);
  const mentions = referencesTo(session.oracle, source, name, home ?? source.getSourceFile());
  if (mentions.some((mention) => runs(session, mention, keeper, seen))) return true;
  return ts.isParameter(source) && isRunByCallers(session, source, keeper, seen);
}

/** Whether who calls a function runs what is kept in what it hands in, as far as is seen. */
function isRunByCallers(
  session: Session,
  parameter: ts.ParameterDeclaration,
  kept: Kept,
  seen: Set<ts.Node>,
): boolean {
  const { parent: fn } = parameter;
  if (!hasBody(fn) || isExported(session.oracle.facts, fn)) return true;
  const { calls, values } = callSitesOf(session.oracle, fn, "program");
  if (calls.length === 0 || values.length > 0) return true;
  const at = fn.parameters.indexOf(parameter);
  return calls.some((call) => {
    const given = call.arguments?.[at];
    const places = given ? placesOf(session, given, kept) : [];
    return places.some((place) => isRun(session, place, seen));
  });
}

/** Whether the program runs what is kept in a field of an object. */
export function isFieldRun(session: Session, keeper: Kept): boolean {
  const { oracle } = session;
  const { place } = keeper;
  if (ts.isIdentifier(place)) return false;
  const { text } = place.name;
  const holder = ts.findAncestor(place, ts.isClassLike);
  const declaration = oracle.declarationAt(place.name);
  const isOfField = (access: ts.PropertyAccessExpression): boolean =>
    (fieldOfThis(access) && ts.findAncestor(access, ts.isClassLike) === holder) ||
    (declaration !== undefined && oracle.declarationAt(access.name) === declaration);
  return sourcesFor(oracle, place).some((file) => {
    const elements = oracle.facts.of(file, elementsByName).get(text) ?? [];
    if (elements.some((e) => ts.findAncestor(e, ts.isClassLike) === holder)) return true;
    const accesses = oracle.facts.of(file, accessesByName).get(text) ?? [];
    return accesses.some((access) => isOfField(access) && runs(session, access, keeper));
  });
}

/** Whether some members of a class run what is kept in one of its fields. */
export const isRunIn = (session: Session, members: ReadonlySet<ts.Node>, keeper: Kept): boolean =>
  [...members].some((member) =>
    someWithin(
      member,
      (at) =>
        fieldOfThis(at)?.name.text === nameOf(keeper.place) &&
        runs(session, at as ts.PropertyAccessExpression, keeper),
    ),
  );

const nameOf = (place: Place): string => (ts.isIdentifier(place) ? place : place.name).text;

/** Whether a mention of a keeper runs what it keeps, or hands it to somebody who may. */
function runs(
  session: Session,
  mention: ts.Expression,
  keeper: Kept,
  seen = new Set<ts.Node>(),
): boolean {
  if (isTarget(mention)) return false;
  const { kind, node, member } = fateOf(mention);
  const { part } = keeper;
  switch (kind) {
    case "receiver":
      return runsByMethod(session, node as ts.CallExpression, member, keeper);
    case "read":
      if (/^(length|size)$/.test(member) || (part ?? member) !== member) return false;
      return runs(session, node as ts.Expression, { ...keeper, part: undefined }, seen);
    case "argument":
      return runsWhereGiven(session, node as CallLike, mention, keeper, seen);
    case "operand":
    case "dropped":
    case "unknown":
      return false;
    default:
      return true;
  }
}

/** `scope.close()`, `ends.forEach((end) => end())`, and not `scope.defer(…)`, `ends.clear()`. */
function runsByMethod(
  session: Session,
  call: ts.CallExpression,
  name: string,
  { inside }: Kept,
): boolean {
  if (keepsGiven(name) || /^(has|includes|indexOf|keys|clear|delete)$/.test(name)) return false;
  const { body, builtin } = session.oracle.callee(call);
  const holder = body && ts.isClassLike(body.parent) ? body.parent : undefined;
  if (inside && holder) {
    const isOfList = (at: ts.Node): boolean =>
      fieldOfThis(at)?.name.text === inside.name.text &&
      runs(session, at as ts.Expression, { kind: "place", place: inside });
    return [...runWith(holder, body!)].some((method) => someWithin(method, isOfList));
  }
  if (/^(get|at|pop|shift|splice|slice|values|reverse)$/.test(name))
    return fateOf(call).kind !== "dropped";
  const isGivenOne = call.arguments.some((given) => functionHanded(session.oracle, given));
  return builtin || !isGivenOne || /^(forEach|map|reduce\w*)$/.test(name);
}

/** `runAll(ends)`, and not `more(device, ends)`, which only puts something in. */
function runsWhereGiven(
  session: Session,
  call: CallLike,
  mention: ts.Expression,
  keeper: Kept,
  seen: Set<ts.Node>,
): boolean {
  const { body, builtin, name } = session.oracle.callee(call);
  const at = argumentOf(call, mention);
  if (!body || !at) return !(builtin && /^(borrows|nothing)$/.test(builtinArgument(name)));
  const parameter = body.parameters[at.index];
  if (!parameter || parameter.dotDotDotToken || unwrap(at.argument) !== mention) return true;
  if (seen.has(parameter)) return false;
  seen.add(parameter);
  if (ts.isParameterPropertyDeclaration(parameter, body)) return true;
  return boundNames(parameter.name, parameter).some(({ id, declaration }) =>
    referencesTo(session.oracle, declaration, id, body).some((inner) =>
      runs(session, inner, keeper, seen),
    ),
  );
}
