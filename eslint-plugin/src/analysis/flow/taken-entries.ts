/**
 * Taken entries: what a function finds in a table and then takes out, `const t = all.get(key);
 * all.delete(key);`, where the table's owner ends such values and the function ends this one on one
 * of its ways. From the removal on nobody else has it. Used by `paths.ts`.
 */
import ts from "typescript";
import { endsOwnElements, ownsElements } from "../objects/ended-elements.ts";
import { referencesTo } from "../program/references.ts";
import { samePlace } from "../program/same-place.ts";
import { isTarget, unwrap, type CallLike } from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";
import type { Cell } from "./cells.ts";
import type { Frame } from "./events.ts";

/** Events of a call that takes out of a table what the function has a name for. */
export function takenEntry(session: Session, frame: Frame, call: CallLike): void {
  if (!ts.isCallExpression(call) || !ts.isExpressionStatement(call.parent)) return;
  const { expression: target, arguments: given } = call;
  const [key] = given;
  if (!key || !ts.isPropertyAccessExpression(target) || target.name.text !== "delete") return;
  const table = target.expression;
  if (session.oracle.ownedAt(table)?.shape !== "many") return;
  if (session.oracle.typeName(table) !== "Map" || !session.oracle.callee(call).builtin) return;
  for (const cell of frame.cells.all) {
    const got = cell.kind === "local" && cell.owned.shape === "one" && foundIn(session, cell);
    if (!got || got.pos > call.pos || got.arguments[0]?.getText() !== key.getText()) continue;
    const { declaration } = cell;
    if (!declaration || !samePlace(session.oracle, got.expression.expression, table)) continue;
    if (!ownsElements(session, table) && !endsOwnElements(session, table)) continue;
    if (isEndedOnce(session, frame, cell, call)) frame.own(cell, got, declaration, true, false);
  }
}

type Lookup = ts.CallExpression & { expression: ts.PropertyAccessExpression };

/** `all.get(key)`, where that is what a constant holds. */
function foundIn({ oracle }: Session, { declaration }: Cell): Lookup | undefined {
  if (!declaration || !ts.isVariableDeclaration(declaration) || !declaration.initializer)
    return undefined;
  if (!(ts.getCombinedNodeFlags(declaration) & ts.NodeFlags.Const)) return undefined;
  const call = unwrap(declaration.initializer);
  if (!ts.isCallExpression(call) || !ts.isPropertyAccessExpression(call.expression))
    return undefined;
  return call.expression.name.text === "get" && oracle.callee(call).builtin
    ? (call as Lookup)
    : undefined;
}

/**
 * Whether a function only looks at a value before it takes it out, and ends it afterwards, on one
 * way at least: so that to end it is up to the function.
 */
function isEndedOnce(
  session: Session,
  frame: Frame,
  { declaration, name }: Cell,
  removal: ts.CallExpression,
): boolean {
  if (!declaration || !name) return false;
  const ids = referencesTo(session.oracle, declaration, name, frame.root).filter((i) => i !== name);
  if (ids.some((id) => enclosingFunction(id) !== frame.root || isTarget(id))) return false;
  const before = ids.filter((id) => id.pos < removal.pos);
  const after = ids.filter((id) => id.pos > removal.pos);
  return (
    before.every((id) => onlyLooksAt(session.transfer(id).effect)) &&
    after.some((id) => session.transfer(id).effect === "disposes")
  );
}
