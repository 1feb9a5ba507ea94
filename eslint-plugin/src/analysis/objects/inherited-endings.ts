/**
 * Inherited endings: what becomes of the `dispose()` that a class has from a base of the library.
 * It frees what the base knows of: fields the base cannot know need an ending of their own, and an
 * ending of the class's own must call it. Used by the rule about members.
 */
import ts from "typescript";
import { enclosingFunction } from "../transfer/fate.ts";
import { meansToEnd } from "./field-deeds.ts";
import { isEndingName, lineage } from "./holders.ts";
import { reach } from "./class-reach.ts";
import { heirsOf } from "../program/class-makers.ts";
import {
  fieldOfThis,
  managed,
  mentionsField,
  ownedMembers,
  sharedElsewhere,
  type Member,
} from "./members.ts";
import { referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";
import { baseOf, isTarget, memberName, someWithin } from "../program/syntax.ts";

/** Whether a class has its ending from a class of a library, with none of its own between. */
export function inheritsEnding(session: Session, node: ts.ClassLikeDeclaration): boolean {
  const base = baseOf(node);
  if (!base) return false;
  return session.settings.owners.some(
    (owner) =>
      managed(session, node, owner.managers) &&
      owner.dispose.methods.some((name) => {
        const { members } = session.oracle.inherited(base, name);
        return members.length > 0 && members.every((m) => m.getSourceFile().isDeclarationFile);
      }),
  );
}

/**
 * The name of the ending that a class has from a class of the program: one that ends what that has
 * by it and calls no method of this one, or an empty one by which other heirs end what they have.
 */
export function endingFromOwn(
  session: Session,
  node: ts.ClassLikeDeclaration,
  members: readonly Member[],
): string | undefined {
  const { oracle } = session;
  const [, ...above] = lineage(node, oracle);
  const own = new Set(node.members.flatMap((m) => (m.name ? [memberName(m.name)] : [])));
  for (const base of above) {
    const endings = base.members.filter(
      (m): m is ts.MethodDeclaration =>
        ts.isMethodDeclaration(m) &&
        (m.body !== undefined || isEmpty(m)) &&
        isEndingName(memberName(m.name)),
    );
    const isNamed = (m: ts.MethodDeclaration): boolean => ts.isIdentifier(m.name);
    const ending = endings.find(isNamed) ?? endings[0];
    if (!ending) continue;
    const name = memberName(ending.name);
    const run = reach(oracle, base, [ending]);
    const asksOwn = (at: ts.Node): boolean => own.has(fieldOfThis(at)?.name.text ?? "");
    if ([...run].some((fn) => someWithin(fn, asksOwn))) return undefined;
    if (someWithin(node, (at) => handsEnd(at, own))) return undefined;
    const isKnown = (member: Member): boolean =>
      base.members.some((m) => m.name !== undefined && memberName(m.name) === member.name) ||
      [...run].some((fn) => mentionsField(oracle.facts, fn, member.name));
    if (members.some(isKnown)) return undefined;
    const ends = isEmpty(ending)
      ? [...heirsOf(oracle, base)].some((heir) => heir !== node && endsBy(session, heir, name))
      : endsAny(session, base, run);
    return ends ? name : undefined;
  }
  return undefined;
}

/** `super(() => [this.#x])`, `this.onDestroy(() => this.#free())`: the base may end it by that. */
function handsEnd(at: ts.Node, own: ReadonlySet<string>): boolean {
  if (!ts.isCallExpression(at)) return false;
  const method = fieldOfThis(at.expression)?.name.text;
  const isOfBase =
    at.expression.kind === ts.SyntaxKind.SuperKeyword || (method !== undefined && !own.has(method));
  return isOfBase && at.arguments.some((a) => ts.isArrowFunction(a) || ts.isFunctionExpression(a));
}

/** `dispose() {}`, `dispose?(): void`: an ending for heirs to write. */
const isEmpty = ({ body, questionToken }: ts.MethodDeclaration): boolean =>
  body ? body.statements.length === 0 : questionToken !== undefined;

/** Whether a class has an ending of that name that ends something the class has. */
function endsBy(session: Session, node: ts.ClassLikeDeclaration, name: string): boolean {
  const ending = node.members.find(
    (m): m is ts.MethodDeclaration => ts.isMethodDeclaration(m) && memberName(m.name) === name,
  );
  return ending !== undefined && endsAny(session, node, reach(session.oracle, node, [ending]));
}

const endsAny = (
  session: Session,
  node: ts.ClassLikeDeclaration,
  run: ReadonlySet<ts.Node>,
): boolean => ownedMembers(session, node).some((m) => meansToEnd(run, m.name, m.owned));

/** Whether a field is left by an ending that its class inherits: nobody else has or ends it. */
export const isLeftByBase = (
  session: Session,
  node: ts.ClassLikeDeclaration,
  member: Member,
): boolean =>
  !sharedElsewhere(session, node, member.name) &&
  !endedLater(node, member) &&
  !member.makes.some((at) => isTaken(session, at));

/** `const scale = zeros([2]); this.buffer("scale", scale);`: somebody takes what has a name. */
function isTaken(session: Session, id: ts.Expression): boolean {
  if (!ts.isIdentifier(id)) return false;
  const source = session.oracle.declarationAt(id);
  if (!source || !ts.isVariableDeclaration(source) || !ts.isIdentifier(source.name)) return false;
  const root = enclosingFunction(source) ?? source.getSourceFile();
  return referencesTo(session.oracle, source, source.name, root).some(
    (other) => session.transfer(other).effect === "takes",
  );
}

/** The ending of a class that does not call the one it takes the place of. */
export function endingWithoutSuper(
  session: Session,
  node: ts.ClassLikeDeclaration,
): ts.MethodDeclaration | undefined {
  if (!baseOf(node)) return undefined;
  const names = session.settings.owners
    .filter((owner) => owner.managers.length > 0)
    .flatMap((owner) => owner.dispose.methods);
  const isOfLibrary = inheritsEnding(session, node);
  return node.members.find((m): m is ts.MethodDeclaration => {
    if (!ts.isMethodDeclaration(m) || !m.body) return false;
    const name = memberName(m.name);
    const takesPlace = isOfLibrary ? names.includes(name) : endsInBase(session, node, m, name);
    return takesPlace && !callsSuper(session, node, m);
  });
}

const callsSuper = (
  { oracle }: Session,
  node: ts.ClassLikeDeclaration,
  method: ts.MethodDeclaration,
): boolean =>
  [...reach(oracle, node, [method])].some((m) =>
    someWithin(m, (child) => child.kind === ts.SyntaxKind.SuperKeyword),
  );

/** Whether a method takes the place of one of the program that ends a field, and leaves that. */
function endsInBase(
  session: Session,
  node: ts.ClassLikeDeclaration,
  method: ts.MethodDeclaration,
  name: string,
): boolean {
  if (!isEndingName(name)) return false;
  const { oracle } = session;
  const [, ...above] = lineage(node, oracle);
  for (const base of above) {
    const taken = base.members.find((m) => m.name !== undefined && memberName(m.name) === name);
    if (!taken) continue;
    if (!ts.isMethodDeclaration(taken) || !taken.body) return false;
    const run = reach(oracle, base, [taken]);
    const speaks = reach(oracle, node, [method]);
    return ownedMembers(session, base).some(
      (m) =>
        meansToEnd(run, m.name, m.owned) &&
        ![...speaks].some((other) => mentionsField(oracle.facts, other, m.name)),
    );
  }
  return false;
}

/** Whether another method frees a field and leaves it so: `dispose()` may have it called later. */
export function endedLater(node: ts.ClassLikeDeclaration, { name, owned }: Member): boolean {
  const isField = (at: ts.Node): boolean => fieldOfThis(at)?.name.text === name;
  const ends = (at: ts.Node): boolean =>
    ts.isPropertyAccessExpression(at) &&
    isField(at.expression) &&
    (owned.owner.dispose.methods.includes(at.name.text) || isEndingName(at.name.text));
  const sets = (at: ts.Node): boolean => isField(at) && isTarget(at);
  const frees = (fn: ts.Node): boolean => someWithin(fn, ends) && !someWithin(fn, sets);
  // a listener that the constructor adds does
  const listens = (at: ts.Node): boolean => ts.isFunctionLike(at) && frees(at);
  return node.members.some((m) =>
    ts.isConstructorDeclaration(m)
      ? m.body !== undefined && someWithin(m.body, listens)
      : ts.isMethodDeclaration(m) && frees(m),
  );
}
