/**
 * Cures of a leak: `const` becomes `using`, or what follows goes into `try { … } finally { … }`.
 * Used by `require-disposal`.
 */
import ts from "typescript";
import type { FileAnalysis } from "../analysis/analyse.ts";
import type { Cell } from "../analysis/flow/cells.ts";
import type { Problem } from "../analysis/flow/flow.ts";
import type { Oracle } from "../analysis/program/oracle.ts";
import { boundNames, referencesTo } from "../analysis/program/references.ts";
import { isAsync, someWithin } from "../analysis/program/syntax.ts";
import { enclosingFunction } from "../analysis/transfer/fate.ts";
import type { Fix } from "../create-rule.ts";
import { indentOf, shift, slotOf, unitOf } from "./text.ts";

/** What the dataflow found of a value that nothing ends on some path. */
export type Leak = Extract<Problem, { kind: "leak" }>;

function listOf({ site }: Leak): ts.VariableStatement | undefined {
  const declaration = site.node;
  if (
    !ts.isVariableDeclaration(declaration) ||
    !ts.isIdentifier(declaration.name) ||
    !declaration.initializer
  )
    return undefined;
  const list = declaration.parent;
  if (!ts.isVariableDeclarationList(list)) return undefined;
  const statement = list.parent;
  return ts.isVariableStatement(statement) &&
    list.declarations.length === 1 &&
    slotOf(statement) === "block" &&
    (list.flags & ts.NodeFlags.BlockScoped) !== 0
    ? statement
    : undefined;
}

/**
 * Whether it is owned once, only borrowed afterwards, and never captured by anything that outlives
 * the block.
 */
export function canBecomeUsing(file: FileAnalysis, leak: Leak): boolean {
  const { cell } = leak;
  if (cell.owned.shape !== "one" || !listOf(leak) || !cell.declaration || !cell.name) return false;
  if (cell.captured) return false;
  if ([...cell.seen].some((k) => k !== "own" && k !== "use")) return false;
  if (!mayBeUsing(file, cell.name)) return false;
  return !isGivenAnother(file, cell);
}

/** Whether `using` accepts what a variable holds: a promise must be waited for first. */
const mayBeUsing = ({ session: { oracle } }: FileAnalysis, name: ts.Identifier): boolean =>
  usingFor(oracle, name) !== null && !oracle.isPromise(name);

/** `await using` for what is ended later, where one can wait for it. */
function usingFor(oracle: Oracle, name: ts.Identifier): "using" | "await using" | null {
  const kind = oracle.usingKind(name);
  return kind === "await using" && !isAsync(enclosingFunction(name)) ? null : kind;
}

/** Which `using` a variable can be declared with; none where the type has no disposal. */
export const kindFor = (
  { session }: FileAnalysis,
  { name }: Cell,
): "using" | "await using" | null => (name ? usingFor(session.oracle, name) : null);

/** Whether a variable is given another value somewhere: one disposal does not free both. */
const isGivenAnother = (file: FileAnalysis, { declaration, name }: Cell): boolean =>
  declaration !== undefined &&
  name !== undefined &&
  referencesTo(file.session.oracle, declaration, name, file.file).some(
    (id) =>
      ts.isBinaryExpression(id.parent) &&
      id.parent.left === id &&
      id.parent.operatorToken.kind >= ts.SyntaxKind.FirstAssignment &&
      id.parent.operatorToken.kind <= ts.SyntaxKind.LastAssignment,
  );

/** `const t` → `using t`, removing the disposals that would then be the second. */
export function usingFix(file: FileAnalysis, leak: Leak): Fix | null {
  const statement = listOf(leak);
  const { cell } = leak;
  if (!statement || !cell.name || !cell.declaration || cell.owned.shape !== "one") return null;
  if (
    !mayBeUsing(file, cell.name) ||
    cell.captured ||
    cell.seen.has("escape") ||
    cell.seen.has("return") ||
    cell.seen.has("alias")
  )
    return null;
  const keyword = statement.declarationList.getFirstToken();
  const kind = kindFor(file, cell);
  if (!keyword || !kind) return null;
  const removals: [number, number][] = [];
  for (const id of referencesTo(file.session.oracle, cell.declaration, cell.name, file.file)) {
    const { parent } = id;
    if (ts.isBinaryExpression(parent) && parent.left === id) return null;
    if (
      !ts.isPropertyAccessExpression(parent) ||
      !cell.owned.owner.dispose.methods.includes(parent.name.text)
    )
      continue;
    const call = parent.parent;
    if (
      !ts.isCallExpression(call) ||
      !ts.isExpressionStatement(call.parent) ||
      slotOf(call.parent) !== "block"
    )
      return null;
    removals.push(wholeLine(call.parent));
  }
  return (fixer) => [
    fixer.replaceTextRange([keyword.getStart(), keyword.getEnd()], kind),
    ...removals.map((r) => fixer.removeRange(r)),
  ];
}

/** A statement with its line, when it has the line to itself. */
function wholeLine(statement: ts.Statement): [number, number] {
  const { text } = statement.getSourceFile();
  const start = text.lastIndexOf("\n", statement.getStart() - 1);
  const after = /^[ \t]*(?=\r?\n)/.exec(text.slice(statement.getEnd()));
  const alone =
    start >= 0 && /^\s*$/.test(text.slice(start, statement.getStart())) && after !== null;
  return alone
    ? [start, statement.getEnd() + after[0].length]
    : [statement.getStart(), statement.getEnd()];
}

/** Wraps the rest of the block in `try { … } finally { t.dispose(); }`. */
export function finallyFix(file: FileAnalysis, leak: Leak): Fix | null {
  const statement = listOf(leak);
  const { cell, always } = leak;
  if (
    !statement ||
    !always ||
    cell.captured ||
    cell.owned.shape !== "one" ||
    cell.label.includes(".") ||
    !cell.name ||
    file.session.oracle.isPromise(cell.name) ||
    isGivenAnother(file, cell)
  )
    return null;
  const block = statement.parent;
  const method = cell.owned.owner.dispose.methods[0];
  const late = file.session.oracle.usingKind(cell.name) === "await using";
  if (!ts.isBlock(block) || method === undefined || late) return null;
  const rest = block.statements.slice(block.statements.indexOf(statement) + 1);
  const first = rest[0],
    last = rest[rest.length - 1];
  if (!first || !last || rest.some((s) => ts.isFunctionDeclaration(s))) return null;
  const indent = indentOf(statement),
    unit = unitOf(block.getSourceFile());
  const body = shift(block.getSourceFile().text.slice(first.getStart(), last.getEnd()), unit);
  const text =
    `try {\n${indent}${unit}${body}\n${indent}} finally {\n` +
    `${indent}${unit}${cell.label}${cell.owned.nullable ? "?" : ""}.${method}();\n` +
    `${indent}}`;
  return (fixer) => fixer.replaceTextRange([first.getStart(), last.getEnd()], text);
}

/**
 * Wraps what lies between a value and the statement that ends it in `try { … } finally { … }`;
 * where what it declares is used after, the rest of the block, too.
 */
export function guardFix(file: FileAnalysis, leak: Leak): Fix | null {
  const statement = listOf(leak);
  const { cell, exit } = leak;
  const [end, other] = cell.endings;
  const block = statement?.parent;
  if (!exit || !(ts.isAwaitExpression(exit) || ts.isThrowStatement(exit))) return null;
  if (!statement || !block || !ts.isBlock(block) || !end || other || cell.captured) return null;
  const last = ts.findAncestor(end, ts.isExpressionStatement);
  const at = block.statements.indexOf(statement);
  const to = last ? block.statements.indexOf(last) : -1;
  if (!last || to < at + 2 || isGivenAnother(file, cell)) return null;
  const between = block.statements.slice(at + 1, to);
  const after = block.statements.slice(to + 1);
  const rest = after.some((s) => mentions(s, new Set(between.flatMap(namesOf)))) ? after : [];
  const inner = [...between, ...rest];
  if (inner.some((s) => ts.isFunctionDeclaration(s) || ts.isClassDeclaration(s))) return null;
  const { text } = block.getSourceFile();
  const indent = indentOf(statement);
  const unit = unitOf(block.getSourceFile());
  const first = between[0]!.getStart();
  const kept = rest.length > 0 ? text.slice(last.end, rest.at(-1)!.end) : "";
  const body = shift(text.slice(first, between.at(-1)!.end) + kept, unit);
  const whole =
    `try {\n${indent}${unit}${body}\n${indent}} finally {\n` +
    `${indent}${unit}${last.getText()}\n${indent}}`;
  const until = rest.at(-1)?.end ?? last.end;
  return (fixer) => fixer.replaceTextRange([first, until], whole);
}

/** The names that a statement declares for those after it. */
function namesOf(statement: ts.Statement): readonly string[] {
  if (!ts.isVariableStatement(statement)) return [];
  return statement.declarationList.declarations.flatMap((d) =>
    boundNames(d.name, d).map(({ id }) => id.text),
  );
}

const mentions = (node: ts.Node, names: ReadonlySet<string>): boolean =>
  names.size > 0 && someWithin(node, (inner) => ts.isIdentifier(inner) && names.has(inner.text));
