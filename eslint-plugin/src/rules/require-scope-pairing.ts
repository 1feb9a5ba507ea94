/**
 * Rule `require-scope-pairing`: a scope that is opened must be closed on every path:
 * `newDisposeScope()` by `using`, a begin/end pair with the end in `finally`.
 */
import ts from "typescript";
import type { FileAnalysis } from "../analysis/analyse.ts";
import { argumentOf, enclosingFunction, fateOf } from "../analysis/transfer/fate.ts";
import { referencesTo } from "../analysis/program/references.ts";
import { isRootScope, opensScope } from "../analysis/scopes/open-scopes.ts";
import { handedTo } from "../analysis/transfer/callbacks.ts";
import { callsDisposeSymbol } from "../analysis/transfer/disposes.ts";
import { rule, type Finding } from "../create-rule.ts";

type Id = "noUsing" | "dropped" | "noEnd" | "endNotFinally";

/** Require every opened dispose scope to be closed on every path. */
export const requireScopePairing = rule<Id, Record<string, never>>({
  name: "require-scope-pairing",
  description: "Require every opened dispose scope to be closed on every path",
  type: "problem",
  config: "recommended",
  fixable: true,
  messages: {
    noUsing:
      "`{{ name }}` is opened without `using`, so an error leaves it open and current; " +
      "declare it with `using`.",
    dropped: "This scope is opened and dropped; hold it with `using`.",
    noEnd: "`{{ begin }}` has no matching `{{ end }}` in this function.",
    endNotFinally: "`{{ end }}` is skipped when something throws; call it in a `finally` block.",
  },
  defaults: {},
  check(file, _options, report) {
    for (const node of file.facts.calls(file.file))
      if (opensScope(file.session, node)) checkOpener(file, node, report);
      else checkPair(file, node, report);
  },
});

const mark = (call: ts.CallExpression): { start: number; end: number } => {
  const target = ts.isPropertyAccessExpression(call.expression)
    ? call.expression.name
    : call.expression;
  return { start: target.getStart(), end: call.getEnd() };
};

function checkOpener(
  file: FileAnalysis,
  call: ts.CallExpression,
  report: (f: Finding<Id>) => void,
): void {
  const fate = fateOf(call);
  if (fate.kind === "dropped") {
    report({ mark: mark(call), messageId: "dropped" });
    return;
  }
  const declaration = fate.node;
  if (
    fate.kind !== "bound" ||
    !ts.isVariableDeclaration(declaration) ||
    !ts.isIdentifier(declaration.name) ||
    fate.literal
  )
    return;
  const list = declaration.parent;
  if (!ts.isVariableDeclarationList(list) || isUsing(list)) return;
  const root: ts.Node = enclosingFunction(declaration) ?? file.file;
  if (root === file.file && isRootScope(call)) return;
  const uses = referencesTo(file.session.oracle, declaration, declaration.name, root);
  if (isRootScope(call) && uses.some((id) => endsLater(file, id, root))) return;
  if (uses.some((id) => handedOn(file, id)) || uses.some((id) => disposedInFinally(id))) return;
  const keyword = list.getFirstToken();
  const disposals = uses.filter((id) => disposes(id));
  const simple =
    keyword &&
    list.declarations.length === 1 &&
    ts.isVariableStatement(list.parent) &&
    ts.isBlock(list.parent.parent) &&
    disposals.length === 0 &&
    !uses.some((id) => isTarget(id));
  report({
    mark: mark(call),
    messageId: "noUsing",
    data: { name: declaration.name.text },
    fix: simple
      ? (fixer) => fixer.replaceTextRange([keyword.getStart(), keyword.getEnd()], "using")
      : null,
  });
}

/**
 * `return { dispose: () => scope.dispose() }`, `onUnmounted(() => scope.dispose())`: whether a
 * function ends a scope that is made to outlive the one that opens it, and goes on to somebody.
 */
function endsLater(file: FileAnalysis, id: ts.Identifier, root: ts.Node): boolean {
  const fn = disposes(id) ? enclosingFunction(id) : undefined;
  if (!fn || fn === root) return false;
  return !isNeverNamed(file, fn) && !isNeverNamed(file, fn.parent);
}

/** `const end = () => scope.dispose();` or a function of that name, of which nobody speaks. */
function isNeverNamed({ session }: FileAnalysis, node: ts.Node): boolean {
  const named = ts.isFunctionDeclaration(node) || ts.isVariableDeclaration(node);
  const name = named ? node.name : undefined;
  if (!named || !name || !ts.isIdentifier(name)) return false;
  const around = enclosingFunction(node) ?? node.getSourceFile();
  return referencesTo(session.oracle, node, name, around).every((at) => at === name);
}

/** `using` and `await using` share flag bits with `const`. */
const isUsing = (list: ts.VariableDeclarationList): boolean => {
  const kind = list.flags & ts.NodeFlags.AwaitUsing;
  return kind === ts.NodeFlags.Using || kind === ts.NodeFlags.AwaitUsing;
};
const isTarget = (id: ts.Identifier): boolean =>
  ts.isBinaryExpression(id.parent) && id.parent.left === id;

/** Returned, stored, passed on or captured by `using` elsewhere: somebody else closes it. */
function handedOn(file: FileAnalysis, id: ts.Identifier, depth = 0): boolean {
  const fate = fateOf(id);
  if (fate.kind === "argument")
    return (
      !/^(log|equal|is|ok|moveTo|moveToOuter)$/.test(calleeName(fate.node)) &&
      mayClose(file, fate.node as ts.CallExpression, id, depth)
    );
  return (
    ["returned", "yielded", "field", "bound", "assigned", "unknown"].includes(fate.kind) ||
    fate.literal !== null
  );
}
/**
 * Whether a function that is given a scope may close or keep it: not when its body shows that it
 * only uses it.
 */
function mayClose(
  file: FileAnalysis,
  call: ts.CallExpression,
  id: ts.Identifier,
  depth: number,
): boolean {
  const { body } = file.session.oracle.callee(call),
    place = argumentOf(call, id);
  const parameter = place && body?.parameters[place.index];
  if (!body || !parameter || !ts.isIdentifier(parameter.name) || place.argument !== id || depth > 3)
    return true;
  return referencesTo(file.session.oracle, parameter, parameter.name, body).some(
    (use) => disposes(use) || handedOn(file, use, depth + 1),
  );
}

const calleeName = (node: ts.Node): string => {
  const target = ts.isCallExpression(node) ? node.expression : undefined;
  return target && ts.isPropertyAccessExpression(target)
    ? target.name.text
    : target && ts.isIdentifier(target)
      ? target.text
      : "";
};
const disposes = (id: ts.Identifier): boolean => {
  const fate = fateOf(id);
  return (fate.kind === "receiver" && fate.member === "dispose") || callsDisposeSymbol(fate);
};
const disposedInFinally = (id: ts.Identifier): boolean => disposes(id) && inFinally(id);

const inFinally = (node: ts.Node): boolean => inPart(node, (attempt) => attempt.finallyBlock);
/**
 * An end in `catch`, beside the one that the undisturbed path reaches, is `finally` written by
 * hand.
 */
const inCatch = (node: ts.Node): boolean => inPart(node, (attempt) => attempt.catchClause);
function inPart(node: ts.Node, part: (attempt: ts.TryStatement) => ts.Node | undefined): boolean {
  for (
    let current = node;
    (current.parent as ts.Node | undefined) && !ts.isFunctionLike(current);
    current = current.parent
  ) {
    if (ts.isTryStatement(current.parent) && part(current.parent) === current) return true;
  }
  return false;
}

/**
 * `run(() => begin(), () => end(), …)` and `beforeEach(begin); afterEach(end)`: another callback of
 * the same function or file closes it.
 */
function endedBeside(fn: ts.Node, end: string): boolean {
  const host = handedTo(fn);
  return (
    host !== undefined &&
    callsNamed(enclosingFunction(host) ?? host.getSourceFile(), end).length > 0
  );
}

function checkPair(
  file: FileAnalysis,
  call: ts.CallExpression,
  report: (f: Finding<Id>) => void,
): void {
  const target = call.expression;
  const called = ts.isPropertyAccessExpression(target)
    ? target.name.text
    : ts.isIdentifier(target)
      ? target.text
      : "";
  for (const owner of file.session.settings.owners) {
    for (const scope of owner.scopes) {
      if (!("begin" in scope) || scope.begin !== called) continue;
      const callee = file.session.oracle.callee(call);
      if (!file.session.oracle.is(callee, [scope.begin], owner)) continue;
      const fn = enclosingFunction(call) ?? file.file;
      const ends = callsNamed(fn, scope.end);
      if (ends.length === 0) {
        if (!isWrapper(fn, called) && !endedBeside(fn, scope.end))
          report({ mark: mark(call), messageId: "noEnd", data: scope });
      } else if (!ends.some(inFinally) && !ends.some(inCatch))
        report({ mark: mark(ends[ends.length - 1]!), messageId: "endNotFinally", data: scope });
    }
  }
}

/** A method that only opens (`startScope() { engine.startScope() }`) leaves closing to its twin. */
const isWrapper = (fn: ts.Node, begin: string): boolean => {
  const name = (fn as Partial<ts.NamedDeclaration>).name;
  return name !== undefined && ts.isIdentifier(name) && new RegExp(begin, "i").test(name.text);
};

function callsNamed(root: ts.Node, name: string): ts.CallExpression[] {
  const found: ts.CallExpression[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && calleeName(node) === name) found.push(node);
    ts.forEachChild(node, visit);
  };
  ts.forEachChild(root, visit);
  return found;
}
