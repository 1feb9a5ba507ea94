/**
 * Scope objects: whether an expression is a scope that the program has in hand, and what a method
 * of it does, as the settings of its owner say. Used by all that asks which scope has a value.
 */
import type ts from "typescript";
import type { ScopeObjectSettings } from "../../owner.ts";
import type { Session } from "../session.ts";

type ScopeObject = Required<ScopeObjectSettings>;

/** What the methods of a scope do, where an expression is one. */
export function scopeObjectAt(
  { oracle, settings }: Session,
  node: ts.Expression,
): ScopeObject | undefined {
  const type = oracle.typeName(node);
  return type === ""
    ? undefined
    : settings.owners.map((o) => o.scopeObject).find((scope) => scope.type === type);
}

/** Whether a method is given first which scope has the value: `inner.moveTo(scope, t)`. */
export const isMove = ({ settings }: Session, name: string): boolean =>
  settings.owners.some(({ scopeObject }) => scopeObject.moves.includes(name));
