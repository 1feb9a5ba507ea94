/**
 * Inherited endings: what becomes of the `dispose()` that a class has from a base of the library.
 * It frees what the base knows of: fields the base cannot know need an ending of their own, and an
 * ending of the class's own must call it. Used by the rule about members.
 */
import ts from "typescript";
import { enclosingFunction } from "./fate.ts";
import { fieldOfThis, managed, reach, sharedElsewhere, type Member } from "./members.ts";
import { referencesTo } from "./references.ts";
import type { Session } from "./session.ts";
import { baseOf, isTarget, memberName, someWithin } from "./syntax.ts";

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
  const names = session.settings.owners
    .filter((owner) => owner.managers.length > 0)
    .flatMap((owner) => owner.dispose.methods);
  const method = node.members.find(
    (m): m is ts.MethodDeclaration =>
      ts.isMethodDeclaration(m) && m.body !== undefined && names.includes(memberName(m.name)),
  );
  if (!method || !inheritsEnding(session, node)) return undefined;
  const callsSuper = [...reach(session.oracle.facts, node, [method])].some((m) =>
    someWithin(m, (child) => child.kind === ts.SyntaxKind.SuperKeyword),
  );
  return callsSuper ? undefined : method;
}

/** Whether another method frees a field and leaves it so: `dispose()` may have it called later. */
export function endedLater(node: ts.ClassLikeDeclaration, { name, owned }: Member): boolean {
  const isField = (at: ts.Node): boolean => fieldOfThis(at)?.name.text === name;
  const ends = (at: ts.Node): boolean =>
    ts.isPropertyAccessExpression(at) &&
    isField(at.expression) &&
    owned.owner.dispose.methods.includes(at.name.text);
  const sets = (at: ts.Node): boolean => isField(at) && isTarget(at);
  return node.members.some(
    (m) => ts.isMethodDeclaration(m) && someWithin(m, ends) && !someWithin(m, sets),
  );
}
