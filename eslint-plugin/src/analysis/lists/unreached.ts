/**
 * Unreached: of several values made at once, those that no name leads to: the rest of
 * `x.split(2)[0]`, the fields a pattern leaves out. Used by the rule for dropped elements.
 */
import ts from "typescript";
import type { FreshValue } from "../fresh/consume.ts";
import { returnsOf, type Fate } from "../transfer/fate.ts";
import { leavesSome } from "./left-out.ts";
import type { Owned } from "../program/oracle.ts";
import type { Session } from "../session.ts";
import { calleeNameNode, elementsGiven, memberName, unwrap } from "../program/syntax.ts";

/** Several fresh values of which some get no name: one is picked, or a pattern names some. */
export type Unreached =
  | { readonly kind: "picked" }
  | { readonly kind: "cut"; readonly by: ts.CallExpression }
  | {
      readonly kind: "unpacked";
      readonly declaration: ts.VariableDeclaration;
      readonly rest: readonly Unnamed[];
    };

/** What of a fresh value no name leads to; null where all of it can be disposed. */
export function unreachedOf(session: Session, value: FreshValue): Unreached | null {
  const { node, owned, fate } = value;
  if (owned.shape === "one" || owned.owner.policy === "generic") return null;
  if (fate.literal || fate.conditional) return null;
  if (picksOne(session, value)) return { kind: "picked" };
  if (fate.kind === "receiver" && cutsList(session, fate.node))
    return { kind: "cut", by: fate.node };
  const declaration = fate.node;
  if (fate.kind !== "bound" || !ts.isVariableDeclaration(declaration)) return null;
  if (ts.isIdentifier(declaration.name)) return null;
  const rest = leftOut(session, declaration.name, node, owned);
  return rest.length > 0 ? { kind: "unpacked", declaration, rest } : null;
}

/** `make().slice(1)`, `make().filter(isLarge)`; a dataset ends what it leaves out. */
const cutsList = (session: Session, node: ts.Node): node is ts.CallExpression =>
  ts.isCallExpression(node) &&
  leavesSome(session, node) &&
  session.oracle.callee(node).library === undefined;

/** Whether one of several fresh values is taken: `x.split(2)[0]`, `sort(x).indices`. */
function picksOne(session: Session, { node, owned, fate }: FreshValue): boolean {
  if (owned.shape === "many") return isElementOfSeveral(session, node, fate);
  return (
    fate.kind === "read" &&
    owned.shape === "record" &&
    owned.fields.length > 1 &&
    owned.fields.includes(fate.member)
  );
}

/** Functions that make several values of one, by name. */
export const splits =
  /^(split|unbind|unstack|chunk|tensorSplit|meshgrid|varMean|moments|topK|sort)$/i;
/**
 * Whether an access takes one element of an array that has more: a pair, what a splitting function
 * gives, or any element but the first.
 */
function isElementOfSeveral(session: Session, node: ts.Expression, fate: Fate): boolean {
  // `xs.map(make).find(isLarge)`
  if (fate.kind === "receiver" && /^find(Last)?$/.test(fate.member)) return true;
  const index = indexTaken(fate);
  if (!index || isWritten(fate.node)) return false;
  if (ts.isNumericLiteral(index) && index.text !== "0") return true;
  if (isSoleElement(fate.node)) return false;
  const call = ts.isCallExpression(node) ? node.expression : node;
  const name = ts.isPropertyAccessExpression(call) ? call.name : call;
  const splitting = ts.isIdentifier(name) && splits.test(name.text);
  return splitting || session.oracle.ownedPlaces(node).length > 1;
}

/**
 * `unstack(batch)[0]`: as many as the batch is long, which is one where the first is all that is
 * wanted.
 */
export function isSoleElement(access: ts.Node): access is ts.ElementAccessExpression {
  if (!ts.isElementAccessExpression(access)) return false;
  const list = unwrap(access.expression);
  const name = ts.isCallExpression(list) ? calleeNameNode(list)?.text : undefined;
  const index = access.argumentExpression;
  return /^(unstack|unbind)$/.test(name ?? "") && ts.isNumericLiteral(index) && index.text === "0";
}

/** The index of `xs[i]` and `xs.at(i)`; for `xs.pop()` the call stands for it. */
function indexTaken({ kind, member, node }: Fate): ts.Expression | undefined {
  if (kind === "element" && ts.isElementAccessExpression(node)) return node.argumentExpression;
  const takes = kind === "receiver" && ["at", "pop", "shift"].includes(member);
  return takes && ts.isCallExpression(node) ? (node.arguments[0] ?? node) : undefined;
}

const isWritten = (access: ts.Node): boolean =>
  ts.isElementAccessExpression(access) &&
  ts.isBinaryExpression(access.parent) &&
  access.parent.left === access;

/** A value that a pattern gives no name. */
export interface Unnamed {
  label: string;
  field: string | undefined;
  at: number;
  /** What a list has at that place may be undefined to TypeScript; or nobody knows of how many. */
  list?: "known" | "unknown";
}

/** What a pattern leaves out: fields by name, places of a tuple by position. */
function leftOut(
  session: Session,
  pattern: ts.BindingPattern,
  node: ts.Expression,
  owned: Owned,
): Unnamed[] {
  const isRest = (e: ts.ArrayBindingElement): boolean =>
    ts.isBindingElement(e) && e.dotDotDotToken !== undefined;
  const rest = pattern.elements.findIndex(isRest);
  if (ts.isObjectBindingPattern(pattern)) {
    if (rest >= 0) return [];
    const named = pattern.elements.map((e) => memberName(e.propertyName ?? e.name));
    return owned.shape === "record"
      ? owned.fields
          .filter((f) => !named.includes(f))
          .map((field, at) => ({ label: `\`${field}\``, field, at }))
      : [];
  }
  if (owned.shape !== "many") return [];
  const tuple = session.oracle.ownedPlaces(node);
  const parts =
    tuple.length === 0 ? (partsOf(pattern, node) ?? listGiven(session, node)) : undefined;
  const places = parts ? Array.from({ length: parts.length }, (_, i) => i) : tuple;
  return places
    .filter((i) => {
      const e = pattern.elements[i];
      if (rest >= 0 && i >= rest) return false;
      return e === undefined || ts.isOmittedExpression(e);
    })
    .map((at) => ({
      ...{ label: `number ${String(at + 1)}`, field: undefined, at },
      ...(parts ? { list: parts.list } : {}),
    }));
}

/** How many values there are at least of what splits one into several. */
function partsOf(
  { elements }: ts.BindingPattern,
  node: ts.Expression,
): { length: number; list: "known" | "unknown" } | undefined {
  const name = ts.isCallExpression(node) ? (calleeNameNode(node)?.text ?? "") : "";
  const isCut = /^(split|chunk|tensorSplit)$/.test(name);
  if (!ts.isCallExpression(node) || !(isCut || /^(unstack|unbind)$/.test(name))) return undefined;
  const sizes = isCut && node.arguments.find(ts.isArrayLiteralExpression)?.elements;
  if (sizes && !sizes.some(ts.isSpreadElement)) return { length: sizes.length, list: "known" };
  // `const [, second] = unstack(x)`: there is one before it
  if (elements.some(ts.isOmittedExpression)) return { length: elements.length, list: "unknown" };
  return isCut && elements.length === 1 ? { length: 2, list: "unknown" } : undefined;
}

/** How many values a function gives at least, all of whose ways return a list that is written. */
function listGiven(
  session: Session,
  node: ts.Expression,
): { length: number; list: "known" } | undefined {
  const call = unwrap(ts.isAwaitExpression(node) ? node.expression : node);
  const body = ts.isCallExpression(call) ? session.oracle.callee(call).body : undefined;
  if (!body || body.asteriskToken) return undefined;
  const lists = returnsOf(body).map(elementsGiven);
  const isOwned = (value: ts.Expression): boolean => session.oracle.ownedAt(value)?.shape === "one";
  const lengths = lists.map((list) => (list?.every(isOwned) ? list.length : 0));
  return lengths.length > 0 ? { length: Math.min(...lengths), list: "known" } : undefined;
}
