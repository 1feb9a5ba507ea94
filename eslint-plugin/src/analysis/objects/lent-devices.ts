/**
 * Lent devices: the `device` of a record that also has what it made, `{ device, texture: device.
 * createTexture(…) }`. Whoever gave it goes on with it, and so does the next record of its place.
 * Used by `flow/slots.ts`.
 */
import ts from "typescript";
import { isDevice } from "./endings.ts";
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
