/**
 * Verb "is fresh": whether the value of an expression is new and owned by the code that evaluates
 * it. Reached through `session.freshness`. Tags win over settings, settings over bodies, bodies
 * over the owner's default.
 */
import ts from "typescript";
import { isAnything, isHolder, type CalleeSpecifier, type Owner } from "../../owner.ts";
import { callSitesOf } from "../program/call-sites.ts";
import { isPresenceFilter } from "../program/containers.ts";
import { functionHanded, givesThis } from "../program/callee.ts";
import { enclosingFunction, fateOf, returnsOf } from "../transfer/fate.ts";
import { partFreshness } from "./fresh-parts.ts";
import { isOwnList, variableFreshness } from "./fresh-variables.ts";
import { namesOver } from "../transfer/lending.ts";
import { mayHold } from "../transfer/holding.ts";
import { holdsNothing } from "../objects/holds-nothing.ts";
import { joinsFresh } from "./joined-records.ts";
import { joinAll } from "./join.ts";
import { isMadeByAll, isMaker } from "./made-by-all.ts";
import { keptBy, scopeCallback } from "../transfer/keeps.ts";
import { endedByOthers } from "../transfer/made-with.ts";
import { nameGates } from "../program/names.ts";
import { isEndedByGiven } from "../transfer/run-ends.ts";
import { isBoundElsewhere, isOwedResult, lastsAsProgram } from "../transfer/owed.ts";
import type { Callee, Owned } from "../program/oracle.ts";
import type { Freshness, Session } from "../session.ts";
import { isSoleElement } from "../lists/unreached.ts";
import {
  hasBody,
  isNullish,
  someWithin,
  unwrap,
  valuesOf,
  type CallLike,
} from "../program/syntax.ts";

/** Who owns the value of an expression. */
export function freshness(session: Session, expression: ts.Expression): Freshness {
  const node = unwrap(expression);
  if (ts.isCallExpression(node) || ts.isNewExpression(node)) return callFreshness(session, node);
  if (ts.isConditionalExpression(node)) return joinArms(session, [node.whenTrue, node.whenFalse]);
  if (ts.isBinaryExpression(node)) {
    const operator = node.operatorToken.kind;
    if (operator === ts.SyntaxKind.BarBarToken || operator === ts.SyntaxKind.QuestionQuestionToken)
      return joinArms(session, [node.left, node.right]);
    if (
      operator === ts.SyntaxKind.AmpersandAmpersandToken ||
      operator === ts.SyntaxKind.CommaToken ||
      operator === ts.SyntaxKind.EqualsToken
    )
      return freshness(session, node.right);
    return "unknown";
  }
  if (ts.isIdentifier(node)) return isNullish(node) ? "unknown" : variableFreshness(session, node);
  if (ts.isPropertyAccessExpression(node))
    return readIsFresh(session, node) ? "fresh" : propertyFreshness(session, node);
  if (ts.isElementAccessExpression(node))
    return isSoleElement(node)
      ? freshness(session, node.expression)
      : placeFreshness(session, node);
  if (ts.isArrayLiteralExpression(node)) return literalFreshness(session, node.elements);
  if (ts.isObjectLiteralExpression(node)) {
    const owned = session.oracle.ownedAt(node);
    if (owned?.shape === "one" && isHolder(owned.owner, session.settings)) return "fresh";
    const values = valuesOf(node);
    const plain = node.properties.filter(
      (p) => ts.isSpreadAssignment(p) && addsNothing(session, p),
    );
    return values.length + plain.length < node.properties.length
      ? "unknown"
      : literalFreshness(session, values);
  }
  return node.kind === ts.SyntaxKind.ThisKeyword ? "borrowed" : "unknown";
}

/** `{ ...defect, map: defect.map.alias() }`: all that is owned in what is spread gets another. */
function addsNothing({ oracle }: Session, spread: ts.SpreadAssignment): boolean {
  const owned = oracle.ownedAt(spread.expression);
  if (owned?.shape !== "record") return owned === null;
  const over = namesOver(spread);
  return owned.fields.every((name) => over.includes(name));
}

/** `cond ? a : null` is as fresh as `a`. */
function joinArms(session: Session, arms: ts.Expression[]): Freshness {
  return joinAll(arms.filter((a) => !isNullish(unwrap(a))).map((a) => freshness(session, a)));
}

function literalFreshness(session: Session, values: readonly ts.Expression[]): Freshness {
  const owned = values
    .map((v) => (ts.isSpreadElement(v) ? v.expression : v))
    .filter((v) => session.oracle.ownedAt(v));
  return owned.length === 0 ? "unknown" : joinAll(owned.map((v) => freshness(session, v)));
}

/** A property whose every read gives a fresh value (`p.grad`), by settings or `@fresh` tag. */
export function readIsFresh(session: Session, node: ts.PropertyAccessExpression): boolean {
  const { text } = node.name;
  if (
    !session.settings.owners.some((o) => o.freshProperties.includes(text)) &&
    !nameGates(session.oracle).getters.has(text)
  )
    return false;
  const owned = session.oracle.ownedAt(node);
  if (!owned) return false;
  if (ts.isBinaryExpression(node.parent) && node.parent.left === node) return false;
  if (owned.owner.freshProperties.includes(node.name.text))
    return session.oracle.ownedAt(node.expression)?.owner === owned.owner;
  const declaration = session.oracle.declarationAt(node.name);
  if (!declaration || !ts.isGetAccessorDeclaration(declaration)) return false;
  const tags = session.oracle.tags(declaration);
  return (
    tags.fresh ||
    (!tags.borrowed && hasBody(declaration) && session.summary(declaration).result === "fresh")
  );
}

function propertyFreshness(session: Session, node: ts.PropertyAccessExpression): Freshness {
  const owned = session.oracle.ownedAt(node);
  if (!owned || session.oracle.ownedAt(node.expression)?.shape !== "record") return "borrowed";
  if (partFreshness(session, node) === "fresh") return "fresh";
  return owned.shape === "one" ? "borrowed" : "unknown";
}

/** `grads[0]` of a list that the function has made. */
function placeFreshness(session: Session, node: ts.ElementAccessExpression): Freshness {
  const owned = session.oracle.ownedAt(node);
  const isPart = owned !== null && partFreshness(session, node) === "fresh";
  return isPart ? "fresh" : "borrowed";
}

// ---- calls ----

/** Functions of TypeScript's own library that can give something new; see `builtinFreshness`. */
const making =
  /^(map|flatMap|from|fromEntries|all|assign|resolve|pop|shift|splice|slice|filter|concat)$/;

/**
 * Whether a call gives nothing new whatever its type is: one of the library of TypeScript that
 * lends what it gives. Asking for that type would have every argument checked.
 */
export function lendsOnly(session: Session, call: CallLike): boolean {
  if (ts.isNewExpression(call)) return false;
  const callee = session.oracle.callee(call);
  if (!callee.builtin || making.test(callee.name)) return false;
  const { oracle } = session;
  return !session.settings.owners.some((owner) =>
    oracle.is(callee, oracle.facts.of(owner, namedMakers), owner),
  );
}

/** The functions that an owner's settings name as giving something new, or what they are given. */
const namedMakers = ({ fresh, freshWhen, keep, runsInline }: Owner): readonly CalleeSpecifier[] => [
  ...fresh,
  ...freshWhen.map((w) => w.callee),
  ...keep.functions,
  ...runsInline,
];

/** Who owns the result of a call. */
export function callFreshness(session: Session, call: CallLike): Freshness {
  const { oracle } = session;
  const owned = oracle.ownedAt(call);
  if (!owned) return "unknown";
  const callee = oracle.callee(call);
  if (call.expression.kind === ts.SyntaxKind.SuperKeyword) return "unknown";
  if (ts.isNewExpression(call)) {
    if (owned.shape !== "one") return builtinFreshness(session, call, callee);
    const { owner } = owned;
    if (holdsNothing(session, call, owner)) return "never";
    return endedByOthers(session, call, owner) ? "unknown" : "fresh";
  }
  const { owner } = owned;
  if (callee.tags.fresh) return "fresh";
  if (callee.tags.borrowed) return "borrowed";
  if (isAnything(owner) && (owned.shape !== "one" || lastsAsProgram(session, call)))
    return "unknown";
  if (isAnything(owner) && isBoundElsewhere(session, call)) return "fresh";
  if (asksForFresh(session, call, callee, owner)) return "fresh";
  if (oracle.is(callee, owner.borrows, owner)) return "borrowed";
  if (oracle.is(callee, owner.fresh, owner) && !isOwnFunction(callee, owner))
    return buildsOnOthers(call, owner) || !isSurelyOwed(session, call, callee, owned)
      ? "unknown"
      : "fresh";
  const kept = keptBy(session, call, callee, owned);
  if (kept) return freshness(session, kept);
  const callback = scopeCallback(session, call, callee, owned);
  if (callback) return callbackFreshness(session, callback);
  if (callee.builtin) return builtinFreshness(session, call, callee);
  if (callee.member === owner && owner.calls !== "fresh" && callee.receiver && givesThis(callee))
    return freshnessOfItself(session, call, callee.receiver);
  if (callee.member === owner) return owner.calls === "fresh" ? "fresh" : "unknown";
  if (callee.body) {
    if (owned.shape !== "one" && mayHold(session, callee.body, owner)) return "unknown";
    const found = session.summary(callee.body).result;
    if (found === "fresh") return isEndedByGiven(session, call, callee.body) ? "unknown" : found;
    const handedBack =
      found === "borrowed" ? returnedArgument(session, call, callee.body) : undefined;
    if (handedBack) return freshness(session, handedBack);
    if (found !== "never" && owned.shape === "record" && joinsFresh(session, call, callee.body))
      return isEndedByGiven(session, call, callee.body) ? "unknown" : "fresh";
    if (found === "unknown" && isAnything(owner) && isSurelyOwed(session, call, callee, owned))
      return "fresh";
    return found === "unknown" && owner.calls === "fresh" && !mayBeStored(callee)
      ? "unknown"
      : found;
  }
  if (isOnMade(session, call, owner) || isMadeByAll(session, callee)) return "fresh";
  return defaultFreshness(session, callee, owned);
}

/** `valueAndGrad(f)(x)`: what a function of the library has made is called at once. */
function isOnMade({ oracle }: Session, call: CallLike, owner: Owner): boolean {
  const made = unwrap(call.expression);
  if (owner.calls !== "fresh" || !ts.isCallExpression(made)) return false;
  return oracle.fromLibrary(oracle.callee(made), owner);
}

/** Whether what a function gives is owed an end, where no protocol says so. */
const isSurelyOwed = (session: Session, call: CallLike, callee: Callee, owned: Owned): boolean =>
  !isAnything(owned.owner) ||
  (ts.isCallExpression(call) && owned.shape === "one" && isOwedResult(session, call, callee));

/** `tf.model({ inputs: base.inputs, … })`: the new value uses what another goes on holding. */
const buildsOnOthers = (call: CallLike, { shares, untyped }: Owner): boolean =>
  shares.length > 0 &&
  (call.arguments ?? []).some((argument) =>
    someWithin(
      argument,
      (node) =>
        ts.isPropertyAccessExpression(node) &&
        shares.includes(node.name.text) &&
        !untyped.globals.includes(node.expression.getText()) &&
        !(ts.isCallExpression(node.parent) && node.parent.expression === node),
    ),
  );

/** A function of the program that goes by a name of the library's: what it does tells. */
const isOwnFunction = ({ body }: Callee, { policy }: Owner): boolean =>
  policy === "generic" && body !== undefined;

/** `optimizer.minimize(f, true)`: an argument asks for the value. */
const asksForFresh = (session: Session, call: CallLike, callee: Callee, owner: Owner): boolean =>
  owner.freshWhen.some(
    ({ callee: name, arg }) =>
      call.arguments?.[arg]?.kind === ts.SyntaxKind.TrueKeyword &&
      session.oracle.is(callee, [name], owner),
  );

/**
 * The argument a function always returns unchanged, and puts nowhere: its result is as fresh as
 * that. What it puts away has an owner.
 */
export function returnedArgument(
  session: Session,
  call: CallLike,
  body: ts.FunctionLikeDeclaration & { body: ts.Node },
): ts.Expression | undefined {
  const values = session.oracle.facts
    .of(body, returnsOf)
    .map(unwrap)
    .filter((v) => !isNullish(v));
  const declarations = new Set(
    values.map((v) => (ts.isIdentifier(v) ? session.oracle.declarationAt(v) : undefined)),
  );
  const [only] = declarations;
  if (declarations.size !== 1 || !only || !ts.isParameter(only) || only.parent !== body)
    return undefined;
  const at = body.parameters.indexOf(only);
  const effect = session.summary(body).parameters[at];
  return effect?.stores && !effect.givesBack ? undefined : call.arguments?.[at];
}

const mayBeStored = (callee: Callee): boolean =>
  callee.body !== undefined && ts.isGetAccessor(callee.body);

function defaultFreshness(session: Session, callee: Callee, { owner, shape }: Owned): Freshness {
  if (owner.calls === "identity") return "borrowed";
  if (owner.calls !== "fresh")
    return session.guesses && shape === "one" && !isAnything(owner) && isMaker(session, callee)
      ? "fresh"
      : "unknown";
  if (session.oracle.fromLibrary(callee, owner) || isMadeByLibrary(session, callee, owner))
    return "fresh";
  if (!session.guesses || shape !== "one") return "unknown";
  if (!callee.declaration) return "fresh";
  if (ts.isParameter(callee.declaration) && mayBeLent(session, callee.declaration))
    return "unknown";
  return returnsTypeParameter(callee) || looksLikeLookup(callee.name) ? "unknown" : "fresh";
}

/** `const loss = valueAndGrad(f)`: a function that one of the library's has made. */
export function isMadeByLibrary(
  { oracle }: Session,
  { declaration }: Pick<Callee, "declaration">,
  owner: Owner,
): boolean {
  if (!declaration || !ts.isVariableDeclaration(declaration)) return false;
  const maker = declaration.initializer && unwrap(declaration.initializer);
  return (
    maker !== undefined &&
    ts.isCallExpression(maker) &&
    oracle.fromLibrary(oracle.callee(maker), owner)
  );
}

/**
 * Whether a parameter is a function for which somebody hands in one whose result is not fresh:
 * `scaled(() => table.get(key))`.
 */
function mayBeLent(session: Session, parameter: ts.ParameterDeclaration): boolean {
  const fn = parameter.parent;
  if (!hasBody(fn) || fn.parameters.length === 0) return false;
  const at = fn.parameters.indexOf(parameter);
  return callSitesOf(session.oracle, fn, "program").calls.some((call) => {
    const given = call.arguments?.[at];
    const handed = given && functionHanded(session.oracle, given);
    return handed !== undefined && !/^(fresh|never)$/.test(session.summary(handed).result);
  });
}

/** Outside the owner's package, `<T>(x: T): T` is an identity far more often than an operation. */
function returnsTypeParameter(callee: Callee): boolean {
  const declaration = callee.declaration as Partial<ts.SignatureDeclaration> | undefined;
  const type = declaration?.type;
  return (
    type !== undefined &&
    ts.isTypeReferenceNode(type) &&
    ts.isIdentifier(type.typeName) &&
    (declaration?.typeParameters ?? []).some(
      (p) => p.name.text === (type.typeName as ts.Identifier).text,
    )
  );
}
const looksLikeLookup = (name: string): boolean =>
  /^(get|lookup|find|peek|current)([A-Z]|$)/.test(name);

function callbackFreshness(session: Session, callback: ts.Expression): Freshness {
  const fn = functionHanded(session.oracle, callback);
  return fn ? session.summary(fn).result : "unknown";
}

function builtinFreshness(session: Session, call: CallLike, callee: Callee): Freshness {
  const first = call.arguments?.[0];
  const { receiver } = callee;
  switch (callee.name) {
    case "map":
    case "flatMap":
      return first ? callbackFreshness(session, first) : "unknown";
    case "from":
      return call.arguments?.[1] ? callbackFreshness(session, call.arguments[1]) : "unknown";
    case "Map":
    case "Set":
    case "fromEntries":
      return first ? entriesFreshness(session, first) : "borrowed";
    case "all":
    case "resolve":
      return first ? freshness(session, first) : "unknown";
    case "assign":
      return assignedFreshness(session, call);
    case "pop":
    case "shift":
    case "splice":
      return isOwn(session, receiver, true) ? "fresh" : "unknown";
    case "slice":
    case "filter":
      if (receiver && isPresenceFilter(call)) return freshness(session, receiver);
      return isOwn(session, receiver, false) ? "fresh" : "unknown";
    case "concat":
      return [receiver, ...(call.arguments ?? [])].every((v) => isOwn(session, v, false))
        ? "fresh"
        : "unknown";
    case "finally":
      return receiver ? freshness(session, receiver) : "unknown";
    case "catch":
      return receiver && first && givesNothing(session, first)
        ? freshness(session, receiver)
        : "unknown";
    case "reduce":
    case "then":
      return "unknown";
    default:
      return "borrowed";
  }
}

/** `() => null`, `(error) => { log(error); }`. */
function givesNothing(session: Session, callback: ts.Expression): boolean {
  const fn = functionHanded(session.oracle, callback);
  return fn !== undefined && returnsOf(fn).every((value) => isNullish(unwrap(value)));
}

/** `Object.assign(draw, { dispose })`, where `draw` is a function that is made here. */
function assignedFreshness(session: Session, { arguments: given }: CallLike): Freshness {
  const [into, literal] = given?.map(unwrap) ?? [];
  if (!into || !literal || !ts.isObjectLiteralExpression(literal)) return "borrowed";
  const source = ts.isIdentifier(into) ? session.oracle.declarationAt(into) : undefined;
  const value = source && ts.isVariableDeclaration(source) ? source.initializer : undefined;
  const isMade = hasBody(into) || hasBody(source) || hasBody(value && unwrap(value));
  const home = enclosingFunction(source ?? into);
  return isMade && home === enclosingFunction(into) ? freshness(session, literal) : "borrowed";
}

/** What a table is made of: `xs.map(([key, t]) => [key, t.clone()])`, `[["a", x.neg()]]`. */
function entriesFreshness(session: Session, entries: ts.Expression): Freshness {
  const bare = unwrap(entries);
  if (ts.isArrayLiteralExpression(bare))
    return joinAll(bare.elements.map((e) => freshness(session, e)));
  if (!ts.isCallExpression(bare)) return "borrowed";
  const callee = session.oracle.callee(bare);
  const callback = bare.arguments[callee.name === "from" ? 1 : 0];
  const fn = callback && functionHanded(session.oracle, callback);
  if (!fn || !callee.builtin || !/^(map|from)$/.test(callee.name)) return "borrowed";
  return joinAll(
    returnsOf(fn).map((value) => {
      const pair = unwrap(value);
      return ts.isArrayLiteralExpression(pair)
        ? literalFreshness(session, pair.elements)
        : freshness(session, pair);
    }),
  );
}

/**
 * Whether a list holds what this code made: one that has no name, so that what it holds is reached
 * through the result alone, or one of this function, from which an element is taken.
 */
function isOwn(session: Session, list: ts.Expression | undefined, taken: boolean): boolean {
  const bare = list && unwrap(list);
  if (!bare) return false;
  if (ts.isIdentifier(bare)) return taken && isOwnList(session, bare);
  const made = ts.isCallExpression(bare) || ts.isArrayLiteralExpression(bare);
  return made && session.oracle.ownedAt(bare) !== null && session.freshness(bare) === "fresh";
}

/** `new Net().eval()` is as new as `new Net()`; `net.eval()` is no new one, unless returned. */
function freshnessOfItself(
  session: Session,
  call: ts.Expression,
  receiver: ts.Expression,
): Freshness {
  const isNamed = !ts.isCallExpression(unwrap(receiver)) && !ts.isNewExpression(unwrap(receiver));
  return isNamed && fateOf(call).kind !== "returned" ? "unknown" : freshness(session, receiver);
}
