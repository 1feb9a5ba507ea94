/**
 * Ended elements: fields with lists or tables whose class ends what it takes out of them, and such
 * variables that closures share. Their holder owns what they hold, whoever made it, and what leaves
 * them is lost. Used by `removals.ts`.
 */
import ts from "typescript";
import { handedTo } from "./callbacks.ts";
import { enclosingFunction, fateOf } from "./fate.ts";
import { fieldOfThis, ownedMembers } from "./members.ts";
import { visitVerb } from "./mention-events.ts";
import { transferOf } from "./mention.ts";
import { referencesTo } from "./references.ts";
import type { Session } from "./session.ts";
import { isEmptyContainer, someWithin, unwrap } from "./syntax.ts";

/**
 * `this.xs = []` in a method of such a class. What the class makes itself the dataflow follows.
 */
export function losesEnded(session: Session, { left, right, operatorToken }: ts.BinaryExpression) {
  const field = fieldOfThis(left);
  if (!field || operatorToken.kind !== ts.SyntaxKind.EqualsToken) return false;
  const home = enclosingFunction(field);
  if (!isEmptyContainer(unwrap(right)) || !home || !ts.isMethodDeclaration(home)) return false;
  if (session.oracle.ownedAt(field)?.shape !== "many") return false;
  const place = ts.findAncestor(home, ts.isClassLike);
  if (!place || ownedMembers(session, place).some(({ name }) => name === field.name.text))
    return false;
  return someWithin(place, (inner) => {
    const mention = fieldOfThis(inner);
    return mention?.name.text === field.name.text && endsElements(session, mention);
  });
}

/** A list that starts empty in the function around this one, which ends elements of it. */
export function endsOwnElements(session: Session, list: ts.Expression): boolean {
  const declaration = ts.isIdentifier(list) ? session.oracle.declarationAt(list) : undefined;
  if (!declaration || !ts.isVariableDeclaration(declaration)) return false;
  const { name, initializer } = declaration;
  const home = enclosingFunction(declaration);
  if (!home || home === enclosingFunction(list) || !ts.isIdentifier(name)) return false;
  if (!initializer || !isEmptyContainer(unwrap(initializer))) return false;
  const ids = referencesTo(session.oracle, declaration, name, home).filter((id) => id !== name);
  return ids.some((id) => id !== list && endsElements(session, id)) && !ids.some(isHandedOut);
}

/** `() => all.at(-1)`, `return all`: who gets an element that stays may end it. */
function isHandedOut(list: ts.Identifier): boolean {
  const { kind, member, node } = fateOf(list);
  if (kind === "returned") return true;
  const stays = kind === "receiver" && /^(at|find|findLast|get|slice|filter|values)$/.test(member);
  if (!stays && kind !== "element") return false;
  const given = fateOf(node as ts.Expression);
  const fn = given.kind === "returned" ? enclosingFunction(list) : undefined;
  return fn !== undefined && !handedTo(fn);
}

/** Whether a mention of a list ends elements: in a loop over it, or after it takes them out. */
function endsElements(session: Session, list: ts.Expression): boolean {
  if (ends(session, list)) return true;
  const { kind, member, node } = fateOf(list);
  if (kind !== "receiver" || !/^(pop|shift|splice)$/.test(member)) return false;
  const taken = node as ts.Expression;
  if (ends(session, taken)) return true;
  const { kind: how, node: named } = fateOf(taken);
  if (how !== "bound" || !ts.isVariableDeclaration(named) || !ts.isIdentifier(named.name))
    return false;
  const root = enclosingFunction(named) ?? named.getSourceFile();
  return referencesTo(session.oracle, named, named.name, root).some((id) => ends(session, id));
}

/** `free(t)`, `for (const t of ts) t.dispose()`. */
function ends(session: Session, mention: ts.Expression): boolean {
  const { effect, fate, next } = transferOf(session, mention);
  const isWalked = effect === "passes" && next && fateOf(next).kind === "iterated";
  if (isWalked) return visitVerb(session, fateOf(next)) === "dispose";
  return effect === "disposes" || (effect === "visits" && visitVerb(session, fate) === "dispose");
}
