/**
 * Filled lists: fresh values that a function puts into a list or table of the function around it,
 * or into one that it is given. Used by `closure-events.ts` and `paths.ts`.
 */
import ts from "typescript";
import type { Cell } from "./cells.ts";
import { putValues } from "../program/containers.ts";
import type { Frame } from "./events.ts";
import { transferOf } from "../transfer/mention.ts";
import type { Owned } from "../program/oracle.ts";
import { referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";
import { unwrap, type CallLike, type FunctionWithBody } from "../program/syntax.ts";

/** No mention. */
export const nothingPut: ReadonlyMap<ts.Identifier, ts.Expression> = new Map();

/**
 * The mentions that put fresh values into a list or table, `rows.forEach((r) =>
 * list.push(make(r)))`, each with the last value it puts.
 */
export function filling(
  session: Session,
  { shape }: Owned,
  ids: readonly ts.Identifier[],
): ReadonlyMap<ts.Identifier, ts.Expression> {
  const found = new Map<ts.Identifier, ts.Expression>();
  if (shape !== "many") return found;
  for (const id of ids) {
    const values = putThere(session, id);
    const last = values.at(-1);
    if (last && values.every((v) => session.freshness(v) === "fresh")) found.set(id, last);
  }
  return found;
}

/** The call or assignment that puts something there. */
export function putAt(session: Session, id: ts.Identifier): ts.Node {
  const { effect, fate, next } = transferOf(session, id);
  return effect === "receives" ? fate.node : (next?.parent ?? id);
}

/** `list.push(t)`, `table[key] = t`: what is put into the list or table that a name mentions. */
function putThere(session: Session, id: ts.Identifier): readonly ts.Expression[] {
  const { effect, fate, next } = transferOf(session, id);
  if (effect === "receives" && ts.isCallExpression(fate.node))
    return putValues(fate.member, fate.node.arguments);
  const store = next?.parent;
  const isStore =
    store !== undefined &&
    ts.isBinaryExpression(store) &&
    store.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
    store.left === next;
  return isStore ? [store.right] : [];
}

/** `fill(list)`, `add(row)`: adds that a call puts fresh values into local lists and tables. */
export function fillEvents(session: Session, frame: Frame, call: CallLike): void {
  const { body } = session.oracle.callee(call);
  if (!body) return;
  for (const [cell, value] of frame.fillers.get(body) ?? [])
    frame.own(cell, value, call, true, false);
  for (const [index, argument] of (call.arguments ?? []).entries()) {
    const bare = unwrap(argument);
    const cell = ts.isIdentifier(bare) ? frame.cells.at(bare) : undefined;
    if (cell && fills(session, cell, body, index)) frame.own(cell, call, call, true, false);
  }
}

/** Whether a function puts fresh values into the list it is given, and only looks at it else. */
function fills(session: Session, cell: Cell, body: FunctionWithBody, index: number): boolean {
  const parameter = body.parameters[index];
  if (cell.kind !== "local" || cell.owned.shape !== "many") return false;
  if (!parameter || !ts.isIdentifier(parameter.name) || parameter.dotDotDotToken) return false;
  const effect = session.summary(body).parameters[index];
  if (!effect || effect.disposes || effect.stores || effect.returns) return false;
  const ids = referencesTo(session.oracle, parameter, parameter.name, body);
  return filling(session, cell.owned, ids).size > 0;
}
