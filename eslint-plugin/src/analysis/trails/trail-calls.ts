/**
 * Trail calls: where a call takes a value that it is given, asked of, or that its callback gives:
 * into parameters of the program's functions, into containers and out of them, through functions of
 * the standard library that build one thing of another. Used by `trails.ts`.
 */
import ts from "typescript";
import { constructorOf, functionHanded } from "../program/callee.ts";
import { isTestFile } from "../program/call-index.ts";
import { bindingOf, callSitesOf, callsByProperty, callsByType } from "../program/call-sites.ts";
import { heirsOf } from "../program/class-makers.ts";
import { isExported } from "../program/exported.ts";
import { isHidden } from "./trail-fields.ts";
import { containerMethod, puts } from "../program/containers.ts";
import { lineage } from "../objects/holders.ts";
import { argumentsIn } from "../transfer/ends-given.ts";
import { argumentOf, fateOf } from "../transfer/fate.ts";
import { detaches, scopeCallback } from "../transfer/keeps.ts";
import { fieldOfThis, ownedMembers } from "../objects/members.ts";
import type { Callee, Owned } from "../program/oracle.ts";
import { several } from "../program/ownership.ts";
import { referencesTo } from "../program/references.ts";
import {
  hasBody,
  isNullish,
  memberName,
  someWithin,
  unwrap,
  type CallLike,
  type FunctionWithBody,
} from "../program/syntax.ts";
import { functionsOf, implementationsOf } from "../program/possible-callees.ts";
import { visits, type Path } from "./trail-path.ts";
import type { Session } from "../session.ts";
import { mayEnd } from "./trail-closures.ts";
import { isHolding, isOfUntyped } from "./trail-ends.ts";
import { into } from "./trail-places.ts";
import type { Trail } from "./trails.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";

/** What a call does with the value that one of its arguments has under a path. */
export function followArgument(trail: Trail, call: CallLike, node: ts.Node, path: Path): void {
  const { session } = trail;
  const at = argumentOf(call, node);
  if (!at) return; // the function itself
  const callee = session.oracle.callee(call);
  const bodies = bodiesOf(trail, call, callee);
  if (bodies.length > 0) {
    for (const body of bodies) intoParameter(trail, body, at.index, ts.isSpreadElement(node), path);
    return;
  }
  if (callee.builtin && intoStandard(trail, call, callee, at.index, path)) return;
  const { owner } = trail.owned;
  const isScope = isOfScope(trail, call, callee);
  const mayOnlyAsk = trail.isWhole && callee.builtin && !isScope && owner.policy === "generic";
  if (mayOnlyAsk && !isPromiseEnd(trail, call)) return; // `structuredClone(x)`
  const effect = session.effect(call, at.argument, ownedIn(trail, at.argument, path));
  if (isScope) trail.end(call);
  else if (effect === "passes") trail.climb(call, path);
  else if (ts.isCallExpression(call) && session.oracle.is(callee, owner.keep.functions, owner))
    moved(trail, call, path);
  else if (isHolding(trail, callee)) trail.hold();
  else if (!onlyLooksAt(effect) || isPromiseEnd(trail, call)) trail.end(call);
}

/** What is given: the value, or a literal that holds it; types are dear, and tell no more. */
function ownedIn({ owned }: Trail, argument: ts.Expression, [step]: Path): Owned | undefined {
  const { owner } = owned;
  if (step === undefined && isPlace(argument)) return owned;
  if (ts.isArrayLiteralExpression(argument)) return several(owner);
  if (!ts.isObjectLiteralExpression(argument) || step === undefined) return undefined;
  return { owner, shape: "record", nullable: false, fields: [step] };
}

const isPlace = (node: ts.Node): boolean =>
  ts.isIdentifier(node) ||
  ts.isPropertyAccessExpression(node) ||
  ts.isElementAccessExpression(node) ||
  ts.isCallExpression(node); // `list.at(-1)`

/** `scope.attach(t)`, `t.moveTo(scope)`: a scope has it from then on. */
function isOfScope({ session, owned: { owner } }: Trail, call: CallLike, callee: Callee): boolean {
  if (/^(moveTo|attach|use|adopt)$/.test(callee.name))
    return !ts.isCallExpression(call) || !detaches(session, call, owner); // `moveTo(null, t)`
  const isMethod = callee.receiver !== undefined && holderOf(callee)?.text === "DisposeScope";
  return isMethod && !session.oracle.is(callee, owner.keep.functions, owner);
}

/** The name of the class or interface that declares a method. */
const holderOf = ({ declaration }: Callee): ts.Identifier | undefined => {
  const holder = declaration?.parent;
  return holder && (ts.isClassLike(holder) || ts.isInterfaceDeclaration(holder))
    ? holder.name
    : undefined;
};

/** `resolve(t)`, where the function is one that a promise hands out. */
function isPromiseEnd({ session: { oracle } }: Trail, { expression }: CallLike): boolean {
  const source = ts.isIdentifier(expression) ? oracle.declarationAt(expression) : undefined;
  if (!source || !ts.isParameter(source)) return false;
  const { parent } = source.parent;
  return ts.isNewExpression(parent) && parent.expression.getText() === "Promise";
}

/** The functions of the program that a call may run: of a class also those of its heirs. */
function bodiesOf(trail: Trail, call: CallLike, callee: Callee): readonly FunctionWithBody[] {
  const { declaration, body, name } = callee;
  if (call.expression.kind === ts.SyntaxKind.SuperKeyword) return constructorAbove(trail, call);
  const own = body ? [body] : [];
  if (!declaration || declaration.getSourceFile().isDeclarationFile) return own;
  if (ts.isParameter(declaration)) return functionsOf(trail.session.oracle, declaration) ?? [];
  const { oracle } = trail.session;
  const holder = declaration.parent;
  if (ts.isClassLike(holder) && ts.isMethodDeclaration(declaration)) {
    const heirs = [...heirsOf(oracle, holder)].flatMap(({ members }) =>
      members.filter((m): m is ts.MethodDeclaration & FunctionWithBody => isNamed(m, name)),
    );
    return [...own, ...heirs];
  }
  if (!ts.isTypeElement(declaration) || !ts.isCallExpression(call)) return own;
  return implementationsOf(oracle, name);
}

/** `super(part)`: the nearest constructor of the classes above. */
function constructorAbove({ session }: Trail, call: ts.Node): readonly FunctionWithBody[] {
  const holder = ts.findAncestor(call, ts.isClassLike);
  const [, above] = holder ? lineage(holder, session.oracle) : [];
  const found = above && constructorOf(session.oracle, above);
  return found && ts.isConstructorDeclaration(found) && hasBody(found) ? [found] : [];
}

const isNamed = (member: ts.ClassElement, name: string): boolean =>
  ts.isMethodDeclaration(member) && hasBody(member) && memberName(member.name) === name;

function intoParameter(
  trail: Trail,
  fn: FunctionWithBody,
  index: number,
  isSpread: boolean,
  path: Path,
): void {
  trail.enter(fn);
  fn.parameters.forEach((parameter, i) => {
    const isRest = parameter.dotDotDotToken !== undefined;
    if (isRest ? i <= index || isSpread : i === index || (isSpread && i > index))
      trail.bind(parameter.name, isRest ? ["*", ...path] : path);
  });
  for (const all of trail.session.oracle.facts.of(fn, argumentsIn))
    trail.climb(all, ["*", ...path]);
}

/** What a function of the standard library does; false where nothing is known of it. */
function intoStandard(
  trail: Trail,
  call: CallLike,
  { name, receiver }: Callee,
  index: number,
  path: Path,
): boolean {
  const kind = (receiver ?? call.expression).getText();
  if (ts.isNewExpression(call)) {
    if (/^(Set|WeakSet)$/.test(kind)) trail.climb(call, path);
    else if (/^(Map|WeakMap)$/.test(kind)) trail.climb(call, path.slice(1));
    else return false;
    return true;
  }
  if (/^(Object|Array|Promise|Map|Set)$/.test(kind))
    return intoStatic(trail, call, name, index, path);
  return receiver !== undefined && intoContainer(trail, call, name, receiver, index, path);
}

/** `Object.values(record)`, `Promise.all(list)` and their like. */
function intoStatic(
  trail: Trail,
  call: ts.CallExpression,
  name: string,
  index: number,
  path: Path,
): boolean {
  const [first, ...rest] = path;
  const [target, mapper] = call.arguments;
  const given = builds(name, path);
  if (given) trail.climb(call, given);
  else if (name === "values" || name === "entries") {
    const step = name === "values" ? ["*"] : ["*", "*"];
    if (first !== undefined) trail.climb(call, [...step, ...rest]);
  } else return name === "keys";
  if (name === "assign" && index > 0 && target) into(trail, target, path);
  if (name === "from" && index === 0 && mapper) intoCallback(trail, mapper, 0, rest);
  return true;
}

/** The path in what such a function builds of what has the value under another. */
function builds(name: string, path: Path): Path | undefined {
  if (/^(from|fromAsync|all|resolve|freeze|seal|assign)$/.test(name)) return path;
  if (/^(race|any)$/.test(name)) return path.slice(1);
  if (name === "of") return ["*", ...path];
  if (name === "allSettled") return ["*", "value", ...path.slice(1)];
  return name === "fromEntries" ? ["*", ...path.slice(2)] : undefined;
}

/** What a method of a container does with an argument. */
function intoContainer(
  trail: Trail,
  call: ts.CallExpression,
  name: string,
  receiver: ts.Expression,
  index: number,
  path: Path,
): boolean {
  const isValue = name === "set" ? index === 1 : name === "splice" ? index > 1 : index === 0;
  if (puts(name) || name === "fill" || name === "splice") {
    if (isValue || /^(push|unshift)$/.test(name)) into(trail, receiver, ["*", ...path]);
    if (name === "fill") trail.climb(call, ["*", ...path]);
  } else if (name === "concat") trail.climb(call, path[0] === "*" ? path : ["*", ...path]);
  else return /^(get|at|delete)$/.test(name) || containerMethod(name) === "asks";
  return true;
}

/** Methods of containers that give one of the values, all or some of them, or a view. */
const gives: Readonly<Record<"one" | "same", RegExp>> = {
  one: /^(at|get|pop|shift|find|findLast)$/,
  same: /^(values|filter|slice|splice|reverse|sort|toReversed|toSorted|with|flat|concat)$/,
};

/** Whether a method puts something in, asks which values there are, or takes some out of sight. */
const leavesRest = (name: string): boolean =>
  puts(name) || containerMethod(name) === "asks" || /^(delete|clear|join|fill)$/.test(name);

/** What a method does with the value that the object it is asked of has under a path. */
export function followMethod(
  trail: Trail,
  call: ts.CallExpression,
  access: ts.PropertyAccessExpression,
  path: Path,
): void {
  const { session } = trail;
  const callee = session.oracle.callee(call);
  const name = access.name.text;
  const { effect } = session.transfer(access.expression);
  const bodies = bodiesOf(trail, call, callee);
  const isUntypedEnd = bodies.length === 0 && trail.owned.owner.dispose.methods.includes(name);
  if (isOfScope(trail, call, callee)) trail.end(call);
  else if (name === "then" && effect === "visits") ofHolder(trail, call, access, callee, path);
  else if (path.length === 0 && isUntypedEnd) trail.end(call);
  else if (path.length === 0 && bodies.length > 0) {
    const isEnd = effect === "disposes" && bodies.every((body) => endsAll(trail, body));
    const mayGiveItself = session.oracle.ownedAt(call)?.owner === trail.owned.owner;
    const isItsEnd = trail.owned.owner.dispose.methods[0] === name; // `retire()` of such a class
    const mayBeEnd = mayEnd(name) || isEnd || isItsEnd;
    if (mayBeEnd && effect === "disposes") trail.end(call);
    else if (mayBeEnd || mayGiveItself || bodies.some(isOfItself)) trail.stop();
  } else if (effect === "moves") moved(trail, call, path);
  else if (effect === "disposes") trail.end(call);
  else if (path.length === 0 && !onlyLooksAt(effect)) {
    if (isHolding(trail, callee)) trail.hold();
    else if (!isOfUntyped(trail, callee)) trail.stop();
  } else if (path.length > 0) ofHolder(trail, call, access, callee, path);
}

/** A method of what has the value in it. Fields of classes are followed by their names. */
function ofHolder(
  trail: Trail,
  call: ts.CallExpression,
  access: ts.PropertyAccessExpression,
  { body, builtin, declaration }: Callee,
  path: Path,
): void {
  const name = access.name.text;
  const [callback] = call.arguments;
  if (name === "then") {
    if (callback) intoCallback(trail, callback, 0, path);
  } else if (name === "catch" || name === "finally") trail.climb(call, path);
  else if (body) {
    if (ts.isObjectLiteralExpression(body.parent) && someWithin(body, isThis)) trail.stop();
  } else if (builtin) ofContainer(trail, call, access, path);
  else if (declaration?.getSourceFile().isDeclarationFile) trail.stop();
  else if (!declaration && (mayEnd(name) || givesPart(trail, call, name))) trail.stop();
  else if (!declaration && path[0] === "*" && (gives.one.test(name) || gives.same.test(name)))
    ofContainer(trail, call, access, path); // a list that has no type
}

/** Whether a method that the program has by its name may give a part of what it is asked of. */
const givesPart = ({ session }: Trail, call: ts.CallExpression, name: string): boolean =>
  fateOf(call).kind !== "dropped" && implementationsOf(session.oracle, name).length > 0;

const isThis = ({ kind }: ts.Node): boolean => kind === ts.SyntaxKind.ThisKeyword;

/** A call that takes the value out of its scope and gives it back. */
function moved(trail: Trail, call: ts.CallExpression, path: Path): void {
  const { session, owned } = trail;
  if (detaches(session, call, owned.owner)) trail.hasLeft = true;
  else if (fateOf(call).kind === "dropped") trail.stop(); // to whoever has a scope there
  trail.climb(call, path);
  if (call.arguments.length > 1) trail.climb(call, ["*", ...path]);
}

/** Whether a method that ends a field ends all there is, and puts nothing in its place. */
function endsAll({ session }: Trail, body: FunctionWithBody): boolean {
  const holder = ts.isClassLike(body.parent) ? body.parent : undefined;
  const isAll = !holder || ownedMembers(session, holder).length < 2;
  return isAll && !someWithin(body, fillsField);
}

const isOfItself = (body: FunctionWithBody): boolean => someWithin(body, isBareThis);

/** `this.x = next`: a method that ends what was there, and goes on. */
const fillsField = (node: ts.Node): boolean =>
  ts.isBinaryExpression(node) &&
  node.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
  fieldOfThis(node.left) !== undefined &&
  !isNullish(unwrap(node.right));

/** `this` as a value, or its end. */
const isBareThis = (node: ts.Node): boolean =>
  node.kind === ts.SyntaxKind.ThisKeyword &&
  !(ts.isPropertyAccessExpression(node.parent) && !mayEnd(node.parent.name.text));

function ofContainer(
  trail: Trail,
  call: ts.CallExpression,
  access: ts.PropertyAccessExpression,
  path: Path,
): void {
  const name = access.name.text;
  const [first, ...rest] = path;
  const [callback] = call.arguments;
  if (visits.test(name) && first === "*" && callback) intoCallback(trail, callback, 0, rest);
  if (/^reduce(Right)?$/.test(name) && first === "*" && callback) {
    intoCallback(trail, callback, 1, rest);
    if (call.arguments.length < 2) intoCallback(trail, callback, 0, rest);
  } else if (gives.one.test(name)) {
    if (first === "*") trail.climb(call, rest);
  } else if (gives.same.test(name)) {
    trail.climb(call, path);
    if (name === "flat") trail.climb(call, rest);
  } else if (name === "entries") trail.climb(call, ["*", ...path]);
  else if (name === "next") trail.climb(call, ["value", ...rest]);
  else if (!visits.test(name) && !leavesRest(name) && name !== "return" && name !== "throw")
    trail.stop();
}

/** A callback is given what has the value under a path. */
function intoCallback(trail: Trail, callback: ts.Expression, index: number, path: Path): void {
  const fn = functionHanded(trail.session.oracle, callback);
  const parameter = fn?.parameters[index];
  if (!fn) trail.stop();
  else if (parameter) trail.bind(parameter.name, parameter.dotDotDotToken ? ["*", ...path] : path);
}

/** What becomes of that which a callback gives to the call it is handed to. */
export function callbackResult(
  trail: Trail,
  call: CallLike,
  fn: FunctionWithBody,
  path: Path,
): void {
  const { session } = trail;
  const callee = session.oracle.callee(call);
  if (!ts.isCallExpression(call)) {
    trail.stop();
    return;
  }
  const inScope = scopeCallback(session, call, callee, trail.owned);
  if (inScope && functionHanded(session.oracle, inScope) === fn) {
    const state = session.scopeAt(call);
    if (state === "out") trail.hasLeft = true;
    else if (state !== "in") trail.stop();
    trail.climb(call, path);
    const { owner } = trail.owned; // or a part of what the call gives: `profile(f).result`
    if (session.oracle.is(callee, owner.runsInline, owner)) trail.climb(call, ["*", ...path]);
    return;
  }
  if (callee.body) {
    calledBy(trail, call, callee.body, fn, path);
    return;
  }
  if (!callee.builtin) {
    trail.stop();
    return;
  }
  if (/^(map|from)$/.test(callee.name)) trail.climb(call, ["*", ...path]);
  else if (callee.name === "flatMap") trail.climb(call, path[0] === "*" ? path : ["*", ...path]);
  else if (/^(then|catch)$/.test(callee.name)) trail.climb(call, path);
  else if (/^reduce/.test(callee.name)) {
    trail.climb(call, path);
    const [accumulated] = fn.parameters;
    if (accumulated) trail.bind(accumulated.name, path);
  } else if (!/^(forEach|some|every|filter|find|sort)/.test(callee.name)) trail.stop();
}

/** What a function of the program does with what a callback that it is given gives. */
function calledBy(
  trail: Trail,
  call: CallLike,
  body: FunctionWithBody,
  fn: FunctionWithBody,
  path: Path,
): void {
  const at = argumentOf(call, fn);
  const parameter = at && body.parameters[at.index];
  if (!parameter || !ts.isIdentifier(parameter.name)) {
    trail.stop();
    return;
  }
  for (const id of referencesTo(trail.session.oracle, parameter, parameter.name, body)) {
    const { parent } = id;
    if (ts.isCallExpression(parent) && parent.expression === id) trail.climb(parent, path);
    else trail.stop();
  }
}

/** Whether a function is a method of an object that a literal makes. */
export const isOfObject = (fn: FunctionWithBody): boolean =>
  ts.isObjectLiteralExpression((bindingOf(fn) ?? fn).parent);

/** The method of a list that a name of a function is handed to: `sizes.map(make)`. */
export function handedByName({ oracle }: Session, name: ts.Node): ts.CallExpression | undefined {
  const { kind, node } = fateOf(name as ts.Expression);
  const isHanded = kind === "argument" && ts.isCallExpression(node);
  return isHanded && oracle.callee(node).builtin ? node : undefined;
}

/** The calls of a function, unless others may call it, too. */
export function callsOf(
  trail: Trail,
  fn: FunctionWithBody,
  handed?: Set<CallLike>,
): readonly CallLike[] | undefined {
  const { oracle } = trail.session;
  const isOpen = isExported(oracle.facts, fn) && !isHidden(fn, "");
  if (isOpen && !trail.isWhole) return undefined;
  const { calls, values, reads } = callSitesOf(oracle, fn, "program");
  const held = values.flatMap((value) => {
    const by = handed && handedByName(trail.session, value);
    if (by) handed.add(by);
    return by ? [] : [callsByProperty(oracle, value)];
  });
  if (reads.length > 0 || held.some((found) => found.length === 0)) return undefined;
  const isCounted = (call: ts.Node): boolean =>
    !isOpen || isTestFile(fn.getSourceFile()) || !isTestFile(call.getSourceFile());
  const all = [...calls, ...held.flat()].filter(isCounted);
  return isOfObject(fn) && all.length === 0 ? callsByType(oracle, fn) : all;
}
