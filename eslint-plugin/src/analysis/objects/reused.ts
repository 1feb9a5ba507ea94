/**
 * Reused or made anew: `this.buffer = ensure(device, size, this.buffer)`, where the function gives
 * back what it is given while that will do, and otherwise another, and leaves the first. Used by
 * the rule about overwritten values.
 */
import ts from "typescript";
import { choiceArms } from "../flow/gathers.ts";
import type { Owned } from "../program/oracle.ts";
import { referencesTo } from "../program/references.ts";
import {
  isNullish,
  isTarget,
  someWithin,
  unwrap,
  within,
  type FunctionWithBody,
} from "../program/syntax.ts";
import { mayLackScope } from "../scopes/open-scopes.ts";
import type { Session } from "../session.ts";
import { enclosingFunction, fateOf, returnsOf } from "../transfer/fate.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";

/** An assignment that may lose what its place held. */
export interface Reuse {
  node: ts.BinaryExpression;
  call: ts.CallExpression;
  owned: Owned;
}

/** Every such assignment of a file. */
export const reusedOrLost = (session: Session, file: ts.SourceFile): Reuse[] =>
  session.oracle.facts.assignments(file).flatMap((node) => reuseIn(session, node) ?? []);

function reuseIn(session: Session, node: ts.BinaryExpression): Reuse | null {
  const { left, operatorToken } = node;
  if (operatorToken.kind !== ts.SyntaxKind.EqualsToken) return null;
  if (!ts.isIdentifier(left) && !ts.isPropertyAccessExpression(left)) return null;
  const value = unwrap(node.right);
  const call = ts.isAwaitExpression(value) ? unwrap(value.expression) : value;
  if (!ts.isCallExpression(call)) return null;
  const index = call.arguments.findIndex((given) => unwrap(given).getText() === left.getText());
  const { body } = session.oracle.callee(call);
  if (index < 0 || !body) return null;
  const owned = session.oracle.ownedAt(left);
  if (owned?.shape !== "one" || !replaces(session, body, index, owned)) return null;
  if (isBorrowed(session, left) || isHandled(session, node, call)) return null;
  return mayLackScope(session, node) ? { node, call, owned } : null;
}

/** `let t = given;`: the first value is another's. */
function isBorrowed(session: Session, place: ts.Expression): boolean {
  const declaration = ts.isIdentifier(place) ? session.oracle.declarationAt(place) : undefined;
  if (!declaration || !ts.isVariableDeclaration(declaration)) return declaration !== undefined;
  const { initializer } = declaration;
  return (
    initializer !== undefined &&
    !isNullish(initializer) &&
    session.freshness(initializer) !== "fresh"
  );
}

/**
 * Whether a function gives back a parameter or something new, asks the parameter itself which, and
 * only looks at it otherwise.
 */
function replaces(
  session: Session,
  fn: FunctionWithBody,
  index: number,
  { owner }: Owned,
): boolean {
  const parameter = fn.parameters[index];
  if (!parameter || parameter.dotDotDotToken || !ts.isIdentifier(parameter.name)) return false;
  const { name } = parameter;
  const ids = referencesTo(session.oracle, parameter, name, fn).filter((id) => id !== name);
  const isIt = (value: ts.Expression): boolean => ids.some((id) => id === value);
  const given = returnsOf(fn)
    .map(unwrap)
    .flatMap((v) => choiceArms(v) ?? v)
    .map(unwrap);
  const others = given.filter((value) => !isIt(value));
  const isNew = (value: ts.Expression): boolean =>
    session.freshness(value) === "fresh" &&
    session.oracle.ownedAt(value)?.owner === owner &&
    isKeptNowhere(session, value, fn);
  if (others.length === 0 || others.length === given.length || !others.every(isNew)) return false;
  const stays = (id: ts.Identifier): boolean =>
    enclosingFunction(id) === fn &&
    !isTarget(id) &&
    (fateOf(id).kind === "returned" || onlyLooksAt(session.transfer(id).effect));
  return ids.every(stays) && ids.some((id) => isAsked(fn, id));
}

/** `if (!existing || existing.size < size)`: a part of it tells whether it will do. */
function isAsked(fn: FunctionWithBody, id: ts.Identifier): boolean {
  const { parent } = id;
  const isPart = ts.isPropertyAccessExpression(parent) && parent.expression === id;
  const test = isPart ? ts.findAncestor(parent, (n) => n === fn || isTested(n)) : undefined;
  return test !== undefined && test !== fn && !ts.isCallExpression(parent.parent);
}

/** The test of a branch. */
const isTested = (node: ts.Node): boolean =>
  (ts.isIfStatement(node.parent) && node.parent.expression === node) ||
  (ts.isConditionalExpression(node.parent) && node.parent.condition === node);

/** `all.push(made); return made;`: a list has it, too. */
function isKeptNowhere(session: Session, value: ts.Expression, fn: FunctionWithBody): boolean {
  const source = ts.isIdentifier(value) ? session.oracle.declarationAt(value) : undefined;
  if (!source || !ts.isVariableDeclaration(source) || !ts.isIdentifier(source.name)) return true;
  return referencesTo(session.oracle, source, source.name, fn).every(
    (id) => id === source.name || id === value || onlyLooksAt(session.transfer(id).effect),
  );
}

/** The `x` of `a.x` and of `const x`. */
const isNameOf = (node: ts.Node): boolean =>
  (node.parent as Partial<ts.NamedDeclaration>).name === node;

/**
 * Whether the function has another name for what the place held, `const last = this.buffer;`, or
 * gives it to somebody or ends it, itself or by what it calls before.
 */
function isHandled(session: Session, node: ts.BinaryExpression, call: ts.CallExpression): boolean {
  const { left } = node;
  const home = enclosingFunction(node) ?? node.getSourceFile();
  const text = left.getText();
  const name = ts.isPropertyAccessExpression(left) ? left.name.text : text;
  const isOther = (n: ts.Node): boolean =>
    (ts.isIdentifier(n) || ts.isPropertyAccessExpression(n)) &&
    n.getText() === text &&
    !isNameOf(n) &&
    !isTarget(n) &&
    !within(n, call) &&
    !onlyLooksAt(session.transfer(n).effect);
  const isTaken = (n: ts.Node): boolean =>
    ts.isBindingElement(n) && (n.propertyName ?? n.name).getText() === name;
  const ends = (n: ts.Node): boolean => {
    if (!ts.isCallExpression(n) || n.pos >= node.pos) return false;
    const { body } = session.oracle.callee(n);
    return body !== undefined && body !== home && someWithin(body, isOther);
  };
  return someWithin(home, (n) => isOther(n) || isTaken(n) || ends(n));
}
