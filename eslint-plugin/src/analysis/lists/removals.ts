/**
 * Removals: where an element leaves its container (`delete o[k]`, `map.delete(k)`, `map.clear()`,
 * `xs.length = 0`, a dropped `xs.pop()`) and nothing else in the function has had it in hand. Used
 * by the rule for dropped elements.
 */
import ts from "typescript";
import { isAnything } from "../../owner.ts";
import { functionHanded } from "../program/callee.ts";
import { handedTo } from "../transfer/callbacks.ts";
import { containerMethod, puts } from "../program/containers.ts";
import {
  endsOwnElements,
  isHandedOut,
  losesEnded,
  objectOwnsElements,
  ownsElements,
} from "../objects/ended-elements.ts";
import { isGoneWithDevice } from "../objects/gone-devices.ts";
import { isMadeToEnd } from "../objects/left-fields.ts";
import { referencesTo } from "../program/references.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";
import { enclosingFunction, fateOf } from "../transfer/fate.ts";
import { isOwnList } from "../fresh/fresh-variables.ts";
import { looksAtEntry } from "../transfer/looked-at.ts";
import { fieldOfThis, mentionsField, ownedMembers } from "../objects/members.ts";
import type { Owned } from "../program/oracle.ts";
import { isView, putInto, wholeOf } from "./inner-lists.ts";
import { isCopied } from "./left-out.ts";
import { isRejected } from "./rejected-entries.ts";
import { isKeptTwice } from "./kept-twice.ts";
import { endsBefore } from "./ended-first.ts";
import { endsOtherKey, isOfOtherKey } from "./other-keys.ts";
import { looksInLoop, looksThrough } from "./looked-through.ts";
import { visitVerb } from "../flow/mention-events.ts";
import { samePlace } from "../program/same-place.ts";
import { isShared, sharedPlace } from "../flow/shared-places.ts";
import type { Session } from "../session.ts";
import { isCut } from "./set-lengths.ts";
import { isRefMaker } from "../flow/slots.ts";
import {
  calleeNameNode,
  isEmptyContainer,
  isPatternOfPlaces,
  isStatic,
  rootOf,
  someWithin,
  unwrap,
  variableName,
  within,
} from "../program/syntax.ts";
import { comesToAnother, endOfReach } from "./removal-ways.ts";
import { isLostWhenTaken, isUnpacked } from "./taken-out.ts";
import { isOnOtherWay } from "../program/ways.ts";

/** One or all values taken out of a container. */
export interface Removal {
  kind: "deleted" | "cleared" | "cut" | "popped";
  node: ts.DeleteExpression | ts.CallExpression | ts.BinaryExpression;
  /** What held the value. */
  container: ts.Expression;
  /** The container is a variable of the function, all of whose values are the function's. */
  local: boolean;
  /** How the value is reached while it is still there; the container itself for all of them. */
  reached: string;
  owned: Owned;
}

/** The removal a node is, unless somebody may have disposed or taken the value before. */
export function removalAt(session: Session, node: ts.Node): Removal | null {
  const found = ts.isDeleteExpression(node)
    ? deletedKey(session, node)
    : ts.isCallExpression(node)
      ? removedByMethod(session, node)
      : ts.isBinaryExpression(node)
        ? emptied(session, node)
        : null;
  if (!found) return null;
  const local = isOwnList(session, found.container);
  if (!local && !holds(session, found.container) && !isGivenToEnd(session, found.container))
    return null;
  if (isAnything(found.owned.owner) && !local) return null; // who takes it out may have it in hand
  const lent = found.owned.owner.policy === "generic" && !local;
  if (lent && !isFilled(session, found.container) && !ownsElements(session, found.container))
    return null;
  if (isAtHand(session, found) || isOfLost(session, found) || isUnpacked(found.container))
    return null;
  const key = keyOf(found);
  if (key && isRejected(session, node, found.container, key)) return null;
  if (isShared(session, found.container) && endsBefore(session, node)) return null;
  const isKept = mentionedElsewhere(session, found) || isKeptTwice(session, found);
  return isKept ? null : { ...found, local };
}

type Found = Omit<Removal, "local">;

function deletedKey(session: Session, node: ts.DeleteExpression): Found | null {
  const target = node.expression;
  if (!ts.isElementAccessExpression(target) && !ts.isPropertyAccessExpression(target)) return null;
  const owned = session.oracle.ownedAt(target);
  if (!owned || owned.shape === "many") return null;
  const container = target.expression;
  return { kind: "deleted", node, container, reached: target.getText(), owned };
}

function removedByMethod(session: Session, node: ts.CallExpression): Found | null {
  const target = node.expression;
  if (!ts.isPropertyAccessExpression(target)) return null;
  const method = target.name.text;
  if (!["delete", "clear", "pop", "shift", "splice"].includes(method)) return null;
  const container = target.expression;
  const owned = session.oracle.ownedAt(container);
  if (owned?.shape !== "many" || !session.oracle.callee(node).builtin) return null;
  if (method === "clear")
    return {
      kind: "cleared",
      node,
      container,
      reached: `${container.getText()}.values()`,
      owned,
    };
  if (method === "delete") {
    if (session.oracle.typeName(container) !== "Map") return null;
    const key = node.arguments[0]?.getText() ?? "";
    return {
      kind: "deleted",
      node,
      container,
      reached: `${container.getText()}.get(${key})`,
      owned,
    };
  }
  const removed = method === "splice" ? node.arguments[1] : undefined;
  if (removed && ts.isNumericLiteral(removed) && removed.text === "0") return null;
  if (!isLostWhenTaken(session, node)) return null;
  return { kind: "popped", node, container, reached: node.getText(), owned };
}

/** `xs.length = 0` is how arrays are emptied or cut; `this.xs = []` may be. */
function emptied(session: Session, node: ts.BinaryExpression): Found | null {
  const { left, right } = node;
  if (losesEnded(session, node)) {
    const owned = session.oracle.ownedAt(left);
    const kind = isEmptyContainer(unwrap(right)) ? "cleared" : "cut";
    return owned && { kind, node, container: left, reached: left.getText(), owned };
  }
  if (
    !/^-?=$/.test(node.operatorToken.getText()) ||
    !ts.isPropertyAccessExpression(left) ||
    left.name.text !== "length"
  )
    return null;
  const isSet = node.operatorToken.kind === ts.SyntaxKind.EqualsToken;
  const all = isSet && ts.isNumericLiteral(right) && Number(right.text) === 0;
  if (isSet && !all && !isCut(session, left, node)) return null;
  const container = left.expression;
  const owned = session.oracle.ownedAt(container);
  return owned?.shape === "many"
    ? { kind: all ? "cleared" : "cut", node, container, reached: container.getText(), owned }
    : null;
}

/**
 * Fields and module variables hold what they contain; a local list may well be a view of something
 * else.
 */
function holds(session: Session, container: ts.Expression): boolean {
  if (endsOwnElements(session, container)) return true;
  const whole = wholeOf(session, container);
  if (whole) return ownsElements(session, whole);
  if (isStaticField(session, container)) return true;
  const shared = sharedPlace(session, container);
  if (shared?.owned.shape === "many") return !shared.mentions.some(isHandedOut);
  if (ts.isPropertyAccessExpression(container))
    return (
      container.expression.kind === ts.SyntaxKind.ThisKeyword ||
      isFilledRecord(session, container) ||
      objectOwnsElements(session, container)
    );
  const declaration = ts.isIdentifier(container)
    ? session.oracle.declarationAt(container)
    : undefined;
  return (
    declaration !== undefined &&
    ts.isVariableDeclaration(declaration) &&
    !enclosingFunction(declaration)
  );
}

/** `Cache.all`, `this.all` in a static method: a class has it once, as a module its variables. */
export function isStaticField({ oracle }: Session, place: ts.Expression): boolean {
  const at = ts.isPropertyAccessExpression(place) ? oracle.declarationAt(place.name) : undefined;
  return at !== undefined && ts.isPropertyDeclaration(at) && isStatic(at);
}

/** A list that a function called `release` is given: to end it is what the function is for. */
function isGivenToEnd(session: Session, container: ts.Expression): boolean {
  const declaration = ts.isIdentifier(container)
    ? session.oracle.declarationAt(container)
    : undefined;
  return (
    declaration !== undefined &&
    ts.isParameter(declaration) &&
    declaration.parent === enclosingFunction(container) &&
    isMadeToEnd(declaration.parent)
  );
}

/**
 * `state.frames`, `this.store.past`: a list in an object of the module or in a field, which the
 * program fills with values of its own; and that of any object which a function fills so.
 */
function isFilledRecord(session: Session, container: ts.PropertyAccessExpression): boolean {
  const { expression } = container;
  if (!fieldOfThis(expression) && !ts.isIdentifier(expression)) return false;
  const isFresh = (value: ts.Expression): boolean => session.freshness(value) === "fresh";
  const put = putInto(session, container);
  const isKnown =
    fieldOfThis(expression) !== undefined ||
    holds(session, expression) ||
    (ts.isIdentifier(expression) && isRef(session, expression));
  const isOwn = (value: ts.Expression): boolean => isFresh(value) && isNowhereElse(session, value);
  return isKnown ? put.some(isOwn) : put.length > 0 && put.every(isOwn);
}

/** Whether a value that is put somewhere has no name, or all else that is done to it is a look. */
export function isNowhereElse(session: Session, value: ts.Expression): boolean {
  const bare = unwrap(value);
  if (!ts.isIdentifier(bare)) return true;
  const declaration = session.oracle.declarationAt(bare);
  const name = declaration && variableName(declaration);
  const home = enclosingFunction(bare);
  if (!declaration || !name || !home) return false;
  const stays = (id: ts.Identifier): boolean =>
    id === bare || id === name || onlyLooksAt(session.transfer(id).effect);
  return referencesTo(session.oracle, declaration, name, home).every(
    (id) => stays(id) || isOnOtherWay(id, bare),
  );
}

/** A ref, whose list outlives the function that makes it. */
function isRef({ oracle }: Session, id: ts.Identifier): boolean {
  const declaration = oracle.declarationAt(id);
  return (
    declaration !== undefined &&
    ts.isVariableDeclaration(declaration) &&
    isRefMaker(declaration.initializer)
  );
}

/**
 * `all.delete(job)`, `delete all[job.id]`, where `job` is of what `all` holds: who takes it out
 * has it in hand, and it may be its own end that does so, as in `new Job((id) => all.delete(id))`.
 */
function isAtHand({ oracle }: Session, found: Found): boolean {
  const { kind, node, owned } = found;
  if (kind !== "deleted" || owned.owner.policy !== "generic" || ts.isBinaryExpression(node))
    return false;
  const fn = enclosingFunction(node);
  const made = fn && handedTo(fn);
  if (made && ts.isNewExpression(made) && oracle.ownedAt(made)?.owner === owned.owner) return true;
  const key = keyOf(found);
  if (!key) return false;
  const at = oracle.ownedAt(ts.isPropertyAccessExpression(key) ? key.expression : key);
  return at?.shape === "one" && at.owner === owned.owner;
}

/** The `key` of `all.delete(key)` and `delete all[key]`. */
function keyOf({ kind, node }: Found): ts.Expression | undefined {
  if (kind !== "deleted" || ts.isBinaryExpression(node)) return undefined;
  if (ts.isCallExpression(node)) return node.arguments[0];
  const { expression } = node;
  return ts.isElementAccessExpression(expression) ? expression.argumentExpression : undefined;
}

/** `loseDevice() { this.buffers.clear(); }`: what a lost device made is gone with it. */
function isOfLost(session: Session, { node, owned, container }: Found): boolean {
  if (owned.owner.policy !== "generic") return false;
  const isNamed = ts.isIdentifier(container) || ts.isPropertyAccessExpression(container);
  return isGoneWithDevice(session, node, isNamed ? putInto(session, container) : []);
}

/** Whether a field holds what its class made; who gives something to a list may want it back. */
function isFilled(session: Session, container: ts.Expression): boolean {
  const place = ts.findAncestor(container, ts.isClassLike);
  const field = fieldOfThis(container)?.name.text;
  // a variable of the module
  if (field === undefined) return !ts.isIdentifier(container) || !isView(session, container);
  return place !== undefined && ownedMembers(session, place).some((m) => m.name === field);
}

/**
 * Whether the function mentions the element or the container elsewhere: it may have been disposed
 * or taken out there. What has left is out of the reach of what comes later, but for the next turn.
 */
function mentionedElsewhere(session: Session, found: Found): boolean {
  const { node, container } = found;
  const root: ts.Node = enclosingFunction(node) ?? node.getSourceFile();
  const last = endOfReach(session, found, root);
  const key = keyOf(found);
  const visit = (inner: ts.Node): boolean => {
    if (inner === node || inner.pos >= last) return false;
    if (ts.isIdentifier(inner) && isDeclared(inner)) return false;
    const isMention =
      (ts.isPropertyAccessExpression(inner) || ts.isIdentifier(inner)) &&
      samePlace(session.oracle, inner, container) &&
      mayTake(session, inner) &&
      !keepsInPlace(session, inner, found) &&
      !(key && isOfOtherKey(session, inner, key)) &&
      !takesOneOfAll(inner, found) &&
      !looksAtEntry(session, inner) &&
      !looksThrough(session, inner, node);
    const isWalk = goesOverThis(inner) && fieldOfThis(container) !== undefined;
    const takes =
      isMention || isWalk || (ts.isCallExpression(inner) && givesOrEnds(session, inner, found));
    if (takes && !isOnOtherWay(inner, node) && !comesToAnother(session, inner, found)) return true;
    return ts.forEachChild(inner, (child) => visit(child) || undefined) ?? false;
  };
  return ts.forEachChild(root, (child) => visit(child) || undefined) ?? false;
}

/** `const [first] = this.saved; …; this.saved.length = 0;`: the others are still in it. */
function takesOneOfAll(mention: ts.Expression, { kind }: Found): boolean {
  const { kind: use, node } = fateOf(mention);
  const isPattern =
    use === "bound" && ts.isVariableDeclaration(node) && isPatternOfPlaces(node.name);
  const names = isPattern && ts.isArrayBindingPattern(node.name) ? node.name.elements : [];
  return kind === "cleared" && names.length === 1;
}

/** `for (const part of this)`, `[...this]`: what the object has its own iterator for. */
const goesOverThis = ({ kind, parent }: ts.Node): boolean =>
  kind === ts.SyntaxKind.ThisKeyword && (ts.isForOfStatement(parent) || ts.isSpreadElement(parent));

/** `const kept = xs.filter((x) => x.size > 1); xs.splice(0, xs.length, ...kept);` */
function keepsInPlace(session: Session, list: ts.Expression, { node }: Found): boolean {
  const { kind, member, node: call } = fateOf(list);
  if (kind !== "receiver" || !/^(filter|slice)$/.test(member) || !ts.isCallExpression(call))
    return false;
  const [callback] = call.arguments;
  const fn = member === "filter" && callback ? functionHanded(session.oracle, callback) : undefined;
  const effect = fn && session.summary(fn).parameters[0];
  if (member === "filter" && (!effect || effect.disposes || effect.stores)) return false;
  const { kind: how, node: at } = fateOf(call);
  if (how !== "bound" || !ts.isVariableDeclaration(at) || !ts.isIdentifier(at.name))
    return within(call, node);
  const ids = referencesTo(session.oracle, at, at.name, enclosingFunction(at) ?? node);
  return ids.every((id) => within(id, node) || fateOf(id).member === "length");
}

/** `this.lookup(key)`, `this.end(key)`: a function of the program that speaks of the container. */
function givesOrEnds(session: Session, call: ts.CallExpression, found: Found): boolean {
  const { container, node } = found;
  const field = fieldOfThis(container);
  const { body } = session.oracle.callee(call);
  const key = keyOf(found);
  if (body && key && endsOtherKey(session, call, body, container, key)) return false;
  if (body && !field && call.arguments.some((a) => isHolderOf(session, a, container))) return true;
  if (body && !field && asksHolder(session, call, container, body)) return true;
  if (body && !field)
    return someWithin(
      body,
      (at) =>
        (ts.isIdentifier(at) || ts.isPropertyAccessExpression(at)) &&
        samePlace(session.oracle, at, container) &&
        mayTake(session, at),
    );
  if (!field || !body || !hasThis(call)) return false;
  if (session.oracle.ownedAt(call) && fateOf(call).kind === "dropped") return false;
  return mentionsField(session.oracle.facts, body, field.name.text, (at) => {
    const mention = fieldOfThis(at);
    if (mention?.name.text !== field.name.text) return false;
    return !mayTake(session, mention) || looksThrough(session, mention, node);
  });
}

/** `this.book` beside `this.book.windows`: who is given it may take out of the list. */
const isHolderOf = (session: Session, given: ts.Expression, list: ts.Expression): boolean =>
  ts.isPropertyAccessExpression(list) && samePlace(session.oracle, unwrap(given), list.expression);

/** `session.flush()` beside `session.outbox`: a method that speaks of the list. */
const asksHolder = (
  session: Session,
  { expression: asked }: ts.CallExpression,
  list: ts.Expression,
  body: ts.Node,
): boolean =>
  ts.isPropertyAccessExpression(list) &&
  ts.isPropertyAccessExpression(asked) &&
  samePlace(session.oracle, asked.expression, list.expression) &&
  mentionsField(session.oracle.facts, body, list.name.text, (at) => {
    const mention = fieldOfThis(at);
    return mention?.name.text === list.name.text && !mayTake(session, mention);
  });

const hasThis = ({ expression }: ts.CallExpression): boolean =>
  rootOf(expression).kind === ts.SyntaxKind.ThisKeyword;

const isDeclared = (id: ts.Identifier): boolean =>
  (ts.isVariableDeclaration(id.parent) || ts.isParameter(id.parent)) && id.parent.name === id;

/** Methods of containers that hand nothing out. */
const handsNothingOut = (name: string): boolean =>
  puts(name) || containerMethod(name) === "asks" || name === "delete";

/** Membership tests, sizes, writes and plain checks do not free anything. */
function mayTake(session: Session, container: ts.Expression): boolean {
  const fate = fateOf(container);
  if (fate.kind === "argument") return !onlyLooksAt(session.transfer(container).effect);
  if (looksInLoop(session, container)) return false;
  if (
    fate.kind === "receiver" &&
    ["values", "entries"].includes(fate.member) &&
    ts.isForOfStatement(fate.node.parent) &&
    isEmpty(fate.node.parent.statement)
  )
    return false;
  if (isCopied(session, container)) return false;
  if (fate.kind === "receiver" && /^(sort|reverse)$/.test(fate.member))
    return fateOf(fate.node as ts.Expression).kind !== "dropped";
  if (fate.kind === "receiver" && /^(forEach|some|every|find(Last)?Index)$/.test(fate.member))
    // records may be ended by parts of their parts
    return (
      visitVerb(session, fate) !== "use" || session.oracle.ownedAt(container)?.each === "record"
    );
  if (fate.kind === "receiver") return !handsNothingOut(fate.member) && !isPutBetween(fate.node);
  if (fate.kind === "read" || fate.kind === "operand" || fate.kind === "unknown") return false;
  if (fate.kind !== "element") return true;
  const access = fate.node as ts.ElementAccessExpression;
  const inner = fateOf(access);
  if (inner.kind === "operand" || ts.isDeleteExpression(access.parent)) return false;
  if (ts.isBinaryExpression(access.parent) && access.parent.left === access) return false;
  return inner.kind !== "receiver" || isDisposerName(inner.member);
}

/** `xs.splice(at, 0, x)`, which takes nothing out. */
const isPutBetween = (call: ts.Node): boolean =>
  ts.isCallExpression(call) &&
  calleeNameNode(call)?.text === "splice" &&
  call.arguments[1]?.getText() === "0";

/** A loop that does nothing takes nothing. */
const isEmpty = (node: ts.Statement): boolean =>
  ts.isEmptyStatement(node) || (ts.isBlock(node) && node.statements.length === 0);
const isDisposerName = (name: string): boolean =>
  ["dispose", "destroy", "close", "moveToOuter", "detachFromScope"].includes(name);
