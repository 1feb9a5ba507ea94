/**
 * Lent devices: the `device` of a record that also has what it made, `{ device, texture: device.
 * createTexture(…) }`. Whoever gave it goes on with it, and so does the next record of its place.
 * Used by `flow/slots.ts` and `flow/slot-events.ts`.
 */
import ts from "typescript";
import { isDevice } from "./endings.ts";
import { isCarriedBack } from "../scopes/carried.ts";
import { samePlace } from "../program/same-place.ts";
import { unwrap, valuesOf } from "../program/syntax.ts";
import type { Freshness, Session } from "../session.ts";

/** How fresh a value is, of a record what it has beside a device that others made. */
export function freshBesideDevices(session: Session, value: ts.Expression): Freshness {
  const found = session.freshness(value);
  if (found === "fresh" || !ts.isObjectLiteralExpression(value)) return found;
  const values = valuesOf(value).map(unwrap);
  if (values.length < value.properties.length) return found;
  const owned = values.filter((part) => session.oracle.ownedAt(part));
  const others = owned.filter((part) => !isDevice(session, part));
  const isFresh = others.every((part) => session.freshness(part) === "fresh");
  return others.length > 0 && isFresh ? "fresh" : found;
}

/** The `cache` of `cache = { device: cache.device, texture: make() }`: the rest does not go on. */
export function isCarriedOver(session: Session, mention: ts.Expression): boolean {
  const { parent } = mention;
  if (isCarriedBack(session, parent) && parent.arguments[0] === mention) return true;
  let whole: ts.Node = mention;
  while (ts.isNonNullExpression(whole.parent)) whole = whole.parent;
  const part = whole.parent;
  if (!ts.isPropertyAccessExpression(part) || part.expression !== whole) return false;
  const property = part.parent;
  if (!ts.isPropertyAssignment(property) || property.initializer !== part) return false;
  const store = property.parent.parent;
  return (
    ts.isBinaryExpression(store) &&
    store.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
    store.right === property.parent &&
    samePlace(session.oracle, store.left, mention) &&
    isDevice(session, part)
  );
}
