/**
 * Verb "is fresh", for variables: what a local variable holds is as fresh as everything it is
 * given, and what a local container holds as fresh as everything put into it. Used by `is-fresh.ts`
 * and `fresh-results.ts`.
 */
import ts from "typescript";
import { putValues } from "./containers.ts";
import { enclosingFunction, fateOf, type Fate } from "./fate.ts";
import { joinAll } from "./join.ts";
import { elementFreshness } from "./fresh-results.ts";
import { entryOf, onlyLooked } from "./looked-at.ts";
import { referencesTo } from "./references.ts";
import type { Freshness, Session } from "./session.ts";
import {
  elementsGiven,
  hasBody,
  isEmptyContainer,
  isNullish,
  isTarget,
  isUsing,
  unwrap,
} from "./syntax.ts";
import { onlyLooksAt, type Effect } from "./transfer.ts";

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
  if (!ts.isVariableDeclaration(declaration) || !ts.isIdentifier(declaration.name))
    return "unknown";
  const root = enclosingFunction(declaration);
  if (root !== enclosingFunction(id)) return "borrowed";
  if (ts.isForOfStatement(declaration.parent.parent))
    return elementFreshness(session, declaration.parent.parent.expression);
  const values = root ? assignmentsTo(session, declaration, declaration.name, root) : [];
  if (
    root &&
    values.length === 0 &&
    declaration.initializer &&
    isEmptyContainer(unwrap(declaration.initializer))
  )
    return filledFreshness(session, declaration, declaration.name, root);
  if (declaration.initializer && !isNullish(unwrap(declaration.initializer)))
    values.push(declaration.initializer);
  return joinAll(values.filter((v) => !isNullish(unwrap(v))).map((v) => guarded(session, v)));
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
  for (const id of referencesTo(session.oracle, declaration, name, root)) {
    const { effect, fate, next } = session.transfer(id);
    if (fate.literal) return "unknown";
    const assignment = next?.parent;
    if (effect === "receives" && ts.isCallExpression(fate.node)) {
      for (const value of putValues(fate.member, fate.node.arguments))
        found.push(ts.isSpreadElement(value) ? "unknown" : putFreshness(session, value, root));
    } else if (assignment && ts.isBinaryExpression(assignment) && assignment.left === next)
      found.push(putFreshness(session, assignment.right, root));
    else if (!staysAlone(effect, fate) && !lendsEntry(session, id) && !takesOut(fate))
      return "unknown";
  }
  return joinAll(found);
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
  let holder: ts.Node = element;
  while (
    ts.isBindingElement(holder) ||
    ts.isObjectBindingPattern(holder) ||
    ts.isArrayBindingPattern(holder)
  )
    holder = holder.parent;
  if (!ts.isVariableDeclaration(holder)) return "borrowed";
  const loop = holder.parent.parent;
  if (ts.isForOfStatement(loop)) return elementFreshness(session, loop.expression);
  return holder.initializer ? session.freshness(holder.initializer) : "borrowed";
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
    session.freshness(container) === "fresh"
  );
}
