/**
 * Rule `no-use-after-dispose`: a value is read, returned or captured after it was disposed on every path that leads here, through aliases
 * and stable places such as `vars[v]` too; and a `using` variable is returned, which disposes it before the caller sees it.
 */
import ts from "typescript";
import { lineOf, rule, spanOf, type Suggestion } from "../create-rule.ts";

type Id = "used" | "returned" | "returnedUsing" | "returnAlias" | "dropUsing";

export const noUseAfterDispose = rule<Id, Record<string, never>>({
  name: "no-use-after-dispose",
  description: "Disallow using a tensor after it was disposed",
  type: "problem",
  config: "recommended",
  hasSuggestions: true,
  messages: {
    used: "`{{ name }}` was disposed on line {{ line }}; using it throws.",
    returned: "`{{ name }}` was disposed on line {{ line }}; the caller gets a dead {{ noun }}.",
    returnedUsing: "`{{ name }}` is declared with `using`, so it is disposed before the caller gets it; return `{{ name }}.{{ alias }}()`, or declare it with `const`.",
    returnAlias: "Return `{{ name }}.{{ alias }}()`.",
    dropUsing: "Declare it with `const`.",
  },
  defaults: {},
  check(file, _options, report) {
    for (const problem of file.problems()) {
      if (problem.kind === "use-after-dispose") {
        const { node, cell, at } = problem;
        report({ mark: spanOf(node), messageId: "used", data: { name: node.getText(), line: lineOf(at), noun: cell.owned.owner.noun } });
      }
      if (problem.kind !== "return-disposed") continue;
      const { node, cell, at } = problem;
      const { alias, noun } = cell.owned.owner;
      const data = { name: node.getText(), alias: alias === "" ? "clone" : alias, noun };
      if (at) { report({ mark: spanOf(node), messageId: "returned", data: { ...data, line: lineOf(at) } }); continue; }
      const suggest: Suggestion<Id>[] = [];
      if (alias !== "") suggest.push({ messageId: "returnAlias", data, fix: (fixer) => fixer.insertTextAfterRange([node.getStart(), node.getEnd()], `.${alias}()`) });
      const holder = cell.declaration?.parent;
      const list = holder && ts.isVariableDeclarationList(holder) ? holder : undefined;
      const keyword = list?.getFirstToken();
      if (list && keyword && list.declarations.length === 1 && keyword.getText() === "using") {
        suggest.push({ messageId: "dropUsing", fix: (fixer) => fixer.replaceTextRange([keyword.getStart(), keyword.getEnd()], "const") });
      }
      report({ mark: spanOf(node), messageId: "returnedUsing", data, suggest });
    }
  },
});
