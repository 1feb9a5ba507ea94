/**
 * Kept twice: values of a table that others have too: a list that its owner ends, while the table
 * only finds them by name, `this.all.push(b); this.named.set(key, b);`, or the function that puts
 * one there for a while and takes it back. Used by the verbs about what tables lose.
 */
import ts from "typescript";
import { puts, putValues } from "../program/containers.ts";
import { samePlace } from "../program/same-place.ts";
import { unwrap } from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { endsByName } from "../transfer/looked-at.ts";
import { hasOtherOwner } from "./other-owners.ts";
import { putsIn } from "./puts.ts";
import type { Removal } from "./removals.ts";

/** Whether what leaves a table is in a list that is ended, or in the hands of who takes it out. */
export const isKeptTwice = (
  session: Session,
  { kind, node, container }: Pick<Removal, "kind" | "node" | "container">,
): boolean =>
  (kind === "deleted" && isTakenBack(session, node, container)) ||
  isListedElsewhere(session, container);

/** Whether all that is put into a table or list has another owner as well, which ends it. */
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
  return all.length > 0 && all.every((value) => hasOtherOwner(session, value, table));
}

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
