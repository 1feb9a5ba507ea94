/**
 * Left devices: devices that a class asks for, keeps and perhaps shows to others, where the class
 * has an end and nothing in the program destroys a device. Used by the rule about members, where
 * what lasts until exit counts.
 */
import ts from "typescript";
import { callsNamed, indexFile } from "../program/call-index.ts";
import { endingsOf, isDevice } from "../objects/endings.ts";
import { handedTo } from "../transfer/callbacks.ts";
import { enclosingFunction, fateOf } from "../transfer/fate.ts";
import type { LeftBehind } from "../objects/left-behind.ts";
import { fieldOfThis } from "../objects/members.ts";
import type { Session } from "../session.ts";
import { calleeNameNode, hasBody, unwrap, within } from "../program/syntax.ts";

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
    const label = fieldGiven(session, call);
    if (label !== undefined && !isAnyDestroyed(session)) return { ...told, label, at: call };
  }
  return undefined;
}

/**
 * The field that gets the device of a call: `this.device = await adapter.requestDevice()`, or from
 * a name for it.
 */
function fieldGiven({ oracle }: Session, call: ts.Expression): string | undefined {
  const { kind, node } = fateOf(call);
  if (kind === "assigned" && ts.isBinaryExpression(node) && enclosingFunction(node))
    return fieldOfThis(node.left) && node.left.getText();
  const named =
    kind === "bound" && ts.isVariableDeclaration(node) ? node : parameterOf(outermost(call));
  if (!named) return undefined;
  const store = oracle.facts
    .assignments(call.getSourceFile())
    .find(
      ({ left, right }) =>
        fieldOfThis(left) !== undefined &&
        ts.isIdentifier(unwrap(right)) &&
        oracle.declarationAt(unwrap(right)) === named,
    );
  return store?.left.getText();
}

/** The promise of a device that is handed on: `gpu.requestAdapter().then((a) => a.request…())`. */
function outermost(call: ts.Expression): ts.Expression {
  const fn = fateOf(call).kind === "returned" ? enclosingFunction(call) : undefined;
  const host = fn && handedTo(fn);
  const isThen = host !== undefined && calleeNameNode(host)?.text === "then";
  return isThen ? outermost(host) : call;
}

/** The `d` of `promise.then((d) => { … })`. */
function parameterOf(promise: ts.Expression): ts.ParameterDeclaration | undefined {
  const access = promise.parent;
  if (!ts.isPropertyAccessExpression(access) || access.name.text !== "then") return undefined;
  const handed = ts.isCallExpression(access.parent) ? access.parent.arguments[0] : undefined;
  return handed && hasBody(handed) ? handed.parameters[0] : undefined;
}

/** Whether the program calls `destroy()` of some device. */
const isAnyDestroyed = (session: Session): boolean =>
  callsNamed(session.oracle, "destroy").some(
    ({ expression }) =>
      ts.isPropertyAccessExpression(expression) && isDevice(session, expression.expression),
  );
