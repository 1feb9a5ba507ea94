/**
 * How the end of a value is typed: by the method of its family, or by its symbol where the type has
 * nothing else. Used by the fixes that write one.
 */
import ts from "typescript";
import type { Oracle, Owned } from "../analysis/program/oracle.ts";
import { isAsync } from "../analysis/program/syntax.ts";
import { enclosingFunction } from "../analysis/transfer/fate.ts";
import { isAnything } from "../owner.ts";

/** What is asked of a value to end it, and whether one has to wait for that. */
export interface EndCall {
  member: string;
  waits: boolean;
}

/**
 * How a value, or each of a list, is ended, at its mention or in a function; null where nothing can
 * be typed there that does.
 */
export function endCallOf(
  oracle: Oracle,
  node: ts.Node,
  owned: Owned,
  inside: ts.Node | undefined = enclosingFunction(node),
): EndCall | null {
  const { owner, shape } = owned;
  const [first = "dispose", ...others] = owner.dispose.methods;
  const has = (name: string): boolean | undefined => oracle.hasMember(node, name, shape === "many");
  const { parent } = node;
  // a variable without a type has that of what it is given
  const isStored = ts.isBinaryExpression(parent) && parent.left === node;
  if (isStored && has(first) === undefined) return endCallOf(oracle, parent.right, owned, inside);
  if (has(first) !== false) return { member: first, waits: false };
  if (has("@@dispose")) return { member: "[Symbol.dispose]", waits: false };
  if (has("@@asyncDispose"))
    return isAsync(inside) ? { member: "[Symbol.asyncDispose]", waits: true } : null;
  const other = isAnything(owner) ? others.find(has) : first;
  return other === undefined ? null : { member: other, waits: false };
}

/** `x.dispose()`, `x?.[Symbol.dispose]()`, `await x[Symbol.asyncDispose]()`. */
export function asCall(value: string, { member, waits }: EndCall, isThere: boolean): string {
  const dot = isThere ? (member.startsWith("[") ? "" : ".") : "?.";
  return `${waits ? "await " : ""}${value}${dot}${member}()`;
}
