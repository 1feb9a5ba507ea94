/**
 * Kept ends: a function that ends a value may be kept in place of the value: `onCleanup(() =>
 * b.destroy())`, `this.ends.push(() => b.destroy())`, `signal.addEventListener("abort", () =>
 * b.destroy())`. Who keeps it is the owner then, if ever it runs what it keeps. Here it is found
 * out who keeps it; `run-ends.ts` says whether that one runs it. Used by the verb "is fresh" and by
 * the rule about members.
 */
import ts from "typescript";
import { isPromiseMember, puts } from "../program/containers.ts";
import { isExported } from "../program/exported.ts";
import { boundNames, referencesTo } from "../program/references.ts";
import {
  isTarget,
  someWithin,
  unwrap,
  variableName,
  within,
  type CallLike,
  type FunctionWithBody,
} from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { handedTo } from "./callbacks.ts";
import { argumentOf, enclosingFunction, fateOf } from "./fate.ts";
import { fieldOfThis } from "../objects/members.ts";

/** A variable, a parameter or a field of this object. */
export type Place = ts.Identifier | ts.PropertyAccessExpression;

/** Who keeps a function: somebody who is not seen, who called for it, or a place. */
export type Keeper = { kind: "others" } | { kind: "caller" } | Kept;

/** A place that keeps functions: a list, an object that has one, or a field that is given one. */
export interface Kept {
  kind: "place";
  place: Place;
  /** The property of what is in the place that keeps: `ends` of `context.ends.push(…)`. */
  part?: string | undefined;
  /** The field in which the object in the place has its list, where its class is seen. */
  inside?: ts.PropertyAccessExpression | undefined;
  /** What puts it there where another may have been, which is gone then. */
  store?: ts.Node | undefined;
}

/** Whether a method of a name has a list or stack keep what it is given. */
export const keepsGiven = (name: string): boolean => puts(name) || /^(defer|adopt|use)$/.test(name);

const others: readonly Keeper[] = [{ kind: "others" }];
const nobody: readonly Keeper[] = [];

/** The function that keepers are asked for, and what has been asked on the way. */
interface Search {
  session: Session;
  home: ts.Node;
  /** Nothing else decides whether the value is ended. */
  isSure: boolean;
  seen: Set<ts.Node>;
}

/** Who keeps functions that end what a variable of a function holds. */
export function keepersOfEnd(
  session: Session,
  declaration: ts.Declaration,
  home: ts.Node,
): readonly Keeper[] {
  const name = variableName(declaration);
  if (!name) return nobody;
  return referencesTo(session.oracle, declaration, name, home).flatMap((id) => {
    const fn = enclosingFunction(id);
    if (!fn || fn === home || isFilledIn(fn, name.text)) return nobody;
    if (session.transfer(id).effect !== "disposes") return nobody;
    const search = { session, home, isSure: !isChosen(id, fn), seen: new Set<ts.Node>() };
    return keepersOf(search, fn);
  });
}

/** `b.destroy(); b = make();`: what is there afterwards is another. */
const isFilledIn = (fn: ts.Node, name: string): boolean =>
  someWithin(fn, (at) => ts.isIdentifier(at) && at.text === name && isTarget(at));

/** `(error) => { if (error) b.destroy(); }`: something else than the value itself is asked. */
function isChosen(id: ts.Identifier, fn: ts.Node): boolean {
  const speaks = (at: ts.Node): boolean => ts.isIdentifier(at) && at.text === id.text;
  for (let at: ts.Node = id; at.parent !== fn; at = at.parent) {
    const { parent } = at;
    const asked =
      ts.isIfStatement(parent) && parent.expression !== at ? parent.expression : undefined;
    if (asked && !someWithin(asked, speaks)) return true;
    if (ts.isConditionalExpression(parent) || ts.isCatchClause(parent)) return true;
    if (ts.isCaseOrDefaultClause(parent)) return true;
    if (ts.isBinaryExpression(parent) && parent.right === at && !someWithin(parent.left, speaks))
      return true;
    if (ts.isBlock(parent) && parent.statements.some((s) => s.end <= at.pos && mayLeave(s)))
      return true;
  }
  return false;
}

const mayLeave = (statement: ts.Node): boolean =>
  !ts.isFunctionLike(statement) &&
  (ts.isReturnStatement(statement) ||
    ts.isThrowStatement(statement) ||
    (ts.forEachChild(statement, mayLeave) ?? false));

/** Who keeps a function. */
function keepersOf(search: Search, fn: ts.Node): readonly Keeper[] {
  if (search.seen.has(fn)) return nobody;
  search.seen.add(fn);
  if (ts.isFunctionDeclaration(fn)) return fn.name ? keepersByName(search, fn, fn.name) : nobody;
  if (ts.isMethodDeclaration(fn))
    return ts.isObjectLiteralExpression(fn.parent) ? keepersOfValue(search, fn.parent) : nobody;
  return ts.isArrowFunction(fn) || ts.isFunctionExpression(fn)
    ? keepersOfValue(search, fn)
    : nobody;
}

/** Who keeps what has a name. */
function keepersByName(
  search: Search,
  declaration: ts.Declaration,
  name: ts.Identifier,
): readonly Keeper[] {
  const root = enclosingFunction(declaration) ?? declaration.getSourceFile();
  return referencesTo(search.session.oracle, declaration, name, root).flatMap((id) =>
    isTarget(id) ? nobody : keepersOfValue(search, id),
  );
}

/** Who keeps a function, or an object that has it. */
function keepersOfValue(search: Search, value: ts.Expression): readonly Keeper[] {
  const { kind, node, member } = fateOf(value);
  switch (kind) {
    case "argument":
      return keepersByCall(search, node as CallLike, value);
    case "assigned":
      return keepersByStore(search, node as ts.BinaryExpression);
    case "bound":
      return ts.isVariableDeclaration(node) && ts.isIdentifier(node.name)
        ? keepersByName(search, node, node.name)
        : nobody;
    case "returned":
      return keepersOfResult(search, value);
    case "read":
      return keepersOfValue(search, node as ts.Expression);
    case "called":
    case "receiver": {
      if (member === "bind") return keepersOfValue(search, node as ts.Expression);
      const by = enclosingFunction(node);
      return by && by !== search.home && within(by, search.home) ? keepersOf(search, by) : nobody;
    }
    default:
      return nobody;
  }
}

/** `this.end = () => b.destroy()`, `socket.onclose = () => b.destroy()`, `end = …`. */
function keepersByStore(search: Search, store: ts.BinaryExpression): readonly Keeper[] {
  const { left } = store;
  const source = ts.isIdentifier(left) ? search.session.oracle.declarationAt(left) : undefined;
  if (source && ts.isIdentifier(left) && enclosingFunction(source) === enclosingFunction(store))
    return keepersByName(search, source, left);
  const isField = fieldOfThis(left) !== undefined || ts.isIdentifier(left);
  const places = placesOf(search.session, left);
  return isField ? places.map((place) => ({ ...place, store })) : places;
}

/** `useEffect(() => () => b.destroy())`: who is handed a function also gets what that gives. */
function keepersOfResult(search: Search, value: ts.Expression): readonly Keeper[] {
  const fn = enclosingFunction(value);
  if (!fn || fn === search.home) return [{ kind: "caller" }];
  const call = handedTo(fn);
  const callee = call && search.session.oracle.callee(call);
  return callee && !callee.body && !callee.builtin ? others : nobody;
}

/** Who keeps a function that a call is given. */
function keepersByCall(search: Search, call: CallLike, value: ts.Node): readonly Keeper[] {
  const { session } = search;
  const { body, builtin, name, receiver } = session.oracle.callee(call);
  const at = argumentOf(call, value);
  if (!at || isOfFailure(call, name, receiver)) return nobody;
  if (body) return keepersInBody(search, call, body, at.index);
  if (receiver && keepsGiven(name)) {
    const places = placesOf(session, receiver);
    return name === "set" ? places.map((place) => ({ ...place, store: call })) : places;
  }
  const mode = session.callback(call, at.argument);
  if (builtin || isPromiseMember(name)) {
    const isRun = mode === "later" && search.isSure;
    return isRun && (at.index === 0 || !isPromiseMember(name)) ? others : nobody;
  }
  if (mode === "inline" || mode === "scoped") return nobody;
  return receiver ? placesOf(session, receiver) : others;
}

/** `p.catch(…)`, `device.lost.then(…)`, `on("error", …)`: what may never come to pass. */
function isOfFailure(call: CallLike, name: string, receiver: ts.Expression | undefined): boolean {
  const on = receiver && unwrap(receiver);
  if (on && ts.isPropertyAccessExpression(on) && on.name.text === "lost") return true;
  const [event] = call.arguments ?? [];
  return (
    failing.test(name) || (!!event && ts.isStringLiteralLike(event) && failing.test(event.text))
  );
}
const failing = /catch|err(or)?($|s|ed|[A-Z])|Error|fail|reject|lost$/;

/** Who keeps what a function of the program is given, as its body says. */
function keepersInBody(
  search: Search,
  call: CallLike,
  body: FunctionWithBody,
  index: number,
): readonly Keeper[] {
  const { session, seen } = search;
  const last = body.parameters.at(-1);
  const parameter = body.parameters[index] ?? (last?.dotDotDotToken ? last : undefined);
  if (!parameter || seen.has(parameter)) return nobody;
  seen.add(parameter);
  const inner = { ...search, home: body };
  const found = boundNames(parameter.name, parameter).flatMap(({ id, declaration }) =>
    referencesTo(session.oracle, declaration, id, body).flatMap((mention) =>
      isTarget(mention) ? nobody : keepersOfValue(inner, mention),
    ),
  );
  seen.delete(parameter);
  return found.flatMap((keeper) => {
    if (keeper.kind === "caller") return keepersOfValue(search, call);
    return keeper.kind === "place" ? keepersOutside(search, call, body, keeper) : [keeper];
  });
}

/** What a place of a function is to who calls it: its parameters and its object are given. */
function keepersOutside(
  search: Search,
  call: CallLike,
  body: FunctionWithBody,
  kept: Kept,
): readonly Keeper[] {
  const { session } = search;
  const { place } = kept;
  if (ts.isIdentifier(place)) {
    const source = session.oracle.declarationAt(place);
    if (!source || !ts.isParameter(source) || source.parent !== body) return [kept];
    const given = call.arguments?.[body.parameters.indexOf(source)];
    return given ? placesOf(session, given, kept) : nobody;
  }
  if (ts.isNewExpression(call)) return keepersOfValue(search, call);
  const { receiver } = session.oracle.callee(call);
  if (!receiver || isOfThis(receiver)) return [kept];
  return placesOf(session, receiver, { inside: place });
}

const isOfThis = (node: ts.Expression): boolean =>
  node.kind === ts.SyntaxKind.ThisKeyword || node.kind === ts.SyntaxKind.SuperKeyword;

/** The place that an expression speaks of, or others where it is not seen who has it. */
export function placesOf(
  session: Session,
  node: ts.Expression,
  { part, inside }: Pick<Kept, "part" | "inside"> = {},
): readonly Keeper[] {
  const { oracle } = session;
  const more = { part, inside };
  const bare = unwrap(node);
  const field = fieldOfThis(bare);
  if (field) return [{ ...more, kind: "place", place: field }];
  if (ts.isPropertyAccessExpression(bare))
    return placesOf(session, bare.expression, { ...more, part: bare.name.text });
  if (ts.isElementAccessExpression(bare)) return placesOf(session, bare.expression, more);
  if (ts.isCallExpression(bare)) {
    const { builtin, name, receiver } = oracle.callee(bare);
    return builtin && receiver && /^(get|at)$/.test(name) ? placesOf(session, receiver) : others;
  }
  if (isMadeThere(bare)) return nobody;
  const source = ts.isIdentifier(bare) ? oracle.declarationAt(bare) : undefined;
  if (!source || !ts.isIdentifier(bare)) return others;
  if (source.getSourceFile() !== bare.getSourceFile()) return others;
  const kept: Kept = { ...more, kind: "place", place: bare };
  if (ts.isParameter(source)) return [kept];
  if (!ts.isVariableDeclaration(source) || isSeenElsewhere(session, source)) return others;
  const initial = source.initializer && unwrap(source.initializer);
  return !initial || isMadeThere(initial) ? [kept] : placesOf(session, initial, more);
}

/** `export const ends`, `declare const bus`: other code has it, too. */
const isSeenElsewhere = ({ oracle }: Session, declaration: ts.VariableDeclaration): boolean =>
  isExported(oracle.facts, declaration) ||
  (ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.Ambient) !== 0;

/** `[]`, `new Scope()`: what nobody else has. */
const isMadeThere = (node: ts.Expression): boolean =>
  ts.isArrayLiteralExpression(node) ||
  ts.isObjectLiteralExpression(node) ||
  ts.isNewExpression(node);

/** The variable that a returned value is, or those that a returned literal is written with. */
export function variablesIn(
  session: Session,
  value: ts.Expression,
): (ts.Declaration | undefined)[] {
  const bare = unwrap(value);
  if (ts.isArrayLiteralExpression(bare)) return bare.elements.flatMap((e) => partIn(session, e));
  if (ts.isObjectLiteralExpression(bare))
    return bare.properties.flatMap((property) => {
      if (ts.isPropertyAssignment(property)) return partIn(session, property.initializer);
      if (ts.isShorthandPropertyAssignment(property)) return partIn(session, property.name);
      return ts.isSpreadAssignment(property) ? [undefined] : [];
    });
  const source = ts.isIdentifier(bare) ? session.oracle.declarationAt(bare) : undefined;
  return [source && ts.isVariableDeclaration(source) ? source : undefined];
}

const partIn = (session: Session, part: ts.Expression): (ts.Declaration | undefined)[] =>
  session.oracle.ownedAt(part) ? variablesIn(session, part) : [];
