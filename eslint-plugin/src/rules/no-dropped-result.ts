/**
 * Rule `no-dropped-result`: a statement makes a fresh value and drops it. In-place methods count
 * too: `t.add_(x)` writes into `t` and returns a fresh alias of it, which holds the memory until it
 * is disposed.
 */
import type { FileAnalysis } from "../analysis/analyse.ts";
import { labelOf, markOf } from "../analysis/fresh/consume.ts";
import { shortCircuits } from "../analysis/program/syntax.ts";
import { rule, type Suggestion } from "../create-rule.ts";
import { indentOf, nameOfValue, Names, slotOf, statementOf, unitOf } from "../fix/text.ts";
import ts from "typescript";
import { ended, isAnything, toEnd } from "../owner.ts";

type Id = "dropped" | "forsaken" | "droppedInPlace" | "useUsing" | "useDispose";

/** Disallow statements that drop a fresh tensor. */
export const noDroppedResult = rule<Id, { allow: string[] }>({
  name: "no-dropped-result",
  description: "Disallow statements that drop a fresh tensor",
  type: "problem",
  config: "recommended",
  hasSuggestions: true,
  messages: {
    dropped:
      "The {{ noun }} made by `{{ name }}` is dropped without being {{ ended }}; {{ cure }}.",
    forsaken:
      "The {{ noun }} made by `{{ name }}` is detached from every scope and dropped; bind it, " +
      "and dispose it.",
    droppedInPlace:
      "`{{ name }}` works in place but returns a fresh alias, and it is dropped without " +
      "being disposed; {{ cure }}.",
    useUsing: "Bind it with `{{ kind }}`.",
    useDispose: "Dispose it at once.",
  },
  options: {
    allow: {
      type: "array",
      items: { type: "string" },
      description: "Names of methods or functions whose result may be dropped.",
    },
  },
  defaults: { allow: [] },
  check(file, options, report) {
    for (const { node, owned, outcome, fate } of file.fresh) {
      if (
        (outcome !== "dropped" && outcome !== "forsaken") ||
        options.allow.includes(nameOfValue(node)) ||
        (outcome === "dropped" && file.session.scopeAt(node) !== "out")
      )
        continue;
      if (owned.owner.policy === "generic" && !ts.isExpressionStatement(fate.node)) continue;
      if (isAnything(owned.owner)) continue; // a call for what it does: `on(event, listener);`
      const suggest: Suggestion<Id>[] = [];
      const statement = statementOf(node);
      const kind = file.session.oracle.usingKind(node);
      const whole = dropped(file, node, fate.top);
      const plain =
        statement !== undefined &&
        ts.isExpressionStatement(statement) &&
        statement.expression === fate.top;
      if (plain && kind && whole === fate.top && slotOf(statement) !== "case") {
        const name = new Names(file.facts, file.file).pick(nameOfValue(node));
        const made = isList(whole) ? `(${whole.getText()})` : whole.getText();
        const text = `${kind} ${name} = ${made};`;
        const inner =
          slotOf(statement) === "block"
            ? text
            : `{\n${indentOf(statement)}${unitOf(file.file)}${text}\n${indentOf(statement)}}`;
        suggest.push({
          messageId: "useUsing",
          data: { kind },
          fix: (fixer) => fixer.replaceTextRange([statement.getStart(), statement.getEnd()], inner),
        });
      }
      const method = owned.owner.dispose.methods[0];
      const promised = file.session.oracle.isPromise(whole);
      if (plain && method !== undefined && owned.shape === "one" && !owned.nullable && !promised) {
        const bare =
          ts.isParenthesizedExpression(whole) ||
          ts.isCallExpression(whole) ||
          ts.isPropertyAccessExpression(whole) ||
          (ts.isNewExpression(whole) && whole.arguments !== undefined);
        const text = bare ? `${whole.getText()}.${method}()` : `(${whole.getText()}).${method}()`;
        suggest.push({
          messageId: "useDispose",
          fix: (fixer) => fixer.replaceTextRange([whole.getStart(), whole.getEnd()], text),
        });
      }
      const inPlace = /[^_]_$/.test(nameOfValue(node));
      report({
        mark: markOf(node),
        messageId: outcome === "forsaken" ? outcome : inPlace ? "droppedInPlace" : "dropped",
        data: {
          noun: owned.owner.noun,
          name: labelOf(node),
          ended: ended(owned.owner),
          cure: kind
            ? `bind it with \`${kind}\`, or dispose it`
            : `name it and ${toEnd(owned.owner)} it`,
        },
        suggest,
      });
    }
  },
});

/**
 * What is dropped and is one value in any case: all of a statement, or the operand alone of
 * `c && x.neg()`, which may give something else, and that of somebody else.
 */
function dropped(file: FileAnalysis, node: ts.Expression, top: ts.Expression): ts.Expression {
  for (let at: ts.Expression = node; at !== top; at = at.parent as ts.Expression) {
    const { parent } = at;
    const isEither =
      (ts.isBinaryExpression(parent) && shortCircuits.has(parent.operatorToken.kind)) ||
      (ts.isConditionalExpression(parent) && file.session.freshness(parent) !== "fresh");
    if (isEither) return at;
  }
  return top;
}

/** `a, b` */
const isList = (node: ts.Node): boolean =>
  ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.CommaToken;
