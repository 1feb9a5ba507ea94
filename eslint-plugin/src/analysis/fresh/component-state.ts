/**
 * Component state: fresh values that a function component keeps between renders, in `useState`,
 * `useRef` or `useMemo`, and that nothing in the component ends or hands on. Told by the names of
 * the hooks. Used by the rule about members, of which these are the functional kin.
 */
import ts from "typescript";
import { isEffect } from "../flow/slot-touches.ts";
import { handedTo } from "../transfer/callbacks.ts";
import { callsNamed } from "../program/call-index.ts";
import { nameOf } from "../program/call-sites.ts";
import { soundsLikeDisposal } from "../transfer/disposes.ts";
import { earlyExit } from "../transfer/early-ends.ts";
import { enclosingFunction, fateOf, returnsOf } from "../transfer/fate.ts";
import type { Owned } from "../program/oracle.ts";
import { boundNames, referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";
import { calleeNameNode, hasBody, isTarget, unwrap, valuesOf } from "../program/syntax.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";

/** A value that is kept and never ended. */
export interface KeptState {
  /** What keeps it: `image`, `last.current`. */
  label: string;
  /** The expression that makes the value. */
  value: ts.Expression;
  owned: Owned;
}

/** Every value the components of a file keep and never end. */
export function keptState(session: Session, file: ts.SourceFile): KeptState[] {
  const found: KeptState[] = [];
  for (const node of session.oracle.facts.variables(file)) {
    const call = node.initializer && unwrap(node.initializer);
    if (!call || !ts.isCallExpression(call)) continue;
    const hook = calleeNameNode(call)?.text;
    if (hook === "useState") found.push(...keptByState(session, node, call));
    else if (hook === "useRef") found.push(...keptByRef(session, node, call));
    else if (hook === "useMemo") found.push(...keptByMemo(session, node, call));
  }
  return found.filter(
    ({ owned, value }) =>
      (owned.owner.lost !== "repeated" || isMadeAgain(session, value)) &&
      session.scopeAt(value) !== "in",
  );
}

/** Whether an effect makes something anew when what it looks at has changed. */
function isMadeAgain({ oracle }: Session, value: ts.Expression): boolean {
  const isInput = (input: ts.Expression): boolean => {
    const source = ts.isIdentifier(input) ? oracle.declarationAt(input) : undefined;
    if (!source || !(ts.isBindingElement(source) || ts.isParameter(source))) return false;
    const pattern = ts.isBindingElement(source) ? source.parent : undefined;
    return !pattern || !ts.isArrayBindingPattern(pattern) || pattern.elements[0] === source;
  };
  return (
    ts.findAncestor(value, (at) => {
      const { parent: call } = at;
      if (ts.isSourceFile(at) || !ts.isCallExpression(call) || call.arguments[0] !== at)
        return false;
      if (!isEffect(call)) return false;
      const [, inputs] = call.arguments;
      return inputs && ts.isArrayLiteralExpression(inputs) ? inputs.elements.some(isInput) : false;
    }) !== undefined
  );
}

const usesOf = (
  session: Session,
  declaration: ts.Declaration,
  name: ts.Identifier,
): ts.Identifier[] =>
  referencesTo(
    session.oracle,
    declaration,
    name,
    enclosingFunction(declaration) ?? declaration.getSourceFile(),
  ).filter((id) => id !== name);

/** Whether a mention leaves the value where it is; the list of an effect's inputs does. */
function leaves(session: Session, node: ts.Expression): boolean {
  if (isTarget(node)) return true;
  const list = node.parent;
  if (ts.isArrayLiteralExpression(list) && ts.isCallExpression(list.parent))
    return isHook(list.parent);
  const { effect, fate } = session.transfer(node);
  const part = fate.kind === "read" ? fate.node : undefined; // `ref.current.a`, of a record
  if (part && ts.isPropertyAccessExpression(part) && session.oracle.ownedAt(part))
    return leavesByName(session, part);
  return onlyLooksAt(effect) || part !== undefined || isOnlyShown(session, node);
}

/** The same, also of the other names that a component has for the value. */
function leavesByName(
  session: Session,
  node: ts.Expression,
  named: ReadonlySet<ts.Node> = new Set(),
): boolean {
  if (leaves(session, node)) return true;
  const other = otherName(session, session.transfer(node).fate.node);
  if (!other || named.has(other)) return other !== undefined;
  const all = new Set([...named, other]);
  return usesOf(session, other, other.name).every((use) => leavesByName(session, use, all));
}

/** The variable that a value gets as another name: `let shown = model;`, `shown = model`. */
function otherName(
  { oracle }: Session,
  at: ts.Node,
): (ts.VariableDeclaration & { name: ts.Identifier }) | undefined {
  const isStore = ts.isBinaryExpression(at) && ts.isIdentifier(at.left) && isTarget(at.left);
  const source = isStore ? oracle.declarationAt(at.left) : at;
  return source && ts.isVariableDeclaration(source) && ts.isIdentifier(source.name)
    ? (source as ts.VariableDeclaration & { name: ts.Identifier })
    : undefined;
}

/**
 * Whether a value that a custom hook gives its components is only looked at: `useFrame()` keeps it,
 * and none of those in the program ends it.
 */
function isOnlyShown(session: Session, node: ts.Expression): boolean {
  const { kind, literal } = fateOf(node);
  const hook = enclosingFunction(node);
  const name = hook && nameOf(hook);
  const isPart = literal === null || literal.parent.kind === ts.SyntaxKind.ReturnStatement;
  if (kind !== "returned" || !isPart || name === undefined || !/^use[A-Z]/.test(name)) return false;
  return callsNamed(session.oracle, name).every(
    (call) => session.oracle.callee(call).body !== hook || isBoundAndLeft(session, call, node),
  );
}

/** `const [frame] = useFrame();`, of which each mention leaves the value where it is. */
function isBoundAndLeft(session: Session, call: ts.Node, given: ts.Node): boolean {
  const { parent } = call;
  if (!ts.isVariableDeclaration(parent)) return false;
  const part = partBound(parent, given);
  return boundNames(part.name, part).every(({ id, declaration }) =>
    usesOf(session, declaration, id).every((use) =>
      session.oracle.ownedAt(use) ? leaves(session, use) : isRead(use),
    ),
  );
}

/** `data.xs.shape`, `image && image.size`: what has no type is not handed on or ended here. */
function isRead(use: ts.Expression): boolean {
  let at = use;
  while (ts.isPropertyAccessExpression(at.parent) && at.parent.expression === at) at = at.parent;
  const member = ts.isPropertyAccessExpression(at) ? at.name.text : "";
  const { kind } = fateOf(use);
  return !soundsLikeDisposal(member) && !/^(argument|returned|assigned)$/.test(kind);
}

/** `model.predict(x)`, `model ? show() : null` of a state of no known type. */
function isAsked(use: ts.Identifier): boolean {
  const { kind, member } = fateOf(use);
  if (kind === "receiver" || kind === "read") return !soundsLikeDisposal(member);
  return kind === "operand";
}

/** `frame` in `const [frame, last] = useFrames()`, where the hook returns `[image, other]`. */
function partBound(
  whole: ts.VariableDeclaration,
  given: ts.Node,
): ts.VariableDeclaration | ts.BindingElement {
  const { parent: literal } = given;
  if (!ts.isArrayBindingPattern(whole.name) || !ts.isArrayLiteralExpression(literal)) return whole;
  const element = whole.name.elements[literal.elements.findIndex((e) => e === given)];
  return element && ts.isBindingElement(element) ? element : whole;
}

/** What a component is given new and keeps, unless the variable it comes in is ended elsewhere. */
function freshOwned(session: Session, value: ts.Expression): Owned | null {
  const bare = unwrap(value);
  const parts = ts.isObjectLiteralExpression(bare) ? valuesOf(bare).map(unwrap) : [bare];
  if (session.freshness(value) !== "fresh") return null;
  if (parts.some((part) => isEndedByName(session, part))) return null;
  return session.oracle.ownedAt(value);
}

/** `const t = make(); setImage(t); return () => t.dispose();` */
export function isEndedByName(session: Session, value: ts.Expression): boolean {
  const source = ts.isIdentifier(value) ? session.oracle.declarationAt(value) : undefined;
  if (!source || !(ts.isVariableDeclaration(source) || ts.isParameter(source))) return false;
  if (!ts.isIdentifier(source.name)) return false;
  return usesOf(session, source, source.name).some(
    (id) => id !== value && !leaves(session, id) && !earlyExit(id, value),
  );
}

function keptByState(
  session: Session,
  declaration: ts.VariableDeclaration,
  call: ts.CallExpression,
): KeptState[] {
  if (!ts.isArrayBindingPattern(declaration.name)) return [];
  const [state, setter] = declaration.name.elements;
  if (!state || !ts.isBindingElement(state) || !ts.isIdentifier(state.name)) return [];
  const isLeft = (id: ts.Identifier): boolean =>
    leavesByName(session, id) || (!session.oracle.ownedAt(id) && isAsked(id));
  if (!usesOf(session, state, state.name).every(isLeft)) return [];
  const label = state.name.text;
  const values = call.arguments.slice(0, 1);
  if (setter && ts.isBindingElement(setter) && ts.isIdentifier(setter.name))
    for (const id of usesOf(session, setter, setter.name)) {
      if (isDependency(id)) continue;
      const given = givenAt(id);
      if (!given) return []; // somebody else's now
      values.push(...given);
    }
  const found: KeptState[] = [];
  for (const given of values.map((value) => promiseOf(session, value) ?? value)) {
    const made = madeBy(session, given);
    if (!made) return [];
    for (const value of made) {
      const owned = freshOwned(session, value);
      if (owned) found.push({ label, value, owned });
    }
  }
  return found;
}

/** `setImage(make())`, or `load().then(setImage)`. */
function givenAt(setter: ts.Identifier): readonly ts.Expression[] | undefined {
  const { parent: call } = setter;
  if (!ts.isCallExpression(call)) return undefined;
  if (call.expression === setter) return call.arguments.slice(0, 1);
  const then = call.expression;
  return ts.isPropertyAccessExpression(then) && then.name.text === "then"
    ? [then.expression]
    : undefined;
}

/** `load()` of the `model` in `load().then((model) => setModel(model))`, which nobody else has. */
export function promiseOf(session: Session, value: ts.Expression): ts.Expression | undefined {
  const bare = unwrap(value);
  const source = ts.isIdentifier(bare) ? session.oracle.declarationAt(bare) : undefined;
  const call = source && ts.isParameter(source) ? handedTo(source.parent) : undefined;
  if (!call || !source || !ts.isParameter(source) || !ts.isIdentifier(source.name))
    return undefined;
  if (isEndedByName(session, bare)) return undefined;
  const then = call.expression;
  const isThen = ts.isPropertyAccessExpression(then) && then.name.text === "then";
  return isThen && call.arguments?.[0] === source.parent ? then.expression : undefined;
}

/** A name in the list of what an effect looks at. */
const isDependency = ({ parent }: ts.Identifier): boolean =>
  ts.isArrayLiteralExpression(parent) &&
  ts.isCallExpression(parent.parent) &&
  isHook(parent.parent);

const isHook = (call: ts.CallExpression): boolean =>
  /^use[A-Z]/.test(calleeNameNode(call)?.text ?? "");

/**
 * What a state is given: a value, or all that a function returns; null where the function ends the
 * last value, or hands it on.
 */
function madeBy(session: Session, given: ts.Expression): ts.Expression[] | null {
  const fn = unwrap(given);
  if (!hasBody(fn)) return [given];
  const last = session.summary(fn).parameters[0];
  return last && (last.disposes || last.stores) ? null : returnsOf(fn);
}

function keptByRef(
  session: Session,
  declaration: ts.VariableDeclaration,
  { arguments: [first] }: ts.CallExpression,
): KeptState[] {
  const { name } = declaration;
  if (!ts.isIdentifier(name)) return [];
  const values = first ? [first] : [];
  for (const id of usesOf(session, declaration, name)) {
    const access = id.parent;
    if (!ts.isPropertyAccessExpression(access) || access.name.text !== "current") return [];
    const store = access.parent;
    if (ts.isBinaryExpression(store) && store.left === access) values.push(store.right);
    else if (!leavesByName(session, access)) return [];
  }
  return values.flatMap((value) => {
    const owned = freshOwned(session, value);
    return owned ? [{ label: `${name.text}.current`, value, owned }] : [];
  });
}

function keptByMemo(
  session: Session,
  declaration: ts.VariableDeclaration,
  call: ts.CallExpression,
): KeptState[] {
  const [first] = call.arguments;
  const make = first && unwrap(first);
  const { name } = declaration;
  const owned = session.oracle.ownedAt(call);
  if (!owned || !hasBody(make) || !ts.isIdentifier(name)) return [];
  if (session.summary(make).result !== "fresh") return [];
  return usesOf(session, declaration, name).every((id) => leaves(session, id))
    ? [{ label: name.text, value: call, owned }]
    : [];
}
