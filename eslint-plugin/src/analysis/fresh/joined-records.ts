/**
 * Joined records: what a function puts together, `grow(latent)` that gives `{ latent, visits }`, is
 * as new as what it makes and what it is given. Used by `is-fresh.ts`.
 */
import ts from "typescript";
import { isKept } from "./fresh-results.ts";
import { onlyUsed } from "./fresh-variables.ts";
import { enclosingFunction, returnsOf } from "../transfer/fate.ts";
import { referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";
import {
  isUsing,
  unwrap,
  valuesOf,
  type CallLike,
  type FunctionWithBody,
} from "../program/syntax.ts";

/**
 * `evaluate(x.neg())`, where `evaluate` gives `{ x, value: x.sum() }`: a record of what it makes
 * and of what it is given, which is nobody else's.
 */
export function joinsFresh(session: Session, call: CallLike, body: FunctionWithBody): boolean {
  const { oracle } = session;
  const effects = session.summary(body).parameters;
  const isGiven = (value: ts.Expression): boolean => {
    const source = ts.isIdentifier(value) ? oracle.declarationAt(value) : undefined;
    if (!source || !ts.isParameter(source) || source.parent !== body) return false;
    const at = body.parameters.indexOf(source);
    const effect = effects[at];
    const argument = call.arguments?.[at] && unwrap(call.arguments[at]);
    if (!effect || effect.disposes || !argument) return false;
    return session.freshness(argument) === "fresh" && isLeftTo(session, argument);
  };
  const isNew = (value: ts.Expression): boolean =>
    session.freshness(value) === "fresh" && !isKept(session, body, value);
  const returns = oracle.facts.of(body, returnsOf).map(unwrap);
  return (
    returns.length > 0 &&
    returns.every((literal) => {
      if (!ts.isObjectLiteralExpression(literal)) return false;
      const values = valuesOf(literal).map(unwrap);
      const owned = values.filter((v) => oracle.ownedAt(v));
      return (
        values.length === literal.properties.length && owned.every((v) => isNew(v) || isGiven(v))
      );
    })
  );
}

/** Whether a value has no name, or one that nothing else ends, keeps or passes on. */
function isLeftTo(session: Session, value: ts.Expression): boolean {
  if (!ts.isIdentifier(value)) return true;
  const source = session.oracle.declarationAt(value);
  const home = enclosingFunction(value);
  if (!source || !home || !ts.isVariableDeclaration(source) || isUsing(source)) return false;
  if (!ts.isIdentifier(source.name) || enclosingFunction(source) !== home) return false;
  return referencesTo(session.oracle, source, source.name, home).every(
    (id) => id === value || id === source.name || onlyUsed(session, id),
  );
}
