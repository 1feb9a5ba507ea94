/**
 * Callback hooks: whether what a component hands to `useCallback` runs more than once, by its name
 * or by the effects that depend on it; and whether a function of the program keeps what it is
 * handed as a listener. Used by `runs-often.ts`.
 */
import ts from "typescript";
import { isEffect } from "../flow/slot-touches.ts";
import {
  calleeNameNode,
  someWithin,
  unwrap,
  type CallLike,
  type FunctionWithBody,
} from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { handedTo } from "../transfer/callbacks.ts";
import { enclosingFunction } from "../transfer/fate.ts";

/**
 * `const capture = useCallback(() => { … }, [video])`: for whatever a component shows, or does; one
 * that makes something ready, by its name, if an effect runs it for each that it depends on.
 */
export function isCallbackHook(session: Session, fn: ts.Node, once: RegExp): boolean {
  const hook = handedTo(fn);
  if (!hook || calleeNameNode(hook)?.text !== "useCallback") return false;
  const { parent } = hook;
  if (!ts.isVariableDeclaration(parent) || !ts.isIdentifier(parent.name)) return false;
  const { text } = parent.name;
  const [, inputs] = hook.arguments ?? [];
  const isInput = (at: ts.Expression): boolean => ts.isIdentifier(at) && at.text === text;
  const isRun = (at: ts.Node): boolean => {
    if (!ts.isCallExpression(at) || !isEffect(at)) return false;
    const [run, list] = at.arguments;
    const cleansUp = (n: ts.Node): boolean => ts.isReturnStatement(n) && n.expression !== undefined;
    if (!run || someWithin(run, cleansUp)) return false;
    return list !== undefined && ts.isArrayLiteralExpression(list) && list.elements.some(isInput);
  };
  const component = enclosingFunction(parent);
  const all = inputs && ts.isArrayLiteralExpression(inputs) ? inputs.elements : [];
  return (
    !once.test(text) ||
    (all.some((input) => !isStable(session, input)) &&
      component !== undefined &&
      someWithin(component, isRun))
  );
}

/** A ref, what sets a state, a constant of the module: the same for as long as a component is. */
function isStable({ oracle }: Session, input: ts.Expression): boolean {
  const source = ts.isIdentifier(input) ? oracle.declarationAt(input) : undefined;
  if (!source) return false;
  if (ts.isBindingElement(source))
    return ts.isArrayBindingPattern(source.parent) && source.parent.elements[1] === source;
  if (!ts.isVariableDeclaration(source)) return false;
  const made = source.initializer && unwrap(source.initializer);
  const isRef = made && ts.isCallExpression(made) && calleeNameNode(made)?.text === "useRef";
  return isRef === true || enclosingFunction(source) === undefined;
}

/** `monitor.listen(show)`, which does `this.listeners.add(listener)`. */
export function addsListener(
  { arguments: given }: CallLike,
  fn: ts.Node,
  { parameters, body }: FunctionWithBody,
): boolean {
  const at = given?.findIndex((argument) => unwrap(argument) === fn) ?? -1;
  const name = parameters[at]?.name.getText();
  const isAdded = (call: ts.Node): boolean =>
    ts.isCallExpression(call) &&
    ts.isPropertyAccessExpression(call.expression) &&
    /^(add|push)$/.test(call.expression.name.text) &&
    /(listeners?|handlers?|observers?|subscribers?|callbacks?|sinks?)$/i.test(
      call.expression.expression.getText(),
    ) &&
    call.arguments[0]?.getText() === name;
  return name !== undefined && someWithin(body, isAdded);
}
