/**
 * Rule `require-member-disposal`: a class that stores fresh values in its fields must dispose each
 * of them in its `dispose()`, and must have one. Fields given from outside, and classes whose base
 * manages their fields (modules), are left alone.
 */
import ts from "typescript";
import type { FileAnalysis } from "../analysis/analyse.ts";
import { keptByClasses } from "../analysis/fresh/class-state.ts";
import { keptState } from "../analysis/fresh/component-state.ts";
import { labelOf, markOf } from "../analysis/fresh/consume.ts";
import {
  endsDevice,
  goesWithDevice,
  isOnlyLent,
  isSetBy,
  leftToBase,
  methodsThatEnd,
} from "../analysis/objects/endings.ts";
import {
  endlessFields,
  leftByClosures,
  leftInFile,
  leftInRecords,
  type LeftBehind,
} from "../analysis/objects/left-behind.ts";
import { leftDevice } from "../analysis/trails/left-devices.ts";
import {
  endedLater,
  endingWithoutSuper,
  endingFromOwn,
  inheritsEnding,
  isLeftByBase,
} from "../analysis/objects/inherited-endings.ts";
import { membersDueAnEnd } from "../analysis/trails/endless-classes.ts";
import { endlessObjects } from "../analysis/trails/endless-objects.ts";
import { endlessParts } from "../analysis/trails/endless-parts.ts";
import { endByGetter } from "../analysis/objects/getters.ts";
import { leftOfGiven } from "../analysis/objects/handed-over.ts";
import type { Owned } from "../analysis/program/oracle.ts";
import { leftOutOf, leftWhereEmptied, mentionsOf } from "../analysis/lists/partial-records.ts";
import { isRefilledAfter } from "../analysis/objects/refilled.ts";
import { leftParts } from "../analysis/objects/refilled-records.ts";
import { reach } from "../analysis/objects/class-reach.ts";
import {
  emptyLoops,
  loopValue,
  isHandled,
  isManaged,
  mentionsField,
  ownedMembers,
  sharedElsewhere,
  type Member,
} from "../analysis/objects/members.ts";
import { isEndRunBy } from "../analysis/objects/kept-fields.ts";
import { isResult } from "../analysis/objects/results.ts";
import { fieldsGivenOrMade } from "../analysis/transfer/given-or-made.ts";
import { dueAt } from "../analysis/objects/pauses.ts";
import type { Session } from "../analysis/session.ts";
import { movedLists } from "../analysis/objects/moved-lists.ts";
import { takenFields } from "../analysis/objects/taken-fields.ts";
import { isUsedThere } from "../analysis/transfer/used-there.ts";
import { isAsync, memberName, unwrap } from "../analysis/program/syntax.ts";
import { rule, spanOf, type Finding, type Fix, type Suggestion } from "../create-rule.ts";
import { asCall, endCallOf } from "../fix/end-call.ts";
import { endingLine, lastLine } from "../fix/last-line.ts";
import { ended, isAnything, toEnd } from "../owner.ts";

type Id =
  | "state"
  | "endless"
  | "closure"
  | "noEnd"
  | "noEndInside"
  | "nowhere"
  | "forgotten"
  | "unended"
  | "given"
  | "noDispose"
  | "inherited"
  | "noSuper"
  | "callSuper"
  | "empty"
  | "emptyLoop"
  | "addLine"
  | "callOther"
  | "fillLoop";

/** Require classes to dispose the tensors they own. */
export const requireMemberDisposal = rule<Id, { requireDispose: boolean }>({
  name: "require-member-disposal",
  description: "Require classes to dispose the tensors they own",
  type: "problem",
  config: "recommended",
  hasSuggestions: true,
  messages: {
    forgotten:
      "`{{ field }}` holds a {{ noun }} this class made, and `{{ method }}` does not " +
      "{{ end }} it; do so there.",
    unended:
      "`{{ field }}` holds a {{ noun }} that this class ends elsewhere, and `{{ method }}` " +
      "does not {{ end }} it; do so there.",
    given:
      "`{{ field }}` is given a {{ noun }} that nobody else has, and `{{ method }}` does not " +
      "{{ end }} it; do so there.",
    noDispose:
      "`{{ field }}` holds a {{ noun }} this class made, and the class has no `{{ method }}`; " +
      "give it one.",
    inherited:
      "`{{ field }}` holds a {{ noun }} this class made, which the `{{ method }}` it inherits " +
      "does not free; override that.",
    noSuper: "`{{ method }}` does not call `super.{{ method }}`, which frees the rest; call it.",
    callSuper: "Call `super.{{ method }}`.",
    empty:
      "`{{ method }}` does nothing, and `{{ other }}` is what frees what this class owns; call it.",
    emptyLoop: "This loop goes over what `{{ field }}` holds and disposes none; dispose each.",
    fillLoop: "Dispose each.",
    callOther: "Call `{{ other }}`.",
    state:
      "`{{ field }}` keeps a {{ noun }} between renders and nothing disposes it; do so in an " +
      "effect's cleanup.",
    endless:
      "`{{ field }}` keeps {{ noun }}s that `{{ method }}` cannot free: `{{ other }}` has no " +
      "`destroy()`; give it one.",
    closure:
      "`{{ field }}` holds a {{ noun }} made here, and `{{ method }}` does not free it; " +
      "do so there.",
    noEnd:
      "`{{ field }}` holds a {{ noun }} made here, and what `{{ maker }}` gives has no " +
      "`destroy()`; give it one.",
    noEndInside:
      "`{{ field }}` keeps {{ noun }}s that nobody can free: it has no `destroy()`, nor has what " +
      "holds it; give both one.",
    nowhere:
      "`{{ field }}` may hold the {{ noun }} that `{{ name }}` makes, which is {{ ended }} " +
      "{{ where }}; {{ end }} it when its owner ends.",
    addLine: "Dispose `{{ field }}` in `{{ method }}`.",
  },
  options: {
    requireDispose: {
      type: "boolean",
      description: "Also report all other classes that have no disposing method.",
    },
  },
  defaults: { requireDispose: false },
  check(file, options, tellOf) {
    const told = new Set<string>();
    const report: typeof tellOf = (finding) => {
      const { mark, data } = finding;
      const field = data?.["field"];
      const place = `${String(mark.start)} ${typeof field === "string" ? field : ""}`;
      if (!told.has(place)) tellOf(finding);
      told.add(place);
    };
    const tell = ({ label, at, noun, ending, endless: other }: LeftBehind): void => {
      report({
        mark: markOf(unwrap(at)),
        messageId: other === undefined ? "closure" : "endless",
        data: { field: label, noun, method: `${asWritten(ending)}()`, other: other ?? "" },
      });
    };
    const all = file.session.settings.untilExit === "reported";
    for (const node of file.facts.classes(file.file)) {
      const forgotten = checkClass(file, node, all || options.requireDispose, report);
      checkLoops(file, node, forgotten, report);
      const device = all ? leftDevice(file.session, node) : undefined;
      if (device && !forgotten.has(device.label)) tell(device);
      checkGiven(file, node, report);
      checkSuper(file, node, report);
      endlessFields(file.session, node).forEach(tell);
      leftInRecords(file.session, node).forEach(tell);
    }
    leftByClosures(file.session, file.file).forEach(tell);
    leftInFile(file.session, file.file).forEach(tell);
    for (const { label, at, noun } of all ? endlessParts(file.session, file.file) : [])
      report({ mark: markOf(at), messageId: "noEndInside", data: { field: label, noun } });
    for (const { label, at, noun, maker } of endlessObjects(file.session, file.file))
      report({
        mark: markOf(unwrap(at)),
        messageId: "noEnd",
        data: { field: label, noun, maker: `${maker}()` },
      });
    for (const { label, value, owned } of [
      ...keptState(file.session, file.file),
      ...keptByClasses(file.session, file.file),
    ])
      report({
        mark: markOf(unwrap(value)),
        messageId: "state",
        data: { field: label, noun: owned.owner.noun },
      });
  },
  last(file, _options, report) {
    for (const { made, at, label, isField, owned, where } of file.endless)
      if (isField) {
        const { owner } = owned;
        const words = { noun: owner.noun, ended: ended(owner), end: toEnd(owner) };
        const data = { field: label, name: labelOf(made), where, ...words };
        report({ mark: spanOf(at), messageId: "nowhere", data });
      }
  },
});

/** Checks the fields of a class; returns those that its disposing method forgets. */
function checkClass(
  file: FileAnalysis,
  node: ts.ClassLikeDeclaration,
  requireDispose: boolean,
  report: (f: Finding<Id>) => void,
): ReadonlySet<string> {
  const forgotten = new Set<string>();
  const all = ownedMembers(file.session, node);
  checkEmpty(file, node, all, report);
  const members = all.filter((m) => !isManaged(file.session, node, m));
  const given = [...takenFields(file.session, node), ...movedLists(file.session, node)];
  const taken = given.filter((m) => !isManaged(file.session, node, m));
  const kept = [...members, ...taken];
  const emptied = new Set<string>();
  for (const m of members)
    for (const { label, at, method } of leftWhereEmptied(file.session, node, m)) {
      const data = { field: label, method: `${method.name.getText()}()`, ...wordsOf(m.owned) };
      report({ mark: markOf(at), messageId: "forgotten", data });
      emptied.add(label);
    }
  if (kept.length === 0) return forgotten;
  const methods = methodsThatEnd(file.session, node, kept);
  if (methods.length === 0) {
    if (members.length === 0) return forgotten;
    const isOfLibrary = inheritsEnding(file.session, node);
    const inherited = isOfLibrary ? undefined : endingFromOwn(file.session, node, members);
    for (const m of isOfLibrary || inherited !== undefined ? members : [])
      if (isLeftByBase(file.session, node, m)) {
        const method = inherited === undefined ? endOf(m.owned) : `${asWritten(inherited)}()`;
        const data = { field: `this.${m.name}`, noun: m.owned.owner.noun, method };
        report({ mark: markOf(m.at), messageId: "inherited", data });
      }
    const due = membersDueAnEnd(file.session, node, members, requireDispose);
    for (const m of due.filter((member) => !endedLater(node, member)))
      report({
        mark: markOf(m.at),
        messageId: "noDispose",
        data: { field: `this.${m.name}`, noun: m.owned.owner.noun, method: endOf(m.owned) },
      });
    return forgotten;
  }
  const { session } = file;
  const starts = methods.map((m) => m.member);
  const reached = reach(session.oracle, node, starts);
  const isGeneric = kept[0]!.owned.owner.policy === "generic";
  if (isGeneric && (frees(session, reached) || goesWithDevice(session, node))) return forgotten;
  const made = fieldsGivenOrMade(session, node).filter(
    (m) => !all.some(({ name }) => name === m.name) && !isManaged(session, node, m),
  );
  const isDue = (m: Member): boolean => !isResult(session, node, m, methods);
  for (const m of [...dueAt(session, node, methods, kept), ...made].filter(isDue)) {
    const isLent = (at: ts.Expression): boolean =>
      isUsedThere(session, at, m.owned) || isRefilledAfter(at);
    if (sharedElsewhere(session, node, m.name, [], isLent) && !isOnlyLent(session, m)) continue;
    const endedBy = `${methods[0]!.member.name.getText()}()`;
    for (const { label, at } of leftOutOf(session, {
      ...{ label: `this.${m.name}`, at: m.at, owned: m.owned },
      mentions: mentionsOf(m.name, reached),
    })) {
      const data = { field: label, method: endedBy, ...wordsOf(m.owned) };
      if (!emptied.has(label)) report({ mark: markOf(at), messageId: "forgotten", data });
    }
    if ([...reached].some((method) => mentionsField(file.facts, method, m.name))) continue;
    if (endByGetter(session, node, reached, m) || isEndRunBy(session, m, reached)) continue;
    if (leftToBase(session, node, m.name, reached) || endedLater(node, m)) continue;
    if (taken.includes(m) && isSetBy(file.facts, node, m.name, reached)) continue;
    if (isAnything(m.owned.owner) && isHandled(session, node, m.name)) continue;
    const method = methods[0]!;
    const data = { field: `this.${m.name}`, method: endedBy, ...wordsOf(m.owned) };
    const { name } = method.member;
    const mark = method.pauses ? { start: name.getStart(), end: name.getEnd() } : markOf(m.at);
    const messageId = taken.includes(m) ? "unended" : "forgotten";
    const suggest = addLine(endingLine(session.oracle, method, m), data);
    report({ mark, messageId, data, suggest });
    forgotten.add(data.field);
  }
  return forgotten;
}

/** Fields, and parts of records in them, that a class is given for good and that its end leaves. */
function checkGiven(
  file: FileAnalysis,
  node: ts.ClassLikeDeclaration,
  report: (f: Finding<Id>) => void,
): void {
  for (const { name, at, owned, ending } of leftOfGiven(file.session, node)) {
    const method = `${ending.member.name.getText()}()`;
    const data = { field: `this.${name}`, noun: owned.owner.noun, end: toEnd(owned.owner), method };
    report({ mark: spanOf(at.name), messageId: "given", data });
  }
  for (const { label, at, owned, ending } of leftParts(file.session, node)) {
    const data = { field: label, method: `${ending.member.name.getText()}()`, ...wordsOf(owned) };
    report({ mark: spanOf(at.name), messageId: "unended", data });
  }
}

/** An ending of a class that takes the place of its base's and does not call it. */
function checkSuper(
  file: FileAnalysis,
  node: ts.ClassLikeDeclaration,
  report: (f: Finding<Id>) => void,
): void {
  const method = endingWithoutSuper(file.session, node);
  if (!method?.body) return;
  const data = { method: `${method.name.getText()}()` };
  const ending = { member: method, body: method.body };
  const suggest: Suggestion<Id>[] = [
    { messageId: "callSuper", data, fix: lastLine(ending, `super.${data.method};`) },
  ];
  const mark = { start: method.name.getStart(), end: method.name.getEnd() };
  report({ mark, messageId: "noSuper", data, suggest });
}

const wordsOf = ({ owner }: Owned): { noun: string; end: string } => ({
  noun: owner.noun,
  end: toEnd(owner),
});

/** `[Symbol.dispose]`, as code has it. */
const asWritten = (name: string): string => name.replace(/^@@(\w+)$/, "[Symbol.$1]");

/** How the method is called that a class should have. */
const endOf = ({ owner }: Owned): string => `${owner.dispose.methods[0] ?? "dispose"}()`;

/** Whether some members destroy a device, which frees all that was made with it. */
const frees = (session: Session, members: ReadonlySet<ts.Node>): boolean =>
  [...members].some((m) => endsDevice(session, m));

/** No `;`, and no `return done;`. */
const isDeed = (statement: ts.Statement): boolean =>
  !ts.isEmptyStatement(statement) &&
  !(
    ts.isReturnStatement(statement) &&
    (!statement.expression || ts.isIdentifier(unwrap(statement.expression)))
  );

/** `return this.dispose();`: another method does it. */
const asksOther = (statement: ts.Statement): boolean =>
  /^(return )?(await )?this\.dispose\(\);?$/.test(statement.getText());

/** `[Symbol.dispose]() {}` beside a `dispose()` that does the work: `using` would free nothing. */
function checkEmpty(
  file: FileAnalysis,
  node: ts.ClassLikeDeclaration,
  members: readonly Member[],
  report: (f: Finding<Id>) => void,
): void {
  const all = node.members.filter(
    (m): m is Method =>
      ts.isMethodDeclaration(m) &&
      m.body !== undefined &&
      ["dispose", "@@dispose", "@@asyncDispose"].includes(memberName(m.name)),
  );
  const does = (method: Method): boolean => method.body.statements.some(isDeed);
  const other = all.find((m) => m.body.statements.some((s) => isDeed(s) && !asksOther(s)));
  if (
    !other ||
    all.every(does) ||
    (members.length === 0 && !file.session.oracle.ownedInstance(node))
  )
    return;
  const call = (to: Method): string => {
    const name = to.name.getText();
    return ts.isComputedPropertyName(to.name) ? `this${name}()` : `this.${name}()`;
  };
  for (const method of all) {
    if (does(method)) continue;
    const data = { method: `${method.name.getText()}()`, other: `${other.name.getText()}()` };
    const waits = isAsync(other) && !isAsync(method);
    report({
      mark: { start: method.name.getStart(), end: method.name.getEnd() },
      messageId: "empty",
      data,
      suggest: waits
        ? []
        : [
            {
              messageId: "callOther",
              data,
              fix: (fixer) =>
                fixer.replaceTextRange(
                  [method.body.getStart(), method.body.getEnd()],
                  `{ ${call(other)}; }`,
                ),
            },
          ],
    });
  }
}

/** A loop over what a field holds that has no body: a field is walked to free what is in it. */
function checkLoops(
  file: FileAnalysis,
  node: ts.ClassLikeDeclaration,
  forgotten: ReadonlySet<string>,
  report: (f: Finding<Id>) => void,
): void {
  for (const { loop, field } of emptyLoops(node)) {
    const value = forgotten.has(field) ? undefined : loopValue(file.session, loop);
    if (!value) continue;
    const { name, owned } = value;
    const call = owned.shape === "one" ? endCallOf(file.session.oracle, name, owned) : null;
    const { pos, end } = loop.statement;
    const start = loop.statement.getStart();
    const text = call && `${start === pos ? " " : ""}${asCall(name.text, call, true)};`;
    report({
      mark: { start: loop.initializer.getStart(), end: loop.expression.getEnd() },
      messageId: "emptyLoop",
      data: { field },
      suggest: text
        ? [
            {
              messageId: "fillLoop",
              data: {},
              fix: (fixer) => fixer.replaceTextRange([start, end], text),
            },
          ]
        : [],
    });
  }
}

type Method = ts.MethodDeclaration & { body: ts.Block };

const addLine = (fix: Fix | null, data: Record<string, string>): Suggestion<Id>[] =>
  fix ? [{ messageId: "addLine", data, fix }] : [];
