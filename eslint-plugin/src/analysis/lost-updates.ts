/**
 * Lost updates: `this.sums[k] = add(this.sums[k], x)`, an element or inner field that is made anew
 * from what it held, which nobody ends. Used by the rule about overwritten values; plain fields and
 * variables are followed elsewhere.
 */
import ts from "typescript";
import { mayLackScope } from "./open-scopes.ts";
import { enclosingFunction } from "./fate.ts";
import { keptBy, lasts } from "./keeps.ts";
import type { LostStore } from "./lost-stores.ts";
import type { Owned } from "./oracle.ts";
import type { Session } from "./session.ts";
import { isEmptyContainer, isTarget, rootOf, unwrap, within } from "./syntax.ts";
import { onlyLooksAt } from "./transfer.ts";

/** Every such assignment of a file. */
export function lostUpdates(session: Session, file: ts.SourceFile): LostStore[] {
  return session.oracle.facts.assignments(file).flatMap((node) => updated(session, node) ?? []);
}

/** What an assignment loses, when it is an update whose old value nobody has in hand. */
function updated(session: Session, node: ts.BinaryExpression): LostStore | null {
  const { left } = node;
  const isPlace = ts.isElementAccessExpression(left) || ts.isPropertyAccessExpression(left);
  if (!isPlace) return null;
  const right = unwrap(node.right);
  if (!ts.isCallExpression(right) || !mentionsOf(left, right)[0]) return null;
  const home = enclosingFunction(node);
  const owned = session.oracle.ownedAt(node.right);
  if (!home || owned?.shape !== "one" || !isHeld(session, left)) return null;
  if (session.freshness(right) !== "fresh") return null;
  const inside = mentionsOf(left, right);
  if (!inside.every((m) => onlyLooksAt(session.transfer(m).effect))) return null;
  const others = mentionsOf(left, home).filter((m) => !within(m, node));
  const keptOnes = others.filter((m) => isKept(session, m, owned));
  if (!others.every((m) => keptOnes.includes(m) || stays(session, m))) return null;
  const survives = keptOnes.length > 0 || lasts(session, right);
  if (!survives && !mayLackScope(session, node)) return null;
  return { node, owned, held: inside[0] ?? left };
}

/** The mentions of a place below a node, with the casts around them. */
function mentionsOf(place: ts.Expression, root: ts.Node): ts.Expression[] {
  const text = place.getText();
  const found: ts.Expression[] = [];
  const visit = (node: ts.Node): void => {
    if (node.kind !== place.kind || node.getText() !== text) return ts.forEachChild(node, visit);
    let top = node as ts.Expression;
    while (isWrapper(top.parent)) top = top.parent;
    found.push(top);
  };
  ts.forEachChild(root, visit);
  return found;
}

const isWrapper = (node: ts.Node): node is ts.Expression =>
  ts.isAsExpression(node) || ts.isNonNullExpression(node) || ts.isParenthesizedExpression(node);

/** An element, or a field of a field, of the object or of a variable that was not handed in. */
function isHeld(
  session: Session,
  left: ts.ElementAccessExpression | ts.PropertyAccessExpression,
): boolean {
  const root = rootOf(left);
  if (root.kind === ts.SyntaxKind.ThisKeyword) return left.expression !== root;
  if (!ts.isIdentifier(root)) return false;
  const declaration = session.oracle.declarationAt(root);
  if (!declaration || !ts.isVariableDeclaration(declaration)) return false;
  if (left.expression !== root || session.freshness(root) !== "borrowed") return true;
  const { initializer } = declaration;
  return initializer !== undefined && isEmptyContainer(unwrap(initializer));
}

/** Looked at, or given a value for the first time: nobody has the old one in hand by that. */
const stays = (session: Session, mention: ts.Expression): boolean =>
  isTarget(mention) || onlyLooksAt(session.transfer(mention).effect);

/** `keep(this.sums[k])`: no scope frees what the place holds. */
function isKept(session: Session, mention: ts.Expression, owned: Owned): boolean {
  const call = mention.parent;
  return (
    ts.isCallExpression(call) &&
    keptBy(session, call, session.oracle.callee(call), owned) === mention
  );
}
