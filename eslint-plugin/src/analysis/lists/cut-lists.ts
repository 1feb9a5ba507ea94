/**
 * Cut lists: where part of a list goes on, `xs.slice(0, n)`, `xs.filter(…)`, `const [best] = xs`,
 * and nobody has the others in hand afterwards. Lists of a variable come from the dataflow, which
 * knows that the function still owns them there. Used by the rule for dropped elements.
 */
import ts from "typescript";
import type { Cell } from "../flow/cells.ts";
import { enclosingFunction, fateOf } from "../transfer/fate.ts";
import type { Problem } from "../flow/flow.ts";
import { onlyUsed } from "../fresh/fresh-variables.ts";
import { givesPart } from "./left-out.ts";
import { countOf } from "./partial-lists.ts";
import { effectInside } from "../transfer/mention.ts";
import type { Owned } from "../program/oracle.ts";
import { referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";
import {
  calleeNameNode,
  isPatternOfPlaces,
  unwrap,
  variableName,
  within,
} from "../program/syntax.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";
import { splits } from "./unreached.ts";
import { isOnOtherWay } from "../program/ways.ts";

/** A list that loses elements. */
export interface CutList {
  /** The name of the list, as it stands in the expression that takes the part. */
  list: ts.Identifier;
  owned: Owned;
}

type Leaves = Extract<Problem, { kind: "leaves" }>;

/** Every such place of a file. */
export function cutLists(session: Session, problems: readonly Problem[]): CutList[] {
  const found = new Map<ts.Node, CutList>();
  for (const problem of problems) {
    if (problem.kind !== "leaves" || problem.by || !problem.surely) continue;
    const { node, cell, site } = problem;
    const { owned, kind } = cell;
    if (kind !== "local" || owned.shape !== "many" || owned.mixed) continue;
    if (owned.owner.policy === "generic" || !ts.isIdentifier(node)) continue;
    if (hasOtherName(session, site.value)) continue;
    if (session.scopeAt(site.value) !== "out" || session.scopeAt(node) !== "out") continue;
    if (takesPart(session, node, problem) && isLastMention(session, node, problem))
      found.set(node, { list: node, owned });
  }
  return [...found.values()];
}

/** `xs.push(t); if (old) t.dispose();`: an element that is reached by its own name. */
function hasOtherName(session: Session, value: ts.Expression): boolean {
  const bare = unwrap(value);
  const declaration = ts.isIdentifier(bare) ? session.oracle.declarationAt(bare) : undefined;
  const name = declaration && variableName(declaration);
  if (!name || session.oracle.ownedAt(bare)?.shape === "many") return false;
  const root = enclosingFunction(value) ?? value.getSourceFile();
  return referencesTo(session.oracle, declaration, name, root).some(
    (id) => id !== bare && id !== name && !onlyUsed(session, id),
  );
}

/** Whether the construct that a list stands in goes on with some of it. */
function takesPart(session: Session, list: ts.Identifier, problem: Leaves): boolean {
  const { kind, node, member, literal, conditional } = fateOf(ordered(list));
  if (literal || conditional) return false;
  if (kind === "receiver" && /^(slice|filter)$/.test(member))
    return givesPart(session, node as ts.Expression, list);
  if (kind === "argument") return ts.isCallExpression(node) && givesPart(session, node, list);
  const picks =
    (kind === "receiver" && /^(find|findLast|at|pop|shift)$/.test(member)) ||
    (kind === "element" && ts.isElementAccessExpression(node) && goesOn(session, node)) ||
    (kind === "bound" && ts.isVariableDeclaration(node) && isPatternOfPlaces(node.name));
  return picks && isOfSeveral(session, list, problem);
}

/** `xs.sort(…)` of `xs`, which gives the list itself. */
function ordered(list: ts.Expression): ts.Expression {
  const { kind, member, node } = fateOf(list);
  const isSame = kind === "receiver" && /^(sort|reverse)$/.test(member) && ts.isExpression(node);
  return isSame && fateOf(node).kind !== "dropped" ? node : list;
}

/** Whether an element goes to somebody, and does not end where it stands. */
const goesOn = (session: Session, element: ts.Expression): boolean =>
  effectInside(session, session.transfer(element)) !== "disposes";

/** Whether a list is surely of more than the few elements that somebody takes out by place. */
function isOfSeveral(session: Session, list: ts.Identifier, { cell, site }: Leaves): boolean {
  const made = unwrap(site.value);
  if (countOf(made) === takenFrom(list)) return false;
  const maker = ts.isCallExpression(made) ? calleeNameNode(made)?.text : undefined;
  if (maker !== undefined && (maker === "flatMap" || splits.test(maker))) return true;
  return namesOf(session, list, [cell, site.cell]).some((id) => {
    const { kind, member } = fateOf(id);
    if (kind !== "receiver") return false;
    if (member === "sort") return true;
    return /^(push|unshift)$/.test(member) && loopOf(id) !== loopOf(site.cell.declaration ?? id);
  });
}

/** How many elements of a list get names where it is taken apart. */
function takenFrom(list: ts.Identifier): number {
  const { node } = fateOf(ordered(list));
  const pattern = ts.isVariableDeclaration(node) ? node.name : undefined;
  return pattern && ts.isArrayBindingPattern(pattern)
    ? pattern.elements.filter(ts.isBindingElement).length
    : 1;
}

/** All mentions of a list by its names. */
function namesOf(
  session: Session,
  list: ts.Identifier,
  cells: readonly Cell[],
): readonly ts.Identifier[] {
  const root = enclosingFunction(list) ?? list.getSourceFile();
  return [...new Set(cells)].flatMap(({ declaration, name }) =>
    declaration && name
      ? referencesTo(session.oracle, declaration, name, root).filter((id) => id !== name)
      : [],
  );
}

/** The innermost loop around a node, in its function; what a loop goes over is asked once. */
const loopOf = (node: ts.Node): ts.Node | undefined =>
  ts.findAncestor(node, (n) => {
    if (ts.isFunctionLike(n)) return "quit";
    const isTurn = ts.isIterationStatement(n, false);
    return isTurn && !(ts.isForOfStatement(n) && within(node, n.expression));
  });

/**
 * Whether nothing that comes after a mention ends or hands on what the list holds. The turns of a
 * loop around the mention come after it too, unless each has a list of its own.
 */
function isLastMention(session: Session, list: ts.Identifier, { cell, site }: Leaves): boolean {
  const replaces = isGivenTo(session, list);
  const { declaration } = cell;
  if (!declaration || enclosingFunction(declaration) !== enclosingFunction(list)) return false;
  if (!replaces && loopOf(list) !== loopOf(declaration)) return false;
  const at = fateOf(list).node;
  return namesOf(session, list, [cell, site.cell]).every((id) => {
    if (id === list || within(id, at) || isOnOtherWay(id, list)) return true;
    if (id.pos < list.pos || replaces) return true;
    return onlyLooksAt(effectInside(session, session.transfer(id)));
  });
}

/** `xs = xs.filter(…)`: what comes later speaks of another list. */
function isGivenTo({ oracle }: Session, list: ts.Identifier): boolean {
  const { node } = fateOf(list);
  const { kind, node: at } = ts.isExpression(node) ? fateOf(node) : fateOf(list);
  return (
    kind === "assigned" &&
    ts.isBinaryExpression(at) &&
    ts.isIdentifier(at.left) &&
    oracle.declarationAt(at.left) === oracle.declarationAt(list)
  );
}
