/**
 * Other owners: what has a value that is put into a table by a name, and ends it when its own end
 * comes: a list that a class goes through, a `DisposableStack` or a scope in a field, be it by way
 * of a function that gives back what it is given: `named.set(key, this.track(t))`. Used by
 * `kept-twice.ts` and by the verbs about entries that are replaced.
 */
import ts from "typescript";
import { mayEndWithin } from "../objects/ended-by-callers.ts";
import { isCleared } from "../objects/pointers.ts";
import { puts, putValues } from "../program/containers.ts";
import { referencesTo } from "../program/references.ts";
import { samePlace } from "../program/same-place.ts";
import { someWithin, unwrap, within } from "../program/syntax.ts";
import { scopeObjectAt } from "../scopes/scope-objects.ts";
import type { Session } from "../session.ts";
import { enclosingFunction, returnsOf } from "../transfer/fate.ts";

const furthest = 4;

/** Whether something else than a table ends a value that is put there, whatever way it is taken. */
export function hasOtherOwner(
  session: Session,
  value: ts.Expression,
  table: ts.Expression,
  depth = 0,
): boolean {
  if (depth > furthest) return false;
  const next = (inner: ts.Expression): boolean => hasOtherOwner(session, inner, table, depth + 1);
  const bare = unwrap(value);
  if (ts.isIdentifier(bare)) {
    if (isOfOwner(session, bare, table)) return true;
    const made = constantGiven(session, bare);
    return made !== undefined && next(made);
  }
  if (ts.isConditionalExpression(bare)) return next(bare.whenTrue) && next(bare.whenFalse);
  if (!ts.isCallExpression(bare)) return false;
  const owner = ownerAsked(session, bare);
  if (owner) return isEnded(session, owner);
  const { body } = session.oracle.callee(bare);
  const given = body ? returnsOf(body) : [];
  return given.length > 0 && given.every(next);
}

/** `all.push(t)` beside `named.set(key, t)`, `scope.attach(t)`, where something ends the owner. */
export function isOfOwner(session: Session, value: ts.Expression, table: ts.Expression): boolean {
  const { oracle } = session;
  const id = unwrap(value);
  const home = enclosingFunction(id);
  const declaration = ts.isIdentifier(id) ? oracle.declarationAt(id) : undefined;
  if (!declaration || !home) return false;
  return someWithin(home, (node) => {
    if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return false;
    const { name, expression: list } = node.expression;
    const isList = puts(name.text) && !samePlace(oracle, list, table);
    const owner = isList ? list : ownerAsked(session, node);
    const given = isList ? putValues(name.text, node.arguments) : node.arguments.slice(0, 1);
    const isSame = (at: ts.Expression): boolean =>
      ts.isIdentifier(at) && oracle.declarationAt(at) === declaration;
    return (
      owner !== undefined && given.some(isSame) && !isLeftOut(node, id) && isEnded(session, owner)
    );
  });
}

/**
 * `if (n > 3) all.push(t); named.set(key, t);`: not all that get a name. A test whether the value
 * is there, or in the list already, leaves none out.
 */
function isLeftOut(put: ts.Node, id: ts.Node): boolean {
  const branch = ts.findAncestor(put, (at) => ts.isFunctionLike(at) || ts.isIfStatement(at));
  if (!branch || !ts.isIfStatement(branch) || branch.elseStatement || within(id, branch))
    return false;
  const isValue = (at: ts.Node): boolean =>
    ts.isIdentifier(at) &&
    at.text === id.getText() &&
    !(ts.isPropertyAccessExpression(at.parent) && at.parent.expression === at);
  return !someWithin(branch.expression, isValue);
}

/** The value of a constant. */
function constantGiven({ oracle }: Session, id: ts.Identifier): ts.Expression | undefined {
  const source = oracle.declarationAt(id);
  const isConstant =
    source !== undefined &&
    ts.isVariableDeclaration(source) &&
    (ts.getCombinedNodeFlags(source) & ts.NodeFlags.Const) !== 0;
  return isConstant ? source.initializer : undefined;
}

/** The stack or scope of `stack.use(t)`, `scope.attach(t)`, `scope.run(() => …)`. */
function ownerAsked(session: Session, call: ts.CallExpression): ts.Expression | undefined {
  const { expression } = call;
  if (!ts.isPropertyAccessExpression(expression)) return undefined;
  const { name, expression: on } = expression;
  const isStack = /^(Async)?DisposableStack$/.test(session.oracle.typeName(on));
  const scope = scopeObjectAt(session, on);
  const keeps = isStack ? ["use", "adopt"] : scope && [...scope.keeps, ...scope.runs];
  return keeps?.includes(name.text) ? on : undefined;
}

/** Whether the class or file that knows an owner ends it, or what it holds. */
function isEnded(session: Session, owner: ts.Expression): boolean {
  const root = ts.findAncestor(owner, ts.isClassLike) ?? owner.getSourceFile();
  const places = [owner, ...storesOf(session, owner)];
  const isOwner = (at: ts.Node): boolean =>
    (ts.isIdentifier(at) || ts.isPropertyAccessExpression(at)) &&
    !isCleared(at) &&
    places.some((place) => samePlace(session.oracle, at, place));
  return mayEndWithin(session, root, isOwner);
}

/** The field of `this.scope = scope`, where a local name is that of an owner. */
function storesOf({ oracle }: Session, owner: ts.Expression): ts.Expression[] {
  const source = ts.isIdentifier(owner) ? oracle.declarationAt(owner) : undefined;
  if (!source || !ts.isVariableDeclaration(source) || !ts.isIdentifier(source.name)) return [];
  const home = enclosingFunction(source) ?? source.getSourceFile();
  return referencesTo(oracle, source, source.name, home).flatMap(({ parent: store }) =>
    ts.isBinaryExpression(store) &&
    store.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
    ts.isIdentifier(store.right) &&
    ts.isPropertyAccessExpression(store.left)
      ? [store.left]
      : [],
  );
}
