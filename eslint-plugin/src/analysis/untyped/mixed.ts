/**
 * Mixed results: `model.predict(x)` gives one value or a list of them, and plain JavaScript has no
 * cast to say which. What is done with the result tells. Used by the oracle and by `untyped.ts`.
 */
import ts from "typescript";
import type { References } from "../program/references.ts";
import { fateOf, type Fate } from "../transfer/fate.ts";
import { usesOf } from "./untyped-parameters.ts";

/** What code takes a value for: one value, a list, or no telling. */
export type Taken = "one" | "many" | null;

const listMembers = new Set([
  ...["length", "map", "forEach", "filter", "find", "findIndex", "some", "every", "reduce"],
  ...["pop", "shift", "push", "splice", "sort", "entries", "values", "keys", "flatMap", "includes"],
]);
/** Members that lists have, too. */
const shared = new Set(["concat", "slice", "reverse", "fill", "flat", "indexOf", "at", "join"]);

/** What a value is taken for where an expression gives it, or by the uses of the name it gets. */
export function takenFor(node: ts.Expression, names: References): Taken {
  if (isSpread(node)) return "many";
  const fate = fateOf(node);
  const target = fate.kind === "assigned" ? (fate.node as ts.BinaryExpression).left : undefined;
  const given = target && ts.isIdentifier(target) ? names.declarationAt(target) : fate.node;
  if (fate.kind !== "bound" && !target) return byFate(fate);
  if (!given || !ts.isVariableDeclaration(given)) return null;
  if (ts.isArrayBindingPattern(given.name)) return "many";
  return takenByUses(usesOf(names, given));
}

/** What the mentions of a variable take it for; a list, where they do not agree. */
export function takenByUses(uses: readonly ts.Identifier[]): Taken {
  const found = new Set(uses.map((id) => (isSpread(id) ? "many" : byFate(fateOf(id)))));
  if (found.has("many")) return "many";
  return found.has("one") ? "one" : null;
}

/** `tf.dispose([x, ...outs])`, `[...(await model.executeAsync(x))]`. */
function isSpread(node: ts.Expression): boolean {
  const { parent } = node;
  if (ts.isParenthesizedExpression(parent) || ts.isAwaitExpression(parent)) return isSpread(parent);
  return ts.isSpreadElement(parent);
}

function byFate({ kind, node, member }: Fate): Taken {
  if (kind === "element" || kind === "iterated") return "many";
  if (kind === "read" || kind === "receiver") {
    if (listMembers.has(member)) return "many";
    return shared.has(member) ? null : "one";
  }
  const isPattern =
    kind === "bound" && ts.isVariableDeclaration(node) && ts.isArrayBindingPattern(node.name);
  return isPattern ? "many" : null;
}
