/**
 * Open scopes: the scopes that a function itself has open at a node: those held by `using`, and
 * begin/end pairs. Used by the summaries, the scope context and the rules about scopes.
 */
import ts from "typescript";
import type { Session } from "../session.ts";
import { handedTo } from "../transfer/callbacks.ts";
import { enclosingFunction, fateOf } from "../transfer/fate.ts";
import { keptBy, lasts } from "../transfer/keeps.ts";
import { referencesTo } from "../program/references.ts";
import { calleeNameNode, isUsing, unwrap, within } from "../program/syntax.ts";
import { isMove, scopeObjectAt } from "./scope-objects.ts";

/** Whether a place is reached without a scope: by every caller, or by some. */
export function mayLackScope(session: Session, node: ts.Node): boolean {
  const state = session.scopeAt(node);
  return state === "out" || state === "mixed";
}

/** Whether a `using` scope of the same function is open at a node. */
export function lexicallyScoped(
  session: Session,
  node: ts.Node,
  stop: ts.Node | undefined,
): boolean {
  let current = node;
  while ((current.parent as ts.Node | undefined) && current !== stop) {
    const parent = current.parent;
    if (
      (ts.isBlock(parent) ||
        ts.isSourceFile(parent) ||
        ts.isCaseOrDefaultClause(parent) ||
        ts.isModuleBlock(parent)) &&
      opensBefore(session, parent.statements, current)
    )
      return true;
    if (ts.isFunctionLike(current)) return false;
    current = parent;
  }
  return false;
}

function opensBefore(
  session: Session,
  statements: readonly ts.Statement[],
  until: ts.Node,
): boolean {
  let open = 0;
  for (const statement of statements) {
    if (statement === until || statement.pos >= until.pos) break;
    open = Math.max(0, open + opens(session, statement));
  }
  return open > 0;
}

/** +1 when a statement opens a scope for the rest of its block, -1 when it ends one. */
export function opens(session: Session, statement: ts.Statement): number {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.some(
      (d) => d.initializer && opensScope(session, d.initializer),
    )
      ? 1
      : 0;
  if (endsScope(session, statement)) return -1;
  if (!ts.isExpressionStatement(statement)) return 0;
  const call = statement.expression;
  if (!ts.isCallExpression(call)) return 0;
  const { name } = session.oracle.callee(call);
  for (const owner of session.settings.owners) {
    for (const scope of owner.scopes) {
      if (!("begin" in scope)) continue;
      if (scope.begin === name) return 1;
      if (scope.end === name) return -1;
    }
  }
  return 0;
}

/**
 * Whether a statement ends a scope by hand: `scope.dispose()`, in a `finally` too.
 *
 * @param held the variable that holds it; any when not given
 */
export function endsScope(session: Session, statement: ts.Statement, held?: ts.Node): boolean {
  if (ts.isTryStatement(statement))
    return statement.finallyBlock?.statements.some((s) => endsScope(session, s, held)) === true;
  const call = ts.isExpressionStatement(statement) ? unwrap(statement.expression) : undefined;
  if (!call || !ts.isCallExpression(call) || !ts.isPropertyAccessExpression(call.expression))
    return false;
  const { expression: scope, name } = call.expression;
  if (name.text !== "dispose" || !ts.isIdentifier(scope)) return false;
  const declaration = session.oracle.declarationAt(scope);
  return (
    declaration !== undefined &&
    (held === undefined || declaration === held) &&
    ts.isVariableDeclaration(declaration) &&
    declaration.initializer !== undefined &&
    opensScope(session, declaration.initializer)
  );
}

/** Whether an expression opens a scope object (`newDisposeScope()`), held by `using` or not. */
export function opensScope(session: Session, expression: ts.Expression): boolean {
  const call = unwrap(expression);
  if (!ts.isCallExpression(call)) return false;
  const callee = session.oracle.callee(call);
  return session.settings.owners.some((o) =>
    o.scopes.some((s) => "using" in s && session.oracle.is(callee, [s.using], o)),
  );
}

/** Whether an expression opens a scope with `{ root: true }`, which is made to live long. */
export function isRootScope(expression: ts.Expression): boolean {
  const call = unwrap(expression);
  const [options] = ts.isCallExpression(call) ? call.arguments : [];
  return (
    options !== undefined &&
    ts.isObjectLiteralExpression(options) &&
    options.properties.some(
      (p) =>
        ts.isPropertyAssignment(p) &&
        p.name.getText() === "root" &&
        p.initializer.kind === ts.SyntaxKind.TrueKeyword,
    )
  );
}

/** An open scope as seen from a value: where it starts and ends, and the variable that holds it. */
export interface OpenScope {
  /** The block, or the callback, at whose end it frees what it holds. */
  region: ts.Node;
  /** The statement or callback that opens it. */
  opening: ts.Node;
  /** The variable that holds the scope. */
  variable: string | null;
  /** What the callback returns is the caller's. */
  movesResultOut: boolean;
}

/**
 * The innermost scope opened around a node in its own function, or by a scope function the node's
 * callback is handed to.
 */
export function scopeAround(session: Session, node: ts.Node): OpenScope | null {
  for (let current = node; current.parent as ts.Node | undefined; current = current.parent) {
    const { parent } = current;
    if (ts.isBlock(parent)) {
      const found = parent.statements
        .slice(
          0,
          Math.max(
            0,
            parent.statements.findIndex((s) => s.pos <= node.pos && s.end >= node.end),
          ),
        )
        .reverse()
        .find((s) => holdsScope(session, s));
      if (found)
        return {
          region: parent,
          opening: found,
          variable: nameOfScope(found),
          movesResultOut: false,
        };
    }
    if (!ts.isFunctionLike(current)) continue;
    const host = handedTo(current);
    if (!host) return null;
    const mode = session.callback(host, current);
    if (mode === "scoped") {
      const callee = session.oracle.callee(host);
      const moves = session.settings.owners.some((o) =>
        o.scopes.some(
          (s) =>
            "callee" in s && s.movesResultOut !== false && session.oracle.is(callee, [s.callee], o),
        ),
      );
      return moves
        ? { region: current, opening: current, variable: null, movesResultOut: true }
        : null;
    }
    if (mode !== "inline") return null;
  }
  return null;
}

/** Whether a name is declared where it outlives a scope. */
export function isDeclaredOutside(
  { oracle }: Session,
  id: ts.Node,
  { opening, region }: OpenScope,
): boolean {
  const declaration = oracle.declarationAt(id);
  if (!declaration || declaration.getSourceFile() !== id.getSourceFile())
    return declaration !== undefined;
  return declaration.pos < opening.pos || declaration.end > region.end;
}

/**
 * `scope.attach(t)`, `inner.moveTo(scope, t)`: whether a call gives what it keeps to a scope that
 * ends with another, or to that itself.
 */
export function putsInside(session: Session, call: ts.CallExpression, scope?: OpenScope): boolean {
  const { name, receiver } = session.oracle.callee(call);
  const isOwn = receiver && scopeObjectAt(session, receiver)?.keeps.includes(name);
  const target = isOwn ? receiver : isMove(session, name) ? call.arguments[0] : undefined;
  const held = target && unwrap(target);
  const source = held && ts.isIdentifier(held) ? session.oracle.declarationAt(held) : undefined;
  if (!scope || !source || !isUsing(source) || !within(source, scope.region)) return false;
  const declaration = source as ts.VariableDeclaration;
  const opened = declaration.initializer;
  return opened !== undefined && opensScope(session, opened) && !isMovedOn(session, declaration);
}

/** `scope.attach(t);`, where the scope has `t` anyway: it is made there, and not moved away. */
export function staysInside(
  session: Session,
  call: ts.CallExpression,
  declaration: ts.Declaration,
): boolean {
  const scope = fateOf(call).kind === "dropped" ? scopeAround(session, call) : null;
  const { pos, end } = declaration;
  if (!scope || pos < scope.opening.pos || end > scope.region.end) return false;
  const made = ts.isVariableDeclaration(declaration) ? declaration.initializer : undefined;
  const owned = made && session.oracle.ownedAt(made);
  if (!owned || lasts(session, made)) return false;
  const bare = unwrap(made);
  const isMoved =
    ts.isCallExpression(bare) && keptBy(session, bare, session.oracle.callee(bare), owned);
  return !isMoved && putsInside(session, call, scope);
}

/** `scope.carry(old, next)`: `next` stands where `old` stood. */
export const isCarry = (session: Session, { expression: asked }: ts.CallExpression): boolean =>
  ts.isPropertyAccessExpression(asked) &&
  scopeObjectAt(session, asked.expression)?.carries.includes(asked.name.text) === true;

function holdsScope(session: Session, statement: ts.Statement): boolean {
  return (
    ts.isVariableStatement(statement) &&
    (statement.declarationList.flags & ts.NodeFlags.Using) !== 0 &&
    statement.declarationList.declarations.some(
      (d) =>
        d.initializer &&
        opensScope(session, d.initializer) &&
        !isRootScope(d.initializer) &&
        !isMovedOn(session, d),
    )
  );
}

/** `this.scope = scope.move()`: what a scope has goes on with it, and ends when that does. */
export function isMovedOn({ oracle }: Session, declaration: ts.VariableDeclaration): boolean {
  const { name } = declaration;
  const home = enclosingFunction(declaration);
  if (!home || !ts.isIdentifier(name)) return false;
  return referencesTo(oracle, declaration, name, home).some(
    ({ parent }) =>
      ts.isPropertyAccessExpression(parent) &&
      parent.name.text === "move" &&
      ts.isCallExpression(parent.parent),
  );
}

/** `scope.moveToOuter(x)` of the only scope there is: nobody ends it after that. */
export function isMovedOut(session: Session, call: ts.CallExpression): boolean {
  const scope = scopeAround(session, call);
  return (
    calleeNameNode(call)?.text === "moveToOuter" &&
    scope !== null &&
    session.scopeAt(scope.opening) === "out"
  );
}

function nameOfScope(statement: ts.Statement): string | null {
  const name = ts.isVariableStatement(statement)
    ? statement.declarationList.declarations[0]?.name
    : undefined;
  return name && ts.isIdentifier(name) ? name.text : null;
}
