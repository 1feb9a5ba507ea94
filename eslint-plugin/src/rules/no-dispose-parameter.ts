/**
 * Rule `no-dispose-parameter`: a function disposes of an input, or declares one with `using`.
 * Inputs belong to the caller. Functions that are meant to take ownership say so with `@takes
 * name`, or are named after disposal.
 */
import ts from "typescript";
import type { FileAnalysis } from "../analysis/analyse.ts";
import type { Cell } from "../analysis/flow/cells.ts";
import { bindingOf, nameOf } from "../analysis/program/call-sites.ts";
import { soundsLikeDisposal } from "../analysis/transfer/disposes.ts";
import { enclosingFunction, fateOf } from "../analysis/transfer/fate.ts";
import { boundNames, referencesTo } from "../analysis/program/references.ts";
import { isGivenForGood } from "../analysis/transfer/given-for-good.ts";
import { hasBody, rootOf, someWithin, type FunctionWithBody } from "../analysis/program/syntax.ts";
import { calledInWords } from "../analysis/program/tags.ts";
import { bodyEffect } from "../analysis/transfer/summary.ts";
import { handedTo } from "../analysis/transfer/callbacks.ts";
import { rule, spanOf, type Finding, type Suggestion } from "../create-rule.ts";
import { slotOf, statementOf } from "../fix/text.ts";

type Id =
  "parameter" | "remove" | "dropUsing" | "onlyBorrows" | "stores" | "noParameter" | "keepsNothing";

/** Disallow disposing an input of a function. */
export const noDisposeParameter = rule<Id, Record<string, never>>({
  name: "no-dispose-parameter",
  description: "Disallow disposing an input of a function",
  type: "problem",
  config: "recommended",
  hasSuggestions: true,
  messages: {
    parameter:
      "`{{ name }}` is an input and belongs to the caller; leave it alone, or document " +
      "the function with `@takes {{ name }}`.",
    remove: "Remove the disposal.",
    dropUsing: "Declare it with `const`.",
    onlyBorrows:
      "`@takes {{ name }}` promises callers that this function ends `{{ name }}`, but its " +
      "body only looks at it; remove the tag, or dispose it.",
    stores:
      "`@borrows {{ name }}` says this function only looks at `{{ name }}`, but its body " +
      "stores it; store an alias, or document it with `@takes {{ name }}`.",
    noParameter:
      "`@{{ tag }} {{ name }}` names no parameter of this function; it has {{ parameters }}.",
    keepsNothing:
      "`@keeps` says this function stores what it is given, but its body stores nothing; " +
      "remove the tag.",
  },
  defaults: {},
  check(file, _options, report) {
    for (const problem of file.problems) {
      if (problem.kind !== "dispose-parameter" || problem.cell.owned.owner.policy === "generic")
        continue;
      const { cell, node } = problem;
      const fn = enclosingFunction(node) && ownerFunction(cell.declaration);
      if (!fn || isAnswer(file, cell) || exempt(file, fn, cell)) continue;
      report({
        mark: spanOf(node),
        messageId: "parameter",
        data: { name: cell.label },
        suggest: removal(node),
      });
    }
    wrongTags(file, report);
  },
});

/** Tags that the body of their own function contradicts. */
function wrongTags(file: FileAnalysis, report: (finding: Finding<Id>) => void): void {
  if (!/@(takes|borrows|keeps)\b|Takes /.test(file.file.text)) return;
  for (const node of file.facts.functions(file.file)) {
    const { takes, borrows, keeps } = file.session.oracle.tags(node);
    const parameters = node.parameters.filter((p) => ts.isIdentifier(p.name));
    const mark = spanOf(
      node.name ?? (bindingOf(node)?.name as ts.Node | undefined) ?? node.parameters[0] ?? node,
    );
    for (const [tag, names] of [
      ["takes", takes],
      ["borrows", borrows],
    ] as const) {
      for (const name of new Set(names)) {
        const parameter = parameters.find((p) => p.name.getText() === name);
        if (!parameter && node.parameters.some((p) => calledInWords(p) === name)) continue;
        if (!parameter) {
          report({
            mark,
            messageId: "noParameter",
            data: {
              tag,
              name,
              parameters:
                parameters.length === 0
                  ? "none"
                  : parameters.map((p) => `\`${p.name.getText()}\``).join(", "),
            },
          });
          continue;
        }
        if (!file.session.oracle.ownedAt(parameter.name)) continue;
        const effect = bodyEffect(file.session, node, parameter);
        if (tag === "takes" && !effect.disposes && !effect.stores && !effect.returns)
          report({ mark: spanOf(parameter.name), messageId: "onlyBorrows", data: { name } });
        if (tag === "borrows" && effect.stores)
          report({ mark: spanOf(parameter.name), messageId: "stores", data: { name } });
      }
    }
    const owned = keeps ? node.parameters.filter((p) => file.session.oracle.ownedAt(p.name)) : [];
    if (
      owned.length > 0 &&
      owned.every((p) => {
        const e = bodyEffect(file.session, node, p);
        return !e.stores && !e.disposes && !e.returns;
      })
    )
      report({ mark, messageId: "keepsNothing" });
  }
}

/** `p.then((x) => x.dispose())`: who takes what a promise gives has it. */
const isAnswer = ({ session }: FileAnalysis, { declaration }: Cell): boolean =>
  declaration !== undefined && session.oracle.isPromise(declaration);

function ownerFunction(declaration: ts.Node | undefined): ts.SignatureDeclaration | undefined {
  return declaration && enclosingFunction(declaration);
}

/** Callbacks get what their caller gives them; disposers and documented sinks take ownership. */
function exempt(
  file: FileAnalysis,
  fn: ts.SignatureDeclaration,
  { label: name, owned }: Cell,
): boolean {
  if (handedTo(fn) || ts.isSetAccessor(fn)) return true;
  const called = nameOf(fn);
  if (called === undefined) return true;
  const tags = file.session.oracle.tags(fn);
  const index = fn.parameters.findIndex((p) => ts.isIdentifier(p.name) && p.name.text === name);
  // a sink: it keeps what it does not dispose
  if (hasBody(fn) && file.session.summary(fn).parameters[index]?.stores) return true;
  if (tags.keeps || tags.takes.includes(name) || soundsLikeDisposal(called)) return true;
  if (saysTaken(file, fn, name)) return true;
  if (!hasBody(fn)) return false;
  if (isEmptied(file, fn, index)) return true;
  return isGivenForGood(file.session, fn, index, owned) || onlyEndsRecord(file, fn);
}

/** `for (const t of kept.values()) t.dispose(); kept.clear();`: the caller has it, empty. */
function isEmptied({ session }: FileAnalysis, fn: FunctionWithBody, index: number): boolean {
  const parameter = fn.parameters[index];
  if (!parameter || !ts.isIdentifier(parameter.name)) return false;
  return referencesTo(session.oracle, parameter, parameter.name, fn).some((at) => {
    const { kind, member, node } = fateOf(at);
    if (kind === "receiver") return member === "clear" || (member === "splice" && isAll(node));
    const set = kind === "read" && member === "length" ? node.parent : undefined;
    return set !== undefined && ts.isBinaryExpression(set) && set.right.getText() === "0";
  });
}

/** `splice(0)`. */
const isAll = (call: ts.Node): boolean =>
  ts.isCallExpression(call) && call.arguments[0]?.getText() === "0";

/**
 * "Starts in several places, which it takes over", of the one owned parameter or by its name, or
 * "Ends `recent`".
 */
function saysTaken(file: FileAnalysis, fn: ts.SignatureDeclaration, name: string): boolean {
  const text = ts
    .getJSDocCommentsAndTags(fn)
    .map((doc) => ts.getTextOfJSDocComment(doc.comment) ?? "")
    .join(" ");
  if (
    new RegExp(`\\b(ends|frees|disposes( of)?|consumes|releases)\\s+\`?${name}\\b`, "i").test(text)
  )
    return true;
  const [told] = /\btakes\b[^.]*\bover\b|\btakes? the place of\b/i.exec(text) ?? [];
  if (told === undefined) return false;
  const owned = fn.parameters.filter((p) => file.session.oracle.ownedAt(p.name));
  return owned.length === 1 || new RegExp(`\\b${name}\\b`).test(told);
}

/** `bury({ genome, trace }) { end(genome); trace.dispose(); }`: it is the end of such records. */
function onlyEndsRecord({ session }: FileAnalysis, fn: FunctionWithBody): boolean {
  const [parameter, ...others] = fn.parameters;
  if (!parameter || others.length > 0 || !ts.isBlock(fn.body)) return false;
  const { statements } = fn.body;
  const names = new Set(boundNames(parameter.name, parameter).map(({ id }) => id.text));
  // `const { genome, trace } = dead;`
  const isNaming = (s: ts.Statement): boolean => {
    const declarations = ts.isVariableStatement(s) ? s.declarationList.declarations : [];
    for (const declaration of declarations) {
      const { name, initializer: from } = declaration;
      if (!from || !names.has(rootOf(from).getText())) return false;
      for (const { id } of boundNames(name, declaration)) names.add(id.text);
    }
    return declarations.length > 0;
  };
  const ends = (at: ts.Node): boolean =>
    ts.isExpression(at) &&
    (ts.isIdentifier(at) || ts.isPropertyAccessExpression(at)) &&
    names.has(rootOf(at).getText()) &&
    session.transfer(at).effect === "disposes";
  return (
    session.oracle.ownedAt(parameter.name)?.shape === "record" &&
    statements.length > 1 &&
    statements.every(
      (s) => isNaming(s) || (ts.isExpressionStatement(s) && someWithin(s.expression, ends)),
    )
  );
}

function removal(node: ts.Node): Suggestion<Id>[] {
  const holder = node.parent;
  const list =
    ts.isVariableDeclaration(holder) &&
    ts.isVariableDeclarationList(holder.parent) &&
    holder.parent.declarations.length === 1
      ? holder.parent
      : undefined;
  const keyword = list?.getFirstToken();
  if (keyword?.getText() === "using")
    return [
      {
        messageId: "dropUsing",
        fix: (fixer) => fixer.replaceTextRange([keyword.getStart(), keyword.getEnd()], "const"),
      },
    ];
  const statement = statementOf(node);
  if (!statement || !ts.isExpressionStatement(statement) || slotOf(statement) === "single")
    return [];
  const call = statement.expression;
  if (
    !ts.isCallExpression(call) ||
    !ts.isPropertyAccessExpression(call.expression) ||
    call.expression.expression !== node
  )
    return [];
  return [
    {
      messageId: "remove",
      fix: (fixer) => fixer.removeRange([statement.getFullStart(), statement.getEnd()]),
    },
  ];
}
