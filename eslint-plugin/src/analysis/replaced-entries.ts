/**
 * Replaced entries: values that a table of the module or in a field loses when a function that is
 * made to replace them puts others under the same key: `saveOne(name) { templates[name] = … }`.
 * A function that asks the table first, or calls what sounds as if it freed something, may have had
 * the old value in hand. Used by the rule about overwritten values.
 */
import ts from "typescript";
import { callSitesOf, nameOf } from "./call-sites.ts";
import { handedTo } from "./callbacks.ts";
import { freeing } from "./endings.ts";
import { enclosingFunction, fateOf } from "./fate.ts";
import { fieldOfThis } from "./members.ts";
import type { LostEntry } from "./lost-entries.ts";
import { mayLackScope } from "./open-scopes.ts";
import { referencesTo } from "./references.ts";
import { isHandler } from "./runs-often.ts";
import { samePlace } from "./same-place.ts";
import type { Session } from "./session.ts";
import {
  hasBody,
  isNullish,
  isTarget,
  rootOf,
  someWithin,
  unwrap,
  within,
  type FunctionWithBody,
} from "./syntax.ts";
import { onlyLooksAt } from "./transfer.ts";

/** Names of functions that put something where another may be. */
const verbs =
  "set|update|put|replace|save|store|remember|change|refresh|record|switch|on|handle|process";
const replacing = new RegExp(`^(${verbs})([A-Z_]|$)`);

/** A value that is put into a table under a key. */
interface Put {
  node: ts.CallExpression | ts.BinaryExpression;
  table: ts.Expression;
  key: ts.Expression;
  value: ts.Expression;
}

/** Every such loss of a file. */
export function replacedEntries(session: Session, file: ts.SourceFile): LostEntry[] {
  const { facts } = session.oracle;
  const puts = [
    ...facts.calls(file).flatMap((call) => putByCall(call) ?? []),
    ...facts.assignments(file).flatMap((store) => putByStore(store) ?? []),
  ];
  return puts.flatMap((put) => {
    const home = enclosingFunction(put.node);
    if (!home || !hasBody(home) || !isHeld(session, put.table)) return [];
    const updates = isUpdate(session, put) || goesRound(session, put);
    if (!updates && !(isGiven(session, put.key, home) && replaces(session, home, put.key)))
      return [];
    const owned = session.oracle.ownedAt(put.value);
    if (!owned || owned.shape === "many" || owned.owner.policy === "generic") return [];
    if (session.freshness(put.value) !== "fresh" || !mayLackScope(session, put.node)) return [];
    return leavesOld(session, home, put, updates)
      ? [{ call: put.node, table: put.table.getText(), owned }]
      : [];
  });
}

/** `table.set(key, value)`. */
function putByCall(call: ts.CallExpression): Put | undefined {
  const { expression } = call;
  const [key, value] = call.arguments;
  return ts.isPropertyAccessExpression(expression) &&
    expression.name.text === "set" &&
    key &&
    value &&
    call.arguments.length === 2
    ? { node: call, table: expression.expression, key: unwrap(key), value }
    : undefined;
}

/** `table[key] = value`. */
function putByStore(store: ts.BinaryExpression): Put | undefined {
  const { left, right } = store;
  return ts.isElementAccessExpression(left) &&
    store.operatorToken.kind === ts.SyntaxKind.EqualsToken
    ? { node: store, table: left.expression, key: unwrap(left.argumentExpression), value: right }
    : undefined;
}

/** A field, or a variable of the module that no other file has. */
function isHeld(session: Session, table: ts.Expression): boolean {
  if (fieldOfThis(table)) return session.oracle.ownedAt(table)?.shape === "many";
  const root = rootOf(table);
  const declaration = ts.isIdentifier(root) ? session.oracle.declarationAt(root) : undefined;
  return (
    declaration !== undefined &&
    ts.isVariableDeclaration(declaration) &&
    !enclosingFunction(declaration) &&
    (ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.Export) === 0 &&
    session.oracle.ownedAt(table)?.shape === "many"
  );
}

/** `items[next] = t` where `next = (next + 1) % most`: the places of a ring, one by one. */
function goesRound(session: Session, { key, node }: Put): boolean {
  if (!ts.isBinaryExpression(node)) return false;
  const home = ts.findAncestor(node, ts.isClassLike);
  return session.oracle.facts.assignments(node.getSourceFile()).some((store) => {
    const right = unwrap(store.right);
    const wraps =
      ts.isBinaryExpression(right) && right.operatorToken.kind === ts.SyntaxKind.PercentToken;
    if (!wraps || ts.findAncestor(store, ts.isClassLike) !== home) return false;
    return samePlace(session.oracle, store.left, key);
  });
}

/** A name that the function is given, or part of what it is given: `name`, `req.params.id`. */
function isGiven(session: Session, key: ts.Expression, home: ts.Node): boolean {
  const root = rootOf(key);
  let at: ts.Node | undefined = ts.isIdentifier(root)
    ? session.oracle.declarationAt(root)
    : undefined;
  while (at && !ts.isParameter(at)) {
    if (ts.isSourceFile(at) || ts.isFunctionLike(at)) return false;
    at = at.parent;
  }
  return at?.parent === home && !session.oracle.gives(key, "number");
}

/** Whether a function is made to put another value where one is, and not for each name once. */
function replaces(session: Session, home: FunctionWithBody, key: ts.Expression): boolean {
  if (handedTo(home)) return isHandler(session, home);
  const name = nameOf(home);
  if (name === undefined || !replacing.test(name)) return false;
  const parameter = ts.isIdentifier(key) ? session.oracle.declarationAt(key) : undefined;
  if (!parameter || !ts.isParameter(parameter)) return true;
  const { calls, values } = callSitesOf(session.oracle, home, "program");
  const index = home.parameters.indexOf(parameter);
  const given = calls.map((c) => c.arguments?.[index]);
  const texts = given.flatMap((g) => (g && ts.isStringLiteralLike(g) ? [g.text] : []));
  const allOnce = texts.length === calls.length && new Set(texts).size === texts.length;
  return values.length > 0 || calls.length === 0 || !allOnce;
}

/** Whether nothing in a function has the old value in hand, or asks whether there is one. */
function leavesOld(
  session: Session,
  home: FunctionWithBody,
  { node, table }: Put,
  updates: boolean,
): boolean {
  return !someWithin(home.body, (inner) => {
    if (ts.isCallExpression(inner) && inner !== node && mayFree(session, inner, table)) return true;
    if (!ts.isIdentifier(inner) && !ts.isPropertyAccessExpression(inner)) return false;
    if (within(inner, table) || !samePlace(session.oracle, inner, table)) return false;
    return !onlyReads(session, inner, updates);
  });
}

/** A call of what sounds as if it freed something, or of a function that speaks of the table. */
function mayFree(session: Session, call: ts.CallExpression, table: ts.Expression): boolean {
  if (freeing.test(call.expression.getText())) return true;
  const { body } = session.oracle.callee(call);
  return (
    body !== undefined &&
    someWithin(
      body.body,
      (inner) => ts.isExpression(inner) && samePlace(session.oracle, inner, table),
    )
  );
}

/** `table.get(key)` or `table[key]` that is looked at, under another name too; no test of it. */
function onlyReads(session: Session, table: ts.Expression, updates: boolean): boolean {
  const { parent } = table;
  const got = entryOf(table);
  if (!got)
    return (
      ts.isPropertyAccessExpression(parent) &&
      (/^(size|length)$/.test(parent.name.text) ||
        (updates && /^(set|push)$/.test(parent.name.text)))
    );
  return isTarget(got) ? updates : onlyLooked(session, got, updates);
}

/** Whether an entry that is asked for is only looked at, under another name too. */
function onlyLooked(session: Session, got: ts.Expression, tests: boolean): boolean {
  const { kind, node } = fateOf(got);
  if (kind === "operand") return tests && !isCompared(got);
  if (kind !== "bound" || !ts.isVariableDeclaration(node) || !ts.isIdentifier(node.name))
    return onlyLooksAt(session.transfer(got).effect);
  const { name } = node;
  const home = enclosingFunction(node);
  return referencesTo(session.oracle, node, name, home ?? node.getSourceFile()).every(
    (id) =>
      id === name ||
      (!isCompared(id) && (tests || !isTested(id)) && onlyLooksAt(session.transfer(id).effect)),
  );
}

/** `table.get(key) === t`: `t` is another name for the entry. */
const isCompared = ({ parent }: ts.Node): boolean =>
  ts.isBinaryExpression(parent) &&
  /^[!=]==?$/.test(parent.operatorToken.getText()) &&
  !isNullish(unwrap(parent.left)) &&
  !isNullish(unwrap(parent.right));

/** Whether a mention of a table asks for an entry and only looks at it, tests included. */
export function looksAtEntry(session: Session, table: ts.Expression): boolean {
  const got = entryOf(table);
  return got !== undefined && !isTarget(got) && onlyLooked(session, got, true);
}

/** The entry that a mention of a table asks for: `table.get(key)`, `table[key]`. */
export function entryOf(table: ts.Expression): ts.Expression | undefined {
  const { parent } = table;
  if (ts.isElementAccessExpression(parent) && parent.expression === table) return parent;
  const isGet =
    ts.isPropertyAccessExpression(parent) &&
    parent.name.text === "get" &&
    ts.isCallExpression(parent.parent);
  return isGet ? parent.parent : undefined;
}

/** `const old = table.get(key); table.set(key, old.add(x))`: made from what was there. */
const isUpdate = (session: Session, { table, value }: Put): boolean =>
  someWithin(value, (inner) => {
    if (!ts.isIdentifier(inner)) return false;
    const source = session.oracle.declarationAt(inner);
    const given = source && ts.isVariableDeclaration(source) ? source.initializer : undefined;
    const bare = given && unwrap(given);
    if (!bare) return false;
    const holder = ts.isCallExpression(bare) ? bare.expression : bare;
    return (
      (ts.isElementAccessExpression(holder) || ts.isPropertyAccessExpression(holder)) &&
      samePlace(session.oracle, holder.expression, table) &&
      entryOf(holder.expression) === bare
    );
  });

/** `if (old) …`: what is done then may be what keeps the old value. */
const isTested = (id: ts.Identifier): boolean => {
  const { kind, node } = fateOf(id);
  return kind === "operand" && !ts.isConditionalExpression(node);
};
