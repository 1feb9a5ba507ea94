/**
 * Slot events: what a function does to the slots it speaks of (`slots.ts`), as events of the
 * dataflow beside those of its variables. Used by `paths.ts`.
 */
import ts from "typescript";
import { putValues } from "../program/containers.ts";
import type { Cell } from "./cells.ts";
import type { Frame } from "./events.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { leavesFieldAlone, wholesIn } from "../transfer/handed-this.ts";
import { isAnything } from "../../owner.ts";
import { givesOthers, givesPart } from "../lists/left-out.ts";
import { isCarriedOver } from "../objects/lent-devices.ts";
import { isCarriedBack } from "../scopes/carried.ts";
import { isSpreadBack, spreadBack } from "../lists/spread-back.ts";
import { storesOf } from "../program/pattern-stores.ts";
import { isSwapped } from "../program/swaps.ts";
import { effectInside, transferOf } from "../transfer/mention.ts";
import { verbFor } from "./mention-events.ts";
import type { Session } from "../session.ts";
import { callTouches, constantFor, findsHeld, leaves, takesPlain } from "./slot-touches.ts";
import { isStore, type Slot, type Slots } from "./slots.ts";
import { variantsOf } from "./variants.ts";
import {
  isEmptyContainer,
  isNullish,
  isPrivate,
  isTarget,
  someWithin,
  unwrap,
  within,
  type CallLike,
} from "../program/syntax.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";

/** Follows the slots that a function speaks of. */
export function enterSlots(session: Session, frame: Frame, slots: Slots): void {
  const { root, cells } = frame;
  const wholes = wholesIn(root);
  for (const slot of slots.within(root)) {
    const store = slot.mentions.some((m) => isTarget(m) && enclosingFunction(m) === root);
    if (!store || ts.isConstructorDeclaration(root) || root === slot.holder) continue;
    const isField = slot.label.startsWith("this.");
    if (isField && wholes.some((at) => !leavesFieldAlone(session, at, slot))) continue;
    if (hasSuper(root) && !isHidden(slot)) continue;
    if (findsHeld(session, slot, root)) cells.follow(slot, variantsOf(session, slot));
  }
}

/** Whether a slot is a private field of a class, which its base knows nothing of. */
const isHidden = ({ label, holder }: Slot): boolean =>
  ts.isClassLike(holder) &&
  holder.members.some(
    (m) => m.name !== undefined && isPrivate(m) && label === `this.${m.name.getText()}`,
  );

const hasSuper = (root: ts.Node): boolean =>
  someWithin(root, (node) => node.kind === ts.SyntaxKind.SuperKeyword);

/** Events of an expression that speaks of a slot. */
export function slotEvents(session: Session, frame: Frame, node: ts.Node): void {
  const cell = frame.cells.slotAt(node);
  if (!cell) return namedEvents(frame, node);
  if (isTarget(node)) return;
  const mention = node as ts.Expression;
  // of several records that it is given, a script's type may say nothing
  const owned = session.oracle.ownedAt(mention) ?? cell.owned;
  const found = transferOf(session, mention, owned);
  const { effect, fate } = found;
  if (isDereferenced(mention)) frame.emit({ kind: "present", cell, node });
  if (isPartOfStore(session, mention)) return;
  switch (effect) {
    case "disposes": {
      const call = fate.kind === "element" ? fate.node.parent : fate.node; // `x[Symbol.dispose]()`
      return frame.all(cell, "dispose", mention, call);
    }
    case "receives": {
      const call = fate.node as ts.CallExpression;
      const value = putValues(fate.member, call.arguments).at(-1);
      return value && frame.own(cell, value, call, true, false);
    }
    case "visits":
      return frame.all(cell, verbFor(session, cell, fate), mention, fate.node);
    case "aliases": {
      if (isAnything(cell.owned.owner)) return frame.all(cell, "escape", mention); // parts may end
      const constant = constantFor(fate.node, session);
      const name = constant && frame.cells.of(constant);
      if (name) name.nameOf = cell;
      if (!constant && !takesPlain(session, fate.node)) frame.all(cell, "escape", mention);
      return;
    }
    case "enters":
      if (!onlyLooksAt(effectInside(session, found))) frame.all(cell, "escape", mention);
      return;
    default:
      if (!leaves(session, mention)) frame.all(cell, "escape", mention);
  }
}

/** A name for what a slot holds. */
function namedEvents(frame: Frame, node: ts.Node): void {
  const cell = ts.isIdentifier(node) ? frame.cells.at(node)?.nameOf : undefined;
  if (cell && isDereferenced(node as ts.Identifier)) frame.emit({ kind: "present", cell, node });
}

/** `this.x.f`, and not `this.x?.f`: it holds something. */
function isDereferenced(mention: ts.Expression): boolean {
  let node: ts.Node = mention;
  while (ts.isNonNullExpression(node.parent) || ts.isParenthesizedExpression(node.parent))
    node = node.parent;
  const { parent } = node;
  return (
    ts.isPropertyAccessExpression(parent) &&
    parent.expression === node &&
    parent.questionDotToken === undefined
  );
}

/** The mention in `this.xs = this.xs.slice(1)`, or in a callback there: the store tells. */
function isPartOfStore(session: Session, mention: ts.Expression): boolean {
  if (isSpreadBack(session.oracle, mention) || isCarriedOver(session, mention)) return true;
  const store = ts.findAncestor(mention, ts.isBinaryExpression);
  return (
    store !== undefined &&
    isStore(store) &&
    within(mention, store.right) &&
    (givesPart(session, store.right, store.left) || givesOthers(session, store.right, store.left))
  );
}

/** Events of an assignment to a slot, or to several. */
export function slotStoreEvents(session: Session, frame: Frame, node: ts.BinaryExpression): void {
  for (const { place, value } of storesOf(node)) {
    const cell = isSwapped(place) ? undefined : frame.cells.slotAt(place);
    if (cell) storeEvents(session, frame, cell, value, node);
  }
}

function storeEvents(
  session: Session,
  frame: Frame,
  cell: Cell,
  value: ts.Expression,
  node: ts.BinaryExpression,
): void {
  if (!isStore(node)) return frame.all(cell, "escape", node);
  const added = spreadBack(session.oracle, node);
  if (added && !givesPart(session, node.right, node.left))
    return frame.own(cell, added.at(-1) ?? node.right, node, true, false);
  if (isCarriedBack(session, unwrap(value))) return; // the scope ends the old one
  if (isNullish(value)) return frame.set(cell, "null", node);
  if (isEmptyContainer(value)) return frame.set(cell, "none", node);
  if (!session.oracle.ownedAt(value)) return frame.set(cell, "unknown", node); // `drop(this.x)`
  const keeps = node.operatorToken.kind !== ts.SyntaxKind.EqualsToken;
  const nullable = session.oracle.ownedAt(value)?.nullable === true;
  frame.own(cell, value, node, keeps, nullable && !keeps);
}

/** Events of a call that may end or fill slots. */
export function slotCallEvents(session: Session, frame: Frame, call: CallLike): void {
  for (const cell of frame.cells.slots)
    if (cell.slot && callTouches(session, cell.slot, call)) frame.all(cell, "escape", call);
}

/** What a function that runs where it stands does to the slots of the one around it. */
export function slotsCaptured(session: Session, frame: Frame, fn: ts.Node): void {
  for (const cell of frame.cells.slots) {
    const inner = cell.slot?.mentions.filter((m) => within(m, fn)) ?? [];
    const touches = (m: ts.Expression): boolean =>
      isTarget(m) || !(leaves(session, m) || isPartOfStore(session, m));
    if (inner.some(touches)) frame.all(cell, "escape", fn);
  }
}
