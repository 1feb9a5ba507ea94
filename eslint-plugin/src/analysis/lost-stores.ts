/**
 * Lost stores: assignments to a field, a variable of the module or one outside a callback that lose
 * what it held: nothing in reach of the assignment has disposed that or kept it. Used by the rule
 * about overwritten values, which reports only where no scope would free it.
 */
import ts from "typescript";
import { putValues } from "./containers.ts";
import { givesPart } from "./left-out.ts";
import { effectInside } from "./mention.ts";
import { mayLackScope } from "./open-scopes.ts";
import { enclosingFunction, fateOf } from "./fate.ts";
import {
  fieldOfThis,
  managed,
  mentionsField,
  ownedMembers,
  reach,
  sharedElsewhere,
  type Member,
} from "./members.ts";
import type { Owned } from "./oracle.ts";
import { referencesTo } from "./references.ts";
import { runsOften } from "./runs-often.ts";
import type { Session } from "./session.ts";
import { isEmptyContainer, isNullish, isTarget, someWithin, unwrap, within } from "./syntax.ts";
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
  ];
}

// ---- fields ----

function lostFields(session: Session, node: ts.ClassLikeDeclaration): LostStore[] {
  const members = new Map(ownedMembers(session, node).map((m) => [m.name, m]));
  const [first] = members.values();
  if (!first || managed(session, node, first.owned.owner.managers)) return [];
  const found: LostStore[] = [];
  for (const place of node.members) {
    if (!ts.isMethodDeclaration(place) && !ts.isSetAccessorDeclaration(place)) continue;
    for (const store of storesIn(place)) {
      const member = members.get(store.field);
      if (!member || !loses(session, store.node, member, place)) continue;
      if (endsElsewhere(node, place, store)) continue;
      if (!sharedElsewhere(session, node, store.field))
        found.push({ node: store.node, owned: member.owned, part: !isNothing(store.node.right) });
    }
  }
  return found;
}

interface Store {
  node: ts.BinaryExpression;
  field: string;
}

/** `this.x = …` in a member, nested functions left out. */
function storesIn(place: ts.ClassElement): Store[] {
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
  place: ts.ClassElement,
): boolean {
  if (!mayLackScope(session, member.at)) return false;
  if (isNothing(node.right)) return true;
  if (member.owned.shape === "many") return givesPart(session, node.right, node.left);
  if (member.owned.shape !== "one" || session.freshness(node.right) !== "fresh") return false;
  return member.atOnce || runsOften(session, place);
}

const isNothing = (value: ts.Expression): boolean =>
  isNullish(unwrap(value)) || isEmptyContainer(unwrap(value));

/**
 * Whether the member, what it calls, or a member that calls it speaks of the field at all: then the
 * old value may have been freed.
 */
function endsElsewhere(
  node: ts.ClassLikeDeclaration,
  place: ts.ClassElement,
  store: Store,
): boolean {
  const { field } = store;
  const callers = node.members.filter(
    (m) => m !== place && reach(node, [m]).has(place) && mentionsField(m, field),
  );
  if (callers.length > 0 || mentionsField(place, field, store.node)) return true;
  for (const reached of reach(node, [place]))
    if (reached !== place && mentionsField(reached, field)) return true;
  return callsSuper(place);
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
  const stores: ts.BinaryExpression[] = [];
  const ids = referencesTo(session.oracle, declaration, name, home ?? declaration.getSourceFile());
  for (const id of ids) {
    if (id === name) continue;
    if (isAssignment(id.parent) && id.parent.left === id) stores.push(id.parent);
    else if (!isTarget(id) && !leavesIt(session, id, home)) return [];
  }
  return stores.flatMap((node): LostStore[] => {
    const place = enclosingFunction(node);
    const owned = session.oracle.ownedAt(node.left);
    if (!place || place === home || owned?.shape !== "one") return [];
    if (session.freshness(node.right) !== "fresh" || !runsOften(session, place)) return [];
    const isUpdate = ids.some((id) => within(id, node.right));
    const asked = ids.some(
      (id) => fateOf(id).kind === "operand" && enclosingFunction(id) === place,
    );
    return !isUpdate && (asked || isFirstOfSeveral(node)) ? [] : [{ node, owned }];
  });
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
function leavesIt(session: Session, id: ts.Identifier, home: ts.Node | undefined): boolean {
  const { effect, fate } = session.transfer(id);
  if (onlyLooksAt(effect) || fate.kind === "read") return true;
  return home !== undefined && effect === "returns" && enclosingFunction(id) === home;
}
