/**
 * Inner lists: lists in an object that a field or a variable of the module holds, `this.store.past`
 * or `state.frames`: what the file puts into them, and where they are emptied with all they hold.
 * Used by `removals.ts` and `lost-stores.ts`.
 */
import ts from "typescript";
import { putValues, puts } from "../program/containers.ts";
import { enclosingFunction, loopOfTurn } from "../transfer/fate.ts";
import { fieldOfThis } from "../objects/members.ts";
import { effectInside } from "../transfer/mention.ts";
import { mayLackScope } from "../scopes/open-scopes.ts";
import { samePlace } from "../program/same-place.ts";
import type { Owner } from "../../owner.ts";
import type { Owned } from "../program/oracle.ts";
import { isKeptForGood } from "../transfer/keeps.ts";
import type { Session } from "../session.ts";
import { isEmptyContainer, isTarget, unwrap, valuesOf } from "../program/syntax.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";

/** Everything that the file of a list puts into it. */
export function putInto(
  session: Session,
  list: ts.PropertyAccessExpression | ts.Identifier,
): readonly ts.Expression[] {
  return session.oracle.facts
    .calls(list.getSourceFile())
    .flatMap(({ expression, arguments: a }) =>
      ts.isPropertyAccessExpression(expression) &&
      puts(expression.name.text) &&
      nameOf(expression.expression) === nameOf(list) &&
      samePlace(session.oracle, expression.expression, list)
        ? putValues(expression.name.text, a)
        : [],
    );
}

/** `shown.push(node.mesh)`: a list that gets what other objects have, and nothing new, looks on. */
export function isView(
  session: Session,
  list: ts.PropertyAccessExpression | ts.Identifier,
): boolean {
  const put = putInto(session, list).map(unwrap);
  const isNew = (value: ts.Expression): boolean => session.freshness(value) === "fresh";
  const isOthers = (value: ts.Expression): boolean => {
    if (ts.isPropertyAccessExpression(value)) return !isNew(value.expression);
    if (!ts.isIdentifier(value)) return session.freshness(value) === "borrowed";
    const source = session.oracle.declarationAt(value);
    if (!source) return false;
    const root = ts.isBindingElement(source) ? ts.walkUpBindingElementsAndPatterns(source) : source;
    return ts.isVariableDeclaration(root); // what a parameter has is the list's
  };
  return !put.some(isNew) && put.some(isOthers);
}

/** `this.rows` of `this.rows[0]`, of `row` in `for (const row of this.rows)`: a list of lists. */
export function wholeOf({ oracle }: Session, list: ts.Expression): ts.Expression | undefined {
  const bare = unwrap(list);
  const source = ts.isIdentifier(bare) ? oracle.declarationAt(bare) : undefined;
  const turns = loopOfTurn(source);
  if (turns) return fieldOfThis(unwrap(turns.expression));
  const entry = source && ts.isVariableDeclaration(source) ? source.initializer : bare;
  const got = entry && unwrap(entry);
  return got && ts.isElementAccessExpression(got) ? fieldOfThis(unwrap(got.expression)) : undefined;
}

/** Whether what a list gets is out of all scopes: one where it leaves again does not end it. */
export function isOutOfScopes(session: Session, list: ts.Expression, owner: Owner): boolean {
  if (!ts.isPropertyAccessExpression(list) && !ts.isIdentifier(list)) return false;
  const put = putInto(session, list);
  const lasts = (value: ts.Expression): boolean => {
    const bare = unwrap(value);
    if (session.scopeAt(bare) === "out") return true;
    if (!ts.isObjectLiteralExpression(bare)) return isKeptForGood(session, bare, owner);
    return valuesOf(bare).every((part) => !session.oracle.ownedAt(part) || lasts(part));
  };
  return put.length > 0 && put.every(lasts);
}

const nameOf = (list: ts.Expression): string =>
  ts.isPropertyAccessExpression(list) ? list.name.text : list.getText();

/** An assignment of nothing to such a list. */
export interface LostList {
  node: ts.BinaryExpression;
  owned: Owned;
}

/** `this.store.past = []` where nothing else in the function has what the list held in hand. */
export function lostInnerLists(session: Session, file: ts.SourceFile): LostList[] {
  return session.oracle.facts.assignments(file).flatMap((node): LostList[] => {
    const { left } = node;
    if (!ts.isPropertyAccessExpression(left) || !isEmptyContainer(unwrap(node.right))) return [];
    const place = enclosingFunction(node);
    if (!place || ts.isConstructorDeclaration(place) || !isInner(session, left)) return [];
    const owned = session.oracle.ownedAt(left);
    if (owned?.shape !== "many") return [];
    const fresh = putInto(session, left).filter((v) => session.freshness(v) === "fresh");
    if (!fresh.some((v) => mayLackScope(session, v))) return [];
    return othersLook(session, place, left) ? [{ node, owned }] : [];
  });
}

/** `this.store.past`, `state.frames` of a `state` that the module declares. */
function isInner(session: Session, { expression }: ts.PropertyAccessExpression): boolean {
  if (fieldOfThis(expression)) return true;
  const declaration = ts.isIdentifier(expression)
    ? session.oracle.declarationAt(expression)
    : undefined;
  return (
    declaration !== undefined &&
    ts.isVariableDeclaration(declaration) &&
    !enclosingFunction(declaration)
  );
}

/** Whether a function only looks at a list elsewhere, and hands nobody the object it lies in. */
function othersLook(session: Session, place: ts.Node, list: ts.PropertyAccessExpression): boolean {
  const visit = (node: ts.Node): boolean => {
    if (node === list) return true;
    if (ts.isPropertyAccessExpression(node) && samePlace(session.oracle, node, list)) {
      if (isTarget(node)) return true;
      const effect = effectInside(session, session.transfer(node));
      return onlyLooksAt(effect) || effect === "receives";
    }
    const isHolder =
      ts.isExpression(node) &&
      samePlace(session.oracle, node, list.expression) &&
      !ts.isPropertyAccessExpression(node.parent);
    return !isHolder && !ts.forEachChild(node, (child) => !visit(child) || undefined);
  };
  return visit(place);
}
