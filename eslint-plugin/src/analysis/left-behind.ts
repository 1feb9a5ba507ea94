/**
 * Left behind: what an object that can be ended does not end: fields whose class has no ending at
 * all, and values that only the closures of a returned object know of. Used by the rule about
 * members.
 */
import ts from "typescript";
import { callsNamed } from "./call-index.ts";
import { closureEnding, leftShared, mayNotRunOnce } from "./closure-endings.ts";
import { classMade, endingsOf, endlessMembers, endsDevice, freeing, isDevice } from "./endings.ts";
import { enclosingFunction, fateOf } from "./fate.ts";
import { onlyUsed } from "./fresh-variables.ts";
import { isLent } from "./holding.ts";
import { fieldOfThis, reach } from "./members.ts";
import type { Owned } from "./oracle.ts";
import { referencesTo } from "./references.ts";
import type { Session } from "./session.ts";
import {
  isTarget,
  memberName,
  someWithin,
  unwrap,
  within,
  type CallLike,
  type FunctionWithBody,
} from "./syntax.ts";

/** A value that outlives the end of what keeps it. */
export interface LeftBehind {
  /** What keeps it: `this.painter`, `painter`. */
  label: string;
  at: ts.Expression;
  noun: string;
  /** The ending that leaves it. */
  ending: string;
  /** The class that has no ending, where that is why. */
  endless: string | undefined;
}

/** Fields of a class with an ending that hold objects which nobody can end. */
export function endlessFields(session: Session, node: ts.ClassLikeDeclaration): LeftBehind[] {
  const endings = endingsOf(node);
  const [ending] = endings;
  if (!ending) return [];
  const reached = [
    ...reach(
      session.oracle.facts,
      node,
      endings.map((e) => e.member),
    ),
  ];
  const found = new Map<string, LeftBehind>();
  const note = (name: string, at: ts.Expression): void => {
    const endless = endlessClassOf(session, at);
    if (!endless || found.has(name)) return;
    const isField = (child: ts.Node): boolean =>
      fieldOfThis(child)?.name.text === name && !isTarget(child);
    if (reached.some((member) => someWithin(member, isField))) return;
    found.set(name, {
      label: `this.${name}`,
      at,
      ...endless,
      ending: ending.member.name.getText(),
    });
  };
  const visit = (inner: ts.Node): void => {
    if (ts.isClassLike(inner)) return;
    if (
      ts.isBinaryExpression(inner) &&
      inner.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
      fieldOfThis(inner.left)
    )
      note((inner.left as ts.PropertyAccessExpression).name.text, inner.right);
    ts.forEachChild(inner, visit);
  };
  for (const member of node.members) {
    if (ts.isPropertyDeclaration(member) && member.initializer)
      note(memberName(member.name), member.initializer);
    ts.forEachChild(member, visit);
  }
  return found.size === 0 || reached.some((m) => endsDevice(session, m)) ? [] : [...found.values()];
}

/**
 * Whether something with an ending keeps an object of a class that has none, and so cannot free
 * what that keeps.
 */
export function isKeptToTheEnd(session: Session, node: ts.ClassLikeDeclaration): boolean {
  const name = node.name?.text;
  if (name === undefined || endlessMembers(session, node).length === 0) return false;
  const makers = [
    name,
    ...node.members.flatMap((m) =>
      ts.isMethodDeclaration(m) && ts.getCombinedModifierFlags(m) & ts.ModifierFlags.Static
        ? [memberName(m.name)]
        : [],
    ),
  ];
  const calls = makers.flatMap((maker) => callsNamed(session.oracle, maker));
  return calls.some((call) => {
    if (within(call, node) || classMade(session, call) !== node) return false;
    const place = ts.findAncestor(call, ts.isClassLike);
    const left = place
      ? endlessFields(session, place)
      : leftByClosures(session, call.getSourceFile());
    return left.some(({ at }) => unwrap(at) === call);
  });
}

/** The class of a new object that keeps what nobody can free. */
function endlessClassOf(
  session: Session,
  value: ts.Expression,
): Pick<LeftBehind, "endless" | "noun"> | undefined {
  const made = classMade(session, value);
  const [member] = made ? endlessMembers(session, made) : [];
  return member && made?.name
    ? { endless: made.name.text, noun: member.owned.owner.noun }
    : undefined;
}

// ---- closures ----

/**
 * Values of a function that only closures know of, of which the object it returns has an ending
 * that leaves them: `const b = d.createBuffer(…); return { draw() {… b …}, destroy() {} }`.
 */
export function leftByClosures(session: Session, file: ts.SourceFile): LeftBehind[] {
  const { facts } = session.oracle;
  return facts.functions(file).flatMap((fn) => {
    const ending = closureEnding(session, fn);
    if (!ending) return [];
<<<<<<< HEAD
    const shared = leftShared(session, fn, ending).map(
      ({ label, at, owner: { noun } }): LeftBehind => ({
        ...{ label, at, noun, ending: ending.name, endless: undefined },
      }),
    );
    if (shared.length > 0 || !someWithin(ending.body, ts.isCallExpression)) return shared;
=======
    const shared = leftSlots(session, fn, ending);
    if (!someWithin(ending.body, ts.isCallExpression)) return shared;
>>>>>>> 19ee6d20 (Report shared GPU objects that an ending leaves out)
    const locals = facts
      .variables(file)
      .filter((v) => enclosingFunction(v) === fn && !mayNotRunOnce(v, fn))
      .flatMap((v) => leftLocal(session, fn, v, ending.name) ?? [])
      .filter(({ label }) => !shared.some((s) => s.label === label));
    return locals.length > 0 && endsDevice(session, ending.body) ? shared : [...shared, ...locals];
  });
}

<<<<<<< HEAD
=======
/**
 * `let line = zeros(…); return { push() { line.dispose(); line = …; }, destroy() {} }`: what
 * closures share, and end only to fill it again.
 */
function leftSlots(
  session: Session,
  fn: FunctionWithBody,
  ending: { name: string; body: ts.Node },
): LeftBehind[] {
  const variables = session.oracle.facts.variables(fn.getSourceFile());
  return variables.flatMap((declaration): LeftBehind[] => {
    if (enclosingFunction(declaration) !== fn || mayNotRunOnce(declaration, fn)) return [];
    const [slot] = variableSlot(session, declaration) ?? [];
    const isGeneric = slot?.owned.owner.policy === "generic";
    const at = slot && (slot.atOnce || isGeneric) ? slot.makes[0] : undefined;
    if (!slot || !at || (isGeneric && !endsOthers(session, ending.body, at))) return [];
    if (!mayLackScope(session, at) || touches(session, slot, ending.body)) return [];
    const stays = slot.mentions.every((mention) => {
      if (leaves(session, mention)) return true;
      const place = enclosingFunction(mention);
      return slot.mentions.some((m) => isTarget(m) && enclosingFunction(m) === place);
    });
    if (!stays) return [];
    const { owner } = slot.owned;
    return [{ label: slot.label, at, noun: owner.noun, ending: ending.name, endless: undefined }];
  });
}

/** Whether an ending ends objects one by one, so that none may be left out. */
const endsOthers = (session: Session, body: ts.Node, made: ts.Expression): boolean => {
  const ends = (node: ts.Node): boolean =>
    ts.isExpression(node) &&
    (ts.isIdentifier(node) || ts.isPropertyAccessExpression(node)) &&
    session.transfer(node).effect === "disposes";
  return !isDevice(session, made) && !endsDevice(session, body) && someWithin(body, ends);
};

/** Whether a node below a function stands in a loop or where something may throw before it. */
const mayNotRunOnce = (node: ts.Node, fn: ts.Node): boolean => {
  for (let at = node.parent; at !== fn; at = at.parent)
    if (ts.isIterationStatement(at, false) || ts.isTryStatement(at)) return true;
  return false;
};

/** The ending of the one object that a function returns. */
function returnedEnding(
  session: Session,
  fn: FunctionWithBody,
): { name: string; body: ts.Node } | undefined {
  const literals = returnsOf(fn).map((value) => literalOf(session, unwrap(value)));
  const [literal] = literals;
  if (!literal || literals.some((other) => other !== literal)) return undefined;
  for (const property of literal.properties) {
    const name = property.name && memberName(property.name);
    if (name !== "dispose" && name !== "destroy") continue;
    const given = givenTo(property);
    const body = given ? functionHanded(session.oracle, given) : property;
    if (hasBody(body)) return { name, body };
  }
  return undefined;
}

function literalOf(session: Session, value: ts.Node): ts.ObjectLiteralExpression | undefined {
  if (ts.isObjectLiteralExpression(value)) return value;
  const declaration = ts.isIdentifier(value) ? session.oracle.declarationAt(value) : undefined;
  if (!declaration || !ts.isVariableDeclaration(declaration) || !declaration.initializer)
    return undefined;
  const initial = unwrap(declaration.initializer);
  return ts.isObjectLiteralExpression(initial) ? initial : undefined;
}

>>>>>>> 19ee6d20 (Report shared GPU objects that an ending leaves out)
/** A local value that closures use and nobody ends or hands on. */
function leftLocal(
  session: Session,
  fn: FunctionWithBody,
  declaration: ts.VariableDeclaration,
  ending: string,
): LeftBehind | undefined {
  const { name, initializer } = declaration;
  if (!initializer || !ts.isIdentifier(name)) return undefined;
  const endless = endlessClassOf(session, initializer);
  const owned = endless ? null : freshOwned(session, initializer);
  if (!endless && !owned) return undefined;
  const uses = referencesTo(session.oracle, declaration, name, fn);
  if (!uses.some((id) => enclosingFunction(id) !== fn)) return undefined;
  const stays = (id: ts.Identifier): boolean =>
    !isTarget(id) && (owned ? isLentOrUsed(session, id, owned) : !endsPart(id));
  if (!uses.every(stays)) return undefined;
  return {
    label: name.text,
    at: initializer,
    noun: endless?.noun ?? owned?.owner.noun ?? "",
    ending,
    endless: endless?.endless,
  };
}

function freshOwned(session: Session, value: ts.Expression): Owned | null {
  const owned = session.oracle.ownedAt(value);
  const counts =
    owned?.shape === "one" && owned.owner.policy === "generic" && !isDevice(session, value);
  return counts && session.freshness(value) === "fresh" ? owned : null;
}

/** Looked at, or lent to what goes on using it and frees nothing. */
function isLentOrUsed(session: Session, id: ts.Identifier, { owner }: Owned): boolean {
  if (onlyUsed(session, id)) return true;
  const { kind, node } = fateOf(id);
  if (kind !== "argument") return false;
  const callee = session.oracle.callee(node as CallLike);
  return session.oracle.is(callee, owner.holders, owner) || isLent(callee, owner);
}

/** `painter.texture.destroy()`: frees something in an object. */
function endsPart(id: ts.Identifier): boolean {
  const { kind, node } = fateOf(id);
  if (kind !== "read") return false;
  const next = fateOf(node as ts.Expression);
  return next.kind === "receiver" && freeing.test(next.member);
}
