/**
 * Losses: functions by which a model is trained and measured, `model.compile({ loss: dice, metrics:
 * [accuracy] })`. The model calls them in scopes of its own. A library offers them to others, which
 * is told by the names that the model's own library has for what they are given. Used by
 * `scope-context.ts` alone.
 */
import ts from "typescript";
import { functionHanded } from "../program/callee.ts";
import { callsNamed } from "../program/call-index.ts";
import type { Oracle } from "../program/oracle.ts";
import { hasBody, memberName, unwrap, valuesOf, type FunctionWithBody } from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { returnsOf } from "../transfer/fate.ts";

/** Whether a function is one that a model calls in a scope, whoever else may. */
export const isLoss = (session: Session, fn: FunctionWithBody): boolean =>
  session.settings.owners.some(({ policy }) => policy === "scoped") &&
  (isNamedLikeLoss(fn) || session.oracle.facts.of(session.oracle, lossesOf).has(fn));

/** `(yTrue, yPred) => …`, `(y_true, y_pred, smooth = 1) => …`. */
function isNamedLikeLoss({ parameters: [labels, predictions] }: FunctionWithBody): boolean {
  if (!labels || !predictions) return false;
  return (
    /^y_?true$/i.test(labels.name.getText()) &&
    /^y_?pred(icted)?$/i.test(predictions.name.getText())
  );
}

/** The functions that a program gives to `compile`. */
function lossesOf(oracle: Oracle): ReadonlySet<FunctionWithBody> {
  const found = new Set<FunctionWithBody>();
  for (const { arguments: given = [] } of callsNamed(oracle, "compile")) {
    const config = given.length === 1 ? literalOf(oracle, given[0]!) : undefined;
    for (const property of config?.properties ?? []) {
      if (!property.name || !/^(loss|metrics)$/.test(memberName(property.name))) continue;
      if (hasBody(property)) found.add(property);
      else if (ts.isShorthandPropertyAssignment(property)) add(oracle, property.name, found);
      else if (ts.isPropertyAssignment(property)) add(oracle, property.initializer, found);
    }
  }
  return found;
}

/** An object, or the one that a constant holds. */
function literalOf(oracle: Oracle, node: ts.Expression): ts.ObjectLiteralExpression | undefined {
  const value = unwrap(node);
  if (ts.isObjectLiteralExpression(value)) return value;
  const made = ts.isIdentifier(value) ? oracle.declarationAt(value) : undefined;
  const first = made && ts.isVariableDeclaration(made) ? made.initializer : undefined;
  const held = first && unwrap(first);
  return held && ts.isObjectLiteralExpression(held) ? held : undefined;
}

/** Adds the functions that an expression gives, alone, in a list or by the names of outputs. */
function add(oracle: Oracle, node: ts.Expression, into: Set<FunctionWithBody>, depth = 0): void {
  if (depth > 5) return;
  const value = unwrap(node);
  const given = functionHanded(oracle, value);
  const parts = given ? [] : partsOf(oracle, value);
  if (given) into.add(given);
  for (const part of parts) add(oracle, part, into, depth + 1);
}

/** The elements of a list, what a function of the program returns, what a variable holds. */
function partsOf(oracle: Oracle, value: ts.Expression): readonly ts.Expression[] {
  if (ts.isArrayLiteralExpression(value) || ts.isObjectLiteralExpression(value))
    return valuesOf(value);
  if (ts.isConditionalExpression(value)) return [value.whenTrue, value.whenFalse];
  if (ts.isCallExpression(value)) {
    const { body } = oracle.callee(value);
    return body ? returnsOf(body) : [];
  }
  const name = ts.isPropertyAccessExpression(value) ? value.name : value;
  const made = ts.isMemberName(name) ? oracle.declarationAt(name) : undefined;
  const holds = made && (ts.isVariableDeclaration(made) || ts.isPropertyDeclaration(made));
  return holds && made.initializer ? [made.initializer] : [];
}
