/**
 * Component state: fresh values that a function component keeps between renders, in `useState`,
 * `useRef` or `useMemo`, and that nothing in the component ends or hands on. Told by the names of
 * the hooks. Used by the rule about members, of which these are the functional kin.
 */
import ts from "typescript";
import { callsNamed } from "../program/call-index.ts";
import { nameOf } from "../program/call-sites.ts";
import { enclosingFunction, fateOf, returnsOf } from "../transfer/fate.ts";
import type { Owned } from "../program/oracle.ts";
import { referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";
import { calleeNameNode, hasBody, isTarget, unwrap } from "../program/syntax.ts";
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
  return found.filter((k) => k.owned.owner.lost === "always" && session.scopeAt(k.value) !== "in");
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
    return /^use[A-Z]/.test(calleeNameNode(list.parent)?.text ?? "");
  const { effect, fate } = session.transfer(node);
  return onlyLooksAt(effect) || fate.kind === "read" || isOnlyShown(session, node);
}

/**
 * Whether a value that a custom hook gives its components is only looked at there: `useFrame()`
 * keeps it, and nobody else ends it.
 */
function isOnlyShown(session: Session, node: ts.Expression): boolean {
  const { kind, literal } = fateOf(node);
  const hook = enclosingFunction(node);
  const name = hook && nameOf(hook);
  if (kind !== "returned" || literal || name === undefined || !/^use[A-Z]/.test(name)) return false;
  const calls = callsNamed(session.oracle, name).filter(
    (call) => session.oracle.callee(call).body === hook,
  );
  return calls.length > 0 && calls.every((call) => isBoundAndLeft(session, call));
}

/** `const frame = useFrame();`, of which each mention leaves the value where it is. */
function isBoundAndLeft(session: Session, call: ts.Node): boolean {
  const { parent } = call;
  if (!ts.isVariableDeclaration(parent) || !ts.isIdentifier(parent.name)) return false;
  return usesOf(session, parent, parent.name).every((id) => leaves(session, id));
}

/** What a component is given new and keeps, unless the variable it comes in is ended elsewhere. */
function freshOwned(session: Session, value: ts.Expression): Owned | null {
  if (session.freshness(value) !== "fresh" || isEndedByName(session, unwrap(value))) return null;
  return session.oracle.ownedAt(value);
}

/** `const t = make(); setImage(t); return () => t.dispose();` */
function isEndedByName(session: Session, value: ts.Expression): boolean {
  const source = ts.isIdentifier(value) ? session.oracle.declarationAt(value) : undefined;
  if (!source || !ts.isVariableDeclaration(source) || !ts.isIdentifier(source.name)) return false;
  return usesOf(session, source, source.name).some((id) => id !== value && !leaves(session, id));
}

function keptByState(
  session: Session,
  declaration: ts.VariableDeclaration,
  call: ts.CallExpression,
): KeptState[] {
  if (!ts.isArrayBindingPattern(declaration.name)) return [];
  const [state, setter] = declaration.name.elements;
  if (!state || !ts.isBindingElement(state) || !ts.isIdentifier(state.name)) return [];
  if (!usesOf(session, state, state.name).every((id) => leaves(session, id))) return [];
  const label = state.name.text;
  const values = call.arguments.slice(0, 1);
  if (setter && ts.isBindingElement(setter) && ts.isIdentifier(setter.name))
    for (const id of usesOf(session, setter, setter.name)) {
      const set = id.parent;
      if (!ts.isCallExpression(set) || set.expression !== id) return []; // somebody else's now
      values.push(...set.arguments.slice(0, 1));
    }
  const found: KeptState[] = [];
  for (const given of values) {
    const made = madeBy(session, given);
    if (!made) return [];
    for (const value of made) {
      const owned = freshOwned(session, value);
      if (owned) found.push({ label, value, owned });
    }
  }
  return found;
}

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
    else if (!leaves(session, access)) return [];
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
