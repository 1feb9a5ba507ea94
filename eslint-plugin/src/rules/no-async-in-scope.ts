/**
 * Rule `no-async-in-scope`: dispose scopes are current for one synchronous segment. An async
 * callback in a sync scope function, an `await` in a block that holds a `using` scope, and a
 * `yield` across one all run the rest outside the scope, or the consumer inside it.
 */
import ts from "typescript";
import type { FileAnalysis } from "../analysis/analyse.ts";
import { functionHanded } from "../analysis/program/callee.ts";
import { enclosingFunction } from "../analysis/transfer/fate.ts";
import { isAsync, hasBody, unwrap } from "../analysis/program/syntax.ts";
import { isRootScope, opensScope } from "../analysis/scopes/open-scopes.ts";
import { rule, type Finding } from "../create-rule.ts";

type Id =
  "asyncCallback" | "asyncCallbackNoAlternative" | "await" | "yield" | "generator" | "dropped";

/** Disallow async code in a synchronous dispose scope. */
export const noAsyncInScope = rule<Id, { rawAwaitInScopedAsync: "allow" | "forbid" }>({
  name: "no-async-in-scope",
  description: "Disallow async code in a synchronous dispose scope",
  type: "problem",
  config: "recommended",
  messages: {
    asyncCallback:
      "`{{ name }}` opens a synchronous scope, which is gone at the first `await` of " +
      "this callback; use `{{ other }}`.",
    asyncCallbackNoAlternative:
      "`{{ name }}` opens a synchronous scope, which is gone at the first `await` of " +
      "this callback; wait outside it.",
    await:
      "The scope of line {{ line }} is not current after this `await`; close it before " +
      "waiting (reads are pinned), or use `await {{ scope }}.wait(…)`.",
    yield:
      "The scope of line {{ line }} stays open across this `yield`, so the consumer's {{ " +
      "noun }}s land in it; close it before yielding.",
    generator:
      "`{{ name }}` cannot hold a scope over a generator; its body runs after the scope " +
      "has closed.",
    dropped:
      "`{{ name }}` returns a promise that is not awaited; its scope outlives this " +
      "statement and errors are lost.",
  },
  options: {
    rawAwaitInScopedAsync: {
      type: "string",
      enum: ["allow", "forbid"],
      description:
        "`forbid` where no async context exists (browsers): then only `await " +
        "scope.wait(…)` is exact.",
    },
  },
  defaults: { rawAwaitInScopedAsync: "allow" },
  check(file, options, report) {
    for (const node of file.facts.calls(file.file))
      if (node.arguments.length > 0)
        checkCallback(file, node, report, options.rawAwaitInScopedAsync === "forbid");
    const { AwaitExpression, YieldExpression, ForOfStatement } = ts.SyntaxKind;
    const kinds = [AwaitExpression, YieldExpression, ForOfStatement] as const;
    for (const node of file.facts.nodes<Wait>(file.file, ...kinds))
      if (!ts.isForOfStatement(node) || node.awaitModifier) checkWait(file, node, report);
  },
});

function checkCallback(
  file: FileAnalysis,
  call: ts.CallExpression,
  report: (f: Finding<Id>) => void,
  forbidRaw: boolean,
): void {
  const callback = call.arguments.map(unwrap).find((a) => hasBody(a)) ?? call.arguments[0];
  if (!callback) return;
  const { oracle, settings } = file.session;
  const candidates = settings.owners.flatMap((owner) =>
    owner.scopes.flatMap((s) => ("callee" in s ? [{ owner, scope: s }] : [])),
  );
  if (candidates.length === 0) return;
  const callee = oracle.callee(call);
  const found = candidates.find(({ owner, scope }) => oracle.is(callee, [scope.callee], owner));
  if (!found) return;
  const fn = functionHanded(oracle, callback);
  if (found.scope.async) {
    if (ts.isExpressionStatement(call.parent) && oracle.isPromise(call))
      report({ mark: name(call), messageId: "dropped", data: { name: callee.name } });
    if (forbidRaw && fn) rawAwaits(file, fn, report);
    return;
  }
  const waits = fn
    ? isAsync(fn)
    : oracle.signatureAt(callback)?.getReturnType().symbol?.name === "Promise";
  if (fn?.asteriskToken) {
    report({ mark: name(call), messageId: "generator", data: { name: callee.name } });
    return;
  }
  if (!waits) return;
  const other = found.owner.scopes.find((s) => "callee" in s && s.async === true);
  const otherName =
    other && "callee" in other && typeof other.callee === "string" ? other.callee : undefined;
  report({
    mark: name(call),
    messageId: otherName === undefined ? "asyncCallbackNoAlternative" : "asyncCallback",
    data: { name: callee.name, ...(otherName === undefined ? {} : { other: otherName }) },
  });
}

function rawAwaits(
  file: FileAnalysis,
  fn: ts.FunctionLikeDeclaration & { body: ts.Node },
  report: (f: Finding<Id>) => void,
): void {
  const parameter = fn.parameters[0]?.name;
  const scope = parameter && ts.isIdentifier(parameter) ? parameter.text : "scope";
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node)) return;
    if (ts.isAwaitExpression(node) && !waits(node.expression))
      report({
        mark: keyword(node),
        messageId: "await",
        data: {
          line: String(file.file.getLineAndCharacterOfPosition(fn.getStart()).line + 1),
          scope,
        },
      });
    ts.forEachChild(node, visit);
  };
  ts.forEachChild(fn.body, visit);
}

/** What stops a function until something else has run. */
type Wait = ts.AwaitExpression | ts.YieldExpression | ts.ForOfStatement;

function checkWait(file: FileAnalysis, node: Wait, report: (f: Finding<Id>) => void): void {
  const fn = enclosingFunction(node);
  // top-level await belongs to long-lived root scopes
  if (!fn || (ts.isAwaitExpression(node) && waits(node.expression))) return;
  const statement = heldScope(file, node);
  if (!statement) return;
  const line = String(file.file.getLineAndCharacterOfPosition(statement.getStart()).line + 1);
  const declared = statement.declarationList.declarations[0]?.name.getText() ?? "scope";
  const noun = file.session.settings.owners.find((o) => o.scopes.length > 0)?.noun ?? "resource";
  report({
    mark: keyword(node),
    messageId: ts.isYieldExpression(node) ? "yield" : "await",
    data: { line, scope: declared, noun },
  });
}

/**
 * The `using scope` statement still open at a node of the same function; `{ root: true }` scopes
 * are made for waiting.
 */
function heldScope(file: FileAnalysis, node: ts.Node): ts.VariableStatement | undefined {
  for (let current = node; current.parent as ts.Node | undefined; current = current.parent) {
    if (ts.isFunctionLike(current)) return undefined;
    const { parent } = current;
    if (!ts.isBlock(parent) && !ts.isSourceFile(parent)) continue;
    for (const statement of parent.statements) {
      if (statement === current) break;
      if (
        !ts.isVariableStatement(statement) ||
        (statement.declarationList.flags & ts.NodeFlags.Using) === 0
      )
        continue;
      if ((statement.declarationList.flags & ts.NodeFlags.AwaitUsing) === ts.NodeFlags.Const)
        continue;
      if (
        statement.declarationList.declarations.some(
          (d) =>
            d.initializer && opensScope(file.session, d.initializer) && !isRootScope(d.initializer),
        )
      )
        return statement;
    }
  }
  return undefined;
}

/** `scope.wait(…)` keeps the scope current. */
const waits = (node: ts.Expression): boolean =>
  ts.isCallExpression(node) &&
  ts.isPropertyAccessExpression(node.expression) &&
  node.expression.name.text === "wait";
const keyword = (node: ts.Node): { start: number; end: number } => ({
  start: node.getStart(),
  end: node.getStart() + (ts.isForOfStatement(node) ? 9 : 5),
});
function name(call: ts.CallExpression): { start: number; end: number } {
  const target = ts.isPropertyAccessExpression(call.expression)
    ? call.expression.name
    : call.expression;
  return { start: target.getStart(), end: target.getEnd() };
}
