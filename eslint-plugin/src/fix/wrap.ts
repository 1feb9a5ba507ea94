/**
 * Wrap: puts an expression or its statement into a dispose scope: `scoped(() => …)`, a `using scope
 * = newDisposeScope()` block, or the owner's own words (`tf.tidy`). Refused where `await`, `yield`
 * or a jump would have to cross a callback. Used by the leak rules.
 */
import ts from "typescript";
import type { Fix } from "../create-rule.ts";
import type { Owner } from "../owner.ts";
import type { Session } from "../analysis/session.ts";
import { enclosingFunction } from "../analysis/transfer/fate.ts";
import { isAsync, hasBody, isScript } from "../analysis/program/syntax.ts";
import { storesAlias } from "../analysis/transfer/keeps.ts";
import {
  contains,
  importName,
  indentOf,
  isJump,
  Names,
  shift,
  slotOf,
  statementOf,
  textWith,
  unitOf,
  type Edit,
} from "./text.ts";

interface Words {
  callback: string | undefined;
  opener: string | undefined;
  module: string | undefined;
}

function wordsOf(owner: Owner): Words {
  const name = (c: string | { name: string | string[] }): string =>
    typeof c === "string" ? c : typeof c.name === "string" ? c.name : (c.name[0] ?? "");
  const callback = owner.scopes.find(
    (s) => "callee" in s && !s.async && s.movesResultOut !== false,
  );
  const opener = owner.scopes.find((s) => "using" in s);
  return {
    callback: callback && "callee" in callback ? name(callback.callee) : undefined,
    opener: opener && "using" in opener ? name(opener.using) : undefined,
    module: Array.isArray(owner.types)
      ? owner.types.find((t) => t.package !== undefined)?.package
      : undefined,
  };
}

/** A name as a file can write it, and the edits that bring it in. */
export interface Named {
  local: string;
  edits: Edit[];
}
/** How a file can write a name of the library, importing it when needed; null when it cannot. */
export function nameIn(
  session: Session,
  file: ts.SourceFile,
  owner: Owner,
  name: string | undefined,
): Named | null {
  if (name === undefined) return null;
  const { module } = wordsOf(owner);
  const packages = Array.isArray(owner.types) ? owner.types.flatMap((t) => t.package ?? []) : [];
  const fromOwner = (specifier: string): boolean =>
    packages.includes(specifier) || exportsName(session, file, specifier, name);
  const found = importName(file, name, fromOwner, module);
  return found && { local: found.local, edits: found.edit ? [found.edit] : [] };
}

/**
 * Whether a module imported by the file exports the name itself (a fork, a relative path, a
 * facade).
 */
function exportsName(
  session: Session,
  file: ts.SourceFile,
  specifier: string,
  name: string,
): boolean {
  const declaration = file.statements
    .filter(ts.isImportDeclaration)
    .find((d) => ts.isStringLiteral(d.moduleSpecifier) && d.moduleSpecifier.text === specifier);
  return (
    declaration !== undefined && session.oracle.moduleExports(declaration.moduleSpecifier, name)
  );
}

/** A fix that makes several edits at once. */
export const apply =
  (edits: readonly Edit[]): Fix =>
  (fixer) =>
    edits.map((e) => fixer.replaceTextRange([e.start, e.end], e.text));

/** A fix that gives the temporaries below `root` a scope of their own, or null. */
export function wrapInScope(session: Session, root: ts.Expression, owner: Owner): Fix | null {
  const file = root.getSourceFile();
  const words = wordsOf(owner);
  const statement = statementOf(root);
  const awaited = soleAwait(root);
  if (awaited)
    return statement && words.opener !== undefined
      ? wrapAwaited(session, statement, awaited, owner, words)
      : null;
  if (contains(root, isJump)) return null;
  if (
    statement &&
    ts.isExpressionStatement(statement) &&
    statement.expression === root &&
    !storesOwned(session, root)
  ) {
    return wrapStatement(session, statement, owner, words);
  }
  if (session.oracle.isPromise(root)) {
    return statement && ts.isReturnStatement(statement) && slotOf(statement) === "block"
      ? openBefore(session, statement, owner, words)
      : null;
  }
  const target = assignedPart(root);
  const callback = nameIn(session, file, owner, words.callback);
  if (
    !callback ||
    losesTuple(target) ||
    isReadOnly(session, target) ||
    !(
      ts.isArrowFunction(target.parent) ||
      ts.isReturnStatement(target.parent) ||
      ts.isVariableDeclaration(target.parent) ||
      ts.isBinaryExpression(target.parent)
    )
  )
    return null;
  const start = target.getStart(),
    text = target.getText(),
    body = ts.isObjectLiteralExpression(target) ? `(${text})` : text;
  const apart = /[\w$]$/.test(file.text.slice(0, start)) ? " " : ""; // `return(a.b()).c`
  return apply([
    ...callback.edits,
    { start, end: target.getEnd(), text: `${apart}${callback.local}(() => ${body})` },
  ]);
}

/** `return [a, b]` of an async function: in a callback it would be a list, and no tuple. */
function losesTuple(target: ts.Expression): boolean {
  return (
    isAsync(enclosingFunction(target)) &&
    ts.isArrayLiteralExpression(target) &&
    !isScript(target.getSourceFile())
  );
}

/** `const { shape } = x.neg()`: the scope would move out the value, which has no name there. */
function isReadOnly(session: Session, target: ts.Expression): boolean {
  const { parent } = target;
  const pattern = ts.isVariableDeclaration(parent)
    ? parent.name
    : ts.isBinaryExpression(parent)
      ? parent.left
      : undefined;
  return (
    pattern !== undefined &&
    (ts.isObjectBindingPattern(pattern) || ts.isObjectLiteralExpression(pattern)) &&
    session.oracle.ownedAt(target)?.shape === "one"
  );
}

/**
 * `x = <chain>` with an owned result: only the right side goes into the scope, which moves the
 * result out.
 */
const assignedPart = (root: ts.Expression): ts.Expression =>
  ts.isBinaryExpression(root) && root.operatorToken.kind === ts.SyntaxKind.EqualsToken
    ? root.right
    : root;
/** Whether an assignment hands an owned value on; a property that keeps an alias takes nothing. */
function storesOwned(session: Session, root: ts.Expression): boolean {
  if (!ts.isBinaryExpression(root) || root.operatorToken.kind !== ts.SyntaxKind.EqualsToken)
    return false;
  const owned = session.oracle.ownedAt(root.right);
  return owned !== null && !storesAlias(owned.owner, root.left);
}

/** The only await of an expression, when nothing else in it waits. */
function soleAwait(root: ts.Expression): ts.AwaitExpression | undefined {
  const found: ts.AwaitExpression[] = [];
  contains(root, (n) => {
    if (ts.isAwaitExpression(n)) found.push(n);
    return false;
  });
  const [only] = found;
  return found.length === 1 && only && !contains(root, (n) => ts.isYieldExpression(n))
    ? only
    : undefined;
}

function wrapStatement(
  session: Session,
  statement: ts.ExpressionStatement,
  owner: Owner,
  words: Words,
): Fix | null {
  const file = statement.getSourceFile();
  const indent = indentOf(statement),
    unit = unitOf(file);
  const body = indent + unit + shift(statement.getText(), unit);
  const opener = nameIn(session, file, owner, words.opener);
  if (opener) {
    const scope = new Names(session.oracle.facts, file).pick("scope");
    const text = `{\n${indent}${unit}using ${scope} = ${opener.local}();\n${body}\n${indent}}`;
    return apply([...opener.edits, { start: statement.getStart(), end: statement.getEnd(), text }]);
  }
  const callback = nameIn(session, file, owner, words.callback);
  if (!callback) return null;
  return apply([
    ...callback.edits,
    {
      start: statement.getStart(),
      end: statement.getEnd(),
      text: `${callback.local}(() => {\n${body}\n${indent}});`,
    },
  ]);
}

/**
 * Reads are pinned, so the scope closes before the wait: `let item; { using scope = …; item =
 * chain.item(); } … await item`.
 */
function wrapAwaited(
  session: Session,
  statement: ts.Statement,
  awaited: ts.AwaitExpression,
  owner: Owner,
  words: Words,
): Fix | null {
  if (
    session.oracle.ownedAt(awaited) ||
    slotOf(statement) !== "block" ||
    !allowsBefore(statement, awaited)
  )
    return null;
  const file = statement.getSourceFile();
  const opener = nameIn(session, file, owner, words.opener);
  if (!opener) return null;
  const names = new Names(session.oracle.facts, file);
  const scope = names.pick("scope");
  const { expression } = awaited;
  const pending = names.pick(
    ts.isCallExpression(expression) && ts.isPropertyAccessExpression(expression.expression)
      ? expression.expression.name.text
      : "pending",
  );
  const indent = indentOf(statement),
    unit = unitOf(file);
  const rest = textWith(file, statement.getStart(), statement.getEnd(), [
    { start: expression.getStart(), end: expression.getEnd(), text: pending },
  ]);
  const lines = [
    `let ${pending};`,
    "{",
    `${unit}using ${scope} = ${opener.local}();`,
    `${unit}${pending} = ${shift(expression.getText(), unit)};`,
    "}",
    rest,
  ];
  return apply([
    ...opener.edits,
    { start: statement.getStart(), end: statement.getEnd(), text: lines.join(`\n${indent}`) },
  ]);
}

/** Whether the awaited call is the first effect of its statement and certain to run once. */
function allowsBefore(statement: ts.Statement, awaited: ts.AwaitExpression): boolean {
  if (
    !ts.isExpressionStatement(statement) &&
    !ts.isVariableStatement(statement) &&
    !ts.isReturnStatement(statement)
  )
    return false;
  for (let node: ts.Node = awaited; node !== statement; node = node.parent) {
    const parent = node.parent;
    if (ts.isConditionalExpression(parent) && parent.condition !== node) return false;
    if (
      ts.isBinaryExpression(parent) &&
      parent.right === node &&
      /^(&&|\|\||\?\?)/.test(parent.operatorToken.getText())
    )
      return false;
  }
  const before = (n: ts.Node): boolean =>
    (ts.isCallExpression(n) || ts.isNewExpression(n)) && n.getEnd() <= awaited.getStart();
  return !contains(statement, before);
}

function openBefore(
  session: Session,
  statement: ts.Statement,
  owner: Owner,
  words: Words,
): Fix | null {
  const file = statement.getSourceFile();
  const opener = nameIn(session, file, owner, words.opener);
  if (!opener || owner.policy !== "protocol") return null;
  const scope = new Names(session.oracle.facts, file).pick("scope");
  return apply([
    ...opener.edits,
    {
      start: statement.getStart(),
      end: statement.getStart(),
      text: `using ${scope} = ${opener.local}();\n${indentOf(statement)}`,
    },
  ]);
}

/**
 * A fix that opens a scope before a variable's declaration and moves what the block returns out of
 * it: overwritten values then die with the scope. Only where nothing else leaves the block, and
 * nothing in it waits.
 */
export function scopeFromHere(session: Session, declaration: ts.Node, owner: Owner): Fix | null {
  const statement = statementOf(declaration);
  const { opener: openerName } = wordsOf(owner);
  if (
    !statement ||
    !ts.isVariableStatement(statement) ||
    slotOf(statement) !== "block" ||
    !ts.isBlock(statement.parent) ||
    !owner.keep.methods.includes("moveToOuter")
  )
    return null;
  const block = statement.parent,
    from = block.statements.indexOf(statement),
    fn = enclosingFunction(declaration);
  const rest = block.statements.slice(from);
  const leaves = (n: ts.Node): boolean =>
    ts.isAwaitExpression(n) ||
    ts.isYieldExpression(n) ||
    (ts.isForOfStatement(n) && n.awaitModifier !== undefined) ||
    (ts.isBinaryExpression(n) &&
      n.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
      session.oracle.ownedAt(n.right) !== null &&
      !isLocalTo(session, n.left, rest)) ||
    (ts.isCallExpression(n) &&
      n.arguments.some(
        (a) =>
          session.oracle.ownedAt(a) !== null &&
          !["borrows", "disposes"].includes(session.effect(n, a)),
      ));
  if (!fn || !hasBody(fn) || fn.asteriskToken || rest.some((s) => contains(s, leaves))) return null;
  const edits: Edit[] = [];
  const moves = (n: ts.Node): boolean => {
    if (!ts.isReturnStatement(n) || !n.expression) return false;
    const value = n.expression;
    if (!session.oracle.ownedAt(value))
      // known to be null here
      return ts.isIdentifier(value) && session.oracle.declarationAt(value) === declaration;
    if (
      session.oracle.ownedAt(value)?.shape !== "one" ||
      session.freshness(value) === "borrowed" ||
      !(ts.isIdentifier(value) || ts.isCallExpression(value))
    )
      return true;
    edits.push({
      start: value.getEnd(),
      end: value.getEnd(),
      text: `${session.oracle.ownedAt(value)?.nullable ? "?" : ""}.moveToOuter()`,
    });
    return false;
  };
  if (rest.some((s) => contains(s, moves))) return null;
  const opener = nameIn(session, declaration.getSourceFile(), owner, openerName);
  if (!opener) return null;
  const scope = new Names(session.oracle.facts, declaration.getSourceFile()).pick("scope");
  return apply([
    ...opener.edits,
    {
      start: statement.getStart(),
      end: statement.getStart(),
      text: `using ${scope} = ${opener.local}();\n${indentOf(statement)}`,
    },
    ...edits,
  ]);
}

/** Whether an assignment's target is a variable declared by one of some statements. */
function isLocalTo(
  session: Session,
  target: ts.Expression,
  statements: readonly ts.Statement[],
): boolean {
  const declaration = ts.isIdentifier(target) ? session.oracle.declarationAt(target) : undefined;
  return (
    declaration !== undefined &&
    ts.isVariableDeclaration(declaration) &&
    statements.some((s) => s.pos <= declaration.pos && s.end >= declaration.end)
  );
}

/**
 * A fix that opens a scope at the top of the function around a node, when nothing owned leaves it
 * and nothing in it waits.
 */
export function wrapFunctionBody(session: Session, node: ts.Node, owner: Owner): Fix | null {
  const fn = enclosingFunction(node);
  if (!fn || !hasBody(fn) || !ts.isBlock(fn.body) || fn.asteriskToken || node.pos < fn.body.pos)
    return null;
  if (
    ts.isConstructorDeclaration(fn) ||
    contains(
      fn.body,
      (n) => ts.isAwaitExpression(n) || (ts.isForOfStatement(n) && n.awaitModifier !== undefined),
    )
  )
    return null;
  if (session.oracle.ownedResult(fn)) return null;
  if (
    contains(
      fn.body,
      (n) =>
        ts.isBinaryExpression(n) &&
        n.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
        session.oracle.ownedAt(n.right) !== null,
    )
  )
    return null;
  const first = fn.body.statements[0];
  const opener = nameIn(session, fn.getSourceFile(), owner, wordsOf(owner).opener);
  if (!first || !opener) return null;
  const scope = new Names(session.oracle.facts, fn.getSourceFile()).pick("scope");
  return apply([
    ...opener.edits,
    {
      start: first.getStart(),
      end: first.getStart(),
      text: `using ${scope} = ${opener.local}();\n${indentOf(first)}`,
    },
  ]);
}
