/**
 * Slots: places that outlive the functions which fill them and own what they hold: fields of a
 * class, variables that nested functions assign, properties of an object that stays in its file,
 * the `current` of a ref. They are given fresh values and never somebody else's. The dataflow
 * follows them through every function that speaks of them.
 */
import ts from "typescript";
import { putValues } from "../program/containers.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { isExported } from "../program/exported.ts";
import { globalsOf } from "../untyped/globals.ts";
import { isPassedOn, isRecordSharedOut, isSharedOut } from "./exported-places.ts";
import { scriptFields } from "./script-slots.ts";
import { isShownTo } from "../transfer/handed-functions.ts";
import { isSpreadBack, spreadBack } from "../lists/spread-back.ts";
import { onlyUsed } from "../fresh/fresh-variables.ts";
import { fieldOfThis, isHandedOn, isManaged } from "../objects/members.ts";
import type { Owned } from "../program/oracle.ts";
import { isPlain } from "../program/plain.ts";
import { referencesTo } from "../program/references.ts";
import { valueByPattern } from "../program/pattern-stores.ts";
import { isSwapped } from "../program/swaps.ts";
import type { Session } from "../session.ts";
import { mayBeLent } from "./lent-values.ts";
import {
  isMoved,
  isPutAway,
  isParameterOf,
  isUnconditional,
  keptMembers,
} from "../objects/taken-fields.ts";
import {
  calleeNameNode,
  isEmptyContainer,
  isNullish,
  isPrivate,
  isTarget,
  isUsing,
  memberName,
  someWithin,
  unwrap,
  valuesOf,
  valueGiven,
  isStatic,
} from "../program/syntax.ts";
import { freshBesideDevices, isCarriedOver } from "../objects/lent-devices.ts";
import { isCarriedBack } from "../scopes/carried.ts";
import { isUsedThere } from "../transfer/used-there.ts";
import { isOnOtherWay } from "../program/ways.ts";

/** A place that owns what it holds. */
export interface Slot {
  /** How messages call it: `this.x`, `last`, `canvas.current`. */
  label: string;
  owned: Owned;
  /** Everything that speaks of it, in the order of the file. */
  mentions: readonly ts.Expression[];
  /** The expressions that make what it holds. */
  makes: readonly ts.Expression[];
  /** Given a value where it is declared. */
  atOnce: boolean;
  /** The function whose own variable it is: followed there with the others. */
  home: ts.Node | undefined;
  /** The class, function or file that it is known in. */
  holder: ts.Node;
  kind: "field" | "variable" | "property" | "ref";
}

/** The slots of one file, by what speaks of them. */
export class Slots {
  readonly all: readonly Slot[];
  readonly #byMention = new Map<ts.Node, Slot>();
  readonly #byFunction = new Map<ts.Node | undefined, Set<Slot>>();

  constructor(session: Session, file: ts.SourceFile) {
    this.all = slotsOf(session, file);
    for (const slot of this.all)
      for (const mention of slot.mentions) {
        this.#byMention.set(mention, slot);
        const fn = enclosingFunction(mention);
        const list = this.#byFunction.get(fn);
        if (list) list.add(slot);
        else this.#byFunction.set(fn, new Set([slot]));
      }
  }

  /** The slot that an expression speaks of. */
  at(node: ts.Node): Slot | undefined {
    return this.#byMention.get(node);
  }
  /** The slots that a function itself speaks of, its own variables left out. */
  within(fn: ts.Node): readonly Slot[] {
    return [...(this.#byFunction.get(fn) ?? [])].filter(({ home }) => home !== fn);
  }
}

function slotsOf(session: Session, file: ts.SourceFile): Slot[] {
  const { facts } = session.oracle;
  return [
    ...facts.classes(file).flatMap((node) => fieldSlots(session, node)),
    ...facts
      .classes(file)
      .flatMap((node) => [...staticSlots(session, node), ...recordSlots(session, node)]),
    ...facts.variables(file).flatMap((node) => slotsOfVariable(session, node)),
    ...scriptFields(session, file).flatMap(
      ({ mentions, holder }) =>
        slotAt(session, mentions, { kind: "property", home: undefined, given: [], holder }) ?? [],
    ),
    ...globalsOf(session.oracle, file).flatMap(
      (ids) => slotAt(session, ids, { kind: "variable", home: undefined, given: [] }) ?? [],
    ),
  ];
}

// ---- fields ----

/**
 * The fields of a class that the dataflow follows: not those that a base has, which where values
 * live in scopes has none but its own (a layer of TensorFlow.js its weights).
 */
export function fieldSlots(session: Session, node: ts.ClassLikeDeclaration): Slot[] {
  const members = keptMembers(session, node).filter(
    (m) => m.owned.owner.policy === "scoped" || !isManaged(session, node, m),
  );
  if (members.length === 0) return [];
  const all = new Map<string, ts.Expression[]>(members.map((m) => [m.name, []]));
  const visit = (inner: ts.Node): void => {
    ts.forEachChild(inner, visit);
    const access = fieldOfThis(inner);
    if (access) all.get(access.name.text)?.push(access);
  };
  node.members.forEach(visit);
  return members.flatMap(({ name, owned, makes, atOnce }) => {
    const mentions = (all.get(name) ?? []).filter((m) => !isSwapped(m));
    const isElsewhere = (m: ts.Expression): boolean =>
      (isShared(session, m) && !isUsedThere(session, m, owned)) || isPutAwayByName(session, m);
    if (mentions.some(isElsewhere)) return [];
    if (mentions.some((m) => givenAt(session, m).some((v) => mayBeLent(session, v)))) return [];
    const label = `this.${name}`;
    return [
      { label, owned, mentions, makes, atOnce, home: undefined, holder: node, kind: "field" },
    ];
  });
}

/** Whether another place, or somebody else, has what a field holds in hand, and not to look at. */
const isShared = (session: Session, mention: ts.Expression): boolean =>
  isHandedOn(session.transfer(mention), ["disposes"]) &&
  !isSpreadBack(session.oracle, mention) &&
  !isCarriedOver(session, mention) &&
  !isShownTo(session, mention) &&
  !isMoved(mention) &&
  !isPutAway(session, mention);

/** `this.state = { last: null };`: fields of a record that stays in its field. */
export function recordSlots(session: Session, node: ts.ClassLikeDeclaration): Slot[] {
  const mentions = new Map<string, ts.PropertyAccessExpression[]>();
  const records = new Map<string, ts.Expression[]>();
  const add = <T>(to: Map<string, T[]>, key: string, value: T): void => {
    const list = to.get(key);
    if (list) list.push(value);
    else to.set(key, [value]);
  };
  const visit = (inner: ts.Node): void => {
    ts.forEachChild(inner, visit);
    const access = fieldOfThis(inner);
    if (!access) return;
    if (!isTarget(access)) return add(mentions, access.name.text, access);
    const store = access.parent as ts.BinaryExpression;
    add(records, access.name.text, store.right);
  };
  for (const member of node.members) {
    if (ts.isPropertyDeclaration(member) && member.initializer && !isStatic(member))
      add(records, memberName(member.name), member.initializer);
    visit(member);
  }
  return [...records].flatMap(([field, [value, ...others]]) => {
    const record = value && unwrap(value);
    if (!record || others.length > 0 || !ts.isObjectLiteralExpression(record)) return [];
    const made = enclosingFunction(record);
    if (made && !ts.isConstructorDeclaration(made)) return [];
    const places = new Map<string, ts.Expression[]>();
    for (const { parent: at } of mentions.get(field) ?? []) {
      if (!ts.isPropertyAccessExpression(at)) return [];
      add(places, at.name.text, at);
    }
    return [...places].flatMap(([key, all]) => {
      const given = givenFor(record, key);
      if (!given) return [];
      return slotAt(session, all, { kind: "field", home: undefined, holder: node, given }) ?? [];
    });
  });
}

/** What a literal gives a property; nothing where that is not written out. */
function givenFor(literal: ts.ObjectLiteralExpression, key: string): ts.Expression[] | undefined {
  const isOther = (p: ts.ObjectLiteralElementLike): boolean =>
    !ts.isPropertyAssignment(p) && (!p.name || p.name.getText() === key);
  if (literal.properties.some(isOther)) return undefined;
  return literal.properties.flatMap((p) =>
    ts.isPropertyAssignment(p) && p.name.getText() === key ? [p.initializer] : [],
  );
}

/** `static #last = zeros(…);`: static fields that only the file gives, keeps and ends. */
export function staticSlots(session: Session, node: ts.ClassLikeDeclaration): Slot[] {
  const { facts } = session.oracle;
  const file = node.getSourceFile();
  const isShown = isExported(facts, node);
  return node.members.flatMap((member) => {
    if (!ts.isPropertyDeclaration(member) || !isStatic(member)) return [];
    const { name } = member;
    if (!ts.isIdentifier(name) && !ts.isPrivateIdentifier(name)) return [];
    const mentions = facts
      .nodes<ts.PropertyAccessExpression>(file, ts.SyntaxKind.PropertyAccessExpression)
      .filter((n) => n.name.text === name.text && session.oracle.declarationAt(n.name) === member)
      .sort((a, b) => a.end - b.end);
    const given = member.initializer ? [member.initializer] : [];
    const slots = slotAt(session, mentions, { kind: "property", home: undefined, given }) ?? [];
    if (slots.length === 0 || !isShown || isPrivate(member) || !ts.isIdentifier(name)) return slots;
    return isSharedOut(session, member, name) ? [] : slots;
  });
}

// ---- variables, properties, refs ----

/** A variable, what a ref holds, the properties of an object that a variable holds. */
export const slotsOfVariable = (session: Session, node: ts.VariableDeclaration): Slot[] => [
  ...(variableSlot(session, node) ?? refSlot(session, node) ?? []),
  ...propertySlots(session, node),
];

/** A variable of the module, or one that a nested function speaks of. */
function variableSlot(session: Session, declaration: ts.VariableDeclaration): [Slot] | undefined {
  const { name, initializer } = declaration;
  if (!ts.isIdentifier(name) || isUsing(declaration)) return undefined;
  if (isRefMaker(initializer)) return undefined;
  const home = enclosingFunction(declaration);
  const root = home ?? declaration.getSourceFile();
  const ids = referencesTo(session.oracle, declaration, name, root).filter(
    (id) => id !== name && !isSwapped(id) && !isPassedOn(id.parent),
  );
  if (ids.every((id) => enclosingFunction(id) === home)) return undefined;
  const given = initializer ? [initializer] : [];
  const slots = slotAt(session, ids, { kind: "variable", home: root, given });
  const isShown = slots && isExported(session.oracle.facts, declaration);
  return isShown && isSharedOut(session, declaration, name) ? undefined : slots;
}

/** A ref of whatever runtime: all that is said of it is its `current`, or its `value`. */
function refSlot(session: Session, declaration: ts.VariableDeclaration): [Slot] | undefined {
  const { name, initializer } = declaration;
  if (!ts.isIdentifier(name) || !isRefMaker(initializer)) return undefined;
  const root = enclosingFunction(declaration) ?? declaration.getSourceFile();
  const ids = referencesTo(session.oracle, declaration, name, root).filter((id) => id !== name);
  const places = ids.map((id) => id.parent);
  const isPlace = (at: ts.Node): at is ts.PropertyAccessExpression =>
    ts.isPropertyAccessExpression(at) && /^(current|value)$/.test(at.name.text);
  if (!places.every(isPlace)) return undefined;
  const call = unwrap(initializer);
  const given = ts.isCallExpression(call) ? call.arguments.slice(0, 1) : [];
  return slotAt(session, places, { kind: "ref", home: undefined, given });
}

/** `useRef(…)`, `ref(…)`, `signal(…)`. */
export const isRefMaker = (value: ts.Expression | undefined): value is ts.Expression => {
  const call = value && unwrap(value);
  return (
    call !== undefined &&
    ts.isCallExpression(call) &&
    /^(use_?|create_?|shallow_?|mutable_?)?(ref|signal|box)$/i.test(
      calleeNameNode(call)?.text ?? "",
    )
  );
};

/**
 * `const app = { last: null, tick() { this.last = make(); } }`: properties of an object that stays
 * in its file.
 */
function propertySlots(session: Session, declaration: ts.VariableDeclaration): Slot[] {
  const { name, initializer } = declaration;
  const literal = initializer && unwrap(initializer);
  if (!ts.isIdentifier(name) || !literal || !ts.isObjectLiteralExpression(literal)) return [];
  const file = declaration.getSourceFile();
  const isShown = isExported(session.oracle.facts, declaration);
  const home = enclosingFunction(declaration);
  const places = new Map<string, ts.Expression[]>();
  const add = (at: ts.Node): boolean => {
    if (!ts.isPropertyAccessExpression(at)) return false;
    const list = places.get(at.name.text);
    if (list) list.push(at);
    else places.set(at.name.text, [at]);
    return true;
  };
  const ids = referencesTo(session.oracle, declaration, name, file).filter((id) => id !== name);
  if (!ids.every((id) => isPassedOn(id.parent) || add(id.parent))) return [];
  // `this.tick.bind(this)` leaves it the same
  const isWhole = (at: ts.Node): boolean =>
    at.kind === ts.SyntaxKind.ThisKeyword && !add(at.parent) && !isBound(at);
  if (someWithin(literal, isWhole)) return [];
  const givenFor = (key: string): ts.Expression[] =>
    literal.properties.flatMap((p) =>
      ts.isPropertyAssignment(p) && p.name.getText() === key ? [p.initializer] : [],
    );
  const isSet = (key: string): boolean =>
    literal.properties.some((p) => ts.isSetAccessorDeclaration(p) && memberName(p.name) === key);
  return [...places].flatMap(([key, mentions]) => {
    if (isSet(key)) return [];
    const given = givenFor(key);
    const slots = slotAt(session, mentions, { kind: "property", home, given }) ?? [];
    return isShown && slots.length > 0 && isRecordSharedOut(session, declaration, name, key)
      ? []
      : slots;
  });
}

const isBound = ({ parent }: ts.Node): boolean =>
  ts.isCallExpression(parent) && calleeNameNode(parent)?.text === "bind";

/** What a slot is given where it is declared, and where it is known. */
interface Given {
  given: readonly ts.Expression[];
  holder?: ts.Node;
}

/** The slot that some expressions speak of, when all it is given is its own. */
function slotAt(
  session: Session,
  mentions: readonly ts.Expression[],
  { kind, home, given, holder }: Pick<Slot, "kind" | "home"> & Given,
): [Slot] | undefined {
  const [first] = mentions;
  const owned = first && ownedBy(session, mentions);
  if (!owned) return undefined;
  const values = [...given, ...mentions.flatMap((m) => givenAt(session, m))].map(unwrap);
  const makes: ts.Expression[] = [];
  for (const value of values) {
    if (isNothing(value) || isOfPlace(value, mentions) || isCarriedBack(session, value)) continue;
    const store = value.parent;
    const added = ts.isBinaryExpression(store) ? spreadBack(session.oracle, store) : undefined;
    if (added?.every((part) => session.freshness(part) === "fresh")) {
      makes.push(...added);
      continue;
    }
    const found = freshBesideDevices(session, value);
    const parts = ts.isObjectLiteralExpression(value) ? valuesOf(value).map(unwrap) : [value];
    const isElsewhere = parts.some((part) => isEndedByName(session, part));
    if (found === "fresh" && !isElsewhere) makes.push(value);
    else if (kind === "variable" && home && isTaken(session, value, mentions)) makes.push(value);
    else if (found !== "never") return undefined;
  }
  if (makes.length === 0) return undefined;
  const isOthers = (m: ts.Expression): boolean =>
    isHandedOn(session.transfer(m), ["disposes"]) &&
    !isSpreadBack(session.oracle, m) &&
    !isCarriedOver(session, m) &&
    !isUsedThere(session, m, owned);
  if (mentions.some(isOthers)) return undefined;
  if (mentions.some((m) => isPutAwayByName(session, m))) return undefined;
  const atOnce = given.some((value) => makes.includes(unwrap(value)));
  const known = holder ?? home ?? first.getSourceFile();
  return [{ label: first.getText(), owned, mentions, makes, atOnce, home, holder: known, kind }];
}

/** `null`, `[]`, `{ ready: false, last: null }`. */
const isNothing = (value: ts.Expression): boolean =>
  isNullish(value) ||
  isEmptyContainer(value) ||
  (ts.isObjectLiteralExpression(value) &&
    value.properties.every((p) => {
      const part = ts.isPropertyAssignment(p) ? unwrap(p.initializer) : p;
      return (
        isPlain(part) || (ts.isExpression(part) && (isNullish(part) || isEmptyContainer(part)))
      );
    }));

/** `(next) => { table.dispose(); table = next; }`: who ends what a variable holds owns the next. */
const isTaken = (
  session: Session,
  value: ts.Expression,
  mentions: readonly ts.Expression[],
): boolean => {
  const fn = enclosingFunction(value);
  if (!fn || !isParameterOf(session, value, fn)) return false;
  const ends = mentions.filter((m) => session.transfer(m).effect === "disposes");
  return ends.length > 0 && ends.every((m) => isUnconditional(m));
};

/** `xs.slice(1)`, where `xs` is the place itself: some of what it holds. */
const isOfPlace = (value: ts.Expression, mentions: readonly ts.Expression[]): boolean =>
  ts.isCallExpression(value) &&
  ts.isPropertyAccessExpression(value.expression) &&
  /^(slice|filter)$/.test(value.expression.name.text) &&
  mentions.includes(value.expression.expression);

/** `const spent = this.buffer; … this.spare.push(spent);`: another place has it, too. */
function isPutAwayByName(session: Session, mention: ts.Expression): boolean {
  const { effect, fate } = session.transfer(mention);
  const at = fate.node;
  if (effect !== "aliases" || !ts.isVariableDeclaration(at) || !ts.isIdentifier(at.name))
    return false;
  const root = enclosingFunction(at) ?? at.getSourceFile();
  return referencesTo(session.oracle, at, at.name, root).some(
    (id) => id !== at.name && /^(stores|takes)$/.test(session.transfer(id).effect),
  );
}

function ownedBy(session: Session, mentions: readonly ts.Expression[]): Owned | undefined {
  for (const mention of mentions) {
    const owned = session.oracle.ownedAt(mention);
    if (owned) return owned;
  }
  return undefined;
}

/** What an assignment to a place, or a call that puts something into its list, gives it. */
function givenAt(session: Session, mention: ts.Expression): readonly ts.Expression[] {
  const { parent } = mention;
  if (ts.isBinaryExpression(parent) && parent.left === mention && isStore(parent))
    return [valueGiven(parent)];
  const unpacked = valueByPattern(mention);
  if (unpacked) return [unpacked];
  const { effect, fate } = session.transfer(mention);
  return effect === "receives" && ts.isCallExpression(fate.node)
    ? putValues(fate.member, fate.node.arguments)
    : [];
}

/** `=`, `??=` and `||=`. */
export const isStore = ({ operatorToken: { kind } }: ts.BinaryExpression): boolean =>
  kind === ts.SyntaxKind.EqualsToken ||
  kind === ts.SyntaxKind.QuestionQuestionEqualsToken ||
  kind === ts.SyntaxKind.BarBarEqualsToken;

/** `const net = make(); model.current = net; return () => net.dispose();`: it has another end. */
export function isEndedByName(session: Session, value: ts.Expression): boolean {
  const source = ts.isIdentifier(value) ? session.oracle.declarationAt(value) : undefined;
  if (!source || !ts.isVariableDeclaration(source) || !ts.isIdentifier(source.name)) return false;
  const root = enclosingFunction(source) ?? source.getSourceFile();
  return referencesTo(session.oracle, source, source.name, root).some(
    (id) =>
      id !== value && id !== source.name && !onlyUsed(session, id) && !isOnOtherWay(value, id),
  );
}
