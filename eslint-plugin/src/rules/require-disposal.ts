/**
 * Rule `require-disposal`: a variable is given a fresh value that is not disposed, returned or
 * handed on, on all paths or on some. Where the value is surely new and stays in its block, `const`
 * becomes `using` by autofix; otherwise the cure is a suggestion.
 */
import ts from "typescript";
import type { FileAnalysis } from "../analysis/analyse.ts";
import { labelOf, markOf } from "../analysis/fresh/consume.ts";
import type { Cell } from "../analysis/flow/cells.ts";
import type { Problem } from "../analysis/flow/flow.ts";
import { endedByThen } from "../analysis/flow/then-endings.ts";
import { firstName } from "../analysis/trails/endless-values.ts";
import { lateStarts } from "../analysis/trails/late-starts.ts";
import { pilesUp } from "../analysis/trails/runs-often.ts";
import { enclosingFunction } from "../analysis/transfer/fate.ts";
import { livesInLoop } from "../analysis/flow/endless-loops.ts";
import { endsDevice, isDevice } from "../analysis/objects/endings.ts";
import { leftByPools } from "../analysis/transfer/full-pools.ts";
import { leftParameters } from "../analysis/transfer/left-parameters.ts";
import { lasts } from "../analysis/transfer/keeps.ts";
import { halfEnded } from "../analysis/objects/half-ended.ts";
import { leftFields } from "../analysis/objects/left-fields.ts";
import type { Owned } from "../analysis/program/oracle.ts";
import { leftElements } from "../analysis/lists/partial-lists.ts";
import { hasBody, unwrap } from "../analysis/program/syntax.ts";
import { onlyLooksAt } from "../analysis/transfer/transfer.ts";
import { referencesTo } from "../analysis/program/references.ts";
import { rule, spanOf, type Finding, type Suggestion } from "../create-rule.ts";
import {
  canBecomeUsing,
  finallyFix,
  guardFix,
  kindFor,
  usingFix,
  type Leak,
} from "../fix/cures.ts";
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
  | "rejects"
  | "late"
  | "useUsing"
  | "tryFinally";

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
      "{{ where }}; {{ end }} it.",
    unnamed:
      "The {{ noun }} that `{{ name }}` makes is {{ ended }} {{ where }}, wherever it goes; " +
      "give it a name, and {{ end }} it.",
    sometimes:
      "`{{ variable }}` is not {{ ended }} when line {{ line }} {{ how }}; {{ cure }} there too.",
    sometimesEnd:
      "`{{ variable }}` is not {{ ended }} on every path; {{ cure }} on the others too.",
    rejects:
      "`{{ variable }}` is not {{ ended }} when the {{ what }} on line {{ line }} rejects; " +
      "{{ cover }}.",
    late:
      "`{{ variable }}` is not {{ ended }} if the clean-up runs before line {{ line }} is done; " +
      "ask there, and {{ end }} it.",
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
      description: "`all` also follows paths that end in a `throw` or an `await` that rejects.",
    },
  },
  defaults: { paths: "normal" },
  check(file, _options, report) {
    reportLeaks(file, file.problems, report);
    for (const { label, value, owned } of leftElements(file.session, file.file)) {
      const [end = "dispose"] = owned.owner.dispose.methods;
      report({
        mark: markOf(value),
        messageId: "never",
        data: { variable: label, ended: ended(owned.owner), cure: `call \`${end}()\`` },
      });
    }
    for (const { name, label, owned, exit } of leftParameters(file.session, file.file)) {
      const { owner } = owned;
      const data = { variable: label, ended: ended(owner), cure: `${toEnd(owner)} it` };
      report({
        mark: spanOf(name),
        ...(exit
          ? { messageId: "sometimes", data: { ...data, line: exit, how: wordFor(exit) } }
          : { messageId: "sometimesEnd", data }),
      });
    }
    for (const { name, owned } of leftByPools(file.session, file.file)) {
      const { owner } = owned;
      const data = { variable: name.text, ended: ended(owner), cure: `${toEnd(owner)} it` };
      report({ mark: spanOf(name), messageId: "sometimesEnd", data });
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
  last(file, options, report) {
    if (options.paths === "all") {
      reportLeaks(file, file.exceptional.filter(isUntold(file)), report);
      reportEndedByThen(file, report);
    }
    for (const { made, owned, wait } of lateStarts(file.session, file.made))
      report({
        mark: markOf(made),
        messageId: "late",
        data: {
          variable: firstName(made)?.name.getText() ?? labelOf(made),
          ended: ended(owned.owner),
          line: wait,
          end: toEnd(owned.owner),
        },
      });
    for (const { made, at, label, isField, owned, where } of file.endless) {
      const { owner } = owned;
      if (isField) continue;
      const data = { name: labelOf(made), variable: label, noun: owner.noun };
      report({
        mark: label === "" ? markOf(made) : spanOf(at),
        messageId: label === "" ? "unnamed" : "nowhere",
        data: { ...data, end: toEnd(owner), ended: ended(owner), where },
      });
    }
  },
});

/** Reports what the dataflow found of values that are left behind. */
function reportLeaks(
  file: FileAnalysis,
  problems: readonly Problem[],
  report: (f: Finding<Id>) => void,
): void {
  const told = new Set<ts.Node>();
  const filled = new Set<ts.Node>();
  for (const problem of problems) {
    if (problem.kind !== "leak") continue;
    const { cell, exit, site } = problem;
    if (cell.owned.shape === "many" && filled.has(site.value)) continue; // by each call of a helper
    if (isFreedByScope(file, cell.owned, site.value)) continue;
    if (goesWithDevice(file, problem)) continue;
    if (cell.owned.owner.policy === "generic" && livesInLoop(file.session, cell, site.value))
      continue;
    const whole = wholeOf(file, problem);
    if (whole && (told.has(whole) || isEndedWhole(file, whole))) continue;
    if (whole) told.add(whole);
    filled.add(site.value);
    report({
      mark: whole ? markOf(innermost(whole.initializer)) : placeOf(problem),
      messageId: messageFor(problem),
      data: {
        variable: whole ? whole.name.getText() : cell.label,
        noun: cell.owned.owner.noun,
        end: toEnd(cell.owned.owner),
        ended: ended(cell.owned.owner),
        name: labelOf(problem.site.value),
        line: exit ?? "",
        cure: cureFor(file, problem),
        how: exit ? wordFor(exit) : "",
        what: "`await`",
        cover: coverFor(file, cell),
      },
      ...curesOf(file, problem),
    });
  }
}

/** Whether a scope may free a value that is made at an expression. */
const isFreedByScope = ({ session }: FileAnalysis, { owner }: Owned, at: ts.Expression): boolean =>
  owner.scopes.length > 0 && !lasts(session, at) && session.scopeAt(at) !== "out";

/** Reports what only the callback of a `then` ends. */
function reportEndedByThen(file: FileAnalysis, report: (f: Finding<Id>) => void): void {
  for (const { name, value, owned, then } of endedByThen(file.session, file.file)) {
    if (isFreedByScope(file, owned, value)) continue;
    if (!pilesUp(file.session, owned, value)) continue;
    report({
      mark: markOf(value),
      messageId: "rejects",
      data: {
        variable: name.text,
        ended: ended(owned.owner),
        what: "promise",
        line: then,
        cover: `${toEnd(owned.owner)} it in \`finally\``,
      },
    });
  }
}

/** What `--fix` does, where it is provable, and what the editor offers. */
function curesOf(file: FileAnalysis, leak: Leak): Pick<Finding<Id>, "fix" | "suggest"> {
  const { cell, always, site } = leak;
  const stays = always && !site.partial && canBecomeUsing(file, leak);
  const provable = stays && file.session.sure.freshness(site.value) === "fresh";
  const using = stays || (!always && !site.partial) ? usingFix(file, leak) : null;
  if (using && provable) return { fix: using, suggest: [] };
  const guard = using || site.partial ? null : (finallyFix(file, leak) ?? guardFix(file, leak));
  const suggest: Suggestion<Id>[] = [];
  if (using) {
    const data = { kind: kindFor(file, cell) ?? "using" };
    suggest.push({ messageId: "useUsing", data, fix: using });
  }
  if (guard) suggest.push({ messageId: "tryFinally", fix: guard });
  return { fix: null, suggest };
}

/** Whether no rule has said anything of where a value is ended: that it could be `using`. */
const isUntold =
  ({ told }: FileAnalysis) =>
  (problem: Problem): boolean =>
    ![...problem.cell.endings].some((end) =>
      told.some((mark) => mark.start <= end.getStart() && end.end <= mark.end),
    );

/** `device.destroy()` in the same function: frees what was made with the device, not another. */
function goesWithDevice(file: FileAnalysis, { site, cell }: Leak): boolean {
  const isMade = cell.owned.owner.policy === "generic" && !isDevice(file.session, site.value);
  const home = isMade ? enclosingFunction(site.value) : undefined;
  return home !== undefined && hasBody(home) && endsDevice(file.session, home.body);
}

const wordFor = (exit: ts.Node): string => {
  if (ts.isThrowStatement(exit)) return "throws";
  return ts.isBreakStatement(exit) ? "breaks" : "returns";
};

function messageFor({ site, always, never, cell, exit }: Leak): Id {
  if (site.partial) return "partly";
  if (always || never) return cell.owned.shape === "one" ? "never" : "elements";
  if (!exit) return "sometimesEnd";
  return ts.isAwaitExpression(exit) ? "rejects" : "sometimes";
}

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

/** What ends it also where something throws. */
function coverFor(file: FileAnalysis, cell: Cell): string {
  const kind = kindFor(file, cell);
  return kind === null
    ? `${toEnd(cell.owned.owner)} it in \`finally\``
    : `declare it with \`${kind}\``;
}
