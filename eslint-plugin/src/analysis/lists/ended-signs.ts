/**
 * Ended signs: fields by which a test tells what has been ended from what has not, `alive` or
 * `done`, as whoever sets one ends what the object holds. What such a test leaves out of a list is
 * nobody's to free any more. Used by `left-out.ts`.
 */
import ts from "typescript";
import { sourcesFor } from "../program/call-index.ts";
import { accessesByName } from "../program/field-index.ts";
import type { Session } from "../session.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import {
  assigns,
  isNullish,
  isTarget,
  someWithin,
  unwrap,
  type FunctionWithBody,
} from "../program/syntax.ts";

/** `(b) => b.alive`, where `kill()` sets `this.alive` and ends what the object holds. */
export function asksForEnded(session: Session, { parameters, body }: FunctionWithBody): boolean {
  const [first] = parameters;
  if (!first) return false;
  const asked = fieldsAsked(first.name, body);
  return asked.length > 0 && asked.every((name) => isSetByAnEnd(session, body, name));
}

/** The fields of its first parameter that a function reads. */
function fieldsAsked(name: ts.BindingName, body: ts.Node): string[] {
  if (ts.isObjectBindingPattern(name))
    return name.elements.map((e) => (e.propertyName ?? e.name).getText());
  const found: string[] = [];
  someWithin(body, (node) => {
    if (ts.isPropertyAccessExpression(node) && node.expression.getText() === name.getText())
      found.push(node.name.text);
    return false;
  });
  return found;
}

/** Whether a function of the program sets a field of an object and ends what the object holds. */
function isSetByAnEnd(session: Session, at: ts.Node, name: string): boolean {
  const { oracle } = session;
  return sourcesFor(oracle, at).some((file) =>
    oracle.facts
      .of(file, accessesByName)
      .get(name)
      ?.some((access) => (isTarget(access) || isStepped(access)) && endsBeside(session, access)),
  );
}

/** `p.life--`. */
const isStepped = ({ parent }: ts.Node): boolean =>
  ts.isPostfixUnaryExpression(parent) ||
  (ts.isPrefixUnaryExpression(parent) &&
    (parent.operator === ts.SyntaxKind.PlusPlusToken ||
      parent.operator === ts.SyntaxKind.MinusMinusToken));

/** `job.buffer.destroy()` in the function that says `job.done = true`, and puts nothing there. */
function endsBeside(session: Session, access: ts.PropertyAccessExpression): boolean {
  const home = enclosingFunction(access);
  const object = access.expression.getText();
  const isOfObject = (node: ts.Node): boolean =>
    node.getText() === object ||
    (ts.isPropertyAccessExpression(node) && isOfObject(node.expression));
  const isFilled = (place: string): boolean =>
    home !== undefined &&
    someWithin(
      home,
      (node) =>
        ts.isBinaryExpression(node) &&
        assigns(node.operatorToken.kind) &&
        node.left.getText() === place &&
        !isNullish(unwrap(node.right)),
    );
  return (
    home !== undefined &&
    someWithin(
      home,
      (node) =>
        ts.isCallExpression(node) &&
        ts.isPropertyAccessExpression(node.expression) &&
        isOfObject(node.expression.expression) &&
        session.transfer(node.expression.expression).effect === "disposes" &&
        !isFilled(node.expression.expression.getText()),
    )
  );
}
