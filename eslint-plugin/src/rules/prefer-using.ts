/**
 * Rule `prefer-using`: `dispose()` as the last word of a block, or alone in a `finally`, is what
 * `using` does, also when something throws.
 */
import ts from "typescript";
import type { FileAnalysis } from "../analysis/analyse.ts";
import { fateOf } from "../analysis/transfer/fate.ts";
import { referencesTo } from "../analysis/program/references.ts";
import { onlyLooksAt } from "../analysis/transfer/transfer.ts";
import { rule, type Finding } from "../create-rule.ts";
import { indentOf } from "../fix/text.ts";

type Id = "endOfBlock" | "finally";

/** Prefer `using` to disposing at the end of a block or in `finally`. */
export const preferUsing = rule<Id, Record<string, never>>({
  name: "prefer-using",
  description: "Prefer `using` to disposing at the end of a block or in `finally`",
  type: "suggestion",
  config: "strict",
  fixable: true,
  messages: {
    endOfBlock:
      "`{{ name }}` is disposed at the end of its block, but not when an earlier call " +
      "throws; declare it with `using`.",
    finally: "This `finally` only disposes `{{ name }}`; declare it with `using`.",
  },
  defaults: {},
  check(file, _options, report) {
    const { VariableStatement } = ts.SyntaxKind;
    for (const node of file.facts.nodes<ts.VariableStatement>(file.file, VariableStatement))
      if (ts.isBlock(node.parent)) checkStatement(file, node, node.parent, report);
  },
});

function checkStatement(
  file: FileAnalysis,
  statement: ts.VariableStatement,
  block: ts.Block,
  report: (f: Finding<Id>) => void,
): void {
  const list = statement.declarationList;
  const declaration = list.declarations[0];
  if (
    list.declarations.length !== 1 ||
    !declaration?.initializer ||
    !ts.isIdentifier(declaration.name) ||
    (list.flags & ts.NodeFlags.AwaitUsing) !== ts.NodeFlags.Const
  )
    return;
  const owned = file.session.oracle.ownedAt(declaration.name);
  if (
    owned?.shape !== "one" ||
    file.session.oracle.usingKind(declaration.name) !== "using" ||
    file.session.freshness(declaration.initializer) !== "fresh"
  )
    return;
  const { name } = declaration;
  const keyword = list.getFirstToken();
  const ids = referencesTo(file.session.oracle, declaration, name, block);
  if (!keyword || ids.some((id) => leaves(file, id, owned.owner.dispose.methods))) return;
  const disposals = ids.filter((id) => isDisposal(id, owned.owner.dispose.methods));
  const only = disposals[0];
  if (disposals.length !== 1 || !only) return;
  const call = only.parent.parent.parent;
  if (!ts.isExpressionStatement(call)) return;
  if (call.parent === block && isTail(file, block, call)) {
    report({
      mark: { start: call.getStart(), end: call.getEnd() },
      messageId: "endOfBlock",
      data: { name: name.text },
      fix: (fixer) => [
        fixer.replaceTextRange([keyword.getStart(), keyword.getEnd()], "using"),
        fixer.removeRange([call.getFullStart() + leadingComments(call), call.getEnd()]),
      ],
    });
    return;
  }
  const attempt = call.parent.parent;
  if (
    !ts.isTryStatement(attempt) ||
    attempt.finallyBlock !== call.parent ||
    attempt.finallyBlock.statements.length !== 1 ||
    attempt.parent !== block
  )
    return;
  if (
    block.statements.indexOf(attempt) !== block.statements.indexOf(statement) + 1 ||
    attempt !== block.statements[block.statements.length - 1]
  )
    return;
  report({
    mark: { start: call.getStart(), end: call.getEnd() },
    messageId: "finally",
    data: { name: name.text },
    fix: attempt.catchClause
      ? null
      : (fixer) => [
          fixer.replaceTextRange([keyword.getStart(), keyword.getEnd()], "using"),
          fixer.replaceTextRange([attempt.getStart(), attempt.getEnd()], bodyOf(attempt)),
        ],
  });
}

const isDisposal = (id: ts.Identifier, methods: readonly string[]): boolean => {
  const fate = fateOf(id);
  return fate.kind === "receiver" && methods.includes(fate.member);
};

/** Returned, stored, captured or handed to something that takes it: not this block's to end. */
function leaves(file: FileAnalysis, id: ts.Identifier, methods: readonly string[]): boolean {
  const { effect, fate } = file.session.transfer(id);
  if (fate.kind === "receiver" && methods.includes(fate.member)) return false;
  return !onlyLooksAt(effect);
}

/**
 * Only other disposals come after it. Order among them changes from first-in to last-in, which no
 * disposal can see.
 */
function isTail(file: FileAnalysis, block: ts.Block, call: ts.ExpressionStatement): boolean {
  return block.statements.slice(block.statements.indexOf(call) + 1).every((s) => {
    if (
      !ts.isExpressionStatement(s) ||
      !ts.isCallExpression(s.expression) ||
      !ts.isPropertyAccessExpression(s.expression.expression)
    )
      return false;
    const owned = file.session.oracle.ownedAt(s.expression.expression.expression);
    return owned?.owner.dispose.methods.includes(s.expression.expression.name.text) === true;
  });
}

/** Keeps a comment that stands before the disposal. */
function leadingComments(node: ts.Node): number {
  const text = node.getFullText().slice(0, node.getStart() - node.getFullStart());
  return /\/[/*]/.test(text) ? node.getStart() - node.getFullStart() : 0;
}

function bodyOf(attempt: ts.TryStatement): string {
  const { statements } = attempt.tryBlock;
  const first = statements[0],
    last = statements[statements.length - 1];
  if (!first || !last) return "";
  const text = attempt.getSourceFile().text.slice(first.getStart(), last.getEnd());
  const inner = indentOf(first),
    outer = indentOf(attempt);
  return text.includes("`") ? text : text.replaceAll(`\n${inner}`, `\n${outer}`);
}
