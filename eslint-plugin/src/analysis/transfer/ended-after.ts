/**
 * Ended after: what a function ends straight after a call, on every way on from there, that call
 * did not take. So a stranger that is handed a value borrowed it, and a way out between the two
 * leaves it. A stranger that is handed a value and a function that ends it took it. Used by
 * `argument.ts`.
 */
import ts from "typescript";
import { disposesArguments, isDisposer } from "./disposes.ts";
import { enclosingFunction, fateOf } from "./fate.ts";
import type { Owned } from "../program/oracle.ts";
import { isPlain } from "../program/plain.ts";
import { referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";
import { hasBody, unwrap, within, type CallLike, shortCircuits } from "../program/syntax.ts";

/** Whether the variable that a call is given is ended after it, in the same run of its function. */
export function isEndedAfter(
  session: Session,
  call: CallLike,
  value: ts.Node,
  owned: Owned,
): boolean {
  const declaration = ts.isIdentifier(value) && session.oracle.declarationAt(value);
  const home = enclosingFunction(call);
  if (!declaration || !home || owned.shape !== "one") return false;
  if (!isConstant(declaration) || enclosingFunction(declaration) !== home) return false;
  return referencesTo(session.oracle, declaration, declaration.name, home).some(
    (id) => id.pos > call.end && endsHere(session, id, owned) && isStraightAfter(call, id, home),
  );
}

/** `later(t, (old) => old.destroy())`: who gets the value gets the way to end it, and when. */
export function isEndedByCallback(
  session: Session,
  { arguments: given = [] as never }: CallLike,
  value: ts.Node,
  owned: Owned,
): boolean {
  const others = given.filter((argument) => !within(value, argument)).map(unwrap);
  const [callback, ...more] = others.filter((a) => hasBody(a));
  if (!callback || more.length > 0 || owned.shape !== "one") return false;
  if (!others.every((a) => a === callback || isPlain(a))) return false;
  const [parameter] = callback.parameters;
  return (
    parameter !== undefined &&
    ts.isIdentifier(parameter.name) &&
    referencesTo(session.oracle, parameter, parameter.name, callback).some((id) =>
      endsHere(session, id, owned),
    )
  );
}

type Constant = (ts.VariableDeclaration | ts.BindingElement) & { name: ts.Identifier };

const isConstant = (node: ts.Declaration): node is Constant =>
  (ts.isVariableDeclaration(node) || ts.isBindingElement(node)) &&
  ts.isIdentifier(node.name) &&
  (ts.getCombinedNodeFlags(node) & ts.NodeFlags.Const) !== 0;

/** Whether a mention of a variable ends what it holds, whatever that is. */
export function endsHere(session: Session, id: ts.Expression, owned: Owned): boolean {
  const { kind, member, node, conditional } = fateOf(id);
  if (conditional) return false;
  if (kind === "receiver") return isDisposer(owned, member);
  return kind === "argument" && disposesArguments(session, node as CallLike, owned);
}

/**
 * Whether a place comes after a call in the same block, or in a `finally` around it, with nothing
 * between that asks the call whether it took the value: `if (taken) return`.
 */
function isStraightAfter(call: CallLike, place: ts.Node, home: ts.Node): boolean {
  let child: ts.Node = place;
  while (!within(call, child.parent)) {
    child = child.parent;
    if (child === home || (!ts.isBlock(child) && isBranch(child))) return false;
  }
  const around = child.parent;
  if (ts.isTryStatement(around)) return around.finallyBlock === child;
  if (!ts.isBlock(around)) return false;
  const first = around.statements.findIndex((s) => within(call, s));
  const last = around.statements.findIndex((s) => s === child);
  return !around.statements.slice(first, last).some((s) => asks(s, call));
}

const isBranch = (node: ts.Node): boolean =>
  ts.isIfStatement(node) ||
  ts.isConditionalExpression(node) ||
  ts.isIterationStatement(node, false) ||
  ts.isCaseOrDefaultClause(node) ||
  ts.isTryStatement(node) ||
  ts.isFunctionLike(node) ||
  (ts.isBinaryExpression(node) && shortCircuits.has(node.operatorToken.kind));

/** `if (taken)`, where `taken` is what the call gave, or the call itself. */
function asks(statement: ts.Statement, call: CallLike): boolean {
  if (!ts.isIfStatement(statement)) return false;
  const { expression } = statement;
  if (within(call, expression)) return true;
  const given = ts.findAncestor(call, ts.isVariableDeclaration);
  const named = unwrap(expression);
  return ts.isIdentifier(named) && named.text === given?.name.getText();
}
