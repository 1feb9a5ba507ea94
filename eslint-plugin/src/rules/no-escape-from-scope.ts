/**
 * Rule `no-escape-from-scope`: a value made inside a lexically visible scope is put where it
 * outlives the scope (an outer variable, a field, an outer container, the result of a `using scope`
 * body, a function that runs later) without `moveToOuter`, `detach` or `keep`. The scope will free
 * it under its holder.
 */
import ts from "typescript";
import type { FileAnalysis } from "../analysis/analyse.ts";
import { escapesOf, type Escape } from "../analysis/scopes/escapes.ts";
import { rule, type Fix, type Suggestion } from "../create-rule.ts";
import { apply, nameIn } from "../fix/wrap.ts";

type Id = Escape["how"] | "moveToOuter" | "detach" | "keep";

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
    captured: "A function uses `{{ name }}` after its scope has freed this {{ noun }}; {{ cure }}.",
    moveToOuter: "Move it to the outer scope.",
    detach: "Detach it from every scope.",
    keep: "Keep it out of the scope.",
  },
  defaults: {},
  check(file, _options, report) {
    for (const escape of escapesOf(file.session, file.file, file.fresh, file.problems)) {
      const { how, mark, name, scope } = escape;
      const { noun, keep } = escape.owned.owner;
      const cure =
        scope.variable === null && keep.functions.includes("keep")
          ? "wrap it in `keep()`"
          : "move it out with `moveToOuter()`, or detach it";
      report({
        mark,
        messageId: how,
        data: { name, noun, cure, line: scope.opening },
        suggest: cures(file, escape),
      });
    }
  },
});

/** Moving, detaching or keeping the value where it is made or leaves. */
function cures(file: FileAnalysis, { at, how, owned }: Escape): Suggestion<Id>[] {
  const { keep } = owned.owner;
  if (owned.shape !== "one" || !ts.isExpression(at)) return [];
  // `{ a }` becomes `{ a: a.moveToOuter() }`
  const label = ts.isShorthandPropertyAssignment(at.parent) ? at.getText() : null;
  const written = (text: string): string => (label === null ? text : `: ${label}${text}`);
  const append =
    (text: string): Fix =>
    (fixer) =>
      fixer.insertTextAfterRange([at.getStart(), at.getEnd()], written(text));
  const found: Suggestion<Id>[] = [];
  if (keep.methods.includes("moveToOuter"))
    found.push({ messageId: "moveToOuter", fix: append(".moveToOuter()") });
  // a variable that a loop gives one after the other would lose all but the last
  if (keep.methods.includes("detachFromScope") && !(how === "assigned" && isInLoop(at)))
    found.push({ messageId: "detach", fix: append(".detachFromScope()") });
  const keeper = keep.functions.includes("keep")
    ? nameIn(file.session, file.file, owned.owner, "keep")
    : null;
  if (keeper)
    found.push({
      messageId: "keep",
      fix: apply([
        ...keeper.edits,
        {
          ...{ start: at.getStart(), end: at.getEnd() },
          text: `${label === null ? "" : `${label}: `}${keeper.local}(${at.getText()})`,
        },
      ]),
    });
  return found;
}

const isInLoop = (at: ts.Node): boolean =>
  ts.findAncestor(at, (n) =>
    ts.isFunctionLike(n) ? "quit" : ts.isIterationStatement(n, false),
  ) !== undefined;
