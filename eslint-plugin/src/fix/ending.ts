/**
 * How the end of a value is typed: by the method of its family, or by its symbol where the type has
 * nothing else. Used by the fixes that write one.
 */
import ts from "typescript";
import type { Oracle } from "../analysis/program/oracle.ts";
import { isAsync } from "../analysis/program/syntax.ts";
import { enclosingFunction } from "../analysis/transfer/fate.ts";
import { isAnything, type Owner } from "../owner.ts";

/** What is asked of a value to end it, and whether one has to wait for that. */
export interface Ending {
  member: string;
  waits: boolean;
}

/**
 * How a value is ended, at its mention or in a function; null where nothing can be typed there that
 * does.
 */
export function endingOf(
  oracle: Oracle,
  node: ts.Node,
  owner: Owner,
  inside: ts.Node | undefined = enclosingFunction(node),
): Ending | null {
  const [first = "dispose", ...others] = owner.dispose.methods;
  const { parent } = node;
  // a variable without a type has that of what it is given
  const isStored = ts.isBinaryExpression(parent) && parent.left === node;
  if (isStored && oracle.hasMember(node, first) === undefined)
    return endingOf(oracle, parent.right, owner, inside);
  if (oracle.hasMember(node, first) !== false) return { member: first, waits: false };
  if (oracle.hasMember(node, "@@dispose")) return { member: "[Symbol.dispose]", waits: false };
  if (oracle.hasMember(node, "@@asyncDispose"))
    return isAsync(inside) ? { member: "[Symbol.asyncDispose]", waits: true } : null;
  const other = isAnything(owner) ? others.find((name) => oracle.hasMember(node, name)) : first;
  return other === undefined ? null : { member: other, waits: false };
}

/** `x.dispose()`, `x?.[Symbol.dispose]()`, `await x[Symbol.asyncDispose]()`. */
export function asCall(value: string, { member, waits }: Ending, isThere: boolean): string {
  const dot = isThere ? (member.startsWith("[") ? "" : ".") : "?.";
  return `${waits ? "await " : ""}${value}${dot}${member}()`;
}
