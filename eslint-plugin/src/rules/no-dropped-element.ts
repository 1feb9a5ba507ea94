/**
 * Rule `no-dropped-element`: an element of a container is removed without being disposed (`delete
 * o[k]`, `map.delete(k)`, `xs.length = 0`, a dropped `xs.pop()`), or a temporary array is only
 * mapped over.
 */
import ts from "typescript";
import type { FileAnalysis } from "../analysis/analyse.ts";
import { keptByClasses } from "../analysis/fresh/class-state.ts";
import { labelOf, markOf, rootExpression, type FreshValue } from "../analysis/fresh/consume.ts";
import { cutLists, type CutList } from "../analysis/lists/cut-lists.ts";
import { fateOf } from "../analysis/transfer/fate.ts";
import type { Owned } from "../analysis/program/oracle.ts";
import { removalAt, type Removal } from "../analysis/lists/removals.ts";
import { isOutOfScopes } from "../analysis/lists/inner-lists.ts";
import type { Session } from "../analysis/session.ts";
import { unwrap } from "../analysis/program/syntax.ts";
import { unreachedOf, type Unreached } from "../analysis/lists/unreached.ts";
import { rule, spanOf, type Finding, type Suggestion } from "../create-rule.ts";
import { nameAndDispose } from "../fix/name-rest.ts";
import { asCall, endCallOf, type EndCall } from "../fix/end-call.ts";
import { indentOf, slotOf } from "../fix/text.ts";
import { wrapInScope } from "../fix/wrap.ts";
import { ended, isHolder, toEnd } from "../owner.ts";

type Id =
  | "deleted"
  | "cleared"
  | "shortened"
  | "popped"
  | "mapped"
  | "settled"
  | "picked"
  | "cut"
  | "unpacked"
  | "nameThem"
  | "wrap"
  | "disposeFirst"
  | "disposeAll";

/** Disallow removing tensors from containers without disposing them. */
export const noDroppedElement = rule<Id, { weakContainers: string[] }>({
  name: "no-dropped-element",
  description: "Disallow removing tensors from containers without disposing them",
  type: "problem",
  config: "recommended",
  hasSuggestions: true,
  messages: {
    deleted:
      "The {{ noun }} under this key is dropped without being {{ ended }}; {{ end }} it first.",
    cleared:
      "The {{ noun }}s in `{{ name }}` are dropped without being {{ ended }}; " +
      "{{ end }} them first.",
    shortened: "The {{ noun }}s that `{{ name }}` loses here are dropped; {{ end }} them first.",
    popped: "The {{ noun }} taken out by `{{ name }}` is dropped; {{ end }} it.",
    mapped:
      "The {{ noun }}s made by `{{ name }}` are only looked at here and never disposed; " +
      "bind the array and dispose its elements.",
    settled:
      "This callback only looks at the {{ noun }} that `{{ name }}` gives, and nobody disposes " +
      "it; do so there.",
    picked:
      "Of the {{ noun }}s that `{{ name }}` makes this takes one, and nobody can dispose " +
      "the others; bind them all.",
    cut:
      "`{{ name }}` goes on with some {{ noun }}s of `{{ list }}`, and nobody has the others; " +
      "{{ end }} them first.",
    unpacked:
      "`{{ name }}` makes {{ noun }}s that get no name here ({{ lost }}), so nobody can " +
      "dispose them; name and dispose them.",
    nameThem: "Give {{ lost }} a name and dispose it at once.",
    wrap: "Wrap in a dispose scope.",
    disposeFirst: "Dispose it first.",
    disposeAll: "Dispose them first.",
  },
  options: {
    weakContainers: {
      type: "array",
      items: { type: "string" },
      description:
        "Names of variables or fields that only borrow what they hold (caches, indexes).",
    },
  },
  defaults: { weakContainers: [] },
  check(file, options, report) {
    const { session } = file;
    for (const node of file.facts.nodes<ts.Node>(file.file, ...removing)) {
      const found = removalAt(session, node);
      if (!found) continue;
      const scope = session.scopeAt(node);
      const { container, owned } = found;
      const isOut = scope === "in" && isOutOfScopes(session, container, owned.owner);
      if ((found.local && scope === "unknown") || (scope === "in" && !isOut)) continue;
      if (!options.weakContainers.includes(nameOf(found.container)))
        report(removed(session, found));
    }
    for (const cut of cutLists(session, file.problems)) report(cutBy(cut));
    for (const value of file.fresh) {
      const unreached = unreachedOf(session, value);
      const isMapped = value.outcome === "elements";
      if ((!unreached && !isMapped) || session.scopeAt(value.node) !== "out") continue;
      if (unreached) report(unreachedIn(file, value, unreached));
      if (isMapped && !isAnswer(value)) report(lookedAt(file, value, "mapped"));
      else if (isMapped && !isKept(file, value)) report(settled(value));
    }
  },
});

/** `load().then(show)`: one value that the callback gets, and not several. */
const isAnswer = ({ fate, owned }: FreshValue): boolean =>
  fate.member === "then" && owned.shape === "one";

/** `load().then((image) => this.setState({ image }))`, of which the rule about members tells. */
const isKept = ({ session, file }: FileAnalysis, { node }: FreshValue): boolean =>
  keptByClasses(session, file).some(({ value }) => unwrap(value) === node);

const settled = ({ node, owned }: FreshValue): Finding<Id> => ({
  mark: markOf(node),
  messageId: "settled",
  data: { noun: owned.owner.noun, name: labelOf(node) },
});

/** What can take something out of a container: `delete`, a call, an assignment. */
const removing = [
  ts.SyntaxKind.DeleteExpression,
  ts.SyntaxKind.CallExpression,
  ts.SyntaxKind.BinaryExpression,
] as const;

const nameOf = (container: ts.Expression): string =>
  ts.isPropertyAccessExpression(container) ? container.name.text : container.getText();

/** `x.split(2)[0]`, `const [a] = pair()`: some of several fresh values get no name. */
function unreachedIn(file: FileAnalysis, value: FreshValue, found: Unreached): Finding<Id> {
  if (found.kind === "picked") return lookedAt(file, value, "picked");
  if (found.kind === "cut")
    return {
      mark: markOf(found.by),
      messageId: "cut",
      data: { ...wordsOf(value.owned), name: labelOf(found.by), list: labelOf(value.node) },
    };
  const { node, owned } = value;
  const { declaration, rest } = found;
  const lost = rest.map((l) => l.label).join(", ");
  const fix = nameAndDispose(file.facts, declaration, owned, rest);
  return {
    mark: markOf(node),
    messageId: "unpacked",
    data: { noun: owned.owner.noun, name: labelOf(node), lost },
    suggest: fix ? [{ messageId: "nameThem", data: { lost }, fix }] : [],
  };
}

/** A finding whose cure is a scope around the expression, which frees all but what it gives. */
function lookedAt(
  file: FileAnalysis,
  { node, owned }: FreshValue,
  messageId: "mapped" | "picked",
): Finding<Id> {
  const fix = wrapInScope(file.session, rootExpression(node), owned.owner);
  return {
    mark: markOf(node),
    messageId,
    data: { noun: owned.owner.noun, name: labelOf(node) },
    suggest: fix ? [{ messageId: "wrap", fix }] : [],
  };
}

/** A list that goes on in part: by a call or access, or by a pattern. */
function cutBy({ list, owned }: CutList): Finding<Id> {
  const { kind, node } = fateOf(list);
  const byPattern = kind === "bound" && ts.isVariableDeclaration(node);
  const name = byPattern ? node.name.getText() : labelOf(node as ts.Expression);
  return {
    mark: byPattern ? spanOf(node.name) : markOf(node as ts.Expression),
    messageId: "cut",
    data: { ...wordsOf(owned), name, list: list.text },
  };
}

const wordsOf = ({ owner }: Owned): Record<"noun" | "end" | "ended", string> => ({
  noun: owner.noun,
  end: toEnd(owner),
  ended: ended(owner),
});

function removed(session: Session, removal: Removal): Finding<Id> {
  const { kind, node, container, owned } = removal;
  const mark = ts.isCallExpression(node) ? markOf(node) : spanOf(node);
  const name = kind === "popped" ? labelOf(node) : container.getText();
  const messageId = kind === "cut" ? "shortened" : kind;
  // an object may be ended by its symbol alone, a record has no end of its own
  const isWhole = isHolder(owned.owner, session.settings) || (owned.shape === "many" && owned.each);
  const each: Owned = { ...owned, shape: "many" };
  const call = isWhole ? null : endCallOf(session.oracle, container, each);
  const suggest = call ? curesOf(removal, call) : [];
  return { mark, messageId, data: { ...wordsOf(owned), name }, suggest };
}

function curesOf({ kind, node, reached }: Removal, call: EndCall): Suggestion<Id>[] {
  switch (kind) {
    case "deleted":
      return before(node, "disposeFirst", `${asCall(reached, call, false)};`);
    case "cleared":
      return before(
        node,
        "disposeAll",
        `for (const value of ${reached}) ${asCall("value", call, true)};`,
      );
    case "cut":
      return [];
    case "popped": {
      if (fateOf(node).kind !== "dropped" || call.waits) return [];
      const isSplice = labelOf(node).startsWith("splice(");
      const end = isSplice
        ? `.forEach((value) => { ${asCall("value", call, true)}; })`
        : asCall("", call, false);
      return [
        {
          messageId: "disposeFirst",
          fix: (fixer) => fixer.insertTextAfterRange([node.getStart(), node.getEnd()], end),
        },
      ];
    }
  }
}

/** A line before the statement of a removal, where there is room for one. */
function before(
  node: ts.Node,
  messageId: "disposeFirst" | "disposeAll",
  line: string,
): Suggestion<Id>[] {
  const statement = node.parent;
  if (!ts.isExpressionStatement(statement) || slotOf(statement) === "single") return [];
  const start = statement.getStart();
  const text = `${line}\n${indentOf(statement)}`;
  return [{ messageId, fix: (fixer) => fixer.insertTextBeforeRange([start, start], text) }];
}
