/**
 * Left behind: what an object that can be ended does not end: fields whose class has no ending at
 * all, and values that only the closures of a returned object know of. Used by the rule about
 * members.
 */
import ts from "typescript";
import { callsNamed } from "../program/call-index.ts";
import { closureEnding, isDue, leftOf, leftShared, mayNotRunOnce } from "./closure-endings.ts";
import {
  classMade,
  endingsOf,
  endlessMembers,
  endsDevice,
  freeing,
  goesWithDevice,
  isDevice,
} from "./endings.ts";
import { enclosingFunction, fateOf } from "../transfer/fate.ts";
import { leftByFile } from "./file-endings.ts";
import { onlyUsed } from "../fresh/fresh-variables.ts";
import { defaultsOfClosures } from "../transfer/given-or-made.ts";
import { reach } from "./class-reach.ts";
import { fieldOfThis, ownedMembers } from "./members.ts";
import type { Owned } from "../program/oracle.ts";
import { referencesTo } from "../program/references.ts";
import { isSwapped } from "../program/swaps.ts";
import type { Session } from "../session.ts";
import { leftShown } from "./shown-parts.ts";
import { endsTogether } from "../flow/slot-touches.ts";
import { recordSlots } from "../flow/slots.ts";
import { isUsedThere } from "../transfer/used-there.ts";
import {
  isTarget,
  memberName,
  someWithin,
  unwrap,
  within,
  type FunctionWithBody,
} from "../program/syntax.ts";

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
      session.oracle,
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
  return found.size === 0 || goesWithDevice(session, node) ? [] : [...found.values()];
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

// ---- records ----

/** What the ending of a class leaves of the records in its fields. */
export function leftInRecords(session: Session, node: ts.ClassLikeDeclaration): LeftBehind[] {
  const endings = endingsOf(node);
  const [first] = endings;
  const slots = first ? recordSlots(session, node) : [];
  if (!first || slots.length === 0) return [];
  const starts = endings.map((e) => e.member);
  const run = reach(session.oracle, node, starts);
  const ending = { name: memberName(first.member.name), body: first.body, run };
  const told = ownedMembers(session, node).map((m) => `this.${m.name}.`);
  return slots
    .filter((slot) => !told.some((name) => slot.label.startsWith(name)))
    .filter((slot) => isDue(session, slot, node, ending))
    .flatMap((slot) => leftOf(session, slot, ending))
    .map(({ label, at, owner: { noun } }) => ({
      ...{ label, at, noun, ending: first.member.name.getText(), endless: undefined },
    }));
}

// ---- files ----

/** What the endings of a file leave of its variables, objects and static fields. */
export const leftInFile = (session: Session, file: ts.SourceFile): LeftBehind[] =>
  leftByFile(session, file).map(({ label, at, owner: { noun }, ending }) => ({
    ...{ label, at, noun, ending, endless: undefined },
  }));

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
    const left = [...leftShared(session, fn, ending), ...leftShown(session, fn, ending)];
    const shared = left.map(({ label, at, owner: { noun } }): LeftBehind => ({
      ...{ label, at, noun, ending: ending.name, endless: undefined },
    }));
    for (const { label, made } of defaultsOfClosures(session, fn)) {
      const { noun } = made.owned.owner;
      shared.push({ label, at: made.at, noun, ending: ending.name, endless: undefined });
    }
    if (!someWithin(ending.body, ts.isCallExpression)) return shared;
    const locals = facts
      .variables(file)
      .filter((v) => enclosingFunction(v) === fn && !mayNotRunOnce(v, fn))
      .flatMap((v) => leftLocal(session, fn, v, ending.name) ?? [])
      .filter(({ label }) => !shared.some((s) => s.label === label));
    return locals.length > 0 && endsDevice(session, ending.body) ? shared : [...shared, ...locals];
  });
}

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
  const isKept = (id: ts.Identifier): boolean =>
    enclosingFunction(id) !== fn || (owned !== null && isUsedThere(session, id, owned));
  if (!uses.some(isKept)) return undefined;
  const stays = (id: ts.Identifier): boolean =>
    isSwapped(id) || (!isTarget(id) && (owned ? isLentOrUsed(session, id, owned) : !endsPart(id)));
  if (!uses.every(stays)) return undefined;
  return {
    label: name.text,
    at: initializer,
    noun: endless?.noun ?? owned?.owner.noun ?? "",
    ending,
    endless: endless?.endless,
  };
}

/** What a call makes that is owned alone, and no device. */
export function freshOwned(session: Session, value: ts.Expression): Owned | null {
  const owned = session.oracle.ownedAt(value);
  const counts =
    owned?.shape === "one" && owned.owner.policy === "generic" && !isDevice(session, value);
  return counts && session.freshness(value) === "fresh" ? owned : null;
}

/** Looked at, or lent to what goes on using it and frees nothing. */
export const isLentOrUsed = (session: Session, id: ts.Identifier, owned: Owned): boolean =>
  !endsTogether(id) &&
  (onlyUsed(session, id) || isUsedThere(session, id, owned) || isDescribed(session, id));

/** `begin: () => ({ querySet })` of `GPURenderPassTimestampWrites`: says what is to be used. */
function isDescribed({ oracle }: Session, id: ts.Identifier): boolean {
  const { kind, literal, top } = fateOf(id);
  if (!literal || (kind !== "returned" && kind !== "argument")) return false;
  return isDescriptor(oracle.typeName(literal, true)) || isDescriptor(oracle.typeName(top, true));
}
const descriptor = /^GPU\w+(Writes|Descriptor|Attachment|Entry|Info|Binding)$/;
const isDescriptor = (name: string): boolean => descriptor.test(name);

/** `painter.texture.destroy()`: frees something in an object. */
export function endsPart(id: ts.Identifier): boolean {
  const { kind, node } = fateOf(id);
  if (kind !== "read") return false;
  const next = fateOf(node as ts.Expression);
  return next.kind === "receiver" && freeing.test(next.member);
}
