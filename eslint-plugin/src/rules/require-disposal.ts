/**
 * Rule `require-disposal`: a variable is given a fresh value that is not disposed, returned or
 * handed on, on all paths or on some. Where the value is surely new and stays in its block, `const`
 * becomes `using` by autofix; otherwise the cure is a suggestion.
 */
import ts from "typescript";
import type { FileAnalysis } from "../analysis/analyse.ts";
import { labelOf, markOf } from "../analysis/fresh/consume.ts";
import type { Cell } from "../analysis/flow/cells.ts";
import { enclosingFunction } from "../analysis/transfer/fate.ts";
import type { Problem } from "../analysis/flow/flow.ts";
import { endsDevice } from "../analysis/objects/endings.ts";
import { lasts } from "../analysis/transfer/keeps.ts";
import { halfEnded } from "../analysis/objects/half-ended.ts";
import { leftFields } from "../analysis/objects/left-fields.ts";
import type { Oracle } from "../analysis/program/oracle.ts";
import { leftElements } from "../analysis/lists/partial-lists.ts";
import { hasBody, isAsync, unwrap } from "../analysis/program/syntax.ts";
import { onlyLooksAt } from "../analysis/transfer/transfer.ts";
import { referencesTo } from "../analysis/program/references.ts";
import { rule, spanOf, type Fix, type Suggestion } from "../create-rule.ts";
import { indentOf, shift, slotOf, unitOf } from "../fix/text.ts";
import { ended, toEnd } from "../owner.ts";

type Id =
  | "never"
  | "partly"
  | "elements"
  | "field"
  | "half"
  | "nowhere"
  | "unnamed"
  | "sometimes"
  | "sometimesEnd"
  | "useUsing"
  | "tryFinally";
type Leak = Extract<Problem, { kind: "leak" }>;

/** Require that every variable with a fresh tensor is disposed, returned or moved on every path. */
export const requireDisposal = rule<Id, { paths: "normal" | "all" }>({
  name: "require-disposal",
  description:
    "Require every variable that holds a fresh tensor to be disposed, returned or moved " +
    "on every path",
  type: "problem",
  config: "recommended",
  fixable: true,
  hasSuggestions: true,
  messages: {
    never: "`{{ variable }}` is never {{ ended }}, returned or stored; {{ cure }}.",
    elements:
      "The {{ noun }}s in `{{ variable }}` are never {{ ended }}, returned or stored; " +
      "{{ end }} each.",
    field:
      "`{{ name }}` has the other {{ noun }}s {{ ended }} but not `{{ variable }}`; " +
      "{{ end }} it too.",
    half:
      "`{{ other }}` is {{ ended }} here but not `{{ variable }}`, which goes with it; " +
      "{{ end }} it too.",
    nowhere:
      "`{{ variable }}` may hold the {{ noun }} that `{{ name }}` makes, which is {{ ended }} " +
      "nowhere; {{ end }} it.",
    unnamed:
      "The {{ noun }} that `{{ name }}` makes is {{ ended }} nowhere, wherever it goes; " +
      "give it a name, and {{ end }} it.",
    sometimes:
      "`{{ variable }}` is not {{ ended }} when line {{ line }} {{ how }}; {{ cure }} there too.",
    sometimesEnd:
      "`{{ variable }}` is not {{ ended }} on every path; {{ cure }} on the others too.",
    partly:
      "`{{ variable }}` may be new here, and is never {{ ended }} then; make it new on every " +
      "path, and {{ end }} it.",
    useUsing: "Declare it with `{{ kind }}`.",
    tryFinally: "Dispose it in a `finally` block.",
  },
  options: {
    paths: {
      type: "string",
      enum: ["normal", "all"],
      description: "`all` also follows paths that end in a `throw`.",
    },
  },
  defaults: { paths: "normal" },
  check(file, options, report) {
    const told = new Set<ts.Node>();
    for (const problem of file.problems(options.paths === "all")) {
      if (problem.kind !== "leak") continue;
      const { cell, exit, always, never, site } = problem;
      const scopes = cell.owned.owner.scopes.length > 0 && !lasts(file.session, site.value);
      if (scopes && file.session.scopeAt(site.value) !== "out") continue;
      if (goesWithDevice(file, problem)) continue;
      const stays = always && !site.partial && canBecomeUsing(file, problem);
      const provable = stays && file.session.sure.freshness(problem.site.value) === "fresh";
      const suggest: Suggestion<Id>[] = [];
      const using = stays || (!always && !site.partial) ? usingFix(file, problem) : null;
      if (using && !provable)
        suggest.push({
          messageId: "useUsing",
          data: { kind: kindFor(file, cell) ?? "using" },
          fix: using,
        });
      const guarded = using || site.partial ? null : finallyFix(file, problem);
      if (guarded) suggest.push({ messageId: "tryFinally", fix: guarded });
      const many = cell.owned.shape !== "one";
      const whole = wholeOf(file, problem);
      if (whole && (told.has(whole) || isEndedWhole(file, whole))) continue;
      if (whole) told.add(whole);
      report({
        mark: whole ? markOf(innermost(whole.initializer)) : placeOf(problem),
        messageId: site.partial ? "partly" : messageFor(always || never, many, exit),
        data: {
          variable: whole ? whole.name.getText() : cell.label,
          noun: cell.owned.owner.noun,
          end: toEnd(cell.owned.owner),
          ended: ended(cell.owned.owner),
          name: labelOf(problem.site.value),
          line: exit ?? "",
          cure: cureFor(file, problem),
          how: exit ? wordFor(exit) : "",
        },
        fix: provable ? using : null,
        suggest,
      });
    }
    for (const { label, value, owned } of leftElements(file.session, file.file)) {
      const [end = "dispose"] = owned.owner.dispose.methods;
      report({
        mark: markOf(value),
        messageId: "never",
        data: { variable: label, ended: ended(owned.owner), cure: `call \`${end}()\`` },
      });
    }
    for (const {
      fn,
      field,
      at,
      owned: { owner },
    } of leftFields(file.session, file.file))
      report({
        mark: spanOf(at),
        messageId: "field",
        data: {
          name: fn,
          variable: field,
          noun: owner.noun,
          end: toEnd(owner),
          ended: ended(owner),
        },
      });
    for (const { label, other, at, owned } of halfEnded(file.session, file.file)) {
      const { owner } = owned;
      report({
        mark: spanOf(at),
        messageId: "half",
        data: { other, variable: label, end: toEnd(owner), ended: ended(owner) },
      });
    }
  },
  last(file, report) {
    for (const { made, at, label, isField, owned } of file.endless) {
      const { owner } = owned;
      if (isField) continue;
      const data = { name: labelOf(made), variable: label, noun: owner.noun };
      report({
        mark: label === "" ? markOf(made) : spanOf(at),
        messageId: label === "" ? "unnamed" : "nowhere",
        data: { ...data, end: toEnd(owner), ended: ended(owner) },
      });
    }
  },
});

/** `device.destroy()` in the same function: frees what was made with the device. */
function goesWithDevice(file: FileAnalysis, { site, cell }: Leak): boolean {
  const home = cell.owned.owner.policy === "generic" ? enclosingFunction(site.value) : undefined;
  return home !== undefined && hasBody(home) && endsDevice(file.session, home.body);
}

const wordFor = (exit: ts.Node): string => {
  if (ts.isThrowStatement(exit)) return "throws";
  return ts.isBreakStatement(exit) ? "breaks" : "returns";
};

const messageFor = (never: boolean, many: boolean, exit: ts.Node | undefined): Id => {
  if (never) return many ? "elements" : "never";
  return exit ? "sometimes" : "sometimesEnd";
};

/** What to type; `using` only where the type has a `[Symbol.dispose]`. */
function cureFor(file: FileAnalysis, { cell, site }: Leak): string {
  const [end = "dispose"] = cell.owned.owner.dispose.methods;
  const kind = file.session.oracle.usingKind(site.value);
  return kind === null ? `call \`${end}()\`` : `declare it with \`${kind}\`, or dispose it`;
}

/**
 * `const state = model.stateDict(); for (const [name, t] of state) …`: who walks a collection that
 * frees all it holds is to end that, and not each value.
 */
function wholeOf(
  { session: { oracle } }: FileAnalysis,
  { site, cell, always, never }: Leak,
): (ts.VariableDeclaration & { initializer: ts.Expression }) | undefined {
  const name = unwrap(site.value);
  if (!(always || never) || !ts.isIdentifier(name)) return undefined;
  const source = oracle.declarationAt(name);
  if (!source || !ts.isVariableDeclaration(source) || !source.initializer) return undefined;
  const call = unwrap(source.initializer);
  if (!ts.isCallExpression(call) || oracle.usingKind(name) === null) return undefined;
  const { owner } = cell.owned;
  return oracle.is(oracle.callee(call), owner.fresh, owner)
    ? (source as ReturnType<typeof wholeOf>)
    : undefined;
}

/** `state[Symbol.dispose]()`, or what the name is handed to or is given on by. */
const isEndedWhole = ({ session, file }: FileAnalysis, whole: ts.VariableDeclaration): boolean =>
  ts.isIdentifier(whole.name) &&
  referencesTo(session.oracle, whole, whole.name, file).some((id) => {
    const { effect } = session.transfer(id);
    return id !== whole.name && effect !== "visits" && !onlyLooksAt(effect);
  });

/** What a report marks: of several names taken out of one value, the one that is left. */
const placeOf = ({ cell: { declaration, name }, site }: Leak): { start: number; end: number } =>
  name && declaration && ts.isBindingElement(declaration)
    ? spanOf(name)
    : markOf(innermost(site.value));

/** The call a report marks, below `await`, casts and literals. */
function innermost(value: ts.Expression): ts.Expression {
  const bare = unwrap(value);
  return ts.isConditionalExpression(bare) ? innermost(bare.whenTrue) : bare;
}

function listOf({ site }: Leak): ts.VariableStatement | undefined {
  const declaration = site.node;
  if (
    !ts.isVariableDeclaration(declaration) ||
    !ts.isIdentifier(declaration.name) ||
    !declaration.initializer
  )
    return undefined;
  const list = declaration.parent;
  if (!ts.isVariableDeclarationList(list)) return undefined;
  const statement = list.parent;
  return ts.isVariableStatement(statement) &&
    list.declarations.length === 1 &&
    slotOf(statement) === "block" &&
    (list.flags & ts.NodeFlags.BlockScoped) !== 0
    ? statement
    : undefined;
}

/**
 * Whether it is owned once, only borrowed afterwards, and never captured by anything that outlives
 * the block.
 */
function canBecomeUsing(file: FileAnalysis, leak: Leak): boolean {
  const { cell } = leak;
  if (cell.owned.shape !== "one" || !listOf(leak) || !cell.declaration || !cell.name) return false;
  if (cell.captured) return false;
  if ([...cell.seen].some((k) => k !== "own" && k !== "use")) return false;
  if (!mayBeUsing(file, cell.name)) return false;
  return !isGivenAnother(file, cell);
}

/** Whether `using` accepts what a variable holds: a promise must be waited for first. */
const mayBeUsing = ({ session: { oracle } }: FileAnalysis, name: ts.Identifier): boolean =>
  usingFor(oracle, name) !== null && !oracle.isPromise(name);

/** `await using` for what is ended later, where one can wait for it. */
function usingFor(oracle: Oracle, name: ts.Identifier): "using" | "await using" | null {
  const kind = oracle.usingKind(name);
  return kind === "await using" && !isAsync(enclosingFunction(name)) ? null : kind;
}

const kindFor = ({ session }: FileAnalysis, { name }: Cell): "using" | "await using" | null =>
  name ? usingFor(session.oracle, name) : null;

/** Whether a variable is given another value somewhere: one disposal does not free both. */
const isGivenAnother = (file: FileAnalysis, { declaration, name }: Cell): boolean =>
  declaration !== undefined &&
  name !== undefined &&
  referencesTo(file.session.oracle, declaration, name, file.file).some(
    (id) =>
      ts.isBinaryExpression(id.parent) &&
      id.parent.left === id &&
      id.parent.operatorToken.kind >= ts.SyntaxKind.FirstAssignment &&
      id.parent.operatorToken.kind <= ts.SyntaxKind.LastAssignment,
  );

/** `const t` → `using t`, removing the disposals that would then be the second. */
function usingFix(file: FileAnalysis, leak: Leak): Fix | null {
  const statement = listOf(leak);
  const { cell } = leak;
  if (!statement || !cell.name || !cell.declaration || cell.owned.shape !== "one") return null;
  if (
    !mayBeUsing(file, cell.name) ||
    cell.captured ||
    cell.seen.has("escape") ||
    cell.seen.has("return") ||
    cell.seen.has("alias")
  )
    return null;
  const keyword = statement.declarationList.getFirstToken();
  const kind = kindFor(file, cell);
  if (!keyword || !kind) return null;
  const removals: [number, number][] = [];
  for (const id of referencesTo(file.session.oracle, cell.declaration, cell.name, file.file)) {
    const { parent } = id;
    if (ts.isBinaryExpression(parent) && parent.left === id) return null;
    if (
      !ts.isPropertyAccessExpression(parent) ||
      !cell.owned.owner.dispose.methods.includes(parent.name.text)
    )
      continue;
    const call = parent.parent;
    if (
      !ts.isCallExpression(call) ||
      !ts.isExpressionStatement(call.parent) ||
      slotOf(call.parent) !== "block"
    )
      return null;
    removals.push(wholeLine(call.parent));
  }
  return (fixer) => [
    fixer.replaceTextRange([keyword.getStart(), keyword.getEnd()], kind),
    ...removals.map((r) => fixer.removeRange(r)),
  ];
}

/** A statement with its line, when it has the line to itself. */
function wholeLine(statement: ts.Statement): [number, number] {
  const { text } = statement.getSourceFile();
  const start = text.lastIndexOf("\n", statement.getStart() - 1);
  const after = /^[ \t]*(?=\r?\n)/.exec(text.slice(statement.getEnd()));
  const alone =
    start >= 0 && /^\s*$/.test(text.slice(start, statement.getStart())) && after !== null;
  return alone
    ? [start, statement.getEnd() + after[0].length]
    : [statement.getStart(), statement.getEnd()];
}

/** Wraps the rest of the block in `try { … } finally { t.dispose(); }`. */
function finallyFix(file: FileAnalysis, leak: Leak): Fix | null {
  const statement = listOf(leak);
  const { cell, always } = leak;
  if (
    !statement ||
    !always ||
    cell.captured ||
    cell.owned.shape !== "one" ||
    cell.label.includes(".") ||
    !cell.name ||
    file.session.oracle.isPromise(cell.name) ||
    isGivenAnother(file, cell)
  )
    return null;
  const block = statement.parent;
  const method = cell.owned.owner.dispose.methods[0];
  const late = file.session.oracle.usingKind(cell.name) === "await using";
  if (!ts.isBlock(block) || method === undefined || late) return null;
  const rest = block.statements.slice(block.statements.indexOf(statement) + 1);
  const first = rest[0],
    last = rest[rest.length - 1];
  if (!first || !last || rest.some((s) => ts.isFunctionDeclaration(s))) return null;
  const indent = indentOf(statement),
    unit = unitOf(block.getSourceFile());
  const body = shift(block.getSourceFile().text.slice(first.getStart(), last.getEnd()), unit);
  const text =
    `try {\n${indent}${unit}${body}\n${indent}} finally {\n` +
    `${indent}${unit}${cell.label}${cell.owned.nullable ? "?" : ""}.${method}();\n` +
    `${indent}}`;
  return (fixer) => fixer.replaceTextRange([first.getStart(), last.getEnd()], text);
}
