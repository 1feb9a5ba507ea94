/**
 * Getters: fields that a class ends by what a getter of it gives: `this.target?.destroy()` of `get
 * target() { return this.#target; }`, `for (const p of this.parameters) p.dispose()` of `get
 * parameters() { return [this.weight, this.bias]; }`. Used by `members.ts` and the rule about
 * members.
 */
import ts from "typescript";
import { fieldsMadeOf } from "../lists/partial-records.ts";
import { hasBody, isTarget, memberName, someWithin } from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { EndsGiven, type Key, type KeyTest } from "../transfer/ends-given.ts";
import { fateOf, returnsOf } from "../transfer/fate.ts";
import { effectInside } from "../transfer/mention.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";
import { lineage } from "./holders.ts";
import { fieldOfThis, type Member } from "./members.ts";

/** The names of fields that a class ends by a getter which gives that field alone. */
export const endedByGetter = (session: Session, node: ts.ClassLikeDeclaration): readonly string[] =>
  node.members.flatMap((member) => {
    if (!ts.isGetAccessorDeclaration(member) || !hasBody(member)) return [];
    const [only, ...others] = returnsOf(member);
    const field = only && fieldOfThis(only)?.name.text;
    if (field === undefined || others.length > 0) return [];
    const name = memberName(member.name);
    const isEnd = (at: ts.Node): boolean =>
      fieldOfThis(at)?.name.text === name &&
      session.transfer(at as ts.Expression).effect === "disposes";
    return node.members.some((m) => someWithin(m, isEnd)) ? [field] : [];
  });

/** Whether methods that run at the end of an object end what a getter of it gives of a field. */
export function endByGetter(
  session: Session,
  node: ts.ClassLikeDeclaration,
  methods: Iterable<ts.Node>,
  member: Member,
): boolean {
  const given = new Given(session, node, member);
  const ending = new EndsGiven(session, member.owned, true);
  const ends = (at: ts.Node): boolean => {
    const asked = isTarget(at) ? undefined : fieldOfThis(at);
    const getter = asked && given.getters.get(asked.name.text);
    const isOf: KeyTest = (key) => getter !== undefined && given.by(getter, key);
    return asked !== undefined && isOf(undefined) && ending.at(asked, isOf);
  };
  return [...methods].some((method) => someWithin(method, ends));
}

/** What the getters of a class and its bases give of one field. */
class Given {
  readonly getters: ReadonlyMap<string, ts.ClassElement>;
  readonly #all: ReadonlyMap<string, ts.ClassElement>;
  readonly #session: Session;
  readonly #member: Member;

  constructor(session: Session, node: ts.ClassLikeDeclaration, member: Member) {
    this.#session = session;
    this.#member = member;
    const line = lineage(node, session.oracle).toReversed();
    const all = line.flatMap(({ members }) => [...members]).filter((m) => hasBody(m) && m.name);
    const named = (list: readonly ts.ClassElement[]): ReadonlyMap<string, ts.ClassElement> =>
      new Map(list.map((m) => [memberName(m.name!), m]));
    this.getters = named(all.filter(ts.isGetAccessorDeclaration));
    this.#all = named(all.filter((m) => !ts.isSetAccessorDeclaration(m)));
  }

  /** Whether a getter, or a method or getter that it asks, gives the field at some place. */
  by(getter: ts.ClassElement, key: Key, seen = new Set<ts.Node>()): boolean {
    if (seen.has(getter)) return false;
    seen.add(getter);
    const { name } = this.#member;
    return someWithin(getter, (at) => {
      const field = isTarget(at) ? undefined : fieldOfThis(at);
      if (!field || !isAt(field, key)) return false;
      if (field.name.text === name) return this.#gives(field, getter);
      const other = this.#all.get(field.name.text);
      return other !== undefined && this.by(other, undefined, seen);
    });
  }

  /** `[this.weight]`, and not `this.weight.shape`; of a record every part. */
  #gives(field: ts.Expression, getter: ts.Node): boolean {
    const effect = effectInside(this.#session, this.#session.transfer(field));
    if (onlyLooksAt(effect) || effect === "drops") return false;
    if (/\bObject\.(values|entries)\b/.test(getter.getText())) return true;
    const speaksOf = (part: string): boolean =>
      someWithin(getter, (at) => ts.isIdentifier(at) && at.text === part);
    const isWhole = !["receiver", "read", "element"].includes(fateOf(field).kind);
    return isWhole || fieldsMadeOf(this.#session, this.#member).every(speaksOf);
  }
}

/** Whether something stands at a place of the literal that is given; without one, at any. */
function isAt(value: ts.Expression, key: Key): boolean {
  const { literal, kind } = fateOf(value);
  if (key === undefined || !literal || kind !== "returned") return true;
  return ts.isArrayLiteralExpression(literal)
    ? literal.elements.some((e, i) => e.pos <= value.pos && value.end <= e.end && key === `${i}`)
    : literal.properties.some(
        (p) => p.pos <= value.pos && value.end <= p.end && p.name && memberName(p.name) === key,
      );
}
