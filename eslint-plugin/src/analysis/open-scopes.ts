/**
 * Open scopes: the scopes that a function itself has open at a node: those held by `using`, and
 * begin/end pairs. Used by the summaries, the scope context and the rules about scopes.
 */
import ts from "typescript";
import type { Session } from "./session.ts";
import { unwrap } from "./syntax.ts";

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
