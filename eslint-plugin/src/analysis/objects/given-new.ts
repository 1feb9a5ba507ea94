/**
 * Given new: what a constructor takes where all who call it give something that is made for it, or
 * nothing: `this.weights = weights ?? make()` beside `new Net()` and `new Net(w.clone())`. Then the
 * object owns what it keeps, as if it had made it. Used by `members.ts`.
 */
import ts from "typescript";
import { heirsOf, makersOf } from "../program/class-makers.ts";
import { isOfferedByName } from "../program/entry-points.ts";
import { isNullish, isAssignment, isTarget, unwrap, within } from "../program/syntax.ts";
import { referencesTo } from "../program/references.ts";
import { joinAll } from "../fresh/join.ts";
import type { Freshness, Session } from "../session.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { isKeptForGood, keptBy } from "../transfer/keeps.ts";
import { areApart } from "../program/ways.ts";

/**
 * How fresh what a class keeps is, where it may be given it: `never` for what it is given alone,
 * which says nothing of what else the field gets, and for what ends by another name.
 */
export function freshnessGiven(
  session: Session,
  node: ts.ClassLikeDeclaration,
  value: ts.Expression,
): Freshness {
  if (isTakenForGood(session, value)) return "fresh";
  if (isNamedOutside(session, node, value)) return "borrowed";
  const whole = session.freshness(value);
  if (whole === "fresh" && isEndedByName(session, value)) return "never";
  if (whole === "fresh" || whole === "never") return whole;
  const arms = armsOf(value);
  const given = arms.filter((arm) => isGivenNew(session, node, arm));
  if (given.length === 0 || arms.some(isAssignment)) return whole; // `given ?? (this.own = make())`
  const others = arms.filter((arm) => !given.includes(arm) && !isNullish(arm));
  return others.length === 0 ? "never" : joinAll(others.map((arm) => session.freshness(arm)));
}

/** `normal = flat;` where `const flat = make();` stands outside of the class: others have it. */
function isNamedOutside(
  { oracle }: Session,
  node: ts.ClassLikeDeclaration,
  value: ts.Expression,
): boolean {
  const bare = unwrap(value);
  const source = ts.isIdentifier(bare) ? oracle.declarationAt(bare) : undefined;
  return source !== undefined && ts.isVariableDeclaration(source) && !within(source, node);
}

/**
 * `this.keys = keys.detachFromScope();` of a parameter: who takes a value out of every scope, to
 * keep it, has to end it.
 */
function isTakenForGood(session: Session, value: ts.Expression): boolean {
  const { oracle } = session;
  const call = unwrap(value);
  const owned = ts.isCallExpression(call) ? oracle.ownedAt(call) : null;
  if (!ts.isCallExpression(call) || owned?.owner.policy !== "protocol") return false;
  if (!isKeptForGood(session, call, owned.owner)) return false;
  const kept = keptBy(session, call, oracle.callee(call), owned);
  const source = kept && oracle.declarationAt(unwrap(kept));
  return source !== undefined && ts.isParameter(source);
}

/** `this.mapped = b; … b.destroy();`: on the same way, by the name that it was given by. */
function isEndedByName(session: Session, value: ts.Expression): boolean {
  const name = unwrap(value);
  const source = ts.isIdentifier(name) ? session.oracle.declarationAt(name) : undefined;
  const home = enclosingFunction(value);
  if (!home || !source || !ts.isVariableDeclaration(source)) return false;
  if (!ts.isIdentifier(source.name) || enclosingFunction(source) !== home) return false;
  return referencesTo(session.oracle, source, source.name, home).some(
    (id) =>
      enclosingFunction(id) === home &&
      session.transfer(id).effect === "disposes" &&
      !areApart(name, id),
  );
}

/** What `a ?? b`, `a || b` and `t ? a : b` may give. */
function armsOf(value: ts.Expression): ts.Expression[] {
  const bare = unwrap(value);
  if (ts.isConditionalExpression(bare)) return [bare.whenTrue, bare.whenFalse].flatMap(armsOf);
  const { QuestionQuestionToken, BarBarToken } = ts.SyntaxKind;
  const chooses =
    ts.isBinaryExpression(bare) &&
    (bare.operatorToken.kind === QuestionQuestionToken || bare.operatorToken.kind === BarBarToken);
  return chooses ? [bare.left, bare.right].flatMap(armsOf) : [bare];
}

/** A parameter of the constructor, for which nobody gives what somebody else has, too. */
function isGivenNew(session: Session, node: ts.ClassLikeDeclaration, arm: ts.Expression): boolean {
  const { oracle } = session;
  const source = ts.isIdentifier(arm) ? oracle.declarationAt(arm) : undefined;
  if (!source || !ts.isParameter(source) || !ts.isIdentifier(source.name)) return false;
  const maker = source.parent;
  if (!ts.isConstructorDeclaration(maker) || maker.parent !== node) return false;
  if (
    source.dotDotDotToken ||
    source.initializer ||
    ts.isParameterPropertyDeclaration(source, maker)
  )
    return false;
  if (referencesTo(oracle, source, source.name, maker).some(isTarget)) return false;
  if (heirsOf(oracle, node).size > 0 || isOfferedByName(oracle, node)) return false;
  const makers = makersOf(oracle, node);
  const at = maker.parameters.indexOf(source);
  return makers.length > 0 && makers.every((call) => isNewOrNone(session, call, at));
}

function isNewOrNone(session: Session, call: ts.NewExpression, at: number): boolean {
  const given = call.arguments ?? [];
  if (given.some((argument) => ts.isSpreadElement(argument))) return false;
  const argument = given[at] && unwrap(given[at]);
  if (!argument || isNullish(argument)) return true;
  const isMade = ts.isCallExpression(argument) || ts.isNewExpression(argument);
  return isMade && session.freshness(argument) === "fresh";
}
