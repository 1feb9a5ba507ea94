/**
 * Lost stores: assignments to a field, a variable of the module or one outside a callback that lose
 * what it held: nothing in reach of the assignment has disposed that or kept it. Used by the rule
 * about overwritten values, which reports only where no scope would free it.
 */
import ts from "typescript";
import { putValues } from "./containers.ts";
import { givesPart } from "./left-out.ts";
import { effectInside } from "./mention.ts";
import { lostInnerLists } from "./inner-lists.ts";
import { globalsOf } from "./globals.ts";
import { onlyLooks } from "./looked-at.ts";
import { mayLackScope } from "./open-scopes.ts";
import { enclosingFunction, fateOf } from "./fate.ts";
import { leavesHeld, letsBy } from "./field-tests.ts";
import {
  fieldOfThis,
  isManaged,
  mentionsField,
  ownedMembers,
  reach,
  sharedElsewhere,
  type Member,
} from "./members.ts";
import type { Owned } from "./oracle.ts";
import { referencesTo } from "./references.ts";
import { runsOften, surelyRunsOften } from "./runs-often.ts";
import type { Session } from "./session.ts";
import {
  calleeNameNode,
  isEmptyContainer,
  isInLoop,
  isNullish,
  isScript,
  isTarget,
  isUsing,
  someWithin,
  unwrap,
  within,
} from "./syntax.ts";
import { onlyLooksAt } from "./transfer.ts";

/** An assignment that loses a value. */
export interface LostStore {
  node: ts.BinaryExpression;
  owned: Owned;
  /** How the old value is written, where that is not as the left side is. */
  held?: ts.Expression;
  /** Part of a list takes the place of the whole. */
  part?: boolean;
}

/** Every assignment of a file that loses what its left side held. */
export function lostStores(session: Session, file: ts.SourceFile): LostStore[] {
  const { facts } = session.oracle;
  return [
    ...facts.classes(file).flatMap((node) => lostFields(session, node)),
    ...facts.variables(file).flatMap((node) => lostVariables(session, node)),
    ...facts.variables(file).flatMap((node) => lostLists(session, node)),
    ...facts.variables(file).flatMap((node) => lostProperties(session, node)),
    ...lostInnerLists(session, file),
    ...globalsOf(session.oracle, file).flatMap((ids) => lostBy(session, ids, undefined)),
  ];
}

// ---- fields ----

function lostFields(session: Session, node: ts.ClassLikeDeclaration): LostStore[] {
  const all = ownedMembers(session, node).filter((m) => !isManaged(session, node, m));
  if (all.length === 0) return [];
  const members = new Map(all.map((m) => [m.name, m]));
  const found: LostStore[] = [];
  for (const place of node.members) {
    const fn = functionOf(place);
    if (!fn) continue;
    for (const store of storesIn(fn)) {
      const member = members.get(store.field);
      if (!member || !loses(session, store.node, member, fn)) continue;
      if (endsElsewhere(session, node, place, store)) continue;
      const { owned } = member;
      const part = owned.shape === "many" && !isNothing(store.node.right);
      if (!sharedElsewhere(session, node, store.field, ["disposes"]))
        found.push({ node: store.node, owned, part });
    }
  }
  return found;
}

/** A method, a setter, or the function that a field is given for one: `click = () => { … };`. */
function functionOf(place: ts.ClassElement): ts.Node | undefined {
  if (ts.isMethodDeclaration(place) || ts.isSetAccessorDeclaration(place)) return place;
  const value = ts.isPropertyDeclaration(place) ? place.initializer : undefined;
  return value && ts.isArrowFunction(value) ? value : undefined;
}

interface Store {
  node: ts.BinaryExpression;
  field: string;
}

/** `this.x = …` in a member, nested functions left out. */
function storesIn(place: ts.Node): Store[] {
  const found: Store[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) || ts.isClassLike(node)) return;
    ts.forEachChild(node, visit);
    if (!isAssignment(node)) return;
    const field = fieldOfThis(node.left);
    if (field) found.push({ node, field: field.name.text });
  };
  ts.forEachChild(place, visit);
  return found;
}

const isAssignment = (node: ts.Node): node is ts.BinaryExpression =>
  ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken;

/** Whether a store puts nothing, or another fresh value, in the place of one that was there. */
function loses(
  session: Session,
  node: ts.BinaryExpression,
  member: Member,
  place: ts.Node,
): boolean {
  if (!member.makes.some((at) => mayLackScope(session, at))) return false;
  if (isNothing(node.right)) return true;
  if (member.owned.shape === "many") return givesPart(session, node.right, node.left);
  if (member.owned.shape !== "one" || session.freshness(node.right) !== "fresh") return false;
  return member.atOnce || replacesOften(member.owned)(session, place);
}

/** What may last as long as the program is mostly loaded once, whatever may call. */
const replacesOften = ({ owner }: Owned): typeof runsOften =>
  owner.lost === "repeated" ? surelyRunsOften : runsOften;

const isNothing = (value: ts.Expression): boolean =>
  isNullish(unwrap(value)) || isEmptyContainer(unwrap(value));

/**
 * Whether the member, what it calls, or a member that calls it speaks of the field but to look at
 * what it holds: then the old value may have been freed.
 */
function endsElsewhere(
  session: Session,
  node: ts.ClassLikeDeclaration,
  place: ts.ClassElement,
  store: Store,
): boolean {
  const { field } = store;
  const looks = (at: ts.Node): boolean =>
    at === store.node ||
    (fieldOfThis(at)?.name.text === field &&
      (isLook(session, at, store.node) ||
        comesAfter(at, store.node) ||
        leavesHeld(at, store.node)));
  const { facts } = session.oracle;
  const speaks = (m: ts.Node): boolean => mentionsField(facts, m, field, looks);
  if (speaks(place)) return true;
  for (const member of node.members) {
    const all = reach(facts, node, [member]);
    if (all.has(place) && [...all].some((m) => m !== place && speaks(m))) return true;
  }
  return callsSuper(place);
}

/** Whether a mention of a field comes after a store in the same function: it speaks of the new. */
const comesAfter = (at: ts.Node, store: ts.Node): boolean =>
  at.pos > store.end &&
  enclosingFunction(at) === enclosingFunction(store) &&
  !isInLoop(store, enclosingFunction(store));

/**
 * `this.x.shape`, `run(this.x)`: no test, and nothing that ends it or gives it another name, unless
 * that is only looked at, too.
 */
function isLook(session: Session, at: ts.Node, store: ts.Node): boolean {
  const { effect, fate } = session.transfer(at as ts.Expression);
  if (fate.kind === "bound") return isNamedToLook(session, fate.node, store);
  const uses = fate.kind === "receiver" || fate.kind === "argument" || fate.kind === "read";
  return uses && (onlyLooksAt(effect) || effect === "receives");
}

/** `const old = this.x`: a name that is only looked at, and whose tests let a value by. */
function isNamedToLook(session: Session, at: ts.Node, store: ts.Node): boolean {
  if (!ts.isVariableDeclaration(at) || !ts.isIdentifier(at.name) || isUsing(at)) return false;
  const { name } = at;
  if (!onlyLooks(session, name, true)) return false;
  const isName = (node: ts.Expression): boolean =>
    ts.isIdentifier(unwrap(node)) && (unwrap(node) as ts.Identifier).text === name.text;
  const root = enclosingFunction(at) ?? at.getSourceFile();
  return referencesTo(session.oracle, at, name, root).every(
    (id) => id === name || fateOf(id).kind !== "operand" || letsBy(id, store, isName),
  );
}

const callsSuper = (place: ts.Node): boolean =>
  someWithin(place, (node) => node.kind === ts.SyntaxKind.SuperKeyword);

// ---- variables ----

/**
 * A variable of the module, or one assigned by a callback that runs more than once, that nobody
 * ever ends or hands on.
 */
function lostVariables(session: Session, declaration: ts.VariableDeclaration): LostStore[] {
  const { name } = declaration;
  if (!ts.isIdentifier(name) || ts.getCombinedNodeFlags(declaration) & ts.NodeFlags.Const)
    return [];
  const home = enclosingFunction(declaration);
  if (isExportedVariable(declaration)) return [];
  const root = home ?? declaration.getSourceFile();
  const ids = referencesTo(session.oracle, declaration, name, root);
  return lostBy(
    session,
    ids.filter((id) => id !== name),
    home,
  );
}

/**
 * `const app = { last: null, tick() { this.last = make(); } }`: properties of an object that stays
 * in its file.
 */
function lostProperties(session: Session, declaration: ts.VariableDeclaration): LostStore[] {
  const { name, initializer } = declaration;
  const literal = initializer && unwrap(initializer);
  if (!ts.isIdentifier(name) || !literal || !ts.isObjectLiteralExpression(literal)) return [];
  const file = declaration.getSourceFile();
  if (isExportedVariable(declaration)) return [];
  const home = enclosingFunction(declaration);
  if (home && !isCalledAtOnce(home)) return [];
  const places = new Map<string, ts.Expression[]>();
  const add = (at: ts.Node): boolean => {
    if (!ts.isPropertyAccessExpression(at)) return false;
    const list = places.get(at.name.text);
    if (list) list.push(at);
    else places.set(at.name.text, [at]);
    return true;
  };
  const ids = referencesTo(session.oracle, declaration, name, file).filter((id) => id !== name);
  if (!ids.every((id) => add(id.parent))) return [];
  // `this.tick.bind(this)` leaves it the same
  const isWhole = (at: ts.Node): boolean =>
    at.kind === ts.SyntaxKind.ThisKeyword && !add(at.parent) && !isBound(at);
  if (someWithin(literal, isWhole)) return [];
  const often = isScript(file) ? runsOften : surelyRunsOften;
  return [...places.values()].flatMap((mentions) => lostBy(session, mentions, undefined, often));
}

/** `(function () { … })()`: what it declares is there once. */
const isCalledAtOnce = (fn: ts.Node): boolean =>
  (ts.isArrowFunction(fn) || ts.isFunctionExpression(fn)) && fateOf(fn).kind === "called";

const isBound = ({ parent }: ts.Node): boolean =>
  ts.isCallExpression(parent) && calleeNameNode(parent)?.text === "bind";

/** The stores that lose what a variable held, by its mentions and the function it belongs to. */
function lostBy(
  session: Session,
  ids: readonly ts.Expression[],
  home: ts.SignatureDeclaration | undefined,
  often = runsOften,
): LostStore[] {
  const stores: ts.BinaryExpression[] = [];
  for (const id of ids) {
    if (isAssignment(id.parent) && id.parent.left === id) stores.push(id.parent);
    else if (!isTarget(id) && !leavesIt(session, id, home)) return [];
  }
  return stores.flatMap((node): LostStore[] => {
    const place = enclosingFunction(node);
    const owned = session.oracle.ownedAt(node.left);
    if (!place || place === home || owned?.shape !== "one") return [];
    const known = often === runsOften ? replacesOften(owned) : often;
    const isUpdate = ids.some((id) => within(id, node.right));
    const losesAtOnce = isUpdate && isAlwaysOwn(session, ids[0], stores);
    if (session.freshness(node.right) !== "fresh") return [];
    if (!losesAtOnce && !known(session, place)) return [];
    const asked = ids.some(
      (id) => fateOf(id).kind === "operand" && enclosingFunction(id) === place,
    );
    return !isUpdate && (asked || isFirstOfSeveral(node)) ? [] : [{ node, owned }];
  });
}

/** Whether a variable holds nothing but what was made for it, from its declaration on. */
function isAlwaysOwn(
  session: Session,
  id: ts.Expression | undefined,
  stores: readonly ts.BinaryExpression[],
): boolean {
  const declaration = id && ts.isIdentifier(id) ? session.oracle.declarationAt(id) : undefined;
  if (!declaration || !ts.isVariableDeclaration(declaration) || !declaration.initializer)
    return false;
  return [declaration.initializer, ...stores.map((s) => s.right)].every(
    (value) => session.freshness(value) === "fresh",
  );
}

/** `if (xs === null) { xs = x; ys = y; }`: what is filled where another is found empty is, too. */
function isFirstOfSeveral(node: ts.BinaryExpression): boolean {
  const block = node.parent.parent;
  const test = ts.isBlock(block) ? block.parent : block;
  if (!ts.isIfStatement(test) || !within(node, test.thenStatement) || !ts.isBlock(block))
    return false;
  const empty = block.statements.flatMap((s) =>
    ts.isExpressionStatement(s) && ts.isBinaryExpression(s.expression) && isAssignment(s.expression)
      ? [s.expression.left.getText()]
      : [],
  );
  const { expression } = test;
  if (ts.isPrefixUnaryExpression(expression)) return empty.includes(expression.operand.getText());
  return (
    ts.isBinaryExpression(expression) &&
    isNullish(expression.right) &&
    /^={2,3}$/.test(expression.operatorToken.getText()) &&
    empty.includes(expression.left.getText())
  );
}

/**
 * `frames = []` or `frames = frames.slice(1)` in a function, where `frames` starts empty, is given
 * fresh values one by one, and is only looked at elsewhere.
 */
function lostLists(session: Session, declaration: ts.VariableDeclaration): LostStore[] {
  const { name, initializer } = declaration;
  const flags = ts.getCombinedNodeFlags(declaration);
  if (!ts.isIdentifier(name) || !(flags & ts.NodeFlags.Let) || !initializer) return [];
  if (!isEmptyContainer(unwrap(initializer)) || isExportedVariable(declaration)) return [];
  const owned = session.oracle.ownedAt(name);
  if (owned?.shape !== "many") return [];
  const home = enclosingFunction(declaration);
  const stores: ts.BinaryExpression[] = [];
  let at: ts.Expression | undefined;
  const root = home ?? declaration.getSourceFile();
  for (const id of referencesTo(session.oracle, declaration, name, root)) {
    if (id === name) continue;
    const put = putInto(session, id);
    if (isAssignment(id.parent) && id.parent.left === id) stores.push(id.parent);
    else if (put) at = put;
    else if (stores.some((s) => within(id, s.right))) continue;
    else if (!onlyLooksAt(effectInside(session, session.transfer(id)))) return [];
  }
  if (!at || !mayLackScope(session, at)) return [];
  const part = (s: ts.BinaryExpression): boolean => givesPart(session, s.right, s.left);
  if (!stores.every((s) => isNothing(s.right) || part(s))) return [];
  return stores.flatMap((node): LostStore[] => {
    const place = enclosingFunction(node);
    return place && place !== home ? [{ node, owned, part: part(node) }] : [];
  });
}

/** The last fresh value that `frames.push(t)` puts into a list, where all of them are fresh. */
function putInto(session: Session, list: ts.Identifier): ts.Expression | undefined {
  const { effect, fate } = session.transfer(list);
  if (effect !== "receives" || !ts.isCallExpression(fate.node)) return undefined;
  const values = putValues(fate.member, fate.node.arguments);
  return values.every((v) => session.freshness(v) === "fresh") ? values.at(-1) : undefined;
}

const isExportedVariable = (declaration: ts.VariableDeclaration): boolean =>
  (ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.Export) !== 0;

/** Read, asked or lent; the function the variable belongs to may also return it in the end. */
function leavesIt(session: Session, id: ts.Expression, home: ts.Node | undefined): boolean {
  const { effect, fate } = session.transfer(id);
  if (onlyLooksAt(effect) || fate.kind === "read") return true;
  return home !== undefined && effect === "returns" && enclosingFunction(id) === home;
}
