/**
 * Parts: what an expression owns where that of its parts settles it: objects written with nothing
 * that is owned, choices between two values. Used by the oracle, so that it need not ask the
 * checker, which would check every part in full.
 */
import ts from "typescript";
import { isEndingName } from "./holders.ts";
import type { Owned } from "./ownership.ts";
import { memberName } from "./syntax.ts";

/** Ownership of a value by its parts; undefined where only its type tells. */
export function ownedByParts(
  node: ts.Node,
  ownedAt: (part: ts.Expression) => Owned | null,
): Owned | null | undefined {
  if (ts.isObjectLiteralExpression(node)) {
    const isBare = node.properties.every(
      (p) =>
        !(p.name && isEndingName(memberName(p.name))) &&
        ((ts.isPropertyAssignment(p) && ownedAt(p.initializer) === null) ||
          (ts.isShorthandPropertyAssignment(p) && ownedAt(p.name) === null)),
    );
    return isBare ? null : undefined;
  }
  if (!ts.isConditionalExpression(node)) return undefined;
  const one = ownedAt(node.whenTrue),
    other = ownedAt(node.whenFalse);
  if (!one && !other) return null;
  if (one?.shape !== "one" || other?.shape !== "one" || one.owner !== other.owner) return undefined;
  return other.nullable ? other : one;
}
