/**
 * Partial records: fields of an object that a place holds, `this.parts = { a, b }`, or of the
 * objects in a list or table there, which the end of that place leaves out where it ends some of
 * them one by one; and places of a tuple. Used by the rule about members and by
 * `closure-endings.ts`, as `partial-lists.ts` is for lists.
 */
import ts from "typescript";
import { functionHanded } from "../program/callee.ts";
import { listEmptied } from "../program/containers.ts";
import { enclosingFunction, fateOf, loopOver, returnsOf, type Fate } from "../transfer/fate.ts";
import { scopeCallback } from "../transfer/keeps.ts";
import { fieldOfThis, isHandedOn, type Member } from "../objects/members.ts";
import { runWith } from "../objects/own-calls.ts";
import type { Owned } from "../program/oracle.ts";
import { referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";
import {
  calleeNameNode,
  isEmptyContainer,
  isNullish,
  isTarget,
  isUsing,
  memberName,
  unwrap,
  valuesOf,
  type CallLike,
} from "../program/syntax.ts";

/** A place that holds a record. */
export interface RecordPlace {
  /** How messages call it. */
  label: string;
  /** What makes the record. */
  at: ts.Expression;
  owned: Owned;
  /** What speaks of it where it is ended. */
  mentions: readonly ts.Expression[];
}

/** A field of a record that nobody ends, and the property that gives it its value. */
export interface LeftOut {
  label: string;
  at: ts.Expression;
}

/**
 * What of a record is left out where the rest is ended by name. Nothing where none is ended, or
 * anything else is done with the record, such as handing it on.
 */
export function leftOutOf(
  session: Session,
  { label, at, owned, mentions }: RecordPlace,
): LeftOut[] {
  const given = literalIn(session, unwrap(at));
  const record = owned.shape === "record" ? owned : session.oracle.ownedAt(given);
  const isEach = owned.each === "record" && record?.shape === "record";
  const [first] = mentions;
  const places = owned.each || !first ? [] : session.oracle.ownedPlaces(first);
  if (owned.shape !== "record" && !isEach && places.length === 0) return [];
  const parts = new Parts(session, owned.owner.dispose.methods);
  for (const mention of mentions) {
    if (isEach) parts.each(mention);
    else parts.one(mention);
  }
  if (parts.whole || !parts.ends) return [];
  const fields = places.length > 0 ? places.map(String) : (record?.fields ?? []).slice();
  const named = new Set([...parts.named].map((name) => valueOf(given, name)?.getText()));
  const isNamed = (at: ts.Expression): boolean =>
    ts.isObjectLiteralExpression(at)
      ? valuesOf(at).every((v) => isNamed(unwrap(v)) || !session.oracle.ownedAt(v))
      : ts.isIdentifier(at) && named.has(at.text);
  return fields.flatMap((field) => {
    const value = parts.named.has(field) ? undefined : valueOf(given, field);
    // `{ a, at: { buffer: a } }`
    if (value && isNamed(unwrap(value))) return [];
    const name = places.length > 0 ? `[${field}]` : `${isEach ? "[…]" : ""}.${field}`;
    return value && !isInOtherPlace(session, value) ? [{ label: label + name, at: value }] : [];
  });
}

/** The fields of the records that a place is given, or that are put into a list there. */
export function fieldsMadeOf(
  session: Session,
  { at, owned }: Pick<Member, "at" | "owned">,
): readonly string[] {
  const given = literalIn(session, unwrap(at));
  const isRecord = ts.isObjectLiteralExpression(given) && owned.shape !== "one";
  const made = isRecord ? given.properties : [];
  const names = made.flatMap(({ name }) => (name ? memberName(name) : []));
  const isOwned = (name: string): boolean => {
    const value = valueOf(given, name);
    return value !== undefined && session.oracle.ownedAt(value) !== null;
  };
  return isRecord ? names.filter(isOwned) : owned.fields;
}

/** What a method that empties a list or table of records leaves of each. */
export interface LeftWhereEmptied extends LeftOut {
  method: ts.MethodDeclaration;
}

/**
 * `for (const p of this.parts) p.a.destroy(); this.parts.length = 0;`: what methods of a class that
 * empty a list or table of records leave of each, where they end the rest of it by name.
 */
export function leftWhereEmptied(
  session: Session,
  node: ts.ClassLikeDeclaration,
  { name, at, owned }: Pick<Member, "name" | "at" | "owned">,
): LeftWhereEmptied[] {
  if (owned.each !== "record") return [];
  return node.members.flatMap((method) => {
    if (!ts.isMethodDeclaration(method) || !method.body) return [];
    const mentions = mentionsOf(name, [method]);
    const last = mentions.find(isEmptied);
    if (!last) return [];
    const helpers = [...runWith(node, method)].filter((m) => m !== method);
    const before = [...mentions.slice(0, mentions.indexOf(last)), ...mentionsOf(name, helpers)];
    const place = { label: `this.${name}`, at, owned, mentions: before };
    return leftOutOf(session, place)
      .filter((left) => isMadeForIt(session, left.at))
      .map((left) => ({ ...left, method }));
  });
}

/** Whether a value is made for one record alone: there, or as a local value of the same turn. */
function isMadeForIt(session: Session, at: ts.Expression): boolean {
  const value = unwrap(at);
  if (!ts.isIdentifier(value)) return session.freshness(value) === "fresh";
  const source = session.oracle.declarationAt(value);
  if (!source || !ts.isVariableDeclaration(source) || !ts.isIdentifier(source.name)) return false;
  const { initializer } = source;
  const made = initializer !== undefined && session.freshness(initializer) === "fresh";
  return made && turnOf(source) === turnOf(value) && !isInOtherPlace(session, at);
}

/** Whether a local value that a record is given is put into another place, or handed on, too. */
function isInOtherPlace(session: Session, at: ts.Expression): boolean {
  const value = unwrap(at);
  const source = ts.isIdentifier(value) ? session.oracle.declarationAt(value) : undefined;
  if (!source || !ts.isVariableDeclaration(source) || !ts.isIdentifier(source.name)) return false;
  const { name } = source;
  const root = enclosingFunction(source) ?? source.getSourceFile();
  const lent = session.oracle.ownedAt(value)?.owner.untyped.lent ?? [];
  const isLent = ({ kind, node }: Fate): boolean =>
    kind === "argument" && lent.includes(calleeNameNode(node as CallLike)?.text ?? "");
  const goes = (id: ts.Identifier): boolean =>
    id !== name && id !== value && isHandedOn(session.transfer(id), []) && !isLent(fateOf(id));
  return referencesTo(session.oracle, source, name, root).some(goes);
}

/** The loop or function whose every turn runs a place anew. */
const turnOf = (node: ts.Node): ts.Node | undefined =>
  ts.findAncestor(node, (n) => ts.isIterationStatement(n, false) || ts.isFunctionLike(n));

/** `this.parts = []`, `this.parts.length = 0`, `this.parts.clear()`. */
function isEmptied(mention: ts.Expression): boolean {
  const { parent } = mention;
  return ts.isBinaryExpression(parent)
    ? parent.left === mention && isEmptyContainer(unwrap(parent.right))
    : listEmptied(parent.parent) === mention;
}

/** Where some methods speak of a field. */
export function mentionsOf(field: string, methods: Iterable<ts.Node>): ts.Expression[] {
  const found: ts.Expression[] = [];
  const visit = (node: ts.Node): void => {
    const mention = fieldOfThis(node);
    if (mention?.name.text === field) found.push(mention);
    ts.forEachChild(node, visit);
  };
  for (const method of methods) visit(method);
  return found;
}

/**
 * What `noGrad(() => ({ a, b }))` gives is what its callback does; each of what `xs.map(() => ({ a,
 * b }))` gives, too.
 */
function literalIn(session: Session, value: ts.Expression): ts.Expression {
  const owned = ts.isCallExpression(value) ? session.oracle.ownedAt(value) : null;
  if (!owned || !ts.isCallExpression(value)) return value;
  const callee = session.oracle.callee(value);
  const makesEach = callee.builtin && /^(map|from)$/.test(callee.name);
  const callback = makesEach
    ? value.arguments[callee.name === "map" ? 0 : 1]
    : scopeCallback(session, value, callee, owned);
  const fn = callback && functionHanded(session.oracle, callback);
  if (fn && fn.getSourceFile() !== value.getSourceFile()) return value;
  const [only, ...others] = fn ? returnsOf(fn) : [];
  return only && others.length === 0 ? unwrap(only) : value;
}

/** What a literal gives a field. */
function valueOf(given: ts.Expression, field: string): ts.Expression | undefined {
  if (ts.isArrayLiteralExpression(given)) return given.elements[Number(field)];
  if (!ts.isObjectLiteralExpression(given)) return undefined;
  const property = given.properties.find((p) => p.name && memberName(p.name) === field);
  const value =
    property && (ts.isPropertyAssignment(property) ? property.initializer : property.name);
  return value && ts.isExpression(value) ? value : undefined;
}

/** The parts of records that some mentions of them speak of. */
class Parts {
  readonly named = new Set<string>();
  /** Something else is done with a record. */
  whole = false;
  /** A part is ended. */
  ends = false;

  readonly #session: Session;
  readonly #methods: readonly string[];

  constructor(session: Session, methods: readonly string[]) {
    this.#session = session;
    this.#methods = methods;
  }

  /** A mention of a record, or of a tuple. */
  one(mention: ts.Expression): void {
    const place = partOf(mention);
    const { kind, node } = fateOf(mention);
    if (place) {
      this.named.add(place.name);
      this.ends ||= endsPart(place.node, this.#methods);
    } else if (kind === "bound" && ts.isVariableDeclaration(node)) this.#bound(node.name, node);
    else this.whole ||= !isAsked(mention);
  }

  /** A mention of a list or table of records. */
  each(mention: ts.Expression): void {
    const { kind, member, node } = fateOf(mention);
    const loop = loopOver(mention);
    const [first] = ts.isCallExpression(node) ? node.arguments : [];
    if (loop) {
      const list = loop.initializer;
      const [turn] = ts.isVariableDeclarationList(list) ? list.declarations : [];
      if (turn) this.#bound(turn.name, turn);
      else this.whole = true;
    } else if (kind === "receiver" && member === "forEach" && first) {
      const parameter = functionHanded(this.#session.oracle, first)?.parameters[0];
      if (parameter) this.#bound(parameter.name, parameter);
      else this.whole = true;
    } else if (!/^(clear|size|length)$/.test(member)) this.whole ||= !isAsked(mention);
  }

  /** Names for a record, for its fields, or for a key and a record. */
  #bound(
    name: ts.BindingName,
    declaration: ts.VariableDeclaration | ts.ParameterDeclaration | ts.BindingElement,
  ): void {
    if (ts.isIdentifier(name))
      return this.#referencesOf(name, declaration).forEach((id) => {
        this.one(id);
      });
    if (name.elements.some((e) => ts.isBindingElement(e) && e.dotDotDotToken)) {
      this.whole = true;
      return;
    }
    const isPair = ts.isArrayBindingPattern(name) && !ts.isBindingElement(declaration);
    const isWalk = ts.isForOfStatement(declaration.parent.parent);
    name.elements.forEach((element, i) => {
      if (!ts.isBindingElement(element)) return;
      if (isPair && isWalk) {
        if (i === 1) this.#bound(element.name, element);
        return;
      }
      this.#part(isPair ? String(i) : memberName(element.propertyName ?? element.name), element);
    });
  }

  /** A name for a field. */
  #part(field: string, element: ts.BindingElement): void {
    this.named.add(field);
    const { name } = element;
    if (!ts.isIdentifier(name)) return;
    const declaration = ts.findAncestor(element, ts.isVariableDeclaration);
    this.ends ||=
      (declaration !== undefined && isUsing(declaration)) ||
      this.#referencesOf(name, element).some(
        (id) => this.#session.transfer(id).effect === "disposes",
      );
  }

  #referencesOf(name: ts.Identifier, declaration: ts.Declaration): readonly ts.Identifier[] {
    const root = enclosingFunction(name) ?? name.getSourceFile();
    return referencesTo(this.#session.oracle, declaration, name, root);
  }
}

/** `this.parts.a` or `this.parts[0]`, of a mention of `this.parts`. */
function partOf(node: ts.Node): { name: string; node: ts.Expression } | undefined {
  const { parent } = node;
  if (ts.isNonNullExpression(parent)) return partOf(parent);
  if (ts.isElementAccessExpression(parent) && parent.expression === node) {
    const { argumentExpression: index } = parent;
    return ts.isNumericLiteral(index) || ts.isStringLiteralLike(index)
      ? { name: index.text, node: parent }
      : undefined;
  }
  return ts.isPropertyAccessExpression(parent) && parent.expression === node
    ? { name: parent.name.text, node: parent }
    : undefined;
}

/** `this.parts.a.destroy()`. */
const endsPart = ({ parent }: ts.Expression, methods: readonly string[]): boolean =>
  ts.isPropertyAccessExpression(parent) && methods.includes(parent.name.text);

/** `if (this.parts)`, `this.parts === null`, `this.parts = null`: says nothing of what it holds. */
const isAsked = (node: ts.Node): boolean =>
  (ts.isIfStatement(node.parent) && node.parent.expression === node) ||
  ts.isPrefixUnaryExpression(node.parent) ||
  isCompared(node) ||
  isTarget(node);

/** `this.parts === null`. */
const isCompared = ({ parent }: ts.Node): boolean =>
  ts.isBinaryExpression(parent) &&
  (isNullish(unwrap(parent.right)) || isNullish(unwrap(parent.left))) &&
  /^[!=]==?$/.test(parent.operatorToken.getText());
