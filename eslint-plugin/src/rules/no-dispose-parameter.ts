/**
 * Rule `no-dispose-parameter`: a function disposes of an input, or declares one with `using`. Inputs belong to the caller. Functions that are
 * meant to take ownership say so with `@takes name`, or are named after disposal.
 */
import ts from "typescript";
import type { FileAnalysis } from "../analysis/analyse.ts";
import { nameOf } from "../analysis/call-sites.ts";
import { soundsLikeDisposal } from "../analysis/disposes.ts";
import { enclosingFunction } from "../analysis/fate.ts";
import { hasBody } from "../analysis/oracle.ts";
import { handedTo } from "../analysis/takes.ts";
import { rule, spanOf, type Suggestion } from "../create-rule.ts";
import { slotOf, statementOf } from "../fix/text.ts";

type Id = "parameter" | "remove";

export const noDisposeParameter = rule<Id, Record<string, never>>({
  name: "no-dispose-parameter",
  description: "Disallow disposing an input of a function",
  type: "problem",
  config: "recommended",
  hasSuggestions: true,
  messages: {
    parameter: "`{{ name }}` is an input and belongs to the caller; leave it alone, or document the function with `@takes {{ name }}`.",
    remove: "Remove the disposal.",
  },
  defaults: {},
  check(file, _options, report) {
    for (const problem of file.problems()) {
      if (problem.kind !== "dispose-parameter" || problem.cell.owned.owner.policy === "generic") continue;
      const { cell, node } = problem;
      const fn = enclosingFunction(node) && ownerFunction(cell.declaration);
      if (!fn || exempt(file, fn, cell.label)) continue;
      report({ mark: spanOf(node), messageId: "parameter", data: { name: cell.label }, suggest: removal(node) });
    }
  },
});

function ownerFunction(declaration: ts.Node | undefined): ts.SignatureDeclaration | undefined {
  return declaration && enclosingFunction(declaration);
}

/** Callbacks get what their caller gives them; disposers and documented sinks take ownership. */
function exempt(file: FileAnalysis, fn: ts.SignatureDeclaration, name: string): boolean {
  if (handedTo(fn) || ts.isSetAccessor(fn)) return true;
  const called = nameOf(fn);
  if (called === undefined) return true;
  const tags = file.session.oracle.tags(fn);
  const index = fn.parameters.findIndex((p) => ts.isIdentifier(p.name) && p.name.text === name);
  if (hasBody(fn) && file.session.summary(fn).parameters[index]?.stores) return true; // a sink: it keeps what it does not dispose
  return tags.keeps || tags.takes.includes(name) || soundsLikeDisposal(called);
}

function removal(node: ts.Node): Suggestion<Id>[] {
  const statement = statementOf(node);
  if (!statement || !ts.isExpressionStatement(statement) || slotOf(statement) === "single") return [];
  const call = statement.expression;
  if (!ts.isCallExpression(call) || !ts.isPropertyAccessExpression(call.expression) || call.expression.expression !== node) return [];
  return [{ messageId: "remove", fix: (fixer) => fixer.removeRange([statement.getFullStart(), statement.getEnd()]) }];
}
