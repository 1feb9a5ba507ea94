/**
 * Ends of what is given: whether code ends the values of a list or record that it is given whole,
 * all of them or those at a place: what a getter lists, the `arguments` of a call or what a rest
 * parameter gathers. It goes by what is done, as such lists often have no type. Used by
 * `objects/getters.ts` and `argument.ts`.
 */
import ts from "typescript";
import { functionHanded } from "../program/callee.ts";
import { builtinArgument } from "../program/containers.ts";
import { boundNames, referencesTo, type Bound } from "../program/references.ts";
import {
  calleeNameNode,
  isUsing,
  memberName,
  type CallLike,
  type FunctionWithBody,
} from "../program/syntax.ts";
import type { Owned } from "../program/oracle.ts";
import type { Session } from "../session.ts";
import {
  callsDisposeSymbol,
  disposesArguments,
  isDisposer,
  soundsLikeDisposal,
} from "./disposes.ts";
import { enclosingFunction, fateOf, type Fate } from "./fate.ts";
import { onlyLooksAt } from "./transfer.ts";

/** A place in a list or record: an index or a name; undefined for any. */
export type Key = string | undefined;

/** Whether a place is one of those that are asked for. */
export type KeyTest = (key: Key) => boolean;

const furthest = 6;
const any: KeyTest = () => true;

/** What code does to a list or record of such values. */
export class EndsGiven {
  readonly #session: Session;
  readonly #owned: Owned;
  readonly #otherwise: boolean;

  /** @param otherwise the answer where a value goes on to who knows whom */
  constructor(session: Session, owned: Owned, otherwise: boolean) {
    this.#session = session;
    this.#owned = owned;
    this.#otherwise = otherwise;
  }

  /** Whether a mention of the list or record ends what stands at some places. */
  at(mention: ts.Expression, isOf: KeyTest, depth = 0): boolean {
    if (depth > furthest) return this.#otherwise;
    const fate = fateOf(mention);
    const { kind, member, node } = fate;
    const { owner } = this.#owned;
    const next = (inner: ts.Node, test = isOf): boolean =>
      this.at(inner as ts.Expression, test, depth + 1);
    const named = (bound: readonly Bound[], test = isOf): boolean =>
      bound.some((b) => this.#usesOf(b).some((use) => next(use, test)));
    switch (kind) {
      case "operand":
      case "dropped":
        return false;
      case "iterated": {
        const { initializer: list } = node as ts.ForOfStatement;
        if (!ts.isVariableDeclarationList(list)) return this.#otherwise;
        return list.declarations.some((d) => isUsing(d) || named(boundNames(d.name, d)));
      }
      case "bound":
        if (!ts.isVariableDeclaration(node)) return this.#otherwise;
        if (isUsing(node)) return true;
        if (ts.isIdentifier(node.name)) return named(boundNames(node.name, node));
        return node.name.elements.some(
          (e, i) =>
            ts.isBindingElement(e) && isOf(keyOf(e, i)) && named(boundNames(e.name, e), any),
        );
      case "read":
        if (/^(length|size)$/.test(member) || owner.safeAfterDispose.includes(member)) return false;
        return isOf(member) && next(node, any);
      case "element": {
        if (callsDisposeSymbol(fate)) return true;
        const { argumentExpression: index } = node as ts.ElementAccessExpression;
        const isKey = ts.isNumericLiteral(index) || ts.isStringLiteralLike(index);
        return isKey ? isOf(index.text) && next(node, any) : next(node);
      }
      case "receiver":
        if (isDisposer(this.#owned, member) || this.#endsEach(fate, named)) return true;
        return views.test(member) && next(node);
      case "argument":
        return this.#endsArgument(node as CallLike, mention, next);
      default:
        return this.#otherwise;
    }
  }

  #usesOf({ id, declaration }: Bound): readonly ts.Identifier[] {
    const root = enclosingFunction(id) ?? id.getSourceFile();
    return referencesTo(this.#session.oracle, declaration, id, root);
  }

  /** `this.parameters.forEach((p) => p.dispose())`, `….forEach(release)`. */
  #endsEach({ member, node }: Fate, named: (bound: readonly Bound[]) => boolean): boolean {
    const [first] = ts.isCallExpression(node) ? node.arguments : [];
    if (!first || !/^(forEach|map|flatMap|reduce)$/.test(member)) return false;
    const fn = functionHanded(this.#session.oracle, first);
    const each = fn?.parameters[member === "reduce" ? 1 : 0];
    return each ? named(boundNames(each.name, each)) : soundsLikeDisposal(lastName(first));
  }

  /** `tf.dispose(this.parameters)`, `Object.values(this.parts).forEach(…)`. */
  #endsArgument(call: CallLike, at: ts.Expression, next: (inner: ts.Node) => boolean): boolean {
    const session = this.#session;
    if (disposesArguments(session, call, this.#owned)) return true;
    if (session.oracle.callee(call).builtin) {
      const effect = builtinArgument(calleeNameNode(call)?.text ?? "");
      if (effect === "passes" || ts.isNewExpression(call)) return next(call);
      return effect === "takes" && this.#otherwise;
    }
    const effect = session.effect(call, at, this.#owned);
    return this.#otherwise ? !onlyLooksAt(effect) : effect === "disposes";
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

const lastName = (value: ts.Expression): string =>
  (ts.isPropertyAccessExpression(value) ? value.name : value).getText();

/**
 * Whether a function ends an argument that it has no parameter of its own for, but one in a list:
 * `(...list) => tf.dispose(list)`, `function () { tf.dispose([...arguments]); }`.
 *
 * @param index which of those that the list holds; undefined where a spread leaves it open
 */
export function endsGathered(
  session: Session,
  body: FunctionWithBody,
  index: number | undefined,
  owned: Owned,
): boolean {
  const rest = body.parameters.find((p) => p.dotDotDotToken);
  const { oracle } = session;
  const ends = new EndsGiven(session, owned, false);
  const isOf: KeyTest = (key) => key === undefined || key === String(index);
  const uses = rest
    ? boundNames(rest.name, rest).flatMap((b) => referencesTo(oracle, b.declaration, b.id, body))
    : oracle.facts.of(body, argumentsIn);
  return uses.some((use) => ends.at(use, isOf));
}

/** Where a function speaks of its `arguments`. */
export function argumentsIn(fn: FunctionWithBody): readonly ts.Identifier[] {
  const found: ts.Identifier[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) && node.text === "arguments") found.push(node);
    if (!ts.isFunctionLike(node) || ts.isArrowFunction(node)) ts.forEachChild(node, visit);
  };
  if (!ts.isArrowFunction(fn)) visit(fn.body);
  return found;
}
