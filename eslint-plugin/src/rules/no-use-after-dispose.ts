/**
 * Rule `no-use-after-dispose`: a value is read, returned or captured after it was disposed on every
 * path that leads here, through aliases and stable places such as `vars[v]` too; and a `using`
 * variable is returned, which disposes it before the caller sees it.
 */
import type { TSESLint } from "@typescript-eslint/utils";
import ts from "typescript";
import type { FileAnalysis } from "../analysis/analyse.ts";
import type { Cell } from "../analysis/flow/cells.ts";
import { enclosingFunction } from "../analysis/transfer/fate.ts";
import { referencesTo } from "../analysis/program/references.ts";
import { rule, spanOf, type Suggestion } from "../create-rule.ts";
import { contains, indentOf, isJump, slotOf, statementOf } from "../fix/text.ts";
import { isAnything, isHolder } from "../owner.ts";

type Id =
  | "used"
  | "returned"
  | "returnedUsing"
  | "returnAlias"
  | "dropUsing"
  | "disposeLater"
  | "useUsing"
  | "keepAlive";

/** Disallow using a tensor after it was disposed. */
export const noUseAfterDispose = rule<Id, Record<string, never>>({
  name: "no-use-after-dispose",
  description: "Disallow using a tensor after it was disposed",
  type: "problem",
  config: "recommended",
  hasSuggestions: true,
  messages: {
    used: "`{{ name }}` was disposed on line {{ line }}; using it throws.",
    returned: "`{{ name }}` was disposed on line {{ line }}; the caller gets a dead {{ noun }}.",
    returnedUsing:
      "`{{ name }}` is declared with `using`, so it is disposed before the caller gets " +
      "it; return `{{ name }}.{{ alias }}()`, or declare it with `const`.",
    returnAlias: "Return `{{ name }}.{{ alias }}()`.",
    dropUsing: "Declare it with `const`.",
    disposeLater: "Dispose it after its last use.",
    useUsing: "Declare it with `using` and leave the disposal to it.",
    keepAlive: "Remove the disposal; the caller gets the {{ noun }} to dispose.",
  },
  defaults: {},
  check(file, _options, report) {
    for (const problem of file.problems) {
      if (
        isHolder(problem.cell.owned.owner, file.session.settings) &&
        (problem.kind !== "return-disposed" || problem.at)
      )
        continue; // perhaps it can be filled again
      if (problem.kind === "use-after-dispose") {
        const { node, cell, at } = problem;
        if (isAnything(cell.owned.owner)) continue; // its number may be read, it may open again
        report({
          mark: spanOf(node),
          messageId: "used",
          data: { name: node.getText(), line: at, noun: cell.owned.owner.noun },
          suggest: later(file, cell, node, at),
        });
      }
      if (problem.kind !== "return-disposed") continue;
      const { node, cell, at } = problem;
      const { alias, noun } = cell.owned.owner;
      const data = { name: node.getText(), alias: alias === "" ? "clone" : alias, noun };
      if (at) {
        const early =
          cell.kind === "local" && cell.disposals === 1 ? disposalStatement(at) : undefined;
        report({
          mark: spanOf(node),
          messageId: "returned",
          data: { ...data, line: at },
          suggest:
            early && ts.isReturnStatement(node.parent)
              ? [
                  {
                    messageId: "keepAlive",
                    data,
                    fix: (fixer) => fixer.removeRange([early.getFullStart(), early.getEnd()]),
                  },
                ]
              : [],
        });
        continue;
      }
      const suggest: Suggestion<Id>[] = [];
      if (alias !== "")
        suggest.push({
          messageId: "returnAlias",
          data,
          fix: (fixer) =>
            fixer.insertTextAfterRange([node.getStart(), node.getEnd()], `.${alias}()`),
        });
      const holder = cell.declaration?.parent;
      const list = holder && ts.isVariableDeclarationList(holder) ? holder : undefined;
      const keyword = list?.getFirstToken();
      if (list && keyword && list.declarations.length === 1 && keyword.getText() === "using") {
        suggest.push({
          messageId: "dropUsing",
          fix: (fixer) => fixer.replaceTextRange([keyword.getStart(), keyword.getEnd()], "const"),
        });
      }
      report({ mark: spanOf(node), messageId: "returnedUsing", data, suggest });
    }
  },
});

/** `t.dispose();` standing as a statement of its own in a block. */
function disposalStatement(at: ts.Node): ts.ExpressionStatement | undefined {
  const statement = statementOf(at);
  if (!statement || !ts.isExpressionStatement(statement) || slotOf(statement) !== "block")
    return undefined;
  const call = statement.expression;
  return ts.isCallExpression(call) &&
    ts.isPropertyAccessExpression(call.expression) &&
    call.expression.expression === at
    ? statement
    : undefined;
}

/** Ways to dispose later: behind the last use, when both stand in one block, or by `using`. */
function later(file: FileAnalysis, cell: Cell, node: ts.Node, at: ts.Node): Suggestion<Id>[] {
  const early = disposalStatement(at),
    { declaration, name } = cell;
  if (
    !early ||
    cell.kind !== "local" ||
    cell.disposals !== 1 ||
    !declaration ||
    !name ||
    cell.label !== name.text
  )
    return [];
  const uses = referencesTo(file.session.oracle, declaration, name, file.file);
  const block = early.parent;
  const last = ts.isBlock(block)
    ? block.statements.filter((s) => uses.some((id) => id.pos >= s.pos && id.end <= s.end)).pop()
    : undefined;
  const handedOn =
    ["escape", "return", "alias"].some((k) => cell.seen.has(k)) ||
    uses.some((id) => ts.isBinaryExpression(id.parent) && id.parent.left === id) ||
    uses.some((id) => enclosingFunction(id) !== enclosingFunction(declaration));
  const found: Suggestion<Id>[] = [];
  const remove = (fixer: TSESLint.RuleFixer): TSESLint.RuleFix =>
    fixer.removeRange([early.getFullStart(), early.getEnd()]);
  if (
    !handedOn &&
    last &&
    last.pos > early.pos &&
    last.pos <= node.pos &&
    !ts.isReturnStatement(last) &&
    !ts.isThrowStatement(last) &&
    !contains(last, isJump)
  ) {
    found.push({
      messageId: "disposeLater",
      fix: (fixer) => [
        remove(fixer),
        fixer.insertTextAfterRange(
          [last.getStart(), last.getEnd()],
          `\n${indentOf(last)}${early.getText()}`,
        ),
      ],
    });
  }
  const list = declaration.parent,
    keyword =
      ts.isVariableDeclarationList(list) &&
      list.declarations.length === 1 &&
      list.parent.parent === block
        ? list.getFirstToken()
        : undefined;
  if (!handedOn && keyword && file.session.oracle.usingKind(name) === "using") {
    found.push({
      messageId: "useUsing",
      fix: (fixer) => [
        fixer.replaceTextRange([keyword.getStart(), keyword.getEnd()], "using"),
        remove(fixer),
      ],
    });
  }
  return found;
}
