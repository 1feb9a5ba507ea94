/**
 * Looked through: whether all that a function does with a mention of a list or table is a look,
 * under whatever names: at parts of it (`xs.slice(1)`, `xs.filter(…)`), at elements, at what lies
 * in those. What leaves the list afterwards nobody has ended there. Used by `removals.ts`.
 */
import ts from "typescript";
import { functionHanded } from "../program/callee.ts";
import { containerMethod, puts } from "../program/containers.ts";
import { boundNames, referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";
import {
  calleeNameNode,
  isTarget,
  isUsing,
  isUsingList,
  variableName,
  within,
} from "../program/syntax.ts";
import { enclosingFunction, fateOf, loopOver, type Fate } from "../transfer/fate.ts";
import { endsAny } from "../flow/mention-events.ts";
import { isSettled, looksAtSettled } from "./settled-results.ts";
import { isCompared, onlyLooks } from "../transfer/looked-at.ts";
import { effectInside } from "../transfer/mention.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";

/** How many names and parts a look may go through. */
const furthest = 8;

/**
 * Whether a function only looks at what a mention stands for.
 *
 * @param removal what takes elements out of the list: it may well ask which element is which
 */
export function looksThrough(
  session: Session,
  mention: ts.Expression,
  removal: ts.Node,
  depth = 0,
): boolean {
  if (within(mention, removal) && asksWhich(mention)) return true;
  if (depth > furthest || isCompared(mention)) return false;
  const follow = (at: ts.Expression): boolean => looksThrough(session, at, removal, depth + 1);
  const { effect, fate } = session.transfer(mention);
  const { kind, node } = fate;
  if (effect === "disposes") return false;
  switch (kind) {
    case "dropped":
    case "operand":
      return true;
    case "read":
    case "element":
      if (session.oracle.signatureAt(node)) return false;
      return session.oracle.ownedAt(node) === null || follow(node as ts.Expression);
    case "receiver":
      return session.oracle.ownedAt(mention)?.shape === "many"
        ? looksAtAll(session, fate, follow)
        : onlyLooksAt(effect);
    case "argument":
      if (isSettled(node)) return looksAtSettled(session, node, follow);
      return isGathered(node) ? follow(node) : isLent(session, mention, node);
    case "bound":
      return ts.isVariableDeclaration(node) && !isUsing(node) && eachName(session, node, follow);
    case "iterated":
      return ts.isForOfStatement(node) && eachTurn(session, node, follow);
    case "assigned":
      return ts.isBinaryExpression(node) && isFollowed(session, node.left, follow);
    default:
      return false;
  }
}

/** `x !== t`, `stale.includes(t)`: asks only which element it is. */
const asksWhich = (mention: ts.Expression): boolean => {
  const { kind, node, member } = fateOf(mention);
  const call = kind === "argument" && ts.isCallExpression(node) ? calleeNameNode(node)?.text : "";
  return isCompared(mention) || containerMethod(call ?? "") === "asks" || isAsked(kind, member);
};

const isAsked = (kind: Fate["kind"], member: string): boolean =>
  kind === "receiver" && containerMethod(member) === "asks";

type Follow = (at: ts.Expression) => boolean;

/** Whether a method of a list does nothing to its elements, and whoever gets some only looks. */
function looksAtAll(session: Session, { member, node }: Fate, follow: Follow): boolean {
  if (!ts.isCallExpression(node) || !session.oracle.callee(node).builtin) return false;
  if (puts(member) || containerMethod(member) === "asks" || member === "keys") return true;
  if (/^(slice|values|entries|at|get|pop|shift)$/.test(member)) return follow(node);
  if (!/^(filter|find(Last)?(Index)?|some|every|forEach|map|flatMap)$/.test(member)) return false;
  const [first] = node.arguments;
  const callback = first && functionHanded(session.oracle, first);
  const effect = callback && session.summary(callback).parameters[0];
  if (!effect || effect.disposes || effect.stores) return false;
  // `(card) => card.shape.vertices.destroy()`
  const [parameter] = callback.parameters;
  if (parameter && !eachName(session, parameter, follow)) return false;
  if (/^(some|every|find(Last)?Index)$/.test(member)) return true;
  return fateOf(node).kind === "dropped" || follow(node);
}

/** `Promise.all(xs)`, which gives the same values. */
const isGathered = (node: ts.Node): node is ts.CallExpression =>
  ts.isCallExpression(node) && node.expression.getText() === "Promise.all";

/** Whether a call only looks at what it is given; who hears of an event may do anything to it. */
const isLent = (session: Session, given: ts.Expression, call: ts.Node): boolean =>
  ts.isCallExpression(call) &&
  !/^(emit|dispatch|publish|post|send|notify|trigger|next|resolve)/i.test(
    calleeNameNode(call)?.text ?? "",
  ) &&
  onlyLooksAt(effectInside(session, session.transfer(given)));

/** Whether the names that a declaration gives what it is made of only look at that. */
function eachName(
  session: Session,
  declaration: ts.VariableDeclaration | ts.ParameterDeclaration,
  follow: Follow,
): boolean {
  if (ts.isVariableDeclaration(declaration) && takesEntry(session, declaration)) return false;
  const root = enclosingFunction(declaration) ?? declaration.getSourceFile();
  return boundNames(declaration.name, declaration).every(({ id, declaration: at }) =>
    session.oracle.ownedAt(id)
      ? referencesTo(session.oracle, at, id, root).every(
          (name) => name === id || isTarget(name) || follow(name),
        )
      : !endsIn(session, id, at, root),
  );
}

/** `end()`, and `end[Symbol.dispose]()` of things that have only that in common, and no owner. */
const endsIn = (
  session: Session,
  id: ts.Identifier,
  declaration: ts.Declaration,
  root: ts.Node,
): boolean =>
  referencesTo(session.oracle, declaration, id, root).some(
    (use) => session.oracle.signatureAt(use) !== undefined || endsAny(session, use, fateOf(use)),
  );

/** `const [first] = table`: a key and its value, which has no type of its own. */
const takesEntry = ({ oracle }: Session, { name, initializer }: ts.VariableDeclaration): boolean =>
  ts.isArrayBindingPattern(name) &&
  name.elements.some((e) => ts.isBindingElement(e) && ts.isIdentifier(e.name)) &&
  initializer !== undefined &&
  oracle.typeName(initializer) === "Map";

function eachTurn(session: Session, loop: ts.ForOfStatement, follow: Follow): boolean {
  const list = loop.initializer;
  return (
    ts.isVariableDeclarationList(list) &&
    !isUsingList(list) &&
    list.declarations.every((turn) => eachName(session, turn, follow))
  );
}

/** `x = xs.pop()`: a variable of the function itself. */
function isFollowed(session: Session, left: ts.Expression, follow: Follow): boolean {
  const source = ts.isIdentifier(left) ? session.oracle.declarationAt(left) : undefined;
  if (!source || !ts.isVariableDeclaration(source) || !variableName(source)) return false;
  return enclosingFunction(source) === enclosingFunction(left) && eachName(session, source, follow);
}

/** `for (const [key, t] of map)`, where nothing but a look is taken at `t`, if at all. */
export function looksInLoop(session: Session, list: ts.Expression): boolean {
  const loop = loopOver(list);
  const turns = loop?.initializer;
  if (!turns || !ts.isVariableDeclarationList(turns) || isUsingList(turns)) return false;
  return turns.declarations.every((whole) =>
    boundNames(whole.name, whole).every(({ id, declaration }) =>
      session.oracle.ownedAt(id)
        ? onlyLooks(session, id, true)
        : !endsIn(session, id, declaration, loop.statement),
    ),
  );
}
