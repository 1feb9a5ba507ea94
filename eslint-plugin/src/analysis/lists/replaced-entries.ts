/**
 * Replaced entries: values that a table of the module or in a field loses when a function that is
 * made to replace them puts others under the same key: `saveOne(name) { templates[name] = … }`.
 * A function that asks the table first, or calls what sounds as if it freed something, may have had
 * the old value in hand. Used by the rule about overwritten values.
 */
import ts from "typescript";
import { isHolder } from "../../owner.ts";
import { callSitesOf, nameOf } from "../program/call-sites.ts";
import { handedTo } from "../transfer/callbacks.ts";
import {
  emptyAtFirst,
  endsElementsOfFile,
  endsOwnElements,
  ownsElements,
} from "../objects/ended-elements.ts";
import { soundsFreeing } from "../objects/endings.ts";
import { isOwnList } from "../fresh/fresh-variables.ts";
import { enclosingFunction, loopOfTurn } from "../transfer/fate.ts";
import { mayBeEndedBefore } from "../objects/ended-by-callers.ts";
import { isAskedByCallers } from "../objects/overwritten-places.ts";
import { isOfOwner } from "./other-owners.ts";
import { repeatedPut } from "./same-keys.ts";
import { comesAndGoes, givesEachOnce, isGiven } from "./given-names.ts";
import { isGivenTwice } from "./given-twice.ts";
import { isNamedAgain, keptEachTurn } from "./named-again.ts";
import { entryOf, onlyLooked, onlyLooks } from "../transfer/looked-at.ts";
import { fieldOfThis } from "../objects/members.ts";
import type { LostEntry } from "./lost-entries.ts";
import { goesRound, isAtPlaceOf, isForFull, isMadeFull } from "./full-lists.ts";
import { mayLackScope } from "../scopes/open-scopes.ts";
import { isHandler, isOffered } from "../trails/runs-often.ts";
import { putsIn, type Put } from "./puts.ts";
import { isNowhereElse, isStaticField } from "./removals.ts";
import { samePlace } from "../program/same-place.ts";
import { isOnOtherWay } from "../program/ways.ts";
import { sharedPlace } from "../flow/shared-places.ts";
import type { Owned } from "../program/oracle.ts";
import type { Session } from "../session.ts";
import {
  hasBody,
  isTarget,
  rootOf,
  someWithin,
  unwrap,
  valuesOf,
  within,
  type FunctionWithBody,
} from "../program/syntax.ts";

/** Names of functions that put something where another may be. */
const anew = "reload|rebuild|recreate|refresh|replace|swap|overwrite";
const again = new RegExp(`^(${anew})([A-Z_]|$)`);
const verbs = "set|update|put|save|store|remember|change|record|switch|on|handle|process";
const replacing = new RegExp(`^(${verbs}|${anew})([A-Z_]|$)`);
const loading = /^(load|upload|write|define|import|read|fetch)([A-Z_]|$)/;

/** Every such loss of a file. */
export function replacedEntries(session: Session, file: ts.SourceFile): LostEntry[] {
  return putsIn(session.oracle.facts, file).flatMap((put) => {
    const home = enclosingFunction(put.node);
    if (!home || !hasBody(home)) return [];
    const old = oldOf(session, put);
    const isRing = goesRound(session, put) || isForFull(session, put);
    const isFound = !isRing && isAtPlaceOf(session, put, home);
    const repeated = repeatedPut(session, put, home, replacing.test(nameOf(home) ?? ""));
    const isOfTurn = repeated !== undefined && repeated !== home.body;
    const isOwn =
      ((old !== undefined || isOfTurn) && isOwnList(session, put.table)) ||
      ((isRing || repeated !== undefined) && endsOwnElements(session, put.table));
    const held = isHeld(session, put.table);
    if (!isOwn && !held) return keptEachTurn(session, put, home);
    if (isRing && !isNowhereElse(session, put.value)) return [];
    const updates = old !== undefined || isRing || isFound;
    const owned = session.oracle.ownedAt(put.value);
    if (!owned || owned.shape === "many") return [];
    const isNew = session.freshness(put.value) === "fresh";
    if (!isNew && !isTakenOver(session, put, home)) return [];
    const twice =
      isGivenTwice(session.oracle, home, put.key) ||
      isNamedAgain(session, home, put.key, owned.owner);
    const isOpen = isGivenAgain(session, put, home);
    const isAgain = again.test(nameOf(home) ?? "");
    const isGeneric = owned.owner.policy === "generic";
    const isAgreedOn = !isGeneric || twice || isOpen || isAgain || isFound;
    const isFull = isMadeFull(session, put.table);
    const isKnown =
      updates ||
      twice ||
      (repeated !== undefined && isNew) ||
      ((isNew || isFull) && isReplaced(session, put, home, isFull, isOpen));
    if (!isAgreedOn && !isByProtocol(session, owned)) return [];
    if (!(isAgreedOn && isKnown) && !comesAndGoes(session, put, home)) return [];
    if (!mayLackScope(session, put.node) || asksAnother(home, put)) return [];
    if ((!isOwn && isSettledBefore(session, put, home)) || isOfOwner(session, put.value, put.table))
      return [];
    const leaves = old
      ? leavesNamed(session, home, put, old)
      : leavesOld(
          session,
          repeated ?? home.body,
          put,
          updates && (held || isForFull(session, put)),
          !isFound,
        );
    return leaves ? [{ call: put.node, table: put.table.getText(), owned }] : [];
  });
}

/** `if (this.sizes.has(name)) return;` of a table beside this one, which has the same names. */
const asksAnother = ({ body }: FunctionWithBody, { key, node }: Put): boolean =>
  someWithin(
    body,
    (at) =>
      ts.isCallExpression(at) &&
      at.pos < node.pos &&
      ts.isPropertyAccessExpression(at.expression) &&
      at.expression.name.text === "has" &&
      at.arguments[0]?.getText() === key.getText(),
  );

/** Whether those that call a function have asked for the entry, or ended what the table holds. */
function isSettledBefore(session: Session, { table }: Put, home: FunctionWithBody): boolean {
  const { oracle } = session;
  const speaks = (at: ts.Node): boolean =>
    (ts.isIdentifier(at) || ts.isPropertyAccessExpression(at)) && samePlace(oracle, at, table);
  if (mayBeEndedBefore(session, home, { speaks })) return true;
  const { calls } = callSitesOf(oracle, home, "program");
  const asked: ts.Expression[] = [];
  const isAsker = (node: ts.Node): node is ts.CallExpression => {
    const body = ts.isCallExpression(node) ? oracle.callee(node).body : undefined;
    return body !== undefined && body !== home && someWithin(body, speaks);
  };
  const visit = (node: ts.Node): void => {
    if (isAsker(node)) asked.push(node);
    if (speaks(node)) asked.push(askedOf(node as ts.Expression));
    ts.forEachChild(node, visit);
  };
  for (const around of new Set(calls.map((call) => enclosingFunction(call))))
    if (around) visit(around);
  return isAskedByCallers(session, home, asked);
}

/** `table.get(key)`, `table.has(key)` of a mention of the table; the mention itself else. */
function askedOf(table: ts.Expression): ts.Expression {
  const { parent } = table;
  const isHas = ts.isPropertyAccessExpression(parent) && parent.name.text === "has";
  return isHas && ts.isCallExpression(parent.parent) ? parent.parent : (entryOf(table) ?? table);
}

/** A field, what closures share, or a variable of the module that no other file has. */
function isHeld(session: Session, table: ts.Expression): boolean {
  if (fieldOfThis(table) || isStaticField(session, table))
    return session.oracle.ownedAt(table)?.shape === "many";
  if (sharedPlace(session, table)?.owned.shape === "many") return true;
  const root = rootOf(table);
  const declaration = ts.isIdentifier(root) ? session.oracle.declarationAt(root) : undefined;
  return (
    declaration !== undefined &&
    ts.isVariableDeclaration(declaration) &&
    !enclosingFunction(declaration) &&
    (ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.Export) === 0 &&
    session.oracle.ownedAt(table)?.shape === "many"
  );
}

/** Whether a function is given the value, for a table that ends its own. */
function isTakenOver(session: Session, { table, value }: Put, home: FunctionWithBody): boolean {
  const given = unwrap(value);
  const isRecord = ts.isObjectLiteralExpression(given);
  const parts = isRecord ? valuesOf(given).filter((p) => session.oracle.ownedAt(p)) : [given];
  const isGivenTo = (part: ts.Expression): boolean => {
    const source = ts.isIdentifier(part) ? session.oracle.declarationAt(part) : undefined;
    return source !== undefined && ts.isParameter(source) && source.parent === home;
  };
  if (parts.length === 0 || !parts.every(isGivenTo)) return false;
  return (
    ownsElements(session, table) ||
    endsOwnElements(session, table) ||
    endsElementsOfFile(session, table)
  );
}

/** Whether a function that is given a key is made to replace what is there. */
function isReplaced(
  session: Session,
  { key }: Put,
  home: FunctionWithBody,
  isFull: boolean,
  isOpen: boolean,
): boolean {
  if (!isGiven(session, key, home)) return false;
  if (isOpen && loading.test(nameOf(home) ?? "")) return !session.oracle.gives(key, "number");
  return (isFull || !session.oracle.gives(key, "number")) && replaces(session, home, key);
}

/** An object of the program that holds values whose library everybody agrees with. */
const isByProtocol = ({ settings }: Session, { owner }: Owned): boolean =>
  isHolder(owner, settings) && settings.owners.some(({ policy }) => policy !== "generic");

/**
 * `upload(name, data)` of an exported class that ends what its table holds: others may give a name
 * again, which counts where what lasts until the end is reported.
 */
function isGivenAgain(session: Session, { table }: Put, home: FunctionWithBody): boolean {
  if (!isOffered(session, home)) return false;
  // they may ask first
  if (callSitesOf(session.oracle, home, "program").calls.length > 0) return false;
  return ownsElements(session, table) || endsOwnElements(session, table);
}

/** Whether a function is made to put another value where one is, and not for each name once. */
function replaces(session: Session, home: FunctionWithBody, key: ts.Expression): boolean {
  if (handedTo(home)) return isHandler(session, home);
  const name = nameOf(home);
  return name !== undefined && replacing.test(name) && !givesEachOnce(session, home, key);
}

/** Whether nothing in a function has the old value in hand, or asks whether there is one. */
function leavesOld(
  session: Session,
  place: ts.Node,
  { node, table }: Put,
  updates: boolean,
  tests: boolean,
): boolean {
  return !someWithin(place, (inner) => {
    if (ts.isCallExpression(inner) && inner !== node && mayFree(session, inner, table)) return true;
    if (!ts.isIdentifier(inner) && !ts.isPropertyAccessExpression(inner)) return false;
    if (within(inner, table) || !samePlace(session.oracle, inner, table)) return false;
    if (isOnOtherWay(inner, node)) return false;
    return !onlyReads(session, inner, updates, updates && tests);
  });
}

/** A call of what sounds as if it freed something, or of a function that speaks of the table. */
export function mayFree(session: Session, call: ts.CallExpression, table: ts.Expression): boolean {
  if (soundsFreeing(call) && !endsOwn(session, call)) return true;
  const { body } = session.oracle.callee(call);
  return (
    body !== undefined &&
    someWithin(
      body.body,
      (inner) => ts.isExpression(inner) && samePlace(session.oracle, inner, table),
    )
  );
}

/** What a platform ends with `close()` itself, and which has nothing of a table. */
const platform = /^(ImageBitmap|VideoFrame|AudioData|WebSocket|MessagePort|FileHandle)$/;

/** `made.dispose()` of what the function itself made, or has in a list of its own. */
function endsOwn(session: Session, { expression }: ts.CallExpression): boolean {
  const on = ts.isPropertyAccessExpression(expression) ? unwrap(expression.expression) : expression;
  if (on !== expression && platform.test(session.oracle.typeName(on))) return true;
  const source = ts.isIdentifier(on) ? session.oracle.declarationAt(on) : undefined;
  if (!source || on === expression || !ts.isVariableDeclaration(source)) return false;
  const turns = loopOfTurn(source);
  if (turns) {
    const list = unwrap(turns.expression);
    // what an empty one gets from the table is seen there
    return isOwnList(session, list) || emptyAtFirst(session, list) !== undefined;
  }
  const isConstant = (ts.getCombinedNodeFlags(source) & ts.NodeFlags.Const) !== 0;
  const made = isConstant ? source.initializer : undefined;
  if (!made) return false;
  return ts.isNewExpression(unwrap(made)) || session.freshness(made) === "fresh";
}

/** `table.get(key)` or `table[key]` that is looked at, under another name too; no test of it. */
function onlyReads(
  session: Session,
  table: ts.Expression,
  updates: boolean,
  tests: boolean,
): boolean {
  const { parent } = table;
  const got = entryOf(table);
  if (!got)
    return (
      ts.isPropertyAccessExpression(parent) &&
      (/^(size|length)$/.test(parent.name.text) ||
        (updates && /^(set|push|(find|findLast)Index)$/.test(parent.name.text)))
    );
  return isTarget(got) ? updates : onlyLooked(session, got, tests);
}

/** The `old` of `const old = table.get(key); table.set(key, old.add(x))`, by way of other names. */
function oldOf(session: Session, put: Put): ts.Identifier | undefined {
  const find = (inner: ts.Node, hops: number): ts.Identifier | undefined => {
    if (!ts.isIdentifier(inner) || isTarget(inner))
      return ts.forEachChild(inner, (child) => find(child, hops));
    const made = hops < 3 ? madeOf(session, inner) : inner;
    return nameOfEntry(session, inner, put) ?? (made === inner ? undefined : find(made, hops + 1));
  };
  return find(put.value, 0);
}

/** Whether nothing ends or hands on an old value that has a name. */
function leavesNamed(
  session: Session,
  home: FunctionWithBody,
  { node, table }: Put,
  old: ts.Identifier,
): boolean {
  if (!onlyLooks(session, old, true)) return false;
  const speaks = (inner: ts.Node): boolean =>
    ts.isExpression(inner) && samePlace(session.oracle, inner, table);
  const copies = (at: ts.Node): boolean =>
    (ts.isSpreadElement(at) || ts.isSpreadAssignment(at)) && someWithin(at, speaks);
  return !someWithin(home.body, (inner) => {
    if (copies(inner)) return true; // the copy may be ended
    if (!ts.isCallExpression(inner) || inner === node) return false;
    const frees =
      soundsFreeing(inner) &&
      someWithin(inner, speaks) &&
      !isOfOtherEntry(session, inner, table, old);
    const { body } = session.oracle.callee(inner);
    return frees || (body !== undefined && !within(node, body) && someWithin(body.body, speaks));
  });
}

/** `table.get(n)?.dispose()` beside a walk over the table, where `n` comes from before it. */
function isOfOtherEntry(
  { oracle }: Session,
  { expression }: ts.CallExpression,
  table: ts.Expression,
  old: ts.Identifier,
): boolean {
  const walk = ts.findAncestor(old, ts.isForOfStatement);
  const on = ts.isPropertyAccessExpression(expression) ? unwrap(expression.expression) : undefined;
  const holder = on && ts.isCallExpression(on) ? on.expression : on;
  if (!walk || !holder || within(holder, walk)) return false;
  return (
    (ts.isElementAccessExpression(holder) || ts.isPropertyAccessExpression(holder)) &&
    samePlace(oracle, holder.expression, table) &&
    entryOf(holder.expression) === on
  );
}

/** What a name for a new value is made of: `next` of `const next = old.add(x)`. */
function madeOf(session: Session, value: ts.Expression): ts.Expression {
  const bare = unwrap(value);
  const source = ts.isIdentifier(bare) ? session.oracle.declarationAt(bare) : undefined;
  return source && ts.isVariableDeclaration(source) && source.initializer
    ? source.initializer
    : value;
}

/** `table.get(key)` of `table.get(key) ?? first`. */
function firstOf(value: ts.Expression): ts.Expression {
  const bare = unwrap(value);
  const isOr =
    ts.isBinaryExpression(bare) && bare.operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken;
  return isOr ? unwrap(bare.left) : bare;
}

/** The declaration of a name for an entry: `old = table.get(key)`, `[key, old] of table`. */
function nameOfEntry(
  session: Session,
  id: ts.Identifier,
  { table, key }: Put,
): ts.Identifier | undefined {
  const source = session.oracle.declarationAt(id);
  if (!source) return undefined;
  if (ts.isBindingElement(source)) {
    const list = source.parent.parent.parent;
    const walked = ts.isVariableDeclarationList(list) && ts.isForOfStatement(list.parent);
    const isValue = ts.isArrayBindingPattern(source.parent) && source.parent.elements[1] === source;
    return walked &&
      isValue &&
      samePlace(session.oracle, list.parent.expression, table) &&
      ts.isIdentifier(source.name)
      ? source.name
      : undefined;
  }
  if (!ts.isVariableDeclaration(source) || !source.initializer) return undefined;
  const bare = firstOf(source.initializer);
  if (!ts.isIdentifier(source.name)) return undefined;
  const holder = ts.isCallExpression(bare) ? bare.expression : bare;
  const isEntry =
    (ts.isElementAccessExpression(holder) || ts.isPropertyAccessExpression(holder)) &&
    samePlace(session.oracle, holder.expression, table) &&
    entryOf(holder.expression) === bare;
  return isEntry && !isOtherKey(bare, key) ? source.name : undefined;
}

/** `table.get("first")` is no `table.get(k)`. */
function isOtherKey(entry: ts.Expression, key: ts.Expression): boolean {
  const asked = ts.isCallExpression(entry)
    ? entry.arguments[0]
    : ts.isElementAccessExpression(entry)
      ? entry.argumentExpression
      : undefined;
  const isWritten = (at: ts.Expression): boolean =>
    ts.isStringLiteralLike(at) || ts.isNumericLiteral(at);
  if (!asked || !(isWritten(asked) || isWritten(key))) return false;
  return asked.getText() !== key.getText();
}
