/**
 * Ended elements: fields with lists or tables whose class ends what they hold, or what it takes out
 * of them, and such variables that closures share. Their holder owns what they hold, whoever made
 * it, and what leaves them is lost. Used by `removals.ts` and `replaced-entries.ts`.
 */
import ts from "typescript";
import { functionHanded } from "../program/callee.ts";
import { callSitesOf } from "../program/call-sites.ts";
import { handedTo } from "../transfer/callbacks.ts";
import { putValues } from "../program/containers.ts";
import { enclosingFunction, fateOf, loopOver, type Fate } from "../transfer/fate.ts";
import { givesPart } from "../lists/left-out.ts";
import { entryOf } from "../transfer/looked-at.ts";
import { fieldOfThis, ownedMembers } from "./members.ts";
import { isInline } from "../flow/closures.ts";
import { fieldSlots } from "../flow/slots.ts";
import { picks, visitVerb } from "../flow/mention-events.ts";
import { transferOf } from "../transfer/mention.ts";
import { boundNames, referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";
import {
  hasBody,
  isEmptyContainer,
  isUsing,
  someWithin,
  unwrap,
  type CallLike,
} from "../program/syntax.ts";
import { areApart } from "../program/ways.ts";

/**
 * `this.xs = []`, `this.xs = this.xs.filter(…)` in a method of such a class. What the class makes
 * itself the dataflow follows.
 */
export function losesEnded(session: Session, { left, right, operatorToken }: ts.BinaryExpression) {
  const field = fieldOfThis(left);
  if (!field || operatorToken.kind !== ts.SyntaxKind.EqualsToken) return false;
  const home = enclosingFunction(field);
  if (!home || !(ts.isMethodDeclaration(home) || isListener(session, home))) return false;
  if (!isEmptyContainer(unwrap(right)) && !givesPart(session, right, left)) return false;
  const owned = session.oracle.ownedAt(field);
  const place = ts.findAncestor(home, ts.isClassLike);
  if (owned?.shape !== "many" || !place) return false;
  if (ownedMembers(session, place).some(({ name }) => name === field.name.text))
    if (isEmptyContainer(unwrap(right)) || isSlot(session, place, field)) return false;
  return endsSomeOf(session, place, field.name.text) && !isSetUp(session, home);
}

/** `feed.on((x) => { this.xs = … })`: what somebody runs later, and again. */
const isListener = (session: Session, fn: ts.Node): boolean =>
  (ts.isArrowFunction(fn) || ts.isFunctionExpression(fn)) &&
  handedTo(fn) !== undefined &&
  !isInline(session, fn);

/** Whether the dataflow follows a field itself. */
const isSlot = (session: Session, place: ts.ClassLikeDeclaration, field: ts.Expression): boolean =>
  fieldSlots(session, place).some(({ mentions }) => mentions.includes(field));

/** `constructor() { this.reset(); }`: the method gives the fields their first values, too. */
const isSetUp = ({ oracle }: Session, method: ts.Node): boolean =>
  ts.isMethodDeclaration(method) &&
  hasBody(method) &&
  callSitesOf(oracle, method, "program").calls.some((call) => {
    const by = enclosingFunction(call);
    return by !== undefined && ts.isConstructorDeclaration(by);
  });

/** Whether a class ends values of a field somewhere, and nobody who gives it one ends that too. */
export function ownsElements(session: Session, list: ts.Expression): boolean {
  return fieldOfThis(list) !== undefined && objectOwnsElements(session, list);
}

/** The same of a field of any object: `session.outbox`. */
export function objectOwnsElements(session: Session, list: ts.Expression): boolean {
  if (!ts.isPropertyAccessExpression(list)) return false;
  const field = list.name.text;
  const at = fieldOfThis(list) ?? session.oracle.declarationAt(list.name);
  const place = ts.findAncestor(at, ts.isClassLike);
  if (!place || !endsSomeOf(session, place, field)) return false;
  return !someWithin(place, (inner) => {
    const mention = fieldOfThis(inner);
    return mention?.name.text === field && isLentTo(session, mention);
  });
}

/** A list that starts empty in this function or the one around it, which ends elements of it. */
export function endsOwnElements(session: Session, list: ts.Expression): boolean {
  const declaration = emptyAtFirst(session, list);
  const home = declaration && enclosingFunction(declaration);
  if (!home) return false;
  return endsElementsIn(session, home, list, declaration);
}

/** A list or table of a file that starts empty, of which the file ends what it takes out. */
export function endsElementsOfFile(session: Session, list: ts.Expression): boolean {
  const declaration = emptyAtFirst(session, list);
  if (!declaration || enclosingFunction(declaration)) return false;
  if (ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.Export) return false;
  return endsElementsIn(session, declaration.getSourceFile(), list, declaration);
}

type Named = ts.VariableDeclaration & { name: ts.Identifier };

/** The variable that a list is, if it starts empty. */
export function emptyAtFirst({ oracle }: Session, list: ts.Expression): Named | undefined {
  const declaration = ts.isIdentifier(list) ? oracle.declarationAt(list) : undefined;
  if (!declaration || !ts.isVariableDeclaration(declaration)) return undefined;
  const { name, initializer } = declaration;
  if (!initializer || !isEmptyContainer(unwrap(initializer))) return undefined;
  return ts.isIdentifier(name) ? (declaration as Named) : undefined;
}

/** Whether other mentions of a list in a function or file end elements, and none hands it out. */
function endsElementsIn(
  session: Session,
  root: ts.Node,
  list: ts.Expression,
  declaration: Named,
): boolean {
  const { name } = declaration;
  const ids = referencesTo(session.oracle, declaration, name, root).filter((id) => id !== name);
  return ids.some((id) => id !== list && endsElements(session, id)) && !ids.some(isHandedOut);
}

/** `() => all.at(-1)`, `return all`: who gets an element that stays may end it. */
export function isHandedOut(list: ts.Expression): boolean {
  const { kind, member, node } = fateOf(list);
  if (kind === "returned") return !isToRead(enclosingFunction(list));
  const stays = kind === "receiver" && /^(at|find|findLast|get|slice|filter|values)$/.test(member);
  if (!stays && kind !== "element") return false;
  const given = fateOf(node as ts.Expression);
  const fn = given.kind === "returned" ? enclosingFunction(list) : undefined;
  return fn !== undefined && !handedTo(fn);
}

/** `(): readonly Alarm[] => all`: who gets a list to read leaves it as it is. */
const isToRead = (fn: ts.SignatureDeclaration | undefined): boolean =>
  fn?.type !== undefined && /^(readonly |Readonly(Array|Map|Set)<)/.test(fn.type.getText());

const endsSomeOf = (session: Session, place: ts.ClassLikeDeclaration, field: string): boolean =>
  someWithin(place, (inner) => {
    const mention = fieldOfThis(inner);
    return mention?.name.text === field && endsElements(session, mention);
  });

/** `add(part) { this.parts.push(part); }`, where a caller ends what it adds. */
function isLentTo(session: Session, list: ts.Expression): boolean {
  const { effect, fate } = transferOf(session, list);
  if (effect !== "receives" || !ts.isCallExpression(fate.node)) return false;
  return putValues(fate.member, fate.node.arguments).some((value) => {
    const bare = unwrap(value);
    const source = ts.isIdentifier(bare) ? session.oracle.declarationAt(bare) : undefined;
    if (!source || !ts.isParameter(source) || !hasBody(source.parent)) return false;
    const index = source.parent.parameters.indexOf(source);
    const { calls, values } = callSitesOf(session.oracle, source.parent, "program");
    return values.length > 0 || calls.some((call) => isKeptAt(session, call.arguments?.[index]));
  });
}

/** Whether a caller ends what it hands in, or has it from somebody else. */
function isKeptAt(session: Session, given: ts.Expression | undefined): boolean {
  const bare = given && unwrap(given);
  if (!bare || !ts.isIdentifier(bare)) return false;
  const source = session.oracle.declarationAt(bare);
  if (!source || !ts.isVariableDeclaration(source) || !ts.isIdentifier(source.name)) return false;
  const root = enclosingFunction(source) ?? source.getSourceFile();
  return (
    isUsing(source) ||
    referencesTo(session.oracle, source, source.name, root).some(
      (id) => id !== source.name && ends(session, id) && !areApart(bare, id),
    )
  );
}

/** Whether a mention of a list ends elements: in a loop over it, or after it takes them out. */
export function endsElements(session: Session, list: ts.Expression): boolean {
  if (ends(session, list) || endsInLoop(session, list)) return true;
  const { kind, member, node } = fateOf(list);
  if (kind === "receiver" && member === "flat") return endsElements(session, node as ts.Expression);
  const takes = kind === "receiver" && /^(pop|shift|splice)$/.test(member);
  const taken = takes ? (node as ts.Expression) : entryOf(list);
  if (!taken) return false;
  if (ends(session, taken) || endsInLoop(session, taken)) return true;
  const { kind: how, node: named } = fateOf(taken);
  if (how === "read" && ts.isPropertyAccessExpression(named)) return ends(session, named);
  if (how !== "bound" || !ts.isVariableDeclaration(named) || !ts.isIdentifier(named.name))
    return false;
  const root = enclosingFunction(named) ?? named.getSourceFile();
  return referencesTo(session.oracle, named, named.name, root).some(
    (id) => ends(session, id) || endsPicked(session, id),
  );
}

/** `const all = xs.map((x) => x.state); for (const t of [a, ...all]) t.dispose();` */
function endsPicked(session: Session, list: ts.Expression): boolean {
  const { kind, member, node } = fateOf(list);
  if (kind !== "receiver" || member !== "map" || !ts.isCallExpression(node)) return false;
  const [first] = node.arguments;
  const pick = first && functionHanded(session.oracle, first);
  const { kind: how, node: at } = fateOf(node);
  if (!pick || !picks(pick) || how !== "bound" || !ts.isVariableDeclaration(at)) return false;
  if (!ts.isIdentifier(at.name)) return false;
  const root = enclosingFunction(at) ?? at.getSourceFile();
  return referencesTo(session.oracle, at, at.name, root).some(
    (id) => ends(session, id) || endsInLoop(session, id) || endsInLoop(session, listOf(id)),
  );
}

/** The list that `[a, ...xs]` writes, and the mention itself elsewhere. */
function listOf(mention: ts.Expression): ts.Expression {
  const { parent } = mention;
  const isIn = ts.isSpreadElement(parent) && ts.isArrayLiteralExpression(parent.parent);
  return isIn ? parent.parent : mention;
}

/** `free(t)`, `for (const t of ts) t.dispose()`. */
function ends(session: Session, mention: ts.Expression): boolean {
  const { effect, fate, next } = transferOf(session, mention);
  const isWalked = effect === "passes" && next && fateOf(next).kind === "iterated";
  if (isWalked) return visitVerb(session, fateOf(next)) === "dispose";
  if (effect === "visits") return visitVerb(session, fate) === "dispose";
  return effect === "disposes" && !isBuiltin(session, fate);
}

/** `ts.clear()`, where what `ts` holds has a `clear()` that ends it. */
const isBuiltin = ({ oracle }: Session, { kind, node }: Fate): boolean =>
  kind === "receiver" && oracle.callee(node as CallLike).builtin;

/** `for (const [key, t] of ts) t.dispose()`, `for (const t of ts.values()) …`. */
function endsInLoop(session: Session, list: ts.Expression): boolean {
  const loop = loopOver(list);
  if (!loop || !ts.isVariableDeclarationList(loop.initializer)) return false;
  return loop.initializer.declarations.some((declaration) =>
    boundNames(declaration.name, declaration).some(({ id, declaration: at }) =>
      referencesTo(session.oracle, at, id, loop.statement).some((name) => ends(session, name)),
    ),
  );
}
