/**
 * Verb "is fresh", for variables: what a local variable holds is as fresh as everything it is
 * given, and what a local container holds as fresh as everything put into it. Used by `is-fresh.ts`
 * and `fresh-results.ts`.
 */
import ts from "typescript";
import { putValues } from "../program/containers.ts";
import { enclosingFunction, fateOf, type Fate } from "../transfer/fate.ts";
import { joinAll } from "./join.ts";
import { elementFreshness } from "./fresh-results.ts";
import { entryOf, onlyLooked } from "../transfer/looked-at.ts";
import { visitVerb } from "../flow/mention-events.ts";
import { fieldOfThis } from "../objects/members.ts";
import { referencesTo } from "../program/references.ts";
import type { Freshness, Session } from "../session.ts";
import {
  elementsGiven,
  hasBody,
  isEmptyContainer,
  isNullish,
  isTarget,
  isUsing,
  unwrap,
} from "../program/syntax.ts";
import { onlyLooksAt, type Effect } from "../transfer/transfer.ts";

/** How fresh what a variable holds is. */
export function variableFreshness(session: Session, id: ts.Identifier): Freshness {
  const declaration = session.oracle.declarationAt(id);
  if (!declaration) return "unknown";
  if (ts.isParameter(declaration)) {
    const fn = declaration.parent;
    if (!hasBody(fn) || !ts.isIdentifier(declaration.name)) return "borrowed";
    return assignmentsTo(session, declaration, declaration.name, fn).length > 0
      ? "unknown"
      : "borrowed";
  }
  if (ts.isBindingElement(declaration)) return bindingFreshness(session, declaration);
  if (!isNamed(declaration)) return "unknown";
  if (runOf(declaration) !== runOf(id)) return "borrowed";
  if (session.asking.variables.has(declaration)) return "never";
  return namedFreshness(session, declaration);
}

/** The function that a place runs in, once: that around `new Promise((done) => { … })`, too. */
function runOf(id: ts.Node): ts.Node | undefined {
  let fn = enclosingFunction(id);
  while (fn && ts.isNewExpression(fn.parent) && fn.parent.expression.getText() === "Promise")
    fn = enclosingFunction(fn);
  return fn;
}

/** A variable that is not taken out of a pattern. */
type Named = ts.VariableDeclaration & { name: ts.Identifier };
const isNamed = (node: ts.Node | undefined): node is Named =>
  node !== undefined && ts.isVariableDeclaration(node) && ts.isIdentifier(node.name);

/**
 * How fresh a variable is, with all variables that it is given and that are given each other: each
 * is read once, as two that are swapped again and again would be asked for each other in every
 * order. While one is being asked for it adds nothing to what else is.
 */
function namedFreshness(session: Session, first: Named): Freshness {
  const { variables } = session.asking;
  const group = new Set([first]);
  const values: ts.Expression[] = [];
  const found: Freshness[] = [];
  try {
    for (const declaration of group) {
      variables.add(declaration);
      const given = valuesGiven(session, declaration);
      if (given.length === 0) found.push(startFreshness(session, declaration));
      for (const value of given) {
        const other = variableAt(session, value);
        if (!other) values.push(value);
        else if (!variables.has(other)) group.add(other);
      }
    }
    found.push(...values.map((v) => guarded(session, v)));
    return found.length === 0 ? "never" : joinAll(found);
  } finally {
    for (const declaration of group) variables.delete(declaration);
  }
}

/** All that a variable is given, but for nothing. */
function valuesGiven(session: Session, declaration: Named): ts.Expression[] {
  if (ts.isForOfStatement(declaration.parent.parent)) return [];
  const root = enclosingFunction(declaration);
  const values = root ? assignmentsTo(session, declaration, declaration.name, root) : [];
  const { initializer } = declaration;
  const starts = initializer && !(values.length === 0 && root && isFilled(declaration));
  return (starts ? [...values, initializer] : values).filter((v) => !isNullish(unwrap(v)));
}

/** `const xs = []`: what it holds is put into it. */
const isFilled = ({ initializer }: Named): boolean =>
  initializer !== undefined && isEmptyContainer(unwrap(initializer));

/** How fresh a variable is that is given no value: an element of a list, or a list to be filled. */
function startFreshness(session: Session, declaration: Named): Freshness {
  const loop = declaration.parent.parent;
  if (ts.isForOfStatement(loop)) return elementFreshness(session, loop.expression);
  const root = enclosingFunction(declaration);
  return root && isFilled(declaration)
    ? filledFreshness(session, declaration, declaration.name, root)
    : "unknown";
}

/** The variable of the same function that an expression is nothing but. */
function variableAt(session: Session, value: ts.Expression): Named | undefined {
  const bare = unwrap(value);
  const declaration = ts.isIdentifier(bare) ? session.oracle.declarationAt(bare) : undefined;
  return isNamed(declaration) && enclosingFunction(declaration) === enclosingFunction(bare)
    ? declaration
    : undefined;
}

/**
 * A local list or table that starts empty is as fresh as what is put into it, as long as that is
 * put nowhere else.
 */
function filledFreshness(
  session: Session,
  declaration: ts.VariableDeclaration,
  name: ts.Identifier,
  root: ts.Node,
): Freshness {
  const found: Freshness[] = [];
  let stored = false;
  for (const id of referencesTo(session.oracle, declaration, name, root)) {
    const { effect, fate, next } = session.transfer(id);
    if (fate.literal) return "unknown";
    const isOuter = fate.kind === "assigned" && isOuterStore(session, fate);
    if (isOuter || (fate.kind === "assigned" && effect === "stores")) {
      if (stored || !isOuter) return "unknown";
      stored = true;
      continue;
    }
    if (fate.kind === "returned" && stored) return "unknown";
    const assignment = next?.parent;
    if (effect === "receives" && ts.isCallExpression(fate.node)) {
      for (const value of putValues(fate.member, fate.node.arguments))
        found.push(ts.isSpreadElement(value) ? "unknown" : putFreshness(session, value, root));
    } else if (assignment && ts.isBinaryExpression(assignment) && assignment.left === next)
      found.push(putFreshness(session, assignment.right, root));
    else if (
      !staysAlone(effect, fate) &&
      !lendsEntry(session, id) &&
      !takesOut(fate) &&
      !isGoneThrough(session, id, fate)
    )
      return "unknown";
  }
  return joinAll(found);
}

/** `this.kept = xs`, `kept = xs` of an outer variable: the one place that a list is filled for. */
function isOuterStore({ oracle }: Session, { node, conditional }: Fate): boolean {
  if (conditional || !ts.isBinaryExpression(node)) return false;
  const { left } = node;
  if (fieldOfThis(left)) return true;
  const place = ts.isIdentifier(left) ? oracle.declarationAt(left) : undefined;
  return isNamed(place) && enclosingFunction(place) !== enclosingFunction(left);
}

/** `xs.pop()`, `table.delete(key)`: what stays is as fresh as before. */
const takesOut = ({ kind, member, node }: Fate): boolean =>
  kind === "receiver" &&
  ts.isCallExpression(node) &&
  /^(pop|shift|splice|delete|clear)$/.test(member) &&
  node.arguments.length <= 2;

/** `table.has(key)`, `table.keys()`, and a `table.get(key)` that is looked at or ended. */
function lendsEntry(session: Session, table: ts.Identifier): boolean {
  const { kind, member } = fateOf(table);
  if (kind === "receiver" && /^(has|keys)$/.test(member)) return true;
  const got = entryOf(table);
  return got !== undefined && !isTarget(got) && onlyLooked(session, got, true, ["disposes"]);
}

/**
 * `for (const t of table.values()) …`, `free(...table.values())`, `xs.forEach((x) => …)`: what is
 * done to each value, as in a loop over the container itself.
 */
function isGoneThrough(session: Session, table: ts.Identifier, fate: Fate): boolean {
  if (fate.kind !== "receiver" || !ts.isCallExpression(fate.node)) return false;
  if (fate.member === "forEach") return visitVerb(session, fate) !== "escape";
  if (!/^(values|entries)$/.test(fate.member)) return false;
  const { kind, node, top } = fateOf(fate.node);
  if (kind === "iterated" || kind === "returned") return true;
  if (kind !== "argument" || !ts.isCallExpression(node)) return false;
  const owned = session.oracle.ownedAt(table);
  return owned !== null && /^(disposes|borrows)$/.test(session.effect(node, top, owned));
}

/** Looked at, gone through or returned: the container is not handed to anybody else. */
const staysAlone = (effect: Effect, { kind }: Fate): boolean =>
  kind === "returned" ||
  kind === "iterated" ||
  kind === "element" ||
  kind === "read" ||
  (onlyLooksAt(effect) && kind !== "receiver");

/** A variable that is put into one place and only looked at elsewhere belongs to that place. */
function putFreshness(session: Session, value: ts.Expression, root: ts.Node): Freshness {
  const bare = unwrap(value);
  if (!ts.isIdentifier(bare)) return guarded(session, value);
  const declaration = session.oracle.declarationAt(bare);
  if (
    !declaration ||
    !ts.isVariableDeclaration(declaration) ||
    !ts.isIdentifier(declaration.name) ||
    isUsing(declaration)
  )
    return "unknown";
  return referencesTo(session.oracle, declaration, declaration.name, root).every(
    (id) => id === bare || onlyUsed(session, id),
  )
    ? guarded(session, bare)
    : "unknown";
}

/** Read, asked or lent, and neither disposed nor handed on. */
export function onlyUsed(session: Session, at: ts.Expression): boolean {
  const { effect, fate } = session.transfer(at);
  if (onlyLooksAt(effect) || fate.kind === "read") return true;
  return fate.kind === "receiver" && effect !== "disposes" && effect !== "moves";
}

function bindingFreshness(session: Session, element: ts.BindingElement): Freshness {
  const given = placeGiven(element);
  if (given) return guarded(session, given);
  const holder = ts.walkUpBindingElementsAndPatterns(element);
  if (!ts.isVariableDeclaration(holder)) return "borrowed";
  const loop = holder.parent.parent;
  if (ts.isForOfStatement(loop)) return elementFreshness(session, loop.expression);
  return holder.initializer ? guarded(session, holder.initializer) : "borrowed";
}

/** What stands at the place of a list that a name is taken from. */
function placeGiven(element: ts.BindingElement): ts.Expression | undefined {
  const { parent } = element;
  const isPlace = ts.isArrayBindingPattern(parent) && !element.dotDotDotToken;
  const value = ts.isVariableDeclaration(parent.parent) ? parent.parent.initializer : undefined;
  return isPlace && value ? elementsGiven(value)?.[parent.elements.indexOf(element)] : undefined;
}

/** `x = x.add(y)` in terms of itself must end, and adds nothing to what else `x` is given. */
export function guarded(session: Session, value: ts.Expression): Freshness {
  const { expressions } = session.asking;
  if (expressions.has(value)) return "never";
  expressions.add(value);
  try {
    return session.freshness(value);
  } finally {
    expressions.delete(value);
  }
}

function assignmentsTo(
  session: Session,
  declaration: ts.Declaration,
  name: ts.Identifier,
  root: ts.Node,
): ts.Expression[] {
  return referencesTo(session.oracle, declaration, name, root)
    .map((id) => id.parent)
    .filter(
      (p): p is ts.BinaryExpression =>
        ts.isBinaryExpression(p) &&
        p.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
        ts.isIdentifier(p.left) &&
        p.left.text === name.text,
    )
    .map((p) => p.right);
}

/** A list of this function that only ever held what the function made. */
export function isOwnList(session: Session, container: ts.Expression): boolean {
  const declaration = ts.isIdentifier(container)
    ? session.oracle.declarationAt(container)
    : undefined;
  return (
    declaration !== undefined &&
    ts.isVariableDeclaration(declaration) &&
    enclosingFunction(declaration) !== undefined &&
    enclosingFunction(declaration) === enclosingFunction(container) &&
    /^(fresh|never)$/.test(session.freshness(container))
  );
}
