/**
 * Lost turns: records and lists that a variable outside a loop is given anew in every turn, while
 * the loop only looks at the one of the turn before, and nobody else has it: `state = next.state`.
 * The dataflow follows single values, and records of them; here it may be any. Used by the rule
 * about overwritten values.
 */
import ts from "typescript";
import { endsPart } from "../objects/left-behind.ts";
import { deedOf } from "../objects/overwritten-places.ts";
import { effectInside } from "../transfer/mention.ts";
import { isBetter } from "../program/better.ts";
import { enclosingFunction, fateOf } from "../transfer/fate.ts";
import { isAnything } from "../../owner.ts";
import type { LostStore } from "./lost-stores.ts";
import { mayLackScope } from "../scopes/open-scopes.ts";
import { referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";
import { isNullish, isTarget, unwrap, within } from "../program/syntax.ts";
import { givenTo } from "../untyped/untyped-records.ts";
import { isOnOtherWay, leaves } from "../program/ways.ts";

/** Every such assignment of a file. */
export function lostTurns(session: Session, file: ts.SourceFile): LostStore[] {
  return session.oracle.facts.assignments(file).flatMap((node): LostStore[] => {
    const { left, parent } = node;
    if (!ts.isIdentifier(left) || !ts.isExpressionStatement(parent)) return [];
    const declaration = session.oracle.declarationAt(left);
    const home = enclosingFunction(node);
    if (!declaration || !ts.isVariableDeclaration(declaration) || !home) return [];
    if (!ts.isIdentifier(declaration.name) || enclosingFunction(declaration) !== home) return [];
    const loop = ts.findAncestor(node, isLoop);
    if (!loop || !within(loop, home) || within(declaration, loop)) return [];
    const owned = session.oracle.ownedAt(left);
    if (!owned || owned.shape === "one" || isAnything(owned.owner)) return [];
    if (owned.owner.policy === "generic" || !mayLackScope(session, node)) return [];
    const ids = referencesTo(session.oracle, declaration, declaration.name, home);
    const others = ids.filter((id) => id !== left && id !== declaration.name);
    if (!isDoneOften(parent, loop, others)) return [];
    if (!others.every((id) => staysIn(session, id, loop, home))) return [];
    const isOwn = others.some((id) => isEndAfter(session, id, loop));
    return isMadeHere(session, node.right, loop, isOwn) ? [{ node, owned }] : [];
  });
}

const isLoop = (node: ts.Node): node is ts.IterationStatement =>
  ts.isIterationStatement(node, false);

/** Whether a mention only looks, as far as it is in the loop or in a function. */
function staysIn(session: Session, id: ts.Identifier, loop: ts.Node, home: ts.Node): boolean {
  if (!within(id, loop) && enclosingFunction(id) === home) return true;
  return !isTarget(id) && deedOf(session, id) === "looks" && !endsPartOf(session, id);
}

/** `best?.w.dispose()`, or that of `const was = best`. */
function endsPartOf({ oracle }: Session, id: ts.Identifier): boolean {
  if (endsPart(id)) return true;
  const { kind, node } = fateOf(id);
  if (kind !== "bound" || !ts.isVariableDeclaration(node) || !ts.isIdentifier(node.name))
    return false;
  const home = enclosingFunction(node) ?? node.getSourceFile();
  return referencesTo(oracle, node, node.name, home).some(endsPart);
}

/** Whether a mention ends the last value when the loop is over, however that came about. */
function isEndAfter(session: Session, id: ts.Identifier, loop: ts.Node): boolean {
  if (id.pos < loop.end || ts.findAncestor(id, isConditional)) return false;
  return (
    deedOf(session, id) === "ends" || effectInside(session, session.transfer(id)) === "disposes"
  );
}

const isConditional = (at: ts.Node): boolean =>
  ts.isIfStatement(at) || ts.isCatchClause(at) || ts.isConditionalExpression(at);

/** Whether a store may be done in a turn after one that did it, too. */
function isDoneOften(
  store: ts.Node,
  loop: ts.IterationStatement,
  ids: readonly ts.Identifier[],
): boolean {
  const asked = ids.filter((id) => within(id, loop) && isInTest(id, loop));
  const known: ts.Identifier[] = [];
  for (let at = store; at !== loop.statement; at = at.parent) {
    const { parent } = at;
    if (ts.isBlock(parent)) {
      if (parent.statements.some((s) => s.pos >= at.pos && isWayOut(s))) return false;
    } else if (ts.isIfStatement(parent)) {
      const tested = asked.filter((id) => within(id, parent.expression));
      if (!isBetter(parent, at, tested)) return false;
      known.push(...tested);
    } else if (!ts.isTryStatement(parent) || at !== parent.tryBlock) return false;
  }
  return asked.every((id) => known.includes(id));
}

const isWayOut = (at: ts.Statement): boolean => leaves(at) && !ts.isContinueStatement(at);

/** Whether a mention decides on a way. */
const isInTest = (id: ts.Node, loop: ts.Node): boolean =>
  ts.findAncestor(id, (at) => {
    if (at === loop) return "quit";
    const { parent } = at;
    if (ts.isIfStatement(parent) || ts.isWhileStatement(parent)) return parent.expression === at;
    return ts.isConditionalExpression(parent) && parent.condition === at;
  }) !== undefined;

/**
 * Whether a value is made in the loop, and nothing but the variable has it afterwards. Whoever ends
 * what the variable holds last owns what a function gives.
 */
function isMadeHere(
  session: Session,
  given: ts.Expression,
  loop: ts.Node,
  isOwn: boolean,
): boolean {
  const isMade = (made: ts.Expression): boolean => {
    const found = session.freshness(made);
    return found === "fresh" || (isOwn && found === "unknown" && isCall(session, made));
  };
  const value = unwrap(given);
  if (ts.isObjectLiteralExpression(value))
    return value.properties.every((property) => {
      const part = givenTo(property);
      if (!part) return !ts.isSpreadAssignment(property);
      return !session.oracle.ownedAt(part) || isMadeHere(session, part, loop, isOwn);
    });
  const isPart = ts.isPropertyAccessExpression(value);
  const name = isPart ? value.expression : value;
  if (!ts.isIdentifier(name)) return !isNullish(value) && isMade(value);
  const source = session.oracle.declarationAt(name);
  if (!source || !ts.isVariableDeclaration(source) || !source.initializer) return false;
  if (!within(source, loop) || !ts.isIdentifier(source.name)) return false;
  if (!(ts.getCombinedNodeFlags(source) & ts.NodeFlags.Const)) return false;
  if (!isMade(source.initializer)) return false;
  const isOther = ({ parent }: ts.Identifier): boolean =>
    isPart && ts.isPropertyAccessExpression(parent) && parent.name.text !== value.name.text;
  return referencesTo(session.oracle, source, source.name, loop).every(
    (id) =>
      id === name ||
      id === source.name ||
      isOther(id) ||
      isOnOtherWay(value, id) ||
      deedOf(session, id) === "looks",
  );
}

/** A call, of what is not a list or a table that gives what it goes on holding. */
function isCall({ oracle }: Session, node: ts.Expression): boolean {
  const bare = unwrap(node);
  const call = ts.isAwaitExpression(bare) ? unwrap(bare.expression) : bare;
  return ts.isCallExpression(call) && !oracle.callee(call).builtin;
}
