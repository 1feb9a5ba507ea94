/**
 * Refilled: a field whose value a function ends or hands on to put another one into its place:
 * `free(this.x); this.x = make();`, `this.past.push(this.x); this.x = next;`. That says nothing of
 * what comes into its place: the end of the object still owes the last value. Used by the rule
 * about members and by `taken-fields.ts`.
 */
import ts from "typescript";
import { enclosingFunction } from "../transfer/fate.ts";
import { getsNothing } from "./field-deeds.ts";
import { fieldOfThis } from "./members.ts";
import { isTarget, someWithin, within } from "../program/syntax.ts";

/** Whether the function of a mention that ends or hands on what a field has fills it afterwards. */
export function isRefilledAfter(mention: ts.Expression): boolean {
  const home = enclosingFunction(mention);
  const name = fieldOfThis(mention)?.name.text;
  if (!home || name === undefined) return false;
  const isFilled = (at: ts.Node): boolean => {
    if (fieldOfThis(at)?.name.text !== name || !isTarget(at) || getsNothing(at)) return false;
    if (!ts.isBinaryExpression(at.parent)) return false;
    if (within(mention, at.parent.right)) return true; // `this.x = scope.carry(this.x, next)`
    return at.pos >= mention.end && isAlways(at.parent, home);
  };
  return someWithin(home, isFilled);
}

/** `this.x = y;`, a statement of the function itself. */
const isAlways = ({ parent }: ts.Node, home: ts.Node): boolean =>
  ts.isExpressionStatement(parent) && parent.parent.parent === home;
