/**
 * Members: the fields in which a class keeps values it made itself, who else has them in hand, and
 * which methods speak of them. Pure questions about one class; used by the rules about fields.
 */
import ts from "typescript";
import { endedByGetter } from "./getters.ts";
import { freshnessGiven } from "./given-new.ts";
import { isPointer } from "./pointers.ts";
import { putValues, puts } from "../program/containers.ts";
import type { Facts } from "../program/facts.ts";
import { enclosingFunction, returnsOf } from "../transfer/fate.ts";
import { joinAll } from "../fresh/join.ts";
import { entryOf } from "../transfer/looked-at.ts";
import { isOfLastingScope } from "../scopes/owning-scopes.ts";
import type { Transfer } from "../transfer/mention.ts";
import type { Owned } from "../program/oracle.ts";
import { referencesTo } from "../program/references.ts";
import { storesOf } from "../program/pattern-stores.ts";
import { isSwapped } from "../program/swaps.ts";
import type { Freshness, Session } from "../session.ts";
import { lineage } from "./holders.ts";
import { storedIn } from "../program/setters.ts";
import { addedByName, spreadBack } from "../lists/spread-back.ts";
import { onlyLooksAt, type Effect } from "../transfer/transfer.ts";
import {
  hasBody,
  isEmptyContainer,
  isNullish,
  isSelf,
  isTarget,
  memberName,
  reachedOf,
  someWithin,
  unwrap,
  variableName,
  isStatic,
} from "../program/syntax.ts";

/** A field of a class that holds something the class made. */
export interface Member {
  name: string;
  /** The expression that makes the value, or one of them. */
  at: ts.Expression;
  /** All expressions that make one. */
  makes: ts.Expression[];
  owned: Owned;
  /** Made by the constructor or with the declaration, so that it is never empty. */
  atOnce: boolean;
  inConstructor: boolean;
}

/**
 * Fields assigned a fresh value anywhere in the class, and containers in fields that one is put
 * into. A field that is also given somebody else's value is none of them.
 */
export const ownedMembers = (session: Session, node: ts.ClassLikeDeclaration): readonly Member[] =>
  session.once(node, membersOf);

function membersOf(session: Session, node: ts.ClassLikeDeclaration): readonly Member[] {
  const found = new Map<string, Member>();
  const shared = new Set<string>();
  const mixed = new Set<string>();
  const above = node.heritageClauses ? lineage(node, session.oracle).slice(1) : [];
  const note = (given: string, value: ts.Expression, place: ts.Node, held?: Owned): void => {
    const name = storedIn(node, given);
    if (name === undefined || above.some((base) => storedIn(base, given) !== given)) return;
    const own = session.oracle.ownedAt(value);
    const owned = own && (held ?? own);
    if (!owned && !held && mayBeAnothers(session, value)) mixed.add(name);
    if (!owned) return;
    const state = held ? madeBeside(session, name, value) : freshnessGiven(session, node, value);
    const at = unwrap(value);
    if (isNullish(at) || isEmptyContainer(at)) return;
    if (state === "fresh" && isPointer(session, given, at)) return;
    if (state === "fresh" && held && isGiven(session, value, owned)) shared.add(name);
    else if (state === "fresh") {
      const inConstructor = ts.isConstructorDeclaration(place);
      const fn = inConstructor ? enclosingFunction(value) : undefined;
      const atOnce = fn === place || place === node;
      const known = found.get(name);
      known?.makes.push(at);
      if (known) known.atOnce ||= atOnce;
      else found.set(name, { name, at, makes: [at], owned, atOnce, inConstructor });
    } else if (state !== "unknown" && state !== "never") shared.add(name);
  };
  // `[this.a, this.b] = make()`
  const noteUnpacked = (store: ts.BinaryExpression, at: ts.Node): void => {
    for (const { place, value } of storesOf(store)) {
      const field = isSwapped(place) ? undefined : fieldOfThis(place);
      const held = field ? session.oracle.ownedAt(field) : null;
      if (field && held?.shape === "one") note(field.name.text, value, at, held);
    }
  };
  const visit = (inner: ts.Node, place: ts.Node): void => {
    if (ts.isClassLike(inner)) return;
    if (ts.isBinaryExpression(inner) && assigns(inner)) {
      const field = fieldOfThis(inner.left);
      const added =
        field && (spreadBack(session.oracle, inner) ?? addedByName(session.oracle, inner));
      const list = added && session.oracle.ownedAt(field);
      if (list) for (const value of added) note(field.name.text, value, place, list);
      else if (field && !isSwapped(field)) note(field.name.text, inner.right, place);
      if (!field) noteUnpacked(inner, place);
      const table = ts.isElementAccessExpression(inner.left) && fieldOfThis(inner.left.expression);
      const held = table ? session.oracle.ownedAt(table) : null;
      if (table && held?.shape === "many") note(table.name.text, inner.right, place, held);
    }
    const put = ts.isCallExpression(inner) ? putInto(session, inner) : undefined;
    if (put) for (const value of put.values) note(put.field, value, place, put.owned);
    ts.forEachChild(inner, (c) => visit(c, place));
  };
  for (const member of node.members) {
    const isField = ts.isPropertyDeclaration(member) && !isStatic(member);
    if (isField && member.initializer && !ts.isArrowFunction(member.initializer))
      note(memberName(member.name), member.initializer, node);
    ts.forEachChild(member, (c) => visit(c, member));
  }
  for (const name of [...shared, ...endedByGetter(session, node)]) found.delete(name);
  for (const name of mixed)
    if (found.get(name)?.owned.owner.policy === "generic") found.delete(name);
  return [...found.values()];
}

/** A parameter of no known type: `use(buffer) { this.buffer = buffer; }`. */
function mayBeAnothers({ oracle }: Session, value: ts.Expression): boolean {
  const bare = unwrap(value);
  const source = ts.isIdentifier(bare) ? oracle.declarationAt(bare) : undefined;
  return source !== undefined && ts.isParameter(source) && oracle.gives(bare, "anything");
}

/**
 * How fresh a value is that is put into a table: where it was found in the table itself, that says
 * nothing: `const t = this.all.get(key) ?? make(); this.all.set(key, t)`.
 */
function madeBeside(session: Session, field: string, value: ts.Expression): Freshness {
  const { oracle } = session;
  const bare = unwrap(value);
  const source = ts.isIdentifier(bare) ? oracle.declarationAt(bare) : undefined;
  const name = source && variableName(source);
  if (!name || !ts.isVariableDeclaration(source) || !source.initializer)
    return session.freshness(value);
  const stores = referencesTo(oracle, source, name, enclosingFunction(source) ?? source).flatMap(
    ({ parent }) => (ts.isBinaryExpression(parent) && isTarget(parent.left) ? [parent] : []),
  );
  const all = [source.initializer, ...stores.map((s) => s.right)].flatMap(armsOf);
  const isFound = (at: ts.Expression): boolean => {
    const access = ts.isCallExpression(at) ? at.expression : at;
    const table = ts.isPropertyAccessExpression(access) || ts.isElementAccessExpression(access);
    const holder = table ? fieldOfThis(access.expression) : undefined;
    return holder?.name.text === field && entryOf(holder) === at;
  };
  const others = all.filter((at) => !isFound(at) && !isNullish(at));
  return others.length < all.length && others.length > 0
    ? joinAll(others.map((at) => session.freshness(at)))
    : session.freshness(value);
}

/** The `a` and `b` of `a ?? b`. */
function armsOf(value: ts.Expression): ts.Expression[] {
  const bare = unwrap(value);
  return ts.isBinaryExpression(bare) &&
    bare.operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken
    ? [...armsOf(bare.left), ...armsOf(bare.right)]
    : [bare];
}

/** `all.set(id, job); return job;`: the list knows it, and the caller is to end it. */
function isGiven({ oracle }: Session, value: ts.Expression, { owner }: Owned): boolean {
  const named = unwrap(value);
  const home = enclosingFunction(value);
  if (owner.args !== "transfer" || !ts.isIdentifier(named) || !home || !hasBody(home)) return false;
  const declaration = oracle.declarationAt(named);
  return oracle.facts.of(home, returnsOf).some((given) => {
    const bare = unwrap(given);
    return ts.isIdentifier(bare) && oracle.declarationAt(bare) === declaration;
  });
}

/** Whether a class ends what a field holds somewhere, or hands it on, be it in a closure. */
export const isHandled = (
  session: Session,
  node: ts.ClassLikeDeclaration,
  field: string,
): boolean =>
  someWithin(node, (inner) => {
    const mention = fieldOfThis(inner);
    if (mention?.name.text !== field || isTarget(mention)) return false;
    const { effect } = session.transfer(mention);
    return !onlyLooksAt(effect) && effect !== "receives";
  });

/** `=` and `??=`, `||=`: what stands at the right may become the field's value. */
export const assigns = (node: ts.BinaryExpression): boolean =>
  node.operatorToken.kind === ts.SyntaxKind.EqualsToken ||
  node.operatorToken.kind === ts.SyntaxKind.QuestionQuestionEqualsToken ||
  node.operatorToken.kind === ts.SyntaxKind.BarBarEqualsToken;

/** `this.x`, when the expression is that. */
export const fieldOfThis = (node: ts.Node): ts.PropertyAccessExpression | undefined =>
  ts.isPropertyAccessExpression(node) && isSelf(node.expression) ? node : undefined;

/** `this.parts.push(t)`, `this.table.set(key, t)`: the field, and what it gets. */
function putInto(
  session: Session,
  call: ts.CallExpression,
): { field: string; values: readonly ts.Expression[]; owned: Owned } | undefined {
  const target = call.expression;
  if (!ts.isPropertyAccessExpression(target) || !puts(target.name.text)) return undefined;
  const container = fieldOfThis(target.expression);
  if (!container || !session.oracle.callee(call).builtin) return undefined;
  const owned = session.oracle.ownedAt(container);
  return owned?.shape === "many"
    ? { field: container.name.text, values: putValues(target.name.text, call.arguments), owned }
    : undefined;
}

/**
 * Whether the field is also put into a list, a table or somebody else's hands, which may do the
 * disposing.
 *
 * @param except effects that do not count
 * @param isLent tells of a mention that it is only used where it is handed to
 */
export function sharedElsewhere(
  session: Session,
  node: ts.ClassLikeDeclaration,
  field: string,
  except: readonly Effect[] = [],
  isLent?: (access: ts.Expression) => boolean,
): boolean {
  let found = false;
  const visit = (inner: ts.Node): void => {
    if (found) return;
    const access = fieldOfThis(inner);
    const isOf = access?.name.text === field && !isSwapped(access);
    if (isOf && isHandedOn(session.transfer(access), except)) found = isLent?.(access) !== true;
    ts.forEachChild(inner, visit);
  };
  ts.forEachChild(node, visit);
  return found;
}

/** Whether a mention puts what a place holds into a list, another place or somebody's hands. */
export function isHandedOn({ effect, fate }: Transfer, except: readonly Effect[]): boolean {
  if (except.includes(effect)) return false;
  const handedOn = fate.kind === "argument" && effect !== "borrows" && effect !== "passes";
  const renamed = fate.kind === "assigned" || fate.kind === "field";
  const listed =
    fate.literal !== null && !["argument", "returned"].includes(fate.kind) && !isWalked(fate);
  return handedOn || renamed || listed;
}

/** `for (const t of [this.a, this.b]) t?.dispose()`: each is only asked. */
function isWalked({ kind, node }: Transfer["fate"]): boolean {
  if (kind !== "iterated" || !ts.isForOfStatement(node)) return false;
  const list = node.initializer;
  const name = ts.isVariableDeclarationList(list) ? list.declarations[0]?.name : undefined;
  if (!name || !ts.isIdentifier(name)) return false;
  const goesOn = (at: ts.Node): boolean =>
    ts.isIdentifier(at) &&
    at.text === name.text &&
    !(ts.isPropertyAccessExpression(at.parent) && at.parent.expression === at);
  return !someWithin(node.statement, goesOn);
}

/** Whether a base class owns what a field holds, which sees no `#private` one, or a scope does. */
export const isManaged = (
  session: Session,
  node: ts.ClassLikeDeclaration,
  { name, owned, at }: Member,
): boolean =>
  (!name.startsWith("#") &&
    managed(session, node, owned.owner.managers) &&
    !isTable(session, node, name)) ||
  isOfLastingScope(session, at);

/** `experts = new Map()`, `{ a, b }`: a manager finds what is in its fields and lists alone. */
const isTable = ({ oracle }: Session, node: ts.ClassLikeDeclaration, field: string): boolean =>
  node.members.some((m) => {
    if (!ts.isPropertyDeclaration(m) || memberName(m.name) !== field) return false;
    const type = oracle.typeName(m.name);
    if (/^(Map|Set)$/.test(type)) return true;
    const shape = oracle.ownedAt(m.name)?.shape;
    return shape === "record" || (shape === "many" && !/Array$/.test(type) && !isTuple(m));
  }) && !someWithin(node, (at) => isRegistered(at, field));

const isTuple = ({ type, initializer }: ts.PropertyDeclaration): boolean =>
  (type !== undefined && someWithin(type, ts.isTupleTypeNode)) ||
  (initializer !== undefined && ts.isArrayLiteralExpression(unwrap(initializer)));

/** `registerModule(name, m)`, `[...this.table.values()]`: the manager may find them that way. */
const isRegistered = (at: ts.Node, field: string): boolean =>
  (ts.isCallExpression(at) && /\.registerModule$/.test(at.expression.getText())) ||
  (ts.isSpreadElement(at) && at.getText().includes(`this.${field}`));

/** Whether one of some classes of a library is a base of a class. */
export const managed = (
  session: Session,
  node: ts.ClassLikeDeclaration,
  managers: readonly string[],
): boolean => session.oracle.ancestors(node).some((name) => managers.includes(name));

/**
 * Whether a member's body reads a field, by name, by destructuring, or by walking all of them.
 *
 * @param except what does not count
 */
export function mentionsField(
  facts: Facts,
  member: ts.Node,
  field: string,
  except?: (node: ts.Node) => boolean,
): boolean {
  const all = facts.of(member, mentionsIn);
  const found = [...(all.get(field) ?? []), ...(all.get(null) ?? [])];
  if (!except || found.length === 0) return found.length > 0;
  return found.some((at) => !isExcepted(at, member, except));
}

/** Whether a node below `root`, or what it stands in, does not count. */
function isExcepted(at: ts.Node, root: ts.Node, except: (node: ts.Node) => boolean): boolean {
  for (let node = at; node !== root; node = node.parent) if (except(node)) return true;
  return false;
}

/**
 * Where a member speaks of fields, by name, or null where it may be of any: a loop with no body
 * looks and does nothing.
 */
export function mentionsIn(member: ts.Node): ReadonlyMap<string | null, readonly ts.Node[]> {
  const found = new Map<string | null, ts.Node[]>();
  const add = (name: string | null, node: ts.Node): void => {
    const list = found.get(name);
    if (list) list.push(node);
    else found.set(name, [node]);
  };
  const visit = (node: ts.Node): void => {
    if (ts.isForOfStatement(node) && isEmpty(node.statement)) return;
    const isThis = node.kind === ts.SyntaxKind.ThisKeyword;
    if (ts.isPropertyAccessExpression(node)) add(node.name.text, node);
    else if (ts.isElementAccessExpression(node)) {
      if (node.expression.kind === ts.SyntaxKind.ThisKeyword) add(null, node);
    } else if (ts.isBindingElement(node)) add(memberName(node.propertyName ?? node.name), node);
    else if (
      isThis &&
      !ts.isPropertyAccessExpression(node.parent) &&
      !ts.isVariableDeclaration(node.parent)
    )
      add(null, node); // handed on whole
    if (ts.isBlock(node)) reachedOf(node).forEach(visit);
    else ts.forEachChild(node, visit);
  };
  ts.forEachChild(member, visit);
  return found;
}

const isEmpty = (body: ts.Statement): boolean =>
  ts.isEmptyStatement(body) ||
  (ts.isBlock(body) && body.statements.every(isEmpty)) ||
  (ts.isForOfStatement(body) && isEmpty(body.statement));

/**
 * The innermost loops of a class without a body that walk a field, and what they walk. Where the
 * same method has another loop over the field, that one does the work.
 */
export function emptyLoops(
  node: ts.ClassLikeDeclaration,
): { loop: ts.ForOfStatement; field: string }[] {
  return node.members.flatMap((member) => {
    const empty: { loop: ts.ForOfStatement; field: string }[] = [],
      working = new Set<string>();
    const visit = (inner: ts.Node, field: string | undefined): void => {
      if (ts.isClassLike(inner)) return;
      if (!ts.isForOfStatement(inner)) {
        ts.forEachChild(inner, (c) => {
          visit(c, undefined);
        });
        return;
      }
      const walked = field ?? walkedField(inner.expression);
      if (walked !== undefined && !isEmpty(inner.statement)) working.add(walked);
      else if (walked !== undefined && !ts.isForOfStatement(inner.statement))
        empty.push({ loop: inner, field: walked });
      visit(inner.statement, walked);
    };
    visit(member, undefined);
    return empty.filter(({ field }) => !working.has(field));
  });
}

/** `this.x` of the first mention of a field in an expression. */
function walkedField(node: ts.Node): string | undefined {
  const field = fieldOfThis(node);
  return field ? field.getText() : ts.forEachChild(node, walkedField);
}

/** The variable of a loop, or the last part of its pattern, that is a value somebody owns. */
export function loopValue(
  session: Session,
  { initializer }: ts.ForOfStatement,
): { name: ts.Identifier; owned: Owned } | undefined {
  if (!ts.isVariableDeclarationList(initializer)) return undefined;
  let name: ts.Node | undefined = initializer.declarations[0]?.name;
  if (name && ts.isArrayBindingPattern(name)) {
    const last = name.elements[name.elements.length - 1];
    name = last && ts.isBindingElement(last) ? last.name : undefined;
  }
  if (!name || !ts.isIdentifier(name)) return undefined;
  const owned = session.oracle.ownedAt(name);
  return owned ? { name, owned } : undefined;
}
