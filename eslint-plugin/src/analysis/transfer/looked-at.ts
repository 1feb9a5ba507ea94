/**
 * Looked at: whether an entry that is asked of a table, or a value that is given another name, is
 * only looked at and never ended or handed on. Used by the verbs about entries and fields.
 */
import ts from "typescript";
import { enclosingFunction, fateOf, type Fate } from "./fate.ts";
import { visitVerb } from "../flow/mention-events.ts";
import { effectInside } from "./mention.ts";
import { boundNames, referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";
import { isEquality, isNullish, isTarget, unwrap, variableName } from "../program/syntax.ts";
import { onlyLooksAt, type Effect } from "./transfer.ts";

/** Whether a function ends what a name in it stands for. */
export function endsByName(session: Session, id: ts.Identifier, home: ts.Node): boolean {
  const declaration = session.oracle.declarationAt(id);
  const name = declaration && variableName(declaration);
  if (!name) return false;
  return referencesTo(session.oracle, declaration, name, home).some(
    (other) => other !== name && session.transfer(other).effect === "disposes",
  );
}

/** Whether an entry that is asked for is only looked at, under another name too. */
export function onlyLooked(
  session: Session,
  got: ts.Expression,
  tests: boolean,
  also: readonly Effect[] = [],
): boolean {
  const { kind, node } = fateOf(got);
  if (kind === "operand") return tests && !isCompared(got);
  if (kind !== "bound" || !ts.isVariableDeclaration(node) || !ts.isIdentifier(node.name))
    return looksOr(session, got, also);
  return onlyLooks(session, node.name, tests, also);
}

/** Whether all mentions of a declared name only look at what it stands for. */
export function onlyLooks(
  session: Session,
  name: ts.Identifier,
  tests: boolean,
  also: readonly Effect[] = [],
): boolean {
  const { parent } = name;
  const home = enclosingFunction(parent);
  const root = home ?? parent.getSourceFile();
  return referencesTo(session.oracle, parent as ts.Declaration, name, root).every(
    (id) =>
      id === name || (!isCompared(id) && (tests || !isTested(id)) && looksOr(session, id, also)),
  );
}

/** `stack(xs.map((x) => x.state))`: what a callback picks of each is only looked at, too. */
export function looksAtMapped(session: Session, call: ts.CallExpression): boolean {
  const found = session.transfer(call);
  if (onlyLooksAt(effectInside(session, found))) return true;
  const { kind, node } = found.fate;
  return (
    kind === "bound" &&
    ts.isVariableDeclaration(node) &&
    ts.isIdentifier(node.name) &&
    onlyLooks(session, node.name, true)
  );
}

const looksOr = (session: Session, at: ts.Expression, also: readonly Effect[]): boolean => {
  const { effect, fate } = session.transfer(at);
  if (effect === "visits" && visitVerb(session, fate) === "use") return true;
  return (onlyLooksAt(effect) && !takesFunction(session, fate)) || also.includes(effect);
};

/** `const { end } = entry`, `later(entry.end)`: a function of an entry may be what ends it. */
function takesFunction({ oracle }: Session, { kind, node }: Fate): boolean {
  if (kind === "read") return oracle.signatureAt(node) !== undefined;
  if (kind !== "bound" || !ts.isVariableDeclaration(node)) return false;
  return boundNames(node.name, node).some(({ id }) => oracle.signatureAt(id) !== undefined);
}

/** `table.get(key) === t`: `t` is another name for the entry. */
export const isCompared = ({ parent }: ts.Node): boolean =>
  ts.isBinaryExpression(parent) &&
  isEquality(parent) &&
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

/** `if (old) …`: what is done then may be what keeps the old value. */
const isTested = (id: ts.Identifier): boolean => {
  const { kind, node } = fateOf(id);
  return kind === "operand" && !ts.isConditionalExpression(node);
};
