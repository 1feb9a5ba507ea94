/**
 * Getters: fields that a class ends by what a getter of it gives: `this.target?.destroy()` of `get
 * target() { return this.#target; }`, `for (const p of this.parameters) p.dispose()` of `get
 * parameters() { return [this.weight, this.bias]; }`. Used by `members.ts` and the rule about
 * members.
 */
import ts from "typescript";
import { effectOf } from "../transfer/argument.ts";
import {
  callsDisposeSymbol,
  disposesArguments,
  isDisposer,
  soundsLikeDisposal,
} from "../transfer/disposes.ts";
import { enclosingFunction, fateOf, returnsOf, type Fate } from "../transfer/fate.ts";
import { effectInside } from "../transfer/mention.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";
import { functionHanded } from "../program/callee.ts";
import { builtinArgument } from "../program/containers.ts";
import { boundNames, referencesTo, type Bound } from "../program/references.ts";
import {
  calleeNameNode,
  hasBody,
  isTarget,
  isUsing,
  memberName,
  someWithin,
  type CallLike,
} from "../program/syntax.ts";
import type { Owned } from "../program/oracle.ts";
import type { Session } from "../session.ts";
import { fieldsMadeOf } from "../lists/partial-records.ts";
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
  const ends = (at: ts.Node): boolean => {
    const asked = isTarget(at) ? undefined : fieldOfThis(at);
    const getter = asked && given.getters.get(asked.name.text);
    const isOf = (key: Key): boolean => getter !== undefined && given.by(getter, key);
    return asked !== undefined && isOf(undefined) && mayEnd(session, asked, member.owned, isOf);
  };
  return [...methods].some((method) => someWithin(method, ends));
}

/** A place in the list or record that a getter gives; undefined for any. */
type Key = string | undefined;

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

const furthest = 6;

/** Whether a mention of what a getter gives may end what stands at the places that are asked for. */
function mayEnd(
  session: Session,
  at: ts.Expression,
  owned: Owned,
  isOf: (key: Key) => boolean,
  depth = 0,
): boolean {
  if (depth > furthest) return true;
  const fate = fateOf(at);
  const { kind, member, node } = fate;
  const next = (inner: ts.Node, test = isOf): boolean =>
    mayEnd(session, inner as ts.Expression, owned, test, depth + 1);
  const named = (bound: readonly Bound[], test = isOf): boolean =>
    bound.some(({ id, declaration }) => {
      const root = enclosingFunction(id) ?? id.getSourceFile();
      return referencesTo(session.oracle, declaration, id, root).some((use) => next(use, test));
    });
  const unpacked = (
    name: ts.BindingName,
    holder: ts.VariableDeclaration | ts.ParameterDeclaration,
  ): boolean =>
    ts.isIdentifier(name)
      ? named([{ id: name, declaration: holder }])
      : name.elements.some(
          (e, i) =>
            ts.isBindingElement(e) && isOf(keyOf(e, i)) && named(boundNames(e.name, e), () => true),
        );
  switch (kind) {
    case "operand":
    case "dropped":
      return false;
    case "iterated": {
      const { initializer: list } = node as ts.ForOfStatement;
      if (!ts.isVariableDeclarationList(list)) return true;
      return list.declarations.some((d) => isUsing(d) || named(boundNames(d.name, d)));
    }
    case "bound":
      if (!ts.isVariableDeclaration(node)) return true;
      return isUsing(node) || unpacked(node.name, node);
    case "read":
      if (/^(length|size)$/.test(member) || owned.owner.safeAfterDispose.includes(member))
        return false;
      return isOf(member) && next(node, () => true);
    case "element": {
      if (callsDisposeSymbol(fate)) return true;
      const { argumentExpression: index } = node as ts.ElementAccessExpression;
      const isKey = ts.isNumericLiteral(index) || ts.isStringLiteralLike(index);
      return isKey ? isOf(index.text) && next(node, () => true) : next(node);
    }
    case "receiver":
      return (
        isDisposer(owned, member) ||
        endsEach(session, fate, named) ||
        (views.test(member) && next(node))
      );
    case "argument":
      return endsArgument(session, node as CallLike, at, owned, next);
    default:
      return true;
  }
}

const keyOf = (element: ts.BindingElement, index: number): Key => {
  if (element.dotDotDotToken) return undefined;
  return ts.isArrayBindingPattern(element.parent)
    ? `${index}`
    : memberName(element.propertyName ?? element.name);
};

/** What gives a list or table again, or what is in it. */
const views =
  /^(filter|map|flatMap|flat|slice|concat|values|entries|reverse|sort|to(Reversed|Sorted)|at)$/;

/** `this.parameters.forEach((p) => p.dispose())`, `….forEach(release)`. */
function endsEach(
  session: Session,
  { member, node }: Fate,
  named: (bound: readonly Bound[]) => boolean,
): boolean {
  const [first] = ts.isCallExpression(node) ? node.arguments : [];
  if (!first || !/^(forEach|map|flatMap|reduce)$/.test(member)) return false;
  const fn = functionHanded(session.oracle, first);
  const each = fn?.parameters[member === "reduce" ? 1 : 0];
  return each ? named(boundNames(each.name, each)) : soundsLikeDisposal(lastName(first));
}

const lastName = (value: ts.Expression): string =>
  (ts.isPropertyAccessExpression(value) ? value.name : value).getText();

/** `tf.dispose(this.parameters)`, `Object.values(this.parts).forEach(…)`. */
function endsArgument(
  session: Session,
  call: CallLike,
  at: ts.Expression,
  owned: Owned,
  next: (inner: ts.Node) => boolean,
): boolean {
  if (disposesArguments(session, call, owned)) return true;
  if (session.oracle.callee(call).builtin) {
    const effect = builtinArgument(calleeNameNode(call)?.text ?? "");
    if (effect === "passes" || ts.isNewExpression(call)) return next(call);
    return effect === "takes";
  }
  return !onlyLooksAt(effectOf(session, call, at, owned));
}
