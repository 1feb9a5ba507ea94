/**
 * Partial lists: local lists of fresh values of which some elements are disposed by their index and
 * others only looked at. The dataflow follows a list as a whole and is silent once an element is
 * freed; here each index is asked for. Used by the rule that requires disposal.
 */
import ts from "typescript";
import { putValues } from "../program/containers.ts";
import { outlivesMaker } from "../flow/closures.ts";
import { enclosingFunction, fateOf, loopOver } from "../transfer/fate.ts";
import { effectInside } from "../transfer/mention.ts";
import type { Owned } from "../program/oracle.ts";
import { referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";
import { leftOutOf } from "./partial-records.ts";
import {
  calleeNameNode,
  isEmptyContainer,
  isTarget,
  isUsing,
  unwrap,
  valuesOf,
  variableName,
} from "../program/syntax.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";

/** An element that is left behind where others of its list are disposed. */
export interface LeftElement {
  /** How it is written: `boxes[1]`. */
  label: string;
  /** The expression that makes the list. */
  value: ts.Expression;
  owned: Owned;
}

/** The first such element of every list of a file. */
export function leftElements(session: Session, file: ts.SourceFile): LeftElement[] {
  const found: LeftElement[] = [];
  for (const node of session.oracle.facts.variables(file)) {
    const left = leftIn(session, node) ?? leftOfRecords(session, node);
    if (left && session.scopeAt(left.value) === "out") found.push(left);
  }
  return found;
}

function leftIn(session: Session, declaration: ts.VariableDeclaration): LeftElement | undefined {
  const { name } = declaration;
  const home = enclosingFunction(declaration);
  if (!home || !ts.isIdentifier(name)) return undefined;
  const owned = session.oracle.ownedAt(name);
  if (owned?.shape !== "many") return undefined;
  const mentions = referencesTo(session.oracle, declaration, name, home);
  const targets = mentions.filter((id) => isTarget(id));
  const made = madeFor(declaration, targets);
  if (!made || session.freshness(made) !== "fresh") return undefined;
  const looked = new Set<string>(),
    ended = new Set<string>();
  for (const id of mentions) {
    if (targets.includes(id)) continue;
    const index = indexOf(id);
    if (index === undefined) {
      if (fateOf(id).kind !== "operand" && fateOf(id).member !== "length") return undefined;
      continue;
    }
    const deed = deedOn(session, id.parent as ts.Expression, home);
    if (!deed) return undefined;
    (deed === "ends" ? ended : looked).add(index);
  }
  const last = Math.max(...[...ended].map(Number)); // `scores[1].dispose()`: there is a first
  for (let i = 0; i < Math.max(countOf(made), last); i++) looked.add(String(i));
  const left = [...looked].find((index) => !ended.has(index));
  return ended.size > 0 && left !== undefined
    ? { label: `${name.text}[${left}]`, value: unwrap(made), owned }
    : undefined;
}

/** The one list that a variable is given: where it is declared, or later. */
function madeFor(
  { initializer }: ts.VariableDeclaration,
  targets: readonly ts.Identifier[],
): ts.Expression | undefined {
  if (initializer) return targets.length === 0 ? initializer : undefined;
  const [target, ...others] = targets;
  return target && others.length === 0 && ts.isBinaryExpression(target.parent)
    ? target.parent.right
    : undefined;
}

/** Whether a function ends an element that it mentions, or only looks at it, by name, too. */
function deedOn(
  session: Session,
  element: ts.Expression,
  home: ts.Node,
): "ends" | "looks" | undefined {
  const { effect, fate } = session.transfer(element);
  if (effect === "disposes") return "ends";
  const around = enclosingFunction(element);
  if (onlyLooksAt(effect))
    return around === home || (around && !outlivesMaker(session, home, around))
      ? "looks"
      : undefined;
  const { kind, node } = fate;
  const name = kind === "bound" && ts.isVariableDeclaration(node) ? variableName(node) : undefined;
  if (!name || isUsing(node)) return undefined;
  const effects = referencesTo(session.oracle, node as ts.VariableDeclaration, name, home)
    .filter((id) => id !== name)
    .map((id) => (isTarget(id) ? "unknown" : session.transfer(id).effect));
  if (effects.includes("disposes")) return "ends";
  return effects.every(onlyLooksAt) ? "looks" : undefined;
}

/** How many elements there are, or 0: `tf.split(image, 3, 2)` and `x.split([1, 2])` say it. */
export function countOf(made: ts.Expression): number {
  const call = unwrap(made);
  if (!ts.isCallExpression(call) || calleeNameNode(call)?.text !== "split") return 0;
  const count = call.arguments.find(
    (a) => ts.isNumericLiteral(a) || ts.isArrayLiteralExpression(a),
  );
  if (count && ts.isNumericLiteral(count)) return Number(count.text);
  const sizes = count && ts.isArrayLiteralExpression(count) ? count.elements : [];
  return sizes.some(ts.isSpreadElement) ? 0 : sizes.length;
}

/**
 * `const all = []; all.push({ a, b }); for (const x of all) x.a.dispose();`: a field of the records
 * in a list or table of this function, of which others are ended one by one.
 */
function leftOfRecords(
  session: Session,
  declaration: ts.VariableDeclaration,
): LeftElement | undefined {
  const { name, initializer } = declaration;
  const home = enclosingFunction(declaration);
  if (!home || !initializer || !ts.isIdentifier(name)) return undefined;
  const owned = session.oracle.ownedAt(name);
  if (owned?.each !== "record" || !isEmptyContainer(unwrap(initializer))) return undefined;
  const put: ts.Expression[] = [],
    others: ts.Expression[] = [];
  for (const id of referencesTo(session.oracle, declaration, name, home)) {
    const { effect, fate } = session.transfer(id);
    const given = effect === "receives" && ts.isCallExpression(fate.node) ? fate.node : undefined;
    if (id === name) continue;
    if (enclosingFunction(id) !== home) return undefined;
    if (given) put.push(...putValues(fate.member, given.arguments));
    else if (!isLookedAt(session, id)) others.push(id);
  }
  const [made] = put;
  if (!made || !put.every((value) => isFreshRecord(session, value))) return undefined;
  const [left] = leftOutOf(session, { label: name.text, at: made, owned, mentions: others });
  const part = left && session.oracle.ownedAt(left.at);
  return part ? { label: left.label, value: left.at, owned: part } : undefined;
}

/** Only asked, or its records are, beyond loops over them. */
const isLookedAt = (session: Session, id: ts.Identifier): boolean =>
  loopOver(id) === undefined && onlyLooksAt(effectInside(session, session.transfer(id)));

/** `{ a: x.neg(), b: x.exp() }`. */
function isFreshRecord(session: Session, value: ts.Expression): boolean {
  const literal = unwrap(value);
  return (
    ts.isObjectLiteralExpression(literal) &&
    valuesOf(literal).every(
      (part) => !session.oracle.ownedAt(part) || session.freshness(part) === "fresh",
    )
  );
}

/** The number in `list[2]`. */
function indexOf(id: ts.Identifier): string | undefined {
  const { parent } = id;
  return ts.isElementAccessExpression(parent) &&
    parent.expression === id &&
    ts.isNumericLiteral(parent.argumentExpression)
    ? parent.argumentExpression.text
    : undefined;
}
