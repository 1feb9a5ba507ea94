/**
 * Taken fields: fields in which a class keeps values that it is given and ends itself:
 * `show(x) { this.#last?.dispose(); this.#last = x; }`. Who ends a value owns it, so that these are
 * fields of the class's own from there on, as are those that get what another one held:
 * `this.back = this.front; this.front = make()`. Used by `slots.ts`, whose slots the dataflow
 * follows, and by the rule about members.
 */
import ts from "typescript";
import { isHolder } from "../../owner.ts";
import { enclosingFunction, fateOf } from "../transfer/fate.ts";
import { ownsElements } from "./ended-elements.ts";
import { fieldOfThis, ownedMembers, type Member } from "./members.ts";
import { visitVerb } from "../flow/mention-events.ts";
import type { Owned } from "../program/oracle.ts";
import type { Session } from "../session.ts";
import { isRefilledAfter } from "./refilled.ts";
import {
  isEmptyContainer,
  isNullish,
  isPrivate,
  isTarget,
  memberName,
  someWithin,
  unwrap,
  valueGiven,
  within,
  isStatic,
} from "../program/syntax.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";

/**
 * The fields of a class that it ends, and that are given parameters of its methods, where
 * nobody else has them in hand, or what another field of its own held.
 */
export function takenFields(session: Session, node: ts.ClassLikeDeclaration): Member[] {
  const own = new Set(ownedMembers(session, node).map((m) => m.name));
  const fields = session.oracle.facts.of(node, fieldsOf);
  const found: Member[] = [];
  // what gets the value of a field that is found is found in the next turn
  for (let before = -1; before < found.length;) {
    before = found.length;
    for (const field of fields) {
      const isKnown = found.some(({ name }) => name === field.name);
      const taken = isKnown ? undefined : takenIn(session, field, own);
      if (taken) found.push(taken);
    }
    for (const { name } of found) own.add(name);
  }
  return found.sort((a, b) => orderOf(fields, a) - orderOf(fields, b));
}

const orderOf = (fields: readonly Field[], { name }: Member): number =>
  fields.findIndex((field) => field.name === name);

/** What a field takes over, of which those of some names are the class's own. */
function takenIn(session: Session, field: Field, own: ReadonlySet<string>): Member | undefined {
  const { name, stores, mentions } = field;
  const values = stores.map(unwrap).filter((v) => !isNullish(v) && !isEmptyContainer(v));
  const isOther = (v: ts.Expression): boolean => isMoved(v) && own.has(fieldOfThis(v)!.name.text);
  const makes = values.filter(
    (v) => isOther(v) || (isHidden(session, field) && isGiven(session, v)),
  );
  const [at] = makes;
  const owned = at && ownedIn(session, mentions);
  if (!owned || !isAgreedOn(session, owned)) return undefined;
  const isOwn = (v: ts.Expression): boolean =>
    makes.includes(v) || session.freshness(v) === "fresh" || isTakenOut(session, v);
  if (!values.every(isOwn)) return undefined;
  const ends = mentions.filter((m) => endsAll(session, m) || isPutAway(session, m));
  if (ends.length === 0 || !ends.every((m) => isAlways(m))) return undefined;
  const inConstructor = ts.isConstructorDeclaration(enclosingFunction(at) ?? at);
  return { name, at, makes, owned, atOnce: inConstructor, inConstructor };
}

/** All fields in which a class keeps what is its own to end. */
export const keptMembers = (session: Session, node: ts.ClassLikeDeclaration): Member[] => [
  ...ownedMembers(session, node),
  ...takenFields(session, node),
];

/** A field, what it is given, and what speaks of it. */
export interface Field {
  name: string;
  member: ts.PropertyDeclaration;
  stores: readonly ts.Expression[];
  mentions: readonly ts.PropertyAccessExpression[];
}

/** The fields of a class that it declares, and what it says of them. */
export function fieldsOf(node: ts.ClassLikeDeclaration): readonly Field[] {
  const mentions = new Map<string, ts.PropertyAccessExpression[]>();
  const visit = (inner: ts.Node): void => {
    ts.forEachChild(inner, visit);
    const access = fieldOfThis(inner);
    if (!access) return;
    const list = mentions.get(access.name.text);
    if (list) list.push(access);
    else mentions.set(access.name.text, [access]);
  };
  node.members.forEach(visit);
  return node.members.flatMap((member) => {
    if (!ts.isPropertyDeclaration(member) || isStatic(member)) return [];
    const name = memberName(member.name);
    const all = mentions.get(name) ?? [];
    const assigned = all.filter(isTarget).map(({ parent }) => parent);
    if (!assigned.every(isPlainStore)) return [];
    const given = member.initializer ? [member.initializer] : [];
    const stores = [...given, ...assigned.map(valueGiven)];
    return [{ name, member, stores, mentions: all }];
  });
}

/** Whether nobody but the class ends what a field holds, fills it, or has it in hand. */
export function isHidden(session: Session, { member, name }: Field): boolean {
  if (isPrivate(member)) return true;
  const file = member.getSourceFile();
  if ((ts.getCombinedModifierFlags(member.parent) & ts.ModifierFlags.Export) !== 0) return false;
  return session.oracle.facts
    .nodes<ts.PropertyAccessExpression>(file, ts.SyntaxKind.PropertyAccessExpression)
    .filter((at) => at.name.text === name && !within(at, member.parent))
    .every((at) => !isTarget(at) && onlyLooksAt(session.transfer(at).effect));
}

const isPlainStore = (node: ts.Node): node is ts.BinaryExpression =>
  ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken;

/**
 * Whether a field gives what it holds to another one, and is filled anew by the same function:
 * `this.back = this.front; this.front = next`.
 */
export function isMoved(value: ts.Expression): boolean {
  const field = fieldOfThis(value);
  const store = value.parent;
  const fn = enclosingFunction(value);
  if (!field || !fn || !isPlainStore(store) || store.right !== value) return false;
  const given = fieldOfThis(store.left);
  return given !== undefined && given.name.text !== field.name.text && someWithin(fn, isFilled);
  function isFilled(node: ts.Node): boolean {
    return (
      node.pos > store.end && isTarget(node) && fieldOfThis(node)?.name.text === field?.name.text
    );
  }
}

/** A parameter of the method itself that it is written in. */
function isGiven(session: Session, value: ts.Expression): boolean {
  const fn = enclosingFunction(value);
  return fn !== undefined && ts.isClassElement(fn) && isParameterOf(session, value, fn);
}

/** Whether a value is a parameter of a function that owned values are given by. */
export function isParameterOf({ oracle }: Session, value: ts.Expression, fn: ts.Node): boolean {
  const source = ts.isIdentifier(value) ? oracle.declarationAt(value) : undefined;
  return (
    source !== undefined &&
    ts.isParameter(source) &&
    source.parent === fn &&
    oracle.ownedAt(value) !== null
  );
}

function ownedIn({ oracle }: Session, mentions: readonly ts.Expression[]): Owned | undefined {
  for (const mention of mentions) {
    const owned = oracle.ownedAt(mention);
    if (owned) return owned.shape === "one" ? owned : undefined;
  }
  return undefined;
}

/** By a library, or an object of the program's own. */
const isAgreedOn = ({ settings }: Session, { owner }: Owned): boolean =>
  owner.policy !== "generic" || isHolder(owner, settings);

/** `const last = this.past.pop(); …; this.x = last;`, of a list whose elements the class ends. */
function isTakenOut(session: Session, value: ts.Expression): boolean {
  const source = ts.isIdentifier(value) ? session.oracle.declarationAt(value) : undefined;
  const start = source && ts.isVariableDeclaration(source) ? source.initializer : undefined;
  const call = unwrap(start ?? value);
  if (!ts.isCallExpression(call) || !ts.isPropertyAccessExpression(call.expression)) return false;
  const { name, expression: list } = call.expression;
  return /^(pop|shift)$/.test(name.text) && ownsElements(session, list);
}

/** `this.past.push(this.x); this.x = next;`: the list ends what the field had. */
export function isPutAway(session: Session, mention: ts.Expression): boolean {
  const { kind, node } = fateOf(mention);
  if (kind !== "argument" || !ts.isCallExpression(node) || !isRefilledAfter(mention)) return false;
  const { expression: method } = node;
  return (
    ts.isPropertyAccessExpression(method) &&
    /^(push|unshift)$/.test(method.name.text) &&
    ownsElements(session, method.expression)
  );
}

function endsAll(session: Session, mention: ts.Expression): boolean {
  if (isTarget(mention)) return false;
  const { effect, fate } = session.transfer(mention);
  return effect === "disposes" || (effect === "visits" && visitVerb(session, fate) === "dispose");
}

/** In a method itself, and on no condition but the value's own. */
function isAlways(mention: ts.Expression): boolean {
  const fn = enclosingFunction(mention);
  return fn !== undefined && ts.isClassElement(fn) && isUnconditional(mention);
}

/** Not `if (this.#owns) this.#x.dispose()`: nothing but the value itself decides. */
export function isUnconditional(mention: ts.Expression): boolean {
  const fn = enclosingFunction(mention);
  for (let at: ts.Node = mention; at !== fn && (at.parent as ts.Node | undefined); at = at.parent) {
    const test = testOf(at.parent);
    if (test && !within(mention, test) && !test.getText().includes(mention.getText())) return false;
  }
  return true;
}

function testOf(node: ts.Node): ts.Expression | undefined {
  if (ts.isIfStatement(node)) return node.expression;
  if (ts.isConditionalExpression(node)) return node.condition;
  return ts.isBinaryExpression(node) ? node.left : undefined;
}
