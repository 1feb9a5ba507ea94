/**
 * Reused or made anew: `this.buffer = ensure(device, size, this.buffer)`, where the function gives
 * back what it is given while that will do, and otherwise another, and leaves the first. Used by
 * the rule about overwritten values.
 */
import ts from "typescript";
import { choiceArms } from "../flow/gathers.ts";
import type { Owned } from "../program/oracle.ts";
import { referencesTo } from "../program/references.ts";
import { isTarget, someWithin, unwrap, type FunctionWithBody } from "../program/syntax.ts";
import { mayLackScope } from "../scopes/open-scopes.ts";
import type { Session } from "../session.ts";
import { enclosingFunction, fateOf, returnsOf } from "../transfer/fate.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";

/** An assignment that may lose what its place held. */
interface Reuse {
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
  return isNamedBefore(node, left) || !mayLackScope(session, node) ? null : { node, call, owned };
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
  const isIt = (value: ts.Expression): boolean =>
    ids.some((id) => id === unwrap(value) || unwrap(id) === unwrap(value));
  const given = returnsOf(fn)
    .map(unwrap)
    .flatMap((v) => choiceArms(v) ?? v)
    .map(unwrap);
  const others = given.filter((value) => !isIt(value));
  const isNew = (value: ts.Expression): boolean =>
    session.freshness(value) === "fresh" && session.oracle.ownedAt(value)?.owner === owner;
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

/** `const last = this.buffer;`: another name has what the place held. */
function isNamedBefore(node: ts.Node, place: ts.Expression): boolean {
  const home = enclosingFunction(node) ?? node.getSourceFile();
  const text = place.getText();
  return someWithin(
    home,
    (n) =>
      ts.isVariableDeclaration(n) &&
      n.initializer !== undefined &&
      n.initializer.getText() === text,
  );
}
