/**
 * Lending: whether all that is done to a value is to look at it, when it is handed on inside a
 * record (`train({ model, optimizer })`), by a name for the record, or to a parameter whose type
 * does not say what it is. The value is followed by the path of fields that leads to it, through
 * names, patterns, records around it and the functions these go to. What cannot be followed is not
 * lent. Used by the description of arguments, the summaries and the dataflow.
 */
import ts from "typescript";
import { builtinArgument } from "../program/containers.ts";
import { outlivesMaker } from "../flow/closures.ts";
import { argumentOf, enclosingFunction, fateOf, type Fate } from "./fate.ts";
import type { Callee, Owned } from "../program/oracle.ts";
import { transferOf } from "./mention.ts";
import { referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";
import {
  isTarget,
  isUsing,
  memberName,
  type CallLike,
  type FunctionWithBody,
} from "../program/syntax.ts";
import { onlyLooksAt } from "./transfer.ts";

/** The fields that lead from an expression to the value; none where it is the value. */
export type Path = readonly string[];

/** Functions that are looked into, one called by the other. */
const mostCalls = 6;

/** Whether a function only looks at what one of its parameters has at a path. */
export function isLentTo(
  session: Session,
  fn: FunctionWithBody,
  parameter: ts.ParameterDeclaration | undefined,
  path: Path,
  owned: Owned,
): boolean {
  const { lent } = session.asking;
  if (!parameter || parameter.dotDotDotToken || lent.has(parameter)) return false;
  if (ts.isParameterPropertyDeclaration(parameter, fn) || fn.asteriskToken) return false;
  if (lent.size >= mostCalls) return false;
  lent.add(parameter);
  try {
    return new Lending(session, fn, owned).name(parameter.name, parameter, path);
  } finally {
    lent.delete(parameter);
  }
}

/** Whether a mention of what has a value at a path is all looks, in the function around. */
export const isLentAt = (
  session: Session,
  home: ts.Node,
  mention: ts.Expression,
  path: Path,
  owned: Owned,
): boolean => new Lending(session, home, owned).mention(mention, path);

/**
 * The path to the value from an expression around it, by the literals in between. `"over"` where a
 * later property takes its place, null where a list holds it.
 */
export function pathWithin(
  node: ts.Expression,
  around: ts.Node,
  path: Path = [],
): Path | "over" | null {
  let found = path;
  for (let at: ts.Node = node; at !== around; at = at.parent) {
    const { parent } = at;
    if (ts.isArrayLiteralExpression(parent) || ts.isSpreadElement(parent)) return null;
    if (ts.isShorthandPropertyAssignment(parent)) found = [parent.name.text, ...found];
    if (ts.isPropertyAssignment(parent)) {
      const name = memberName(parent.name);
      if (name === "") return null;
      found = [name, ...found];
    }
    if (ts.isSpreadAssignment(parent)) {
      const [first] = found;
      if (first === undefined) return null;
      if (namesOver(parent).includes(first)) return "over";
    }
  }
  return found;
}

/** The names of a literal that take the place of what is spread into it before them. */
export function namesOver(spread: ts.SpreadAssignment): readonly string[] {
  const { properties } = spread.parent;
  return properties
    .slice(properties.indexOf(spread) + 1)
    .flatMap((p) => (p.name ? [memberName(p.name)] : []));
}

/** A value within more records than this is not followed. */
const deepest = 6;

/** One value followed through one function. */
class Lending {
  readonly #session: Session;
  readonly #home: ts.Node;
  readonly #owned: Owned;
  /** Names that are being followed, with their paths. */
  readonly #followed = new Map<ts.Node, string[]>();

  constructor(session: Session, home: ts.Node, owned: Owned) {
    this.#session = session;
    this.#home = home;
    this.#owned = owned;
  }

  /** Whether all mentions of a name, or of what a pattern takes out, are looks. */
  name(
    name: ts.BindingName,
    declaration: ts.VariableDeclaration | ts.ParameterDeclaration | ts.BindingElement,
    path: Path,
  ): boolean {
    if (ts.isIdentifier(name)) {
      const followed = this.#followed.get(declaration) ?? [];
      if (followed.includes(path.join())) return true; // answered further up
      if (path.length > deepest) return false; // a list that grows at its head
      this.#followed.set(declaration, [...followed, path.join()]);
      const ids = referencesTo(this.#session.oracle, declaration, name, this.#home);
      return ids.every((id) => this.mention(id, path));
    }
    const [first, ...rest] = path;
    if (first === undefined || !ts.isObjectBindingPattern(name)) return false;
    const taken = name.elements.filter((e) => takes(e, first));
    if (taken.length > 0) return taken.every((e) => !isComputed(e) && this.name(e.name, e, rest));
    const others = name.elements.find((e) => e.dotDotDotToken);
    return !others || this.name(others.name, others, path);
  }

  /** Whether an expression that has the value at a path only looks at it. */
  mention(node: ts.Expression, path: Path): boolean {
    if (isTarget(node)) return true;
    const closure = enclosingFunction(node);
    if (closure && closure !== this.#home && outlivesMaker(this.#session, this.#home, closure))
      return false;
    const fate = fateOf(node);
    const at = pathWithin(node, fate.top, path);
    if (at === "over") return true;
    if (at === null) return false;
    switch (fate.kind) {
      case "operand":
      case "dropped":
        return true;
      case "bound":
      case "assigned":
        return this.#named(fate, at);
      case "argument":
        return this.#argument(fate, at);
      default:
        return at.length > 0 ? this.#record(fate, at) : this.#value(fate);
    }
  }

  #named({ kind, node }: Fate, path: Path): boolean {
    if (kind === "assigned") {
      const { left } = node as ts.BinaryExpression;
      const found = ts.isIdentifier(left) ? this.#session.oracle.declarationAt(left) : undefined;
      if (!found || !ts.isVariableDeclaration(found)) return false;
      const home = ts.isFunctionLike(this.#home) ? this.#home : enclosingFunction(this.#home);
      return enclosingFunction(found) === home && this.name(found.name, found, path);
    }
    if (isUsing(node)) return false;
    return (
      (ts.isVariableDeclaration(node) || ts.isBindingElement(node)) &&
      this.name(node.name, node, path)
    );
  }

  /** A record that has the value, as it is asked for a field. */
  #record({ kind, node }: Fate, [first, ...rest]: Path): boolean {
    if (kind === "read" && ts.isPropertyAccessExpression(node))
      return node.name.text !== first || this.mention(node, rest);
    if (kind !== "element" || !ts.isElementAccessExpression(node)) return false;
    const key = node.argumentExpression;
    if (!ts.isStringLiteralLike(key)) return isTarget(node) || fateOf(node).kind === "operand";
    return key.text !== first || this.mention(node, rest);
  }

  /** The value itself. */
  #value({ kind, node, top }: Fate): boolean {
    const { oracle } = this.#session;
    if (kind === "iterated") return this.#owned.shape === "one";
    if (!onlyLooksAt(transferOf(this.#session, top, this.#owned).effect)) return false;
    if (kind !== "receiver" || oracle.ownedAt(top) || fateOf(node as CallLike).kind === "dropped")
      return true;
    // a builder gives itself
    const receiver = (node as ts.CallExpression).expression as ts.PropertyAccessExpression;
    const type = oracle.typeName(receiver.expression);
    return !oracle.gives(node, "anything") && (type === "" || oracle.typeName(node) !== type);
  }

  #argument({ node, top }: Fate, path: Path): boolean {
    const call = node as CallLike;
    if (path.length === 0) return onlyLooksAt(this.#session.effect(call, top, this.#owned));
    const place = argumentOf(call, top);
    if (!place || ts.isSpreadElement(place.argument)) return false;
    const callee = this.#session.oracle.callee(call);
    const name = parameterName(callee, place.index);
    if (callee.tags.keeps || (name !== "" && callee.tags.takes.includes(name))) return false;
    if (name !== "" && callee.tags.borrows.includes(name)) return true;
    if (callee.builtin) return onlyLooksAt(builtinArgument(callee.name));
    const { body } = callee;
    return (
      body !== undefined &&
      isLentTo(this.#session, body, body.parameters[place.index], path, this.#owned)
    );
  }
}

/** The name of a callee's parameter. */
export function parameterName(callee: Callee, index: number): string {
  const declaration = callee.declaration as Partial<ts.SignatureDeclaration> | undefined;
  const parameter = declaration?.parameters?.[index];
  return parameter && ts.isIdentifier(parameter.name) ? parameter.name.text : "";
}

/** Whether an element of a pattern takes out a field, or one whose name cannot be told. */
const takes = (element: ts.BindingElement, field: string): boolean =>
  !element.dotDotDotToken &&
  (isComputed(element) || memberName(element.propertyName ?? element.name) === field);
const isComputed = ({ propertyName }: ts.BindingElement): boolean =>
  propertyName !== undefined && memberName(propertyName) === "";
