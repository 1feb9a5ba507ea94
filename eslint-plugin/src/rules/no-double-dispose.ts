/**
 * Rule `no-double-dispose`: a value is disposed although it already was on every path that leads
 * here, or although `using` will do it.
 */
import ts from "typescript";
import { rule, spanOf, type Suggestion } from "../create-rule.ts";
import { slotOf, statementOf } from "../fix/text.ts";
import { isAnything, isHolder } from "../owner.ts";

type Id = "twice" | "using" | "remove";

/** Disallow disposing a tensor twice. */
export const noDoubleDispose = rule<Id, { allowIdempotent: boolean }>({
  name: "no-double-dispose",
  description: "Disallow disposing a tensor twice",
  type: "problem",
  config: "recommended",
  hasSuggestions: true,
  messages: {
    twice: "`{{ name }}` was already disposed on line {{ line }}.",
    using:
      "`{{ name }}` is declared with `using`, which disposes it at the end of the block; " +
      "this disposal makes it two.",
    remove: "Remove this disposal.",
  },
  options: {
    allowIdempotent: {
      type: "boolean",
      description:
        "Accept an early `dispose()` of a `using` variable; disposing twice does nothing.",
    },
  },
  defaults: { allowIdempotent: false },
  check(file, options, report) {
    for (const problem of file.problems) {
      if (
        problem.kind !== "double-dispose" ||
        isHolder(problem.cell.owned.owner, file.session.settings) ||
        isAnything(problem.cell.owned.owner) || // ends of anything disposable may be called again
        (options.allowIdempotent && !problem.at)
      )
        continue;
      const { node, cell, at } = problem;
      const statement = statementOf(node);
      const suggest: Suggestion<Id>[] = [];
      const call =
        statement && ts.isExpressionStatement(statement) ? statement.expression : undefined;
      if (
        statement &&
        call &&
        ts.isCallExpression(call) &&
        ts.isPropertyAccessExpression(call.expression) &&
        call.expression.expression === node &&
        slotOf(statement) !== "single"
      ) {
        suggest.push({
          messageId: "remove",
          fix: (fixer) => fixer.removeRange([statement.getFullStart(), statement.getEnd()]),
        });
      }
      report({
        mark: spanOf(node),
        messageId: at ? "twice" : "using",
        data: { name: cell.label, line: at ?? "" },
        suggest,
      });
    }
  },
});
