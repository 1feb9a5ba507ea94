/**
 * Refilled: a field whose value a function ends to put another one into its place: `free(this.x);
 * this.x = make();`. That is no end for good: the end of the object still owes the last value. Used
 * by the rule about members.
 */
import ts from "typescript";
import { enclosingFunction } from "../transfer/fate.ts";
import { getsNothing } from "./field-deeds.ts";
import { fieldOfThis } from "./members.ts";
import type { Session } from "../session.ts";
import { isTarget, someWithin } from "../program/syntax.ts";

/** Whether a mention of a field ends its value, and the same function fills it anew afterwards. */
export function isEndedAndRefilled(session: Session, mention: ts.Expression): boolean {
  const home = enclosingFunction(mention);
  if (!home || session.transfer(mention).effect !== "disposes") return false;
  const name = fieldOfThis(mention)?.name.text;
  const isFilled = (at: ts.Node): boolean => {
    if (at.pos < mention.end || fieldOfThis(at)?.name.text !== name || !isTarget(at)) return false;
    return ts.isBinaryExpression(at.parent) && isAlways(at.parent, home) && !getsNothing(at);
  };
  return someWithin(home, isFilled);
}

/** `this.x = y;`, a statement of the function itself. */
const isAlways = ({ parent }: ts.Node, home: ts.Node): boolean =>
  ts.isExpressionStatement(parent) && parent.parent.parent === home;
