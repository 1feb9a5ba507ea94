/**
 * Kept twice: values of a table that others have too: a list that its owner ends, while the table
 * only finds them by name, `this.all.push(b); this.named.set(key, b);`, or the function that puts
 * one there for a while and takes it back. Used by the verbs about what tables lose.
 */
import ts from "typescript";
import { puts, putValues } from "../program/containers.ts";
import { mayEndWithin } from "../objects/ended-by-callers.ts";
import { isCleared } from "../objects/pointers.ts";
import { samePlace } from "../program/same-place.ts";
import { someWithin, unwrap } from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { endsByName } from "../transfer/looked-at.ts";
import { putsIn } from "./puts.ts";
import type { Removal } from "./removals.ts";

/** Whether what leaves a table is in a list that is ended, or in the hands of who takes it out. */
export const isKeptTwice = (
  session: Session,
  { kind, node, container }: Pick<Removal, "kind" | "node" | "container">,
): boolean =>
  (kind === "deleted" && isTakenBack(session, node, container)) ||
  isListedElsewhere(session, container);

/** Whether all that is put into a table or list goes into another place as well that is ended. */
function isListedElsewhere(session: Session, table: ts.Expression): boolean {
  const { oracle } = session;
  const isThere = (place: ts.Expression): boolean => samePlace(oracle, place, table);
  const file = table.getSourceFile();
  const named = putsIn(oracle.facts, file).flatMap((put) =>
    isThere(put.table) ? [put.value] : [],
  );
  const added = oracle.facts
    .calls(file)
    .flatMap(({ expression, arguments: given }) =>
      ts.isPropertyAccessExpression(expression) &&
      puts(expression.name.text) &&
      isThere(expression.expression)
        ? putValues(expression.name.text, given)
        : [],
    );
  const all = [...named, ...added];
  return all.length > 0 && all.every((value) => isOfOwningList(session, value, table));
}

/** `all.push(t)` beside `named.set(key, t)`, where something ends what `all` holds. */
export function isOfOwningList(
  session: Session,
  value: ts.Expression,
  table: ts.Expression,
): boolean {
  const { oracle } = session;
  const id = unwrap(value);
  const home = enclosingFunction(value);
  const declaration = ts.isIdentifier(id) ? oracle.declarationAt(id) : undefined;
  if (!declaration || !home) return false;
  const root = ts.findAncestor(home, ts.isClassLike) ?? home.getSourceFile();
  return someWithin(home, (node) => {
    if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return false;
    const { name, expression: list } = node.expression;
    if (!puts(name.text) || samePlace(oracle, list, table)) return false;
    const isSame = (given: ts.Expression): boolean =>
      ts.isIdentifier(given) && oracle.declarationAt(given) === declaration;
    if (!putValues(name.text, node.arguments).some(isSame)) return false;
    return mayEndWithin(
      session,
      root,
      (at) => isPlace(at) && !isCleared(at) && samePlace(oracle, at, list),
    );
  });
}

const isPlace = (node: ts.Node): node is ts.Expression =>
  ts.isIdentifier(node) || ts.isPropertyAccessExpression(node);

/** `live.set(id, t); await …; live.delete(id); t.dispose();`: the function has it by its name. */
function isTakenBack(session: Session, removal: ts.Node, table: ts.Expression): boolean {
  const { oracle } = session;
  const home = enclosingFunction(removal);
  return putsIn(oracle.facts, table.getSourceFile()).some(({ node, table: other, value }) => {
    const id = unwrap(value);
    if (enclosingFunction(node) !== home || node.pos > removal.pos || !ts.isIdentifier(id))
      return false;
    if (!samePlace(oracle, other, table)) return false;
    return home !== undefined && endsByName(session, id, home);
  });
}
