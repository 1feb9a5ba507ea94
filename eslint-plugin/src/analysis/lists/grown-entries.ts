/**
 * Grown entries: values that a table loses where one of them does not do any more and another takes
 * its place: `let b = all.get(key); if (!b || b.size < n) { b = make(n); all.set(key, b); }`.
 * Used by the rule about overwritten values.
 */
import ts from "typescript";
import { enclosingFunction } from "../transfer/fate.ts";
import type { LostEntry } from "./lost-entries.ts";
import { effectInside } from "../transfer/mention.ts";
import { mayLackScope } from "../scopes/open-scopes.ts";
import { referencesTo } from "../program/references.ts";
import { samePlace } from "../program/same-place.ts";
import type { Session } from "../session.ts";
import { isEquality, isTarget, someWithin, unwrap, valuesOf, within } from "../program/syntax.ts";
import { mayFree } from "./replaced-entries.ts";
import type { Owned } from "../program/oracle.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";
import { leaves, testAround } from "../program/ways.ts";

/** Every such loss of a file. */
export function grownEntries(session: Session, file: ts.SourceFile): LostEntry[] {
  return session.oracle.facts.variables(file).flatMap((node) => grown(session, node) ?? []);
}

function grown(session: Session, declaration: ts.VariableDeclaration): LostEntry | undefined {
  const { name, initializer } = declaration;
  const got = initializer && unwrap(initializer);
  const home = enclosingFunction(declaration);
  if (!home || !got || !ts.isIdentifier(name) || !ts.isCallExpression(got)) return undefined;
  const { expression: on, arguments: keys } = got;
  const [key] = keys;
  if (!ts.isPropertyAccessExpression(on) || on.name.text !== "get" || !key) return undefined;
  const table = on.expression;
  const ids = referencesTo(session.oracle, declaration, name, home).filter((id) => id !== name);
  const tests = ids.flatMap((id) => (isMoreThanAsked(id) ? [testAround(id)] : []));
  const [test] = tests;
  if (!test || !session.oracle.callee(got).builtin) return undefined;
  const put = session.oracle.facts.calls(home.getSourceFile()).find((call) => {
    const { expression, arguments: given } = call;
    return (
      isReached(call, test) &&
      given.length === 2 &&
      ts.isPropertyAccessExpression(expression) &&
      expression.name.text === "set" &&
      samePlace(session.oracle, expression.expression, table) &&
      given[0]!.getText() === key.getText()
    );
  });
  const value = put?.arguments[1];
  const owned = value && session.oracle.ownedAt(value);
  if (!put || !value || !owned || !/^(one|record)$/.test(owned.shape)) return undefined;
  if (!isNew(session, value, put)) return undefined;
  if (!mayLackScope(session, put)) return undefined;
  const isOld = (id: ts.Identifier): boolean =>
    id.end <= put.pos || (declaration.parent.flags & ts.NodeFlags.Const) !== 0;
  const isHandedOn = (id: ts.Identifier): boolean =>
    isOld(id) &&
    !isTarget(id) &&
    !within(id, put) &&
    !onlyLooksAt(effectInside(session, session.transfer(id))) &&
    !isGivenBack(id);
  const isEndedBefore = (call: ts.CallExpression): boolean =>
    within(call, home) &&
    call !== got &&
    call !== put &&
    (mayFree(session, call, table) || isGiven(session, call, table));
  const isSettled =
    session.oracle.facts.calls(home.getSourceFile()).some(isEndedBefore) ||
    ids.some((id) => isWayOut(id, test)) ||
    speaksOf(session, key, test.expression);
  return isSettled || isAllOf(owned, ids.filter(isHandedOn)) || asksAgain(session, table, got, home)
    ? undefined
    : { call: put, table: table.getText(), owned };
}

/** Whether mentions that hand on a value speak of the whole, or of all parts of a record. */
function isAllOf({ fields }: Owned, mentions: readonly ts.Identifier[]): boolean {
  const parts = mentions.map(({ parent }) =>
    ts.isPropertyAccessExpression(parent) ? parent.name.text : "",
  );
  const isWhole = (part: string): boolean => !fields.includes(part);
  return parts.some(isWhole) || (parts.length > 0 && fields.every((f) => parts.includes(f)));
}

/** `drop(this.cache, name)`. */
const isGiven = ({ oracle }: Session, call: ts.CallExpression, table: ts.Expression): boolean =>
  call.arguments.some((argument) => samePlace(oracle, argument, table));

/** `if (have) throw new Error("size")`, after the test that finds it good. */
function isWayOut(id: ts.Node, test: ts.IfStatement): boolean {
  const other = testAround(id);
  return other !== undefined && other.pos >= test.end && leaves(other.thenStatement);
}

/** `const key = `${name}:${w}`` before `have.w === w`: another `w` never meets the entry. */
function speaksOf({ oracle }: Session, key: ts.Expression, asked: ts.Expression): boolean {
  const source = ts.isIdentifier(key) ? oracle.declarationAt(key) : undefined;
  const made = source && ts.isVariableDeclaration(source) ? source.initializer : undefined;
  if (!made || ts.isIdentifier(made)) return false;
  const sides: string[] = [];
  someWithin(asked, (node) => {
    if (ts.isBinaryExpression(node) && isEquality(node))
      sides.push(node.left.getText(), node.right.getText());
    return false;
  });
  return someWithin(made, (node) => ts.isExpression(node) && sides.includes(node.getText()));
}

/** `return have`, `return have.texture`: to whoever asks, as long as it does. */
function isGivenBack(id: ts.Node): boolean {
  let top = id;
  while (ts.isPropertyAccessExpression(top.parent) || ts.isNonNullExpression(top.parent))
    top = top.parent;
  return ts.isReturnStatement(top.parent);
}

/** Whether another place of a function has a value of the table in hand. */
const asksAgain = (
  session: Session,
  table: ts.Expression,
  got: ts.CallExpression,
  home: ts.Node,
): boolean =>
  session.oracle.facts.calls(home.getSourceFile()).some((call) => {
    const { expression: on } = call;
    return (
      call !== got &&
      within(call, home) &&
      ts.isPropertyAccessExpression(on) &&
      !/^(has|set)$/.test(on.name.text) &&
      samePlace(session.oracle, on.expression, table)
    );
  });

/** The `b` of `!b || b.size < size`, or of `b && b.size >= size` before a way out. */
function isMoreThanAsked(id: ts.Identifier): boolean {
  const test = testAround(id);
  const both = test && unwrap(test.expression);
  if (!both) return false;
  if (leaves(test.thenStatement)) return isLookedInto(id) && !test.elseStatement;
  return (
    ts.isBinaryExpression(both) &&
    within(id, both.left) &&
    both.operatorToken.kind === ts.SyntaxKind.BarBarToken &&
    /^!|(===?) ?(undefined|null)$/.test(both.left.getText())
  );
}

/** `!b || b.size < size`. */
function isEither({ expression }: ts.IfStatement): boolean {
  const both = unwrap(expression);
  return ts.isBinaryExpression(both) && both.operatorToken.kind === ts.SyntaxKind.BarBarToken;
}

/** `b.size`, `b?.size`, `b!.size`. */
function isLookedInto(id: ts.Identifier): boolean {
  const top = ts.isNonNullExpression(id.parent) ? id.parent : id;
  return ts.isPropertyAccessExpression(top.parent) && top.parent.expression === top;
}

/** Whether a place is reached where the old value does not do: in the `if`, or after a way out. */
function isReached(at: ts.Node, test: ts.IfStatement): boolean {
  if (enclosingFunction(at) !== enclosingFunction(test)) return false;
  if (within(at, test.thenStatement)) return !leaves(test.thenStatement) || isEither(test);
  if (!leaves(test.thenStatement)) return false;
  for (let end: ts.Node = test; end.parent && !within(at, end.parent); end = end.parent)
    if (ts.isBlock(end.parent) && leaves(end.parent)) return false;
  return at.pos >= test.end;
}

/** `{ buffer, light: old?.light ?? make(n) }`, where the buffer is new. */
const hasNewPart = (session: Session, made: ts.Expression): boolean =>
  ts.isObjectLiteralExpression(made) &&
  valuesOf(made).some((v) => session.oracle.ownedAt(v) && session.freshness(v) === "fresh");

/** A new value, or a name that is given one just before. */
function isNew(session: Session, value: ts.Expression, put: ts.CallExpression): boolean {
  if (session.freshness(value) === "fresh") return true;
  const bare = unwrap(value);
  const source = ts.isIdentifier(bare) ? session.oracle.declarationAt(bare) : undefined;
  const block = ts.findAncestor(put, ts.isBlock);
  if (source === undefined || block === undefined) return false;
  const made = ts.isVariableDeclaration(source) && within(source, block) && source.initializer;
  if (made && (session.freshness(made) === "fresh" || hasNewPart(session, made))) return true;
  return session.oracle.facts
    .assignments(put.getSourceFile())
    .some(
      ({ left, right, end }) =>
        ts.isIdentifier(left) &&
        end <= put.pos &&
        within(left, block) &&
        session.oracle.declarationAt(left) === source &&
        session.freshness(right) === "fresh",
    );
}
