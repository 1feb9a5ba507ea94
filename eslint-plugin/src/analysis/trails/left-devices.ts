/**
 * Left devices: devices that a class asks for, keeps and perhaps shows to others, where the class
 * has an end and nothing in the program destroys a device. Used by the rule about members, where
 * what lasts until exit counts.
 */
import ts from "typescript";
import { callsNamed, indexFile } from "../program/call-index.ts";
import { endingsOf, isDevice } from "../objects/endings.ts";
import { enclosingFunction, fateOf } from "../transfer/fate.ts";
import type { LeftBehind } from "../objects/left-behind.ts";
import { fieldOfThis } from "../objects/members.ts";
import type { Session } from "../session.ts";
import { within } from "../program/syntax.ts";

/** The first device that a class with an ending asks for, where nobody destroys one. */
export function leftDevice(
  session: Session,
  node: ts.ClassLikeDeclaration,
): LeftBehind | undefined {
  const asked = session.oracle.facts
    .of(node.getSourceFile(), indexFile)
    .calls.get("requestDevice")
    ?.filter((call) => within(call, node));
  const [ending] = endingsOf(node);
  if (!asked || !ending) return undefined;
  const told = { noun: "GPU device", ending: ending.member.name.getText(), endless: undefined };
  for (const call of asked) {
    const label = fieldGiven(call);
    if (label !== undefined && !isAnyDestroyed(session)) return { ...told, label, at: call };
  }
  return undefined;
}

/** The field that gets the device of a call: `this.device = await adapter.requestDevice()`. */
function fieldGiven(call: ts.Expression): string | undefined {
  const { kind, node } = fateOf(call);
  if (kind !== "assigned" || !ts.isBinaryExpression(node) || !enclosingFunction(node))
    return undefined;
  return fieldOfThis(node.left) && node.left.getText();
}

/** Whether the program calls `destroy()` of some device. */
const isAnyDestroyed = (session: Session): boolean =>
  callsNamed(session.oracle, "destroy").some(
    ({ expression }) =>
      ts.isPropertyAccessExpression(expression) && isDevice(session, expression.expression),
  );
