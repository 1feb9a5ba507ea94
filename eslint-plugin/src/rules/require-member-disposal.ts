/**
 * Rule `require-member-disposal`: a class that stores fresh values in its fields must dispose each
 * of them in its `dispose()`, and must have one. Fields given from outside, and classes whose base
 * manages their fields (modules), are left alone.
 */
import ts from "typescript";
import type { FileAnalysis } from "../analysis/analyse.ts";
import { markOf } from "../analysis/consume.ts";
import { putValues, puts } from "../analysis/containers.ts";
import type { Owned } from "../analysis/oracle.ts";
import { isEmptyContainer, isNullish, memberName, unwrap } from "../analysis/syntax.ts";
import { rule, type Finding, type Suggestion } from "../create-rule.ts";
import { indentOf, unitOf } from "../fix/text.ts";

type Id = "forgotten" | "noDispose" | "empty" | "addLine" | "callOther";

/** Require classes to dispose the tensors they own. */
export const requireMemberDisposal = rule<Id, { requireDispose: boolean }>({
  name: "require-member-disposal",
  description: "Require classes to dispose the tensors they own",
  type: "problem",
  config: "recommended",
  hasSuggestions: true,
  messages: {
    forgotten:
      "`{{ field }}` holds a {{ noun }} this class made, and `{{ method }}` does not dispose it.",
    noDispose:
      "`{{ field }}` holds a {{ noun }} this class made, and the class has no `dispose()`.",
    empty:
      "`{{ method }}` does nothing, and `{{ other }}` is what frees what this class owns; call it.",
    callOther: "Call `{{ other }}`.",
    addLine: "Dispose `{{ field }}` in `{{ method }}`.",
  },
  options: {
    requireDispose: {
      type: "boolean",
      description: "Also report classes that have no disposing method at all.",
    },
  },
  defaults: { requireDispose: false },
  check(file, options, report) {
    const visit = (node: ts.Node): void => {
      ts.forEachChild(node, visit);
      if (ts.isClassLike(node)) checkClass(file, node, options.requireDispose, report);
    };
    visit(file.file);
  },
});

interface Member {
  name: string;
  at: ts.Expression;
  owned: Owned;
  inConstructor: boolean;
}

function checkClass(
  file: FileAnalysis,
  node: ts.ClassLikeDeclaration,
  requireDispose: boolean,
  report: (f: Finding<Id>) => void,
): void {
  const members = ownedMembers(file, node);
  checkEmpty(file, node, members, report);
  if (members.length === 0 || managed(file, node, members[0]!.owned.owner.managers)) return;
  const methods = disposers(node, members[0]!.owned);
  const base = node.heritageClauses?.some((h) => h.token === ts.SyntaxKind.ExtendsKeyword) === true;
  if (methods.length === 0) {
    if (requireDispose && !base)
      for (const m of members)
        report({
          mark: markOf(m.at),
          messageId: "noDispose",
          data: { field: `this.${m.name}`, noun: m.owned.owner.noun },
        });
    return;
  }
  const reached = reach(node, methods);
  for (const m of members) {
    if (sharedElsewhere(file, node, m.name)) continue;
    if ([...reached].some((method) => mentions(method, m.name))) continue;
    const method = methods[0]!;
    const data = {
      field: `this.${m.name}`,
      noun: m.owned.owner.noun,
      method: `${method.name.getText()}()`,
    };
    report({ mark: markOf(m.at), messageId: "forgotten", data, suggest: addLine(method, m, data) });
  }
}

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
  const does = (method: Method): boolean =>
    method.body.statements.some((s) => !ts.isEmptyStatement(s));
  const other = all.find(does);
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
    const waits =
      (ts.getCombinedModifierFlags(other) & ts.ModifierFlags.Async) !== 0 &&
      (ts.getCombinedModifierFlags(method) & ts.ModifierFlags.Async) === 0;
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

/**
 * Fields assigned a fresh value anywhere in the class, and containers in fields that one is put
 * into.
 */
function ownedMembers(file: FileAnalysis, node: ts.ClassLikeDeclaration): Member[] {
  const found = new Map<string, Member>();
  const shared = new Set<string>();
  const note = (
    name: string,
    value: ts.Expression,
    at: ts.Expression,
    place: ts.Node,
    held?: Owned,
  ): void => {
    const owned =
      file.session.oracle.ownedAt(value) && (held ?? file.session.oracle.ownedAt(value));
    if (!owned) return;
    const state = file.session.freshness(value);
    const bare = unwrap(value);
    if (isNullish(bare) || isEmptyContainer(bare)) return;
    if (state === "fresh") {
      if (!found.has(name))
        found.set(name, { name, at, owned, inConstructor: ts.isConstructorDeclaration(place) });
    } else if (state !== "unknown" && state !== "never") shared.add(name);
  };
  const visit = (inner: ts.Node, place: ts.Node): void => {
    if (ts.isClassLike(inner)) return;
    if (
      ts.isBinaryExpression(inner) &&
      inner.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
      ts.isPropertyAccessExpression(inner.left) &&
      inner.left.expression.kind === ts.SyntaxKind.ThisKeyword
    ) {
      note(inner.left.name.text, inner.right, innermost(inner.right), place);
    }
    const put = ts.isCallExpression(inner) ? putInto(file, inner) : undefined;
    if (put)
      for (const value of put.values) note(put.field, value, innermost(value), place, put.owned);
    ts.forEachChild(inner, (c) => {
      visit(c, place);
    });
  };
  for (const member of node.members) {
    if (
      ts.isPropertyDeclaration(member) &&
      member.initializer &&
      !isStatic(member) &&
      !ts.isArrowFunction(member.initializer)
    )
      note(memberName(member.name), member.initializer, innermost(member.initializer), node);
    ts.forEachChild(member, (c) => {
      visit(c, member);
    });
  }
  for (const name of shared) found.delete(name);
  return [...found.values()];
}
/** `this.parts.push(t)`, `this.table.set(key, t)`: the field, and what it gets. */
function putInto(
  file: FileAnalysis,
  call: ts.CallExpression,
): { field: string; values: readonly ts.Expression[]; owned: Owned } | undefined {
  const target = call.expression;
  if (!ts.isPropertyAccessExpression(target) || !puts(target.name.text)) return undefined;
  const container = target.expression;
  if (
    !ts.isPropertyAccessExpression(container) ||
    container.expression.kind !== ts.SyntaxKind.ThisKeyword ||
    !file.session.oracle.callee(call).builtin
  )
    return undefined;
  const owned = file.session.oracle.ownedAt(container);
  return owned?.shape === "many"
    ? {
        field: container.name.text,
        values: putValues(target.name.text, call.arguments),
        owned,
      }
    : undefined;
}

const innermost = (value: ts.Expression): ts.Expression => unwrap(value);
const isStatic = (member: ts.Declaration): boolean =>
  (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Static) !== 0;

/**
 * Whether the field is also put into a list, a table or somebody else's hands, which may do the
 * disposing.
 */
function sharedElsewhere(
  file: FileAnalysis,
  node: ts.ClassLikeDeclaration,
  field: string,
): boolean {
  let found = false;
  const visit = (inner: ts.Node): void => {
    if (found) return;
    if (
      ts.isPropertyAccessExpression(inner) &&
      inner.expression.kind === ts.SyntaxKind.ThisKeyword &&
      inner.name.text === field
    ) {
      const { effect, fate } = file.session.transfer(inner);
      const handedOn = fate.kind === "argument" && effect !== "borrows" && effect !== "passes";
      const renamed = fate.kind === "assigned" || fate.kind === "field";
      if (handedOn || renamed || (fate.literal && fate.kind !== "argument")) found = true;
    }
    ts.forEachChild(inner, visit);
  };
  ts.forEachChild(node, visit);
  return found;
}

/** Whether a base class owns the values in the fields. */
const managed = (
  file: FileAnalysis,
  node: ts.ClassLikeDeclaration,
  managers: readonly string[],
): boolean => file.session.oracle.ancestors(node).some((name) => managers.includes(name));

type Method = ts.MethodDeclaration & { body: ts.Block };

/** The methods that end the object's life. */
function disposers(node: ts.ClassLikeDeclaration, owned: Owned): Method[] {
  const names = new Set([
    ...owned.owner.dispose.methods,
    "@@dispose",
    "@@asyncDispose",
    "dispose",
    "destroy",
  ]);
  return node.members.filter(
    (m): m is Method =>
      ts.isMethodDeclaration(m) && m.body !== undefined && names.has(memberName(m.name)),
  );
}

/** The disposers and every method of the class they call. */
function reach(node: ts.ClassLikeDeclaration, methods: Method[]): Set<Method> {
  const reached = new Set<Method>();
  const visit = (method: Method): void => {
    if (reached.has(method)) return;
    reached.add(method);
    for (const other of node.members) {
      if (ts.isMethodDeclaration(other) && other.body && mentions(method, memberName(other.name)))
        visit(other as Method);
    }
  };
  methods.forEach(visit);
  return reached;
}

/** Whether a body reads a field, by name, by destructuring, or by walking all of them. */
function mentions(method: Method, field: string): boolean {
  let found = false;
  const visit = (node: ts.Node): void => {
    if (found) return;
    // looks at them and does nothing
    if (ts.isForOfStatement(node) && isEmpty(node.statement)) return;
    if (ts.isPropertyAccessExpression(node) && node.name.text === field) found = true;
    else if (
      ts.isElementAccessExpression(node) &&
      node.expression.kind === ts.SyntaxKind.ThisKeyword
    )
      found = true;
    else if (ts.isBindingElement(node) && memberName(node.propertyName ?? node.name) === field)
      found = true;
    else if (
      node.kind === ts.SyntaxKind.ThisKeyword &&
      !ts.isPropertyAccessExpression(node.parent) &&
      !ts.isVariableDeclaration(node.parent)
    )
      found = true; // handed on whole
    ts.forEachChild(node, visit);
  };
  visit(method.body);
  return found;
}

const isEmpty = (body: ts.Statement): boolean =>
  ts.isEmptyStatement(body) ||
  (ts.isBlock(body) && body.statements.every(isEmpty)) ||
  (ts.isForOfStatement(body) && isEmpty(body.statement));

function addLine(method: Method, member: Member, data: Record<string, string>): Suggestion<Id>[] {
  const name = member.owned.owner.dispose.methods[0];
  if (
    member.owned.shape === "record" ||
    name === undefined ||
    (member.owned.shape === "many" && member.owned.nullable)
  )
    return [];
  const last = method.body.statements[method.body.statements.length - 1];
  const indent = last ? indentOf(last) : indentOf(method) + unitOf(method.getSourceFile());
  const sure = member.inConstructor && !member.owned.nullable;
  const line =
    member.owned.shape === "many"
      ? `for (const value of this.${member.name}.values()) value.${name}();`
      : `this.${member.name}${sure ? "" : "?"}.${name}();`;
  const at = last ? last.getEnd() : method.body.getStart() + 1;
  const text = last ? `\n${indent}${line}` : `\n${indent}${line}\n${indentOf(method)}`;
  return [
    { messageId: "addLine", data, fix: (fixer) => fixer.insertTextAfterRange([at, at], text) },
  ];
}
