/**
 * Rule `no-escape-from-scope`: a value made inside a lexically visible scope is put where it
 * outlives the scope (an outer variable, a field, an outer container, the result of a `using scope`
 * body) without `moveToOuter`, `detach` or `keep`. The scope will free it under its holder.
 */
import ts from "typescript";
import type { FileAnalysis } from "../analysis/analyse.ts";
import { markOf, type FreshValue } from "../analysis/consume.ts";
import { puts } from "../analysis/containers.ts";
import { enclosingFunction, fateOf } from "../analysis/fate.ts";
import { referencesTo } from "../analysis/references.ts";
import { isRootScope, opensScope } from "../analysis/open-scopes.ts";
import { samePlace } from "../analysis/same-place.ts";
import { rootOf } from "../analysis/syntax.ts";
import { handedTo } from "../analysis/callbacks.ts";
import { lineOf, rule, type Finding, type Fix, type Suggestion } from "../create-rule.ts";
import { apply, nameIn } from "../fix/wrap.ts";

type Id = "assigned" | "field" | "pushed" | "returned" | "moveToOuter" | "detach" | "keep";

/** An open scope as seen from a value: where it starts and ends, and the variable that holds it. */
interface OpenScope {
  region: ts.Node;
  /** The statement or callback that opens it. */
  opening: ts.Node;
  variable: string | null;
  movesResultOut: boolean;
}

/** Disallow letting a tensor outlive the scope that will free it. */
export const noEscapeFromScope = rule<Id, Record<string, never>>({
  name: "no-escape-from-scope",
  description: "Disallow letting a tensor outlive the scope that will free it",
  type: "problem",
  config: "recommended",
  hasSuggestions: true,
  messages: {
    assigned: "`{{ name }}` outlives the scope that frees this {{ noun }}; {{ cure }}.",
    field: "`{{ name }}` outlives the scope that frees this {{ noun }}; {{ cure }}.",
    pushed: "`{{ name }}` outlives the scope that frees this {{ noun }}; {{ cure }}.",
    returned:
      "The scope of line {{ line }} frees this {{ noun }} before the caller gets it; {{ cure }}.",
    moveToOuter: "Move it to the outer scope.",
    detach: "Detach it from every scope.",
    keep: "Keep it out of the scope.",
  },
  defaults: {},
  check(file, _options, report) {
    for (const value of file.fresh) {
      const { owner } = value.owned;
      if (owner.scopes.length === 0 || value.owned.shape === "record") continue;
      const scope = openScope(file, value.node);
      const escape = scope && escapeOf(file, value, scope);
      if (escape && !exemptType(file, value))
        report({ ...escape, suggest: cures(file, value, escape.at) });
    }
  },
});

const exemptType = (file: FileAnalysis, value: FreshValue): boolean =>
  value.owned.owner.outsideScopes.length > 0 &&
  value.owned.owner.outsideScopes.includes(file.session.oracle.typeName(value.node));

/**
 * The innermost scope opened around a node in its own function, or by a scope function the node's
 * callback is handed to.
 */
function openScope(file: FileAnalysis, node: ts.Node): OpenScope | null {
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
        .find((s) => holdsScope(file, s));
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
    const mode = file.session.callback(host, current);
    if (mode === "scoped") {
      const callee = file.session.oracle.callee(host);
      const moves = file.session.settings.owners.some((o) =>
        o.scopes.some(
          (s) =>
            "callee" in s &&
            s.movesResultOut !== false &&
            file.session.oracle.is(callee, [s.callee], o),
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

function holdsScope(file: FileAnalysis, statement: ts.Statement): boolean {
  return (
    ts.isVariableStatement(statement) &&
    (statement.declarationList.flags & ts.NodeFlags.Using) !== 0 &&
    statement.declarationList.declarations.some(
      (d) =>
        d.initializer && opensScope(file.session, d.initializer) && !isRootScope(d.initializer),
    )
  );
}
function nameOfScope(statement: ts.Statement): string | null {
  const name = ts.isVariableStatement(statement)
    ? statement.declarationList.declarations[0]?.name
    : undefined;
  return name && ts.isIdentifier(name) ? name.text : null;
}

type Escape = Finding<Id> & { at: ts.Expression };

function escapeOf(file: FileAnalysis, value: FreshValue, scope: OpenScope): Escape | null {
  const { fate, outcome, owned } = value;
  const base = { mark: markOf(value.node), at: value.node };
  const cure =
    scope.variable === null && owned.owner.keep.functions.includes("keep")
      ? "wrap it in `keep()`"
      : "move it out with `moveToOuter()`, or detach it";
  const data = { noun: owned.owner.noun, cure };
  if (moved(file, value)) return null;
  if (owned.shape !== "one" && keepsInside(file, value, value.node, 2)) return null; // one by one
  if (outcome === "returned" && !scope.movesResultOut && ts.isReturnStatement(fate.node)) {
    if (fate.literal) return null;
    return {
      ...base,
      messageId: "returned",
      data: {
        ...data,
        line: lineOf(scope.opening),
      },
    };
  }
  if (outcome === "assigned" && ts.isBinaryExpression(fate.node))
    return assignedOut(file, fate.node.left, scope, base, data);
  if (outcome === "kept" && fate.kind === "argument" && ts.isCallExpression(fate.node))
    return pushedOut(file, fate.node, scope, base, data);
  if (outcome === "bound" && !scope.movesResultOut)
    return boundThenReturned(file, value, scope, data);
  return null;
}

/**
 * Whether the value itself is moved, detached or kept, in the same expression or by the function
 * that makes it.
 */
function moved(file: FileAnalysis, value: FreshValue): boolean {
  const first = fateOf(value.node);
  const { body } = ts.isPropertyAccessExpression(value.node)
    ? { body: undefined }
    : file.session.oracle.callee(value.node);
  if (body && keepsInside(file, value, body, 0)) return true;
  if (first.kind === "receiver") return value.owned.owner.keep.methods.includes(first.member);
  if (first.kind !== "argument") return false;
  return file.session.effect(first.node as ts.CallExpression, value.node) === "passes";
}

/**
 * Whether a body, or one it calls, keeps what it makes: `const c = t.clone(); keep(c); return c;`.
 */
function keepsInside(file: FileAnalysis, value: FreshValue, body: ts.Node, depth: number): boolean {
  const { owner } = value.owned;
  const visit = (node: ts.Node): boolean => {
    if (ts.isCallExpression(node)) {
      const callee = file.session.oracle.callee(node);
      if (
        owner.keep.methods.includes(callee.name) ||
        file.session.oracle.is(callee, owner.keep.functions, owner)
      )
        return true;
      if (
        depth < 2 &&
        callee.body &&
        callee.body !== body &&
        file.session.oracle.ownedAt(node) &&
        keepsInside(file, value, callee.body, depth + 1)
      )
        return true;
    }
    return ts.forEachChild(node, (c) => visit(c) || undefined) ?? false;
  };
  return visit(body);
}

function declaredOutside(file: FileAnalysis, id: ts.Node, scope: OpenScope): boolean {
  const declaration = file.session.oracle.declarationAt(id);
  if (!declaration || declaration.getSourceFile() !== file.file) return declaration !== undefined;
  return declaration.pos < scope.opening.pos || declaration.end > scope.region.end;
}

type Base = { mark: { start: number; end: number }; at: ts.Expression };
function assignedOut(
  file: FileAnalysis,
  left: ts.Expression,
  scope: OpenScope,
  base: Base,
  data: Record<string, string>,
): Escape | null {
  if (ts.isIdentifier(left)) {
    if (
      !declaredOutside(file, left, scope) ||
      rescued(file, left, scope) ||
      usedUpInside(file, left, scope)
    )
      return null;
    return { ...base, messageId: "assigned", data: { ...data, name: left.text } };
  }
  if (ts.isPropertyAccessExpression(left)) {
    const root = rootOf(left);
    const outer =
      root.kind === ts.SyntaxKind.ThisKeyword ||
      (ts.isIdentifier(root) && declaredOutside(file, root, scope));
    return outer && !mentionedLater(file, left, scope)
      ? { ...base, messageId: "field", data: { ...data, name: left.getText() } }
      : null;
  }
  if (!ts.isElementAccessExpression(left)) return null;
  const root = rootOf(left);
  if (ts.isIdentifier(root) && rescued(file, root, scope)) return null;
  return (root.kind === ts.SyntaxKind.ThisKeyword ||
    (ts.isIdentifier(root) && declaredOutside(file, root, scope))) &&
    !mentionedLater(file, left.expression, scope) &&
    !mentionedLater(file, left, scope)
    ? { ...base, messageId: "field", data: { ...data, name: left.expression.getText() } }
    : null;
}

/**
 * Mentioned again inside the scope as something moved, kept, disposed or returned: somebody has
 * thought about it.
 */
function rescued(file: FileAnalysis, left: ts.Identifier, scope: OpenScope): boolean {
  const declaration = file.session.oracle.declarationAt(left);
  const name = declaration && (declaration as ts.NamedDeclaration).name;
  if (!declaration || !name || !ts.isIdentifier(name)) return true;
  return referencesTo(file.session.oracle, declaration, name, scope.region).some((id) => {
    const { effect, fate } = file.session.transfer(id);
    if (effect === "moves" || effect === "disposes" || fate.kind === "returned") return true;
    return (
      fate.kind === "argument" && effect !== "borrows" && file.session.oracle.ownedAt(id) !== null
    );
  });
}

/** Declared outside, but used up before the scope ends: nothing reads it afterwards. */
function usedUpInside(file: FileAnalysis, left: ts.Identifier, scope: OpenScope): boolean {
  const declaration = file.session.oracle.declarationAt(left);
  const name = declaration && (declaration as ts.NamedDeclaration).name;
  const fn = declaration && enclosingFunction(declaration);
  if (!declaration || !name || !ts.isIdentifier(name)) return true;
  return !referencesTo(file.session.oracle, declaration, name, fn ?? file.file).some(
    (id) =>
      id !== left &&
      !onlyLookedAt(file, id) &&
      (id.pos > scope.region.end ||
        loops(scope.region) ||
        (enclosingFunction(id) !== fn && id.pos < scope.opening.pos)),
  );
}
/** `t.shape` and its like stay readable when the scope has freed `t`. */
const onlyLookedAt = (file: FileAnalysis, id: ts.Identifier): boolean => {
  const fate = fateOf(id);
  return (
    fate.kind === "read" &&
    file.session.oracle.ownedAt(id)?.owner.safeAfterDispose.includes(fate.member) === true
  );
};
const isLocal = (file: FileAnalysis, id: ts.Identifier): boolean => {
  const at = file.session.oracle.declarationAt(id);
  return at !== undefined && enclosingFunction(at) !== undefined;
};
const loops = (region: ts.Node): boolean => {
  for (
    let n: ts.Node | undefined = region;
    n && !ts.isSourceFile(n);
    n = n.parent as ts.Node | undefined
  )
    if (ts.isIterationStatement(n, false)) return true;
  return false;
};

function mentionedLater(file: FileAnalysis, left: ts.Expression, scope: OpenScope): boolean {
  const visit = (node: ts.Node): boolean => {
    const isAccess = ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node);
    if (isAccess && node !== left && samePlace(file.session.oracle, node, left)) {
      const { effect, fate } = file.session.transfer(node);
      if (effect === "moves" || effect === "disposes") return true;
      const handedOn = ts.isCallExpression(fate.node) && fate.kind === "argument";
      if (handedOn && effect !== "borrows" && file.session.oracle.ownedAt(node)) return true;
    }
    return ts.forEachChild(node, (child) => visit(child) || undefined) ?? false;
  };
  return visit(scope.region);
}

function pushedOut(
  file: FileAnalysis,
  call: ts.CallExpression,
  scope: OpenScope,
  base: Base,
  data: Record<string, string>,
): Escape | null {
  const target = call.expression;
  if (
    !ts.isPropertyAccessExpression(target) ||
    !puts(target.name.text) ||
    !file.session.oracle.callee(call).builtin
  )
    return null;
  const root = rootOf(target.expression);
  const outer =
    root.kind === ts.SyntaxKind.ThisKeyword ||
    (ts.isIdentifier(root) && declaredOutside(file, root, scope));
  if (
    !outer ||
    (ts.isIdentifier(root) &&
      (rescued(file, root, scope) || (isLocal(file, root) && usedUpInside(file, root, scope))))
  )
    return null;
  return { ...base, messageId: "pushed", data: { ...data, name: target.expression.getText() } };
}

/** `const t = fresh(); … return t;` inside a `using scope` body. */
function boundThenReturned(
  file: FileAnalysis,
  value: FreshValue,
  scope: OpenScope,
  data: Record<string, string>,
): Escape | null {
  const declaration = value.fate.node;
  if (!ts.isVariableDeclaration(declaration) || !ts.isIdentifier(declaration.name)) return null;
  for (const id of referencesTo(file.session.oracle, declaration, declaration.name, scope.region)) {
    const fate = fateOf(id);
    if (fate.kind === "receiver" && value.owned.owner.keep.methods.includes(fate.member))
      return null;
    if (
      fate.kind === "argument" &&
      ts.isCallExpression(fate.node) &&
      file.session.effect(fate.node, id) !== "borrows"
    )
      return null;
    if (
      fate.kind !== "returned" ||
      fate.literal ||
      enclosingFunction(id) !== enclosingFunction(declaration)
    )
      continue;
    return {
      mark: { start: id.getStart(), end: id.getEnd() },
      at: id,
      messageId: "returned",
      data: { ...data, line: lineOf(scope.opening) },
    };
  }
  return null;
}

function cures(file: FileAnalysis, value: FreshValue, at: ts.Expression): Suggestion<Id>[] {
  const { keep } = value.owned.owner;
  if (value.owned.shape !== "one") return [];
  const append =
    (text: string): Fix =>
    (fixer) =>
      fixer.insertTextAfterRange([at.getStart(), at.getEnd()], text);
  const found: Suggestion<Id>[] = [];
  if (keep.methods.includes("moveToOuter"))
    found.push({ messageId: "moveToOuter", fix: append(".moveToOuter()") });
  if (keep.methods.includes("detachFromScope"))
    found.push({ messageId: "detach", fix: append(".detachFromScope()") });
  const keeper = keep.functions.includes("keep")
    ? nameIn(file.session, file.file, value.owned.owner, "keep")
    : null;
  if (keeper)
    found.push({
      messageId: "keep",
      fix: apply([
        ...keeper.edits,
        { start: at.getStart(), end: at.getEnd(), text: `${keeper.local}(${at.getText()})` },
      ]),
    });
  return found;
}
