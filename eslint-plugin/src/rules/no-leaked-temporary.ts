/**
 * Rule `no-leaked-temporary`: intermediates of chains, arguments and reads that nobody can dispose
 * any more. One report per expression, naming them all; the first suggestion is the hand-written
 * cure, the second a scope.
 */
import ts from "typescript";
import { rootExpression, labelOf, markOf, type FreshValue } from "../analysis/fresh/consume.ts";
import type { FileAnalysis } from "../analysis/analyse.ts";
import { nameGates } from "../analysis/program/names.ts";
import { rule, type Finding, type Suggestion } from "../create-rule.ts";
import { hoist } from "../fix/hoist.ts";
import { wrapFunctionBody, wrapInScope } from "../fix/wrap.ts";
import { ended, toEnd } from "../owner.ts";

type Id = "leaked" | "scopedCallee" | "hoist" | "hoistDispose" | "wrap" | "wrapBody";

/** Disallow intermediate tensors that nobody can dispose. */
export const noLeakedTemporary = rule<Id, { reportEach: boolean }>({
  name: "no-leaked-temporary",
  description: "Disallow intermediate tensors that nobody can dispose",
  type: "problem",
  config: "recommended",
  hasSuggestions: true,
  messages: {
    leaked: "{{ names }} {{ verb }} never {{ ended }}; {{ cure }}.",
    scopedCallee:
      "`{{ name }}` leaves temporaries to its caller's scope (`@scoped`), and none is " +
      "open here; open one.",
    hoist: "Hoist into `using` variables.",
    hoistDispose: "Hoist into variables and dispose them afterwards.",
    wrap: "Wrap in a dispose scope.",
    wrapBody: "Open a scope for the whole function.",
  },
  options: {
    reportEach: {
      type: "boolean",
      description: "Report every temporary on its own instead of one report per expression.",
    },
  },
  defaults: { reportEach: false },
  check(file, options, report) {
    const leaked = file.fresh.filter(
      (v) => v.outcome === "leaked" && file.session.scopeAt(v.node) === "out",
    );
    const groups = new Map<ts.Expression, FreshValue[]>();
    for (const value of leaked) {
      const root = rootExpression(value.node);
      groups.set(root, [...(groups.get(root) ?? []), value]);
    }
    for (const [root, values] of groups) {
      for (const group of options.reportEach ? values.map((v) => [v]) : [values])
        report(finding(file, root, group, values));
    }
    scopedCallees(file, report);
  },
});

function finding(
  file: FileAnalysis,
  root: ts.Expression,
  group: FreshValue[],
  all: FreshValue[],
): Finding<Id> {
  const names = group.map((v) => `\`${labelOf(v.node)}\``);
  const { owner } = group[0]!.owned;
  const hoisted = hoist(file.session, all, root);
  const suggest: Suggestion<Id>[] = [];
  if (hoisted)
    suggest.push({ messageId: hoisted.using ? "hoist" : "hoistDispose", fix: hoisted.fix });
  const wrapped = wrapInScope(file.session, root, owner);
  if (wrapped) suggest.push({ messageId: "wrap", fix: wrapped });
  const body = wrapFunctionBody(file.session, root, owner);
  if (body) suggest.push({ messageId: "wrapBody", fix: body });
  const verb = group.length > 1 ? "are" : "is";
  const cure = cureFor(file, group);
  const room = longest - ` ${verb} never ${ended(owner)}; ${cure}.`.length;
  return {
    mark: markOf(group[0]!.node),
    messageId: "leaked",
    data: { names: namesIn(names, room), verb, ended: ended(owner), cure },
    suggest,
  };
}

/** Messages are at most this long: characters. */
const longest = 140;

/** What to type: `using` where the type has a `[Symbol.dispose]`, a scope where there are any. */
function cureFor(file: FileAnalysis, group: readonly FreshValue[]): string {
  const [{ node, owned }, ...others] = group as [FreshValue, ...FreshValue[]];
  const isMany = others.length > 0;
  const { scopes } = owned.owner;
  const end = toEnd(owned.owner);
  const holder = file.session.oracle.usingKind(node)
    ? `hoist ${isMany ? "them" : "it"} into \`using\``
    : isMany
      ? `hoist them into variables and ${end} those`
      : `hoist it into a variable and ${end} that`;
  if (scopes.length === 0) return holder;
  const named = scopes.flatMap((s) => ("callee" in s ? [s.callee] : []));
  const [callee] = scopes.some((s) => "using" in s) ? [] : named;
  const scope = typeof callee === "string" ? `wrap in \`${callee}()\`` : "open a scope";
  return `${holder}, or ${scope}`;
}

/** As many names as there is room for, five of more than six. */
function namesIn(names: readonly string[], room: number): string {
  const some = (count: number): string =>
    count < names.length
      ? `${names.slice(0, count).join(", ")} and ${String(names.length - count)} more`
      : names.join(", ");
  let count = names.length > 6 ? 5 : names.length;
  while (count > 1 && some(count).length > room) count--;
  return some(count);
}

function scopedCallees(file: FileAnalysis, report: (finding: Finding<Id>) => void): void {
  for (const node of file.facts.calls(file.file)) {
    const callee = mayBeScoped(file, node) ? file.session.oracle.callee(node) : undefined;
    if (!callee?.tags.scoped || file.session.scopeAt(node) !== "out") continue;
    const owner = file.session.settings.owners[0];
    const root = rootExpression(node);
    const wrapped = owner && wrapInScope(file.session, root, owner);
    report({
      mark: markOf(node),
      messageId: "scopedCallee",
      data: { name: `${callee.name}()` },
      suggest: wrapped ? [{ messageId: "wrap", fix: wrapped }] : [],
    });
  }
}

/** Only plain functions and methods whose source says `@scoped` somewhere are worth resolving. */
function mayBeScoped(file: FileAnalysis, call: ts.CallExpression): boolean {
  const target = call.expression;
  const name = ts.isPropertyAccessExpression(target)
    ? target.name
    : ts.isIdentifier(target)
      ? target
      : undefined;
  if (!name || !nameGates(file.session.oracle).scoped.has(name.text)) return false;
  const declaration = file.session.oracle.declarationAt(name);
  return declaration !== undefined && declaration.getSourceFile().text.includes("@scoped");
}
