/**
 * Rule `no-dropped-element`: an element of a container is removed without being disposed (`delete
 * o[k]`, `map.delete(k)`, `xs.length = 0`, a dropped `xs.pop()`), or a temporary array is only
 * mapped over.
 */
import ts from "typescript";
import type { FileAnalysis } from "../analysis/analyse.ts";
import { labelOf, markOf, rootExpression, type FreshValue } from "../analysis/consume.ts";
import { enclosingFunction, fateOf, type Fate } from "../analysis/fate.ts";
import type { Owned } from "../analysis/oracle.ts";
import { rule, spanOf, type Fix, type Finding, type Suggestion } from "../create-rule.ts";
import { indentOf, Names, slotOf } from "../fix/text.ts";
import { wrapInScope } from "../fix/wrap.ts";

type Id =
  | "deleted"
  | "cleared"
  | "popped"
  | "mapped"
  | "picked"
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
    deleted: "The {{ noun }} under this key is dropped without being disposed; dispose it first.",
    cleared:
      "The {{ noun }}s in `{{ name }}` are dropped without being disposed; dispose them first.",
    popped: "The {{ noun }} taken out by `{{ name }}` is dropped; dispose it.",
    mapped:
      "The {{ noun }}s made by `{{ name }}` are only looked at here and never disposed; " +
      "bind the array and dispose its elements.",
    picked:
      "Of the {{ noun }}s that `{{ name }}` makes this takes one, and nobody can dispose " +
      "the others; bind them all.",
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
    const weak = (node: ts.Expression): boolean =>
      options.weakContainers.includes(
        ts.isPropertyAccessExpression(node) ? node.name.text : node.getText(),
      );
    const visit = (node: ts.Node): void => {
      ts.forEachChild(node, visit);
      const found = ts.isDeleteExpression(node)
        ? deleted(file, node)
        : ts.isCallExpression(node)
          ? removed(file, node)
          : ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken
            ? cleared(file, node)
            : null;
      if (found && !weak(found.container) && file.session.scopeAt(node) !== "in")
        report(found.finding);
    };
    visit(file.file);
    for (const value of file.fresh) {
      if (value.owned.shape !== "one" && value.owned.owner.policy !== "generic")
        checkPicked(file, value, report);
      if (value.outcome !== "elements" || file.session.scopeAt(value.node) !== "out") continue;
      report({
        mark: markOf(value.node),
        messageId: "mapped",
        data: { noun: value.owned.owner.noun, name: labelOf(value.node) },
        suggest: inScope(file, value),
      });
    }
  },
});

/**
 * `x.split(2)[0]`, `sort(x).indices`, `const [a] = pair()`: one of several fresh values is taken.
 */
function checkPicked(
  file: FileAnalysis,
  value: FreshValue,
  report: (finding: Finding<Id>) => void,
): void {
  const { node, owned, fate } = value,
    { session } = file,
    { noun } = owned.owner;
  if (fate.literal || fate.conditional) return;
  const picks =
    (fate.kind === "read" &&
      owned.shape === "record" &&
      owned.fields.length > 1 &&
      owned.fields.includes(fate.member)) ||
    (owned.shape === "many" && isElementOfSeveral(file, node, fate));
  if (picks && session.scopeAt(node) === "out") {
    report({
      mark: markOf(node),
      messageId: "picked",
      data: { noun, name: labelOf(node) },
      suggest: inScope(file, value),
    });
  } else if (
    fate.kind === "bound" &&
    ts.isVariableDeclaration(fate.node) &&
    !ts.isIdentifier(fate.node.name)
  ) {
    const lost = unnamed(file, fate.node.name, node, owned);
    if (lost.length > 0 && session.scopeAt(node) === "out")
      report({
        mark: markOf(node),
        messageId: "unpacked",
        data: { noun, name: labelOf(node), lost: lost.map((l) => l.label).join(", ") },
        suggest: naming(file, fate.node, owned, lost),
      });
  }
}

/** A scope around the expression frees all but what it gives. */
function inScope(file: FileAnalysis, { node, owned }: FreshValue): Suggestion<Id>[] {
  const fix = wrapInScope(file.session, rootExpression(node), owned.owner);
  return fix ? [{ messageId: "wrap", fix }] : [];
}

/** `const { a } = make()` → `const { a, b } = make(); b.dispose();`. */
function naming(
  file: FileAnalysis,
  declaration: ts.VariableDeclaration,
  owned: Owned,
  lost: readonly Lost[],
): Suggestion<Id>[] {
  const pattern = declaration.name as ts.BindingPattern,
    list = declaration.parent,
    statement = list.parent;
  const method = owned.owner.dispose.methods[0],
    [first] = lost;
  if (
    !ts.isVariableDeclarationList(list) ||
    !ts.isVariableStatement(statement) ||
    list.declarations.length !== 1 ||
    slotOf(statement) !== "block" ||
    method === undefined ||
    !first ||
    /^(await )?using/.test(statement.getText())
  )
    return [];
  const names = new Names(file.file),
    made = lost.map((l) => names.pick(l.field ?? "other"));
  const parts = pattern.elements.map((e) => e.getText());
  if (ts.isObjectBindingPattern(pattern))
    lost.forEach((l, i) =>
      parts.push(l.field === made[i] ? l.field! : `${l.field ?? ""}: ${made[i] ?? ""}`),
    );
  else
    lost.forEach((l, i) => {
      parts[l.at] = made[i] ?? "";
    });
  const text = ts.isObjectBindingPattern(pattern)
    ? `{ ${parts.join(", ")} }`
    : `[${parts.join(", ")}]`;
  const disposals = made.map((name) => `\n${indentOf(statement)}${name}.${method}();`).join("");
  return [
    {
      messageId: "nameThem",
      data: { lost: lost.map((l) => l.label).join(", ") },
      fix: (fixer) => [
        fixer.replaceTextRange([pattern.getStart(), pattern.getEnd()], text),
        fixer.insertTextAfterRange([statement.getStart(), statement.getEnd()], disposals),
      ],
    },
  ];
}

const splits = /^(split|unbind|unstack|chunk|tensorSplit|meshgrid|varMean|moments|topK|sort)$/i;
/**
 * Whether an access takes one element of an array that has more: a pair, what a splitting function
 * gives, or any element but the first.
 */
function isElementOfSeveral(file: FileAnalysis, node: ts.Expression, fate: Fate): boolean {
  const access = fate.node;
  const index =
    fate.kind === "element" && ts.isElementAccessExpression(access)
      ? access.argumentExpression
      : fate.kind === "receiver" &&
          ts.isCallExpression(access) &&
          ["at", "pop", "shift"].includes(fate.member)
        ? (access.arguments[0] ?? access)
        : undefined;
  if (
    !index ||
    (ts.isElementAccessExpression(access) &&
      ts.isBinaryExpression(access.parent) &&
      access.parent.left === access)
  )
    return false;
  if (ts.isNumericLiteral(index) && index.text !== "0") return true;
  const call = ts.isCallExpression(node) ? node.expression : node;
  const name = ts.isPropertyAccessExpression(call) ? call.name.text : call.getText();
  return splits.test(name) || file.session.oracle.tupleLength(node) > 1;
}

interface Lost {
  label: string;
  field: string | undefined;
  at: number;
}
/** What a pattern leaves out: fields by name, places of a tuple by position. */
function unnamed(
  file: FileAnalysis,
  pattern: ts.BindingPattern,
  node: ts.Expression,
  owned: Owned,
): Lost[] {
  if (pattern.elements.some((e) => ts.isBindingElement(e) && e.dotDotDotToken !== undefined))
    return [];
  if (ts.isObjectBindingPattern(pattern)) {
    const named = pattern.elements.map((e) => (e.propertyName ?? e.name).getText());
    return owned.shape === "record"
      ? owned.fields
          .filter((f) => !named.includes(f))
          .map((field, at) => ({ label: `\`${field}\``, field, at }))
      : [];
  }
  const length = owned.shape === "many" ? file.session.oracle.tupleLength(node) : 0;
  return Array.from({ length }, (_, i) => i)
    .filter((i) => {
      const e = pattern.elements[i];
      return e === undefined || ts.isOmittedExpression(e);
    })
    .map((at) => ({ label: `number ${String(at + 1)}`, field: undefined, at }));
}

interface Found {
  container: ts.Expression;
  finding: Finding<Id>;
}

/** `delete o[k]` where nothing in the function has disposed or taken `o[k]`. */
function deleted(file: FileAnalysis, node: ts.DeleteExpression): Found | null {
  const target = node.expression;
  if (!ts.isElementAccessExpression(target) && !ts.isPropertyAccessExpression(target)) return null;
  const owned = file.session.oracle.ownedAt(target);
  if (
    owned?.shape !== "one" ||
    !holds(file, target.expression) ||
    mentionedElsewhere(node, target.expression)
  )
    return null;
  const method = owned.owner.dispose.methods[0] ?? "dispose";
  return {
    container: target.expression,
    finding: {
      mark: spanOf(node),
      messageId: "deleted",
      data: { noun: owned.owner.noun },
      suggest: before(node, `${target.getText()}?.${method}();`),
    },
  };
}

function removed(file: FileAnalysis, call: ts.CallExpression): Found | null {
  const target = call.expression;
  if (
    !ts.isPropertyAccessExpression(target) ||
    !["delete", "clear", "pop", "shift"].includes(target.name.text)
  )
    return null;
  const container = target.expression;
  const owned = file.session.oracle.ownedAt(container);
  if (
    owned?.shape !== "many" ||
    !file.session.oracle.callee(call).builtin ||
    !holds(file, container)
  )
    return null;
  const method = owned.owner.dispose.methods[0] ?? "dispose";
  const { noun } = owned.owner;
  if (target.name.text === "pop" || target.name.text === "shift") {
    if (fateOf(call).kind !== "dropped") return null;
    const peeked = mentionedElsewhere(call, container);
    if (peeked) return null;
    return {
      container,
      finding: {
        mark: markOf(call),
        messageId: "popped",
        data: { noun, name: labelOf(call) },
        suggest: [
          {
            messageId: "disposeFirst",
            fix: (fixer) =>
              fixer.insertTextAfterRange([call.getStart(), call.getEnd()], `?.${method}()`),
          },
        ],
      },
    };
  }
  if (mentionedElsewhere(call, container)) return null;
  if (target.name.text === "clear")
    return {
      container,
      finding: {
        mark: markOf(call),
        messageId: "cleared",
        data: { noun, name: container.getText() },
        suggest: before(
          call,
          `for (const value of ${container.getText()}.values()) value.${method}();`,
          "disposeAll",
        ),
      },
    };
  if (file.session.oracle.typeName(container) !== "Map") return null;
  const key = call.arguments[0]?.getText() ?? "";
  return {
    container,
    finding: {
      mark: markOf(call),
      messageId: "deleted",
      data: { noun },
      suggest: before(call, `${container.getText()}.get(${key})?.${method}();`),
    },
  };
}

/** `xs.length = 0`, `this.cache = {}` are how arrays and tables are emptied. */
function cleared(file: FileAnalysis, node: ts.BinaryExpression): Found | null {
  const { left } = node;
  if (
    !ts.isPropertyAccessExpression(left) ||
    left.name.text !== "length" ||
    node.right.getText() !== "0"
  )
    return null;
  const owned = file.session.oracle.ownedAt(left.expression);
  if (
    owned?.shape !== "many" ||
    !holds(file, left.expression) ||
    mentionedElsewhere(node, left.expression)
  )
    return null;
  const method = owned.owner.dispose.methods[0] ?? "dispose";
  const name = left.expression.getText();
  return {
    container: left.expression,
    finding: {
      mark: spanOf(node),
      messageId: "cleared",
      data: { noun: owned.owner.noun, name },
      suggest: before(node, `for (const value of ${name}) value.${method}();`, "disposeAll"),
    },
  };
}

/**
 * Fields and module variables hold what they contain; a local list may well be a view of something
 * else.
 */
function holds(file: FileAnalysis, container: ts.Expression): boolean {
  if (ts.isPropertyAccessExpression(container))
    return container.expression.kind === ts.SyntaxKind.ThisKeyword;
  const declaration = ts.isIdentifier(container)
    ? file.session.oracle.declarationAt(container)
    : undefined;
  return (
    declaration !== undefined &&
    ts.isVariableDeclaration(declaration) &&
    !enclosingFunction(declaration)
  );
}

/**
 * Whether the function mentions the element or the container elsewhere: it may have been disposed
 * or taken out there.
 */
function mentionedElsewhere(node: ts.Node, container: ts.Expression): boolean {
  const root: ts.Node = enclosingFunction(node) ?? node.getSourceFile();
  const wanted = container.getText();
  let found = false;
  const visit = (inner: ts.Node): void => {
    if (found || inner === node) return;
    if (
      ts.isExpression(inner) &&
      inner.getText() === wanted &&
      (ts.isPropertyAccessExpression(inner) || ts.isIdentifier(inner)) &&
      mayTake(inner)
    )
      found = true;
    ts.forEachChild(inner, visit);
  };
  ts.forEachChild(root, visit);
  return found;
}

/** Membership tests, sizes, writes and plain checks do not free anything. */
function mayTake(container: ts.Expression): boolean {
  const fate = fateOf(container);
  if (
    fate.kind === "receiver" &&
    ["values", "entries"].includes(fate.member) &&
    ts.isForOfStatement(fate.node.parent) &&
    isEmpty(fate.node.parent.statement)
  )
    return false;
  if (fate.kind === "receiver")
    return !["has", "set", "push", "add", "keys", "includes", "indexOf"].includes(fate.member);
  if (fate.kind === "read" || fate.kind === "operand" || fate.kind === "unknown") return false;
  if (fate.kind !== "element") return true;
  const access = fate.node as ts.ElementAccessExpression;
  const inner = fateOf(access);
  if (inner.kind === "operand" || ts.isDeleteExpression(access.parent)) return false;
  if (ts.isBinaryExpression(access.parent) && access.parent.left === access) return false;
  return inner.kind !== "receiver" || isDisposerName(inner.member);
}
/** A loop that does nothing takes nothing. */
const isEmpty = (node: ts.Statement): boolean =>
  ts.isEmptyStatement(node) || (ts.isBlock(node) && node.statements.length === 0);
const isDisposerName = (name: string): boolean =>
  ["dispose", "destroy", "close", "moveToOuter", "detachFromScope"].includes(name);

function before(
  node: ts.Node,
  line: string,
  messageId: "disposeFirst" | "disposeAll" = "disposeFirst",
): Suggestion<Id>[] {
  const statement = node.parent;
  if (!ts.isExpressionStatement(statement) || slotOf(statement) === "single") return [];
  const fix: Fix = (fixer) =>
    fixer.insertTextBeforeRange(
      [statement.getStart(), statement.getEnd()],
      `${line}\n${indentOf(statement)}`,
    );
  return [{ messageId, fix }];
}
