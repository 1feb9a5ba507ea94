/**
 * Handed over: fields that the constructor of a class is given and that the class's ending leaves,
 * where it ends others that are given in the same way, and every caller in the program gives what
 * it has made for nobody else. So the object is the one owner, and with it the value is lost. Used
 * by the rule about members.
 */
import ts from "typescript";
import { sourcesFor } from "../program/call-index.ts";
import { heirsOf, makersOf } from "../program/class-makers.ts";
import { putValues } from "../program/containers.ts";
import { isHolder } from "../../owner.ts";
import { choiceArms } from "../flow/gathers.ts";
import { getsNothing } from "./field-deeds.ts";
import { endingsOf, type Ending } from "./endings.ts";
import { enclosingFunction, fateOf, type Fate } from "../transfer/fate.ts";
import { accessesByName, elementsByName } from "../program/field-index.ts";
import { keptBy } from "../transfer/keeps.ts";
import { effectInside } from "../transfer/mention.ts";
import { reach } from "./class-reach.ts";
import { fieldOfThis, mentionsField } from "./members.ts";
import { mayLackScope } from "../scopes/open-scopes.ts";
import type { Owned } from "../program/oracle.ts";
import { deedOf, mentionsOfField } from "./overwritten-places.ts";
import { referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";
import {
  hasBody,
  isEmptyContainer,
  isNullish,
  isTarget,
  isUsing,
  memberName,
  someWithin,
  unwrap,
  variableName,
  within,
} from "../program/syntax.ts";
import { isUnconditional, keptMembers } from "./taken-fields.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";
import { areApart } from "../program/ways.ts";

/** A field that a constructor fills with what it is given. */
export interface GivenField {
  name: string;
  /** Where the class declares it. */
  at: ts.PropertyDeclaration | ts.ParameterDeclaration;
  index: number;
  owned: Owned;
  /** What ends the object. */
  ending: Ending;
}

/** The fields given to a class that its endings leave behind. */
export function leftOfGiven(session: Session, node: ts.ClassLikeDeclaration): GivenField[] {
  const { facts } = session.oracle;
  const endings = endingsOf(node);
  const [first] = endings;
  const starts = endings.map(({ member }) => member);
  const maker = node.members.find((m) => ts.isConstructorDeclaration(m));
  if (!maker || !hasBody(maker) || maker.parameters.length < 2 || !first) return [];
  const ending = reach(session.oracle, node, starts);
  const speaks = (name: string): boolean =>
    [...ending].some((member) => mentionsField(facts, member, name));
  const names = givenNames(node, maker);
  if (!names.some(({ name }) => !speaks(name)) || !names.some(({ name }) => speaks(name)))
    return [];
  const given = names.flatMap((field) => {
    const owned = session.oracle.ownedAt(field.at.name);
    const counts =
      owned && (owned.owner.policy === "protocol" || isHolder(owned.owner, session.settings));
    return counts ? [{ ...field, owned, ending: first }] : [];
  });
  if (!given.some(({ name }) => endsIn(session, ending, name))) return [];
  const left = given.filter(({ name }) => !speaks(name));
  if (left.length === 0 || heirsOf(session.oracle, node).size > 0) return [];
  const calls = makersOf(session.oracle, node);
  return left.filter((field) => isNobodyElses(session, field) && isMadeFor(session, calls, field));
}

/** The fields whose only store is that of a parameter of the constructor. */
function givenNames(
  node: ts.ClassLikeDeclaration,
  maker: ts.ConstructorDeclaration,
): Omit<GivenField, "owned" | "ending">[] {
  const found: Omit<GivenField, "owned" | "ending">[] = [];
  maker.parameters.forEach((at, index) => {
    if (ts.isParameterPropertyDeclaration(at, maker))
      found.push({ name: memberName(at.name), at, index });
  });
  for (const at of node.members) {
    if (!ts.isPropertyDeclaration(at) || at.initializer) continue;
    const name = memberName(at.name);
    const stores: ts.BinaryExpression[] = [];
    const visit = (inner: ts.Node): void => {
      const access = fieldOfThis(inner);
      if (access?.name.text === name && isTarget(access))
        stores.push(access.parent as ts.BinaryExpression);
      ts.forEachChild(inner, visit);
    };
    ts.forEachChild(node, visit);
    const [store] = stores;
    if (!store || stores.length > 1 || !within(store, maker)) continue;
    const value = unwrap(store.right);
    const index = maker.parameters.findIndex(
      (p) => ts.isIdentifier(p.name) && ts.isIdentifier(value) && p.name.text === value.text,
    );
    if (index >= 0 && !maker.parameters[index]?.dotDotDotToken) found.push({ name, at, index });
  }
  return found;
}

/** Whether an ending ends a field, whatever happens. */
const endsIn = (session: Session, ending: ReadonlySet<ts.Node>, name: string): boolean =>
  [...ending].some((member) =>
    someWithin(member, (inner) => {
      const access = fieldOfThis(inner);
      return (
        access?.name.text === name && deedOf(session, access) === "ends" && isUnconditional(access)
      );
    }),
  );

/** Whether all that the program does to a field elsewhere is to look at what it holds. */
const isNobodyElses = (session: Session, field: GivenField): boolean =>
  !isEndedByShape(session, field) &&
  mentionsOfField(session, field.at, field.name).every((mention) => {
    if (isTarget(mention)) return true;
    const { effect, fate } = session.transfer(mention);
    if (fate.kind === "returned" || (fate.literal !== null && !onlyLooksAt(effect))) return false;
    return deedOf(session, mention) === "looks";
  });

/**
 * `free(t: { side: Tensor }) { t.side.dispose(); }`: an object of the class may come there, where
 * it has what the type asks for.
 */
function isEndedByShape(session: Session, { at, name }: GivenField): boolean {
  const { oracle } = session;
  const holder = ts.findAncestor(at, ts.isClassLike);
  const fits = (shape: ts.Node): boolean => !holder || mayBeOf(holder, shape);
  return sourcesFor(oracle, at).some((file) => {
    const shapes = (oracle.facts.of(file, accessesByName).get(name) ?? []).filter((access) => {
      const declaration = oracle.declarationAt(access.name);
      if (declaration === undefined) return true;
      return ts.isPropertySignature(declaration) && fits(declaration.parent);
    });
    const names = (oracle.facts.of(file, elementsByName).get(name) ?? []).flatMap((element) => {
      if (!ts.isIdentifier(element.name)) return [];
      const { parent: pattern } = element;
      const types = oracle.declarationsAt(pattern.parent.initializer ?? pattern);
      if (types.length > 0 && !types.some(fits)) return [];
      return referencesTo(oracle, element, element.name, enclosingFunction(element) ?? file);
    });
    return [...shapes, ...names].some((mention) => deedOf(session, mention) !== "looks");
  });
}

/** Whether an object of a class may have a type, as far as the names of its members say. */
function mayBeOf(node: ts.ClassLikeDeclaration, type: ts.Node): boolean {
  if (type === node || node.heritageClauses?.some(extendsOther) === true) return true;
  if (!ts.isInterfaceDeclaration(type) && !ts.isTypeLiteralNode(type) && !ts.isClassLike(type))
    return true;
  const has = new Set(node.members.flatMap(({ name }) => (name ? [memberName(name)] : [])));
  const maker = node.members.find((m) => ts.isConstructorDeclaration(m));
  for (const parameter of maker?.parameters ?? []) has.add(parameter.name.getText());
  const members: readonly ts.NamedDeclaration[] = type.members;
  return members.every(
    ({ name }) => !name || has.has(memberName(name as ts.PropertyName)) || isOptional(name.parent),
  );
}

const extendsOther = ({ token }: ts.HeritageClause): boolean =>
  token === ts.SyntaxKind.ExtendsKeyword;

const isOptional = (member: ts.Node): boolean =>
  (ts.isPropertySignature(member) || ts.isMethodSignature(member)) &&
  member.questionToken !== undefined;

/** Whether those who make such objects give what they have made for them, or nothing. */
function isMadeFor(
  session: Session,
  calls: readonly ts.NewExpression[],
  { index }: GivenField,
): boolean {
  const given = calls.flatMap((call) => {
    const all = call.arguments ?? [];
    if (all.slice(0, index + 1).some(ts.isSpreadElement)) return [undefined];
    const value = all[index] && unwrap(all[index]);
    return value === undefined || isNullish(value) ? [] : [value];
  });
  return given.length > 0 && given.every((v) => v !== undefined && isOnlyFor(session, v));
}

/** Whether an argument is new, no scope frees it, and nobody else has it. */
function isOnlyFor(session: Session, value: ts.Expression): boolean {
  const home = enclosingFunction(value);
  const owned = session.oracle.ownedAt(value);
  if (!home || !owned) return false;
  if (!ts.isIdentifier(value)) {
    if (!ts.isCallExpression(value) && !ts.isNewExpression(value)) return false;
    const isMoved =
      ts.isCallExpression(value) &&
      keptBy(session, value, session.oracle.callee(value), owned) !== undefined;
    return isOut(session, value, isMoved) && session.freshness(value) === "fresh";
  }
  const declaration = session.oracle.declarationAt(value);
  const name = declaration && variableName(declaration);
  if (!name || isUsing(declaration) || enclosingFunction(declaration) !== home) return false;
  const ids = referencesTo(session.oracle, declaration, name, home).filter((id) => id !== value);
  const moves = ids.filter((id) => isMovedOut(session, id, owned));
  const others = ids.filter((id) => !moves.includes(id));
  if (!others.every((id) => isTarget(id) || leavesIt(session, id, value))) return false;
  if (!isOut(session, value, moves.length > 0)) return false;
  const isMade = session.freshness(value) === "fresh" || isFilledAnew(session, declaration, ids);
  return isMade || isTakenOut(session, declaration, home);
}

/**
 * `const t = this.#t ?? make(); this.#t = null;`: what the object had for its own, which it lets go
 * of, or what is made instead.
 */
function isTakenOut(session: Session, declaration: ts.Declaration, home: ts.Node): boolean {
  const place = ts.findAncestor(home, ts.isClassLike);
  if (!place || !ts.isVariableDeclaration(declaration) || !declaration.initializer) return false;
  const initial = unwrap(declaration.initializer);
  const own = keptMembers(session, place).map(({ name }) => name);
  return (choiceArms(initial) ?? [initial]).map(unwrap).every((arm) => {
    const name = fieldOfThis(arm)?.name.text;
    if (name === undefined) return session.freshness(arm) === "fresh";
    const isLetGo = (at: ts.Node): boolean =>
      at.pos > declaration.end &&
      fieldOfThis(at)?.name.text === name &&
      isTarget(at) &&
      getsNothing(at);
    return own.includes(name) && someWithin(home, isLetGo);
  });
}

/** `scope.moveToOuter(a, b);`: the scope of the function lets go of a value. */
function isMovedOut({ oracle }: Session, id: ts.Identifier, { owner }: Owned): boolean {
  const { kind, node } = fateOf(id);
  if (kind !== "argument" || !ts.isCallExpression(node) || fateOf(node).kind !== "dropped")
    return false;
  return oracle.is(oracle.callee(node), owner.keep.functions, owner);
}

/** Whether no scope frees a value: there is none, or it is moved out of the one of its function. */
function isOut(session: Session, value: ts.Expression, isMoved: boolean): boolean {
  const home = enclosingFunction(value);
  const start =
    home && hasBody(home) && ts.isBlock(home.body) ? home.body.statements[0] : undefined;
  return mayLackScope(session, isMoved && start ? start : value);
}

/** `const made = []; made.push(x.neg());`: a list that is filled with what is made for it. */
function isFilledAnew(
  session: Session,
  declaration: ts.Declaration,
  ids: readonly ts.Identifier[],
): boolean {
  if (!ts.isVariableDeclaration(declaration) || !declaration.initializer) return false;
  if (!isEmptyContainer(unwrap(declaration.initializer)) || ids.some(isTarget)) return false;
  const puts = ids.flatMap((id) => {
    const { effect, fate } = session.transfer(id);
    return effect === "receives" && ts.isCallExpression(fate.node)
      ? [...putValues(fate.member, fate.node.arguments)]
      : [];
  });
  return puts.length > 0 && puts.every((v) => session.freshness(v) === "fresh");
}

/** Whether a mention leaves a variable alone, or stands on another way than the value. */
function leavesIt(session: Session, id: ts.Identifier, value: ts.Expression): boolean {
  if (areApart(id, value)) return true;
  const failed = ts.findAncestor(id, ts.isCatchClause);
  if (failed && within(value, failed.parent.tryBlock)) return true;
  const found = session.transfer(id);
  if (found.effect === "receives" || takesOut(found.fate)) return true;
  return onlyLooksAt(effectInside(session, found));
}

/** `list.shift()`: what stays is as before. */
const takesOut = ({ kind, member }: Fate): boolean =>
  kind === "receiver" && /^(pop|shift)$/.test(member);
