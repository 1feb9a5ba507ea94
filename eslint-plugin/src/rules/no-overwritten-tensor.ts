/**
 * Rule `no-overwritten-tensor`: a variable or field that owns a value is given another one, and the
 * first is lost. Locals and slots (fields, refs, variables that functions share) come from the
 * dataflow.
 */
import ts from "typescript";
import { mayLackScope } from "../analysis/scopes/open-scopes.ts";
import { isKeptForGood } from "../analysis/transfer/keeps.ts";
import type { FileAnalysis } from "../analysis/analyse.ts";
import { labelOf, markOf } from "../analysis/fresh/consume.ts";
import { returnsOf } from "../analysis/transfer/fate.ts";
import { lostEntries } from "../analysis/lists/lost-entries.ts";
import { lostStores, type LostStore } from "../analysis/lists/lost-stores.ts";
import { grownEntries } from "../analysis/lists/grown-entries.ts";
import { lostTurns } from "../analysis/lists/lost-turns.ts";
import { lostUpdates } from "../analysis/lists/lost-updates.ts";
import type { Owned } from "../analysis/program/oracle.ts";
import { hasBody, unwrap, valuesOf, type FunctionWithBody } from "../analysis/program/syntax.ts";
import { madeOver } from "../analysis/objects/made-over.ts";
import { overwrittenPlaces } from "../analysis/objects/overwritten-places.ts";
import { reusedOrLost, type Reuse } from "../analysis/objects/reused.ts";
import { replacedParts } from "../analysis/objects/replaced-parts.ts";
import { refilledFields } from "../analysis/objects/refilled-fields.ts";
import { replacedEntries } from "../analysis/lists/replaced-entries.ts";
import { isPattern } from "../analysis/program/pattern-stores.ts";
import { summedEntries } from "../analysis/lists/summed-entries.ts";
import { replacedFields } from "../analysis/lists/replaced-fields.ts";
import { isSecondTry } from "../analysis/program/second-tries.ts";
import { lostBySlots } from "../analysis/flow/slot-losses.ts";
import { rule, type Finding, type Suggestion } from "../create-rule.ts";
import { keepPrevious } from "../fix/keep-previous.ts";
import { scopeFromHere, wrapInScope } from "../fix/wrap.ts";
import { ended, toEnd } from "../owner.ts";

type Id =
  | "overwritten"
  | "list"
  | "field"
  | "reused"
  | "entry"
  | "part"
  | "reduced"
  | "keepPrevious"
  | "scope"
  | "wrap";

/** Disallow assigning over a tensor that is still owned. */
export const noOverwrittenTensor = rule<Id, Record<string, never>>({
  name: "no-overwritten-tensor",
  description: "Disallow assigning over a tensor that is still owned",
  type: "problem",
  config: "recommended",
  hasSuggestions: true,
  messages: {
    overwritten:
      "This assignment loses the {{ noun }} `{{ variable }}` got on line {{ line }}; " +
      "{{ end }} it first.",
    list:
      "This assignment loses the {{ noun }}s that `{{ variable }}` got on line {{ line }}; " +
      "{{ end }} those first.",
    field:
      "This assignment loses the {{ noun }} `{{ variable }}` held before; {{ end }} it afterwards.",
    reused:
      "`{{ name }}` may give another {{ noun }} than it is given, which `{{ variable }}` then " +
      "loses; {{ end }} that one.",
    entry: "`{{ variable }}` loses the {{ noun }} it held under this key; {{ end }} it first.",
    part:
      "This assignment leaves {{ noun }}s of `{{ variable }}` out that are not {{ ended }}; " +
      "{{ end }} those first.",
    reduced:
      "`{{ name }}` makes a new {{ noun }} from the last one in every turn and loses " +
      "that; fold in a loop that disposes it, or open a scope.",
    wrap: "Wrap in a dispose scope.",
    scope: "Open a dispose scope before `{{ variable }}` and move the result out of it.",
    keepPrevious: "Keep the previous {{ noun }} and dispose it after the assignment.",
  },
  defaults: {},
  check(file, _options, report) {
    const told = new Set<ts.Node>();
    for (const problem of file.problems) {
      if (problem.kind !== "overwrite" || !isUnscoped(file, problem.site.value, problem.cell.owned))
        continue;
      const { cell, site, node } = problem;
      if (told.has(node) || isSecondTry(site.value, node)) continue;
      told.add(node);
      const many = cell.owned.shape === "many";
      const fix =
        site.partial || many || !isAllOfIt(file, node, cell.label)
          ? null
          : keepPrevious(file, node, placeOf(node), cell.owned, cell.label);
      const suggest: Suggestion<Id>[] = fix
        ? [{ messageId: "keepPrevious", data: { noun: cell.owned.owner.noun }, fix }]
        : [];
      const scope =
        cell.declaration && scopeFromHere(file.session, cell.declaration, cell.owned.owner);
      if (scope) suggest.push({ messageId: "scope", data: { variable: cell.label }, fix: scope });
      report({
        mark: markOfAssignment(node),
        messageId: many ? "list" : "overwritten",
        data: { ...wordsOf(cell.owned), variable: cell.label, line: site.value },
        suggest,
      });
    }
    for (const { node: assignment, owned, part, held = assignment.left } of [
      ...lostStores(file.session, file.file).filter((s) => isOut(file, s)),
      ...lostUpdates(file.session, file.file),
      ...lostTurns(file.session, file.file),
      ...madeOver(file.session, file.file),
      ...lostBySlots(file.session, file.problems),
      ...refilledFields(file.session, file.file),
    ]) {
      const { left } = assignment;
      const place = isPattern(left) ? held : left;
      const at = isPattern(left) ? held : assignment;
      if (told.has(at)) continue;
      told.add(at);
      report({
        mark: at === assignment ? markOfAssignment(at) : { start: at.getStart(), end: at.getEnd() },
        messageId: part ? "part" : "field",
        data: { ...wordsOf(owned), variable: place.getText() },
        suggest: suggestKeeping(file, assignment, held, owned),
      });
    }
    const isUntold = ({ node }: Reuse): boolean => !told.has(node);
    reusedOrLost(file.session, file.file).filter(isUntold).map(ofReuse).forEach(report);
    const entries = [
      ...lostEntries(file.session, file.file),
      ...replacedEntries(file.session, file.file),
      ...replacedFields(file.session, file.file),
      ...grownEntries(file.session, file.file),
      ...summedEntries(file.session, file.file),
    ];
    for (const { call, table, owned } of new Map(entries.map((e) => [e.call, e])).values())
      report({
        mark: markOfAssignment(call),
        messageId: "entry",
        data: { ...wordsOf(owned), variable: table },
      });
    for (const { call, made, owned } of foldsThatLose(file)) {
      const fix = wrapInScope(file.session, call, owned.owner);
      report({
        mark: markOf(made),
        messageId: "reduced",
        data: { noun: owned.owner.noun, name: labelOf(made) },
        suggest: fix ? [{ messageId: "wrap", fix }] : [],
      });
    }
  },
  last(file, _options, report) {
    for (const { node, owned } of [
      ...overwrittenPlaces(file.session, file.file),
      ...replacedParts(file.session, file.file),
    ]) {
      const isTold = file.told.some(({ start, end }) => start < node.end && node.getStart() < end);
      if (isTold) continue;
      report({
        mark: markOfAssignment(node),
        messageId: "field",
        data: { ...wordsOf(owned), variable: node.left.getText() },
        suggest: suggestKeeping(file, node, node.left, owned),
      });
    }
  },
});

/** Ends what a place held, after the assignment that makes it hold something else. */
function suggestKeeping(
  file: FileAnalysis,
  assignment: ts.Node,
  held: ts.Expression,
  owned: Owned,
): Suggestion<Id>[] {
  if (owned.shape !== "one") return [];
  const { nullable } = file.session.oracle.ownedAt(held) ?? owned;
  const fix = keepPrevious(file, assignment, held, { ...owned, nullable });
  return fix ? [{ messageId: "keepPrevious", data: { noun: owned.owner.noun }, fix }] : [];
}

/** Made where no scope is open, or kept for good. */
const isUnscoped = ({ session }: FileAnalysis, value: ts.Expression, { owner }: Owned): boolean =>
  session.scopeAt(value) === "out" || isKeptForGood(session, value, owner);

/** What is said of a helper that may give another value than it is given. */
const ofReuse = ({ node, call, owned }: Reuse): Finding<Id> => ({
  mark: markOfAssignment(node),
  messageId: "reused",
  data: { ...wordsOf(owned), variable: node.left.getText(), name: labelOf(call) },
});

const wordsOf = ({ owner }: Owned): Record<"noun" | "end" | "ended", string> => ({
  noun: owner.noun,
  end: toEnd(owner),
  ended: ended(owner),
});

/** Whether a label names all that is lost: the place, or the only field of its record. */
function isAllOfIt({ session }: FileAnalysis, node: ts.Node, label: string): boolean {
  if (!ts.isBinaryExpression(node) || node.left.getText() === label) return true;
  const record = session.oracle.ownedAt(node.left);
  return record?.shape !== "record" || (record.fields.length === 1 && !record.nullable);
}

/** What an assignment gives another value to. */
const placeOf = (node: ts.Node): ts.Expression =>
  ts.isBinaryExpression(node) ? node.left : (node as ts.Expression);

const isOut = (file: FileAnalysis, { node }: LostStore): boolean =>
  mayLackScope(file.session, node);

/** A fold that loses what its last turn made. */
interface LosingFold {
  call: ts.CallExpression;
  /** What the report marks: the call, or for records the first field made anew. */
  made: ts.Expression;
  owned: Owned;
}

/**
 * `xs.reduce((sum, x) => sum.add(x))`: each turn makes a value, and nobody disposes the one before.
 * Where the first one is made for the fold, that one at least is lost, whatever a turn gives.
 */
function foldsThatLose(file: FileAnalysis): LosingFold[] {
  const { session } = file,
    found: LosingFold[] = [];
  for (const node of file.facts.calls(file.file)) {
    if (
      !ts.isPropertyAccessExpression(node.expression) ||
      !/^reduce(Right)?$/.test(node.expression.name.text)
    )
      continue;
    const fold = node.arguments[0] && unwrap(node.arguments[0]);
    const owned = session.oracle.ownedAt(node);
    if (
      !hasBody(fold) ||
      !owned ||
      owned.shape === "many" ||
      !session.oracle.callee(node).builtin ||
      session.scopeAt(node) !== "out"
    )
      continue;
    const {
      result,
      parameters: [last],
    } = session.summary(fold);
    if (!last || last.disposes || last.stores) continue;
    const first = node.arguments[1],
      begun = first !== undefined && session.freshness(first) === "fresh";
    const loses = last.returns
      ? begun && owned.shape === "one" && skipsOrMakes(file, fold)
      : result === "fresh" || (begun && owned.shape === "one");
    if (!loses) continue;
    found.push({
      call: node,
      made: owned.shape === "one" ? node : madeIn(file, fold, node),
      owned,
    });
  }
  return found;
}

/** `(t, x) => (x ? t.add(x) : t)`: some turns make a value, the others hand on the one before. */
function skipsOrMakes(file: FileAnalysis, fold: FunctionWithBody): boolean {
  const last = fold.parameters[0]?.name;
  if (!last || !ts.isIdentifier(last)) return false;
  const arms = (value: ts.Expression): ts.Expression[] => {
    const bare = unwrap(value);
    return ts.isConditionalExpression(bare)
      ? [...arms(bare.whenTrue), ...arms(bare.whenFalse)]
      : [bare];
  };
  const made = returnsOf(fold)
    .flatMap(arms)
    .filter((v) => !(ts.isIdentifier(v) && v.text === last.text));
  return made.length > 0 && made.every((v) => file.session.freshness(v) === "fresh");
}

/** The first field of what a function returns that is made there. */
function madeIn(file: FileAnalysis, fold: FunctionWithBody, call: ts.Expression): ts.Expression {
  for (const value of returnsOf(fold).map(unwrap)) {
    if (!ts.isObjectLiteralExpression(value)) continue;
    const made = valuesOf(value).find((v) => file.session.oracle.ownedAt(v));
    if (made) return unwrap(made);
  }
  return call;
}

const markOfAssignment = (node: ts.Node): { start: number; end: number } =>
  ts.isBinaryExpression(node)
    ? { start: node.left.getStart(), end: node.left.getEnd() }
    : markOf(node as ts.Expression);
