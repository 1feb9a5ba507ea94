/**
 * Getters: fields that a class ends by the name of a getter that gives them,
 * `this.target?.destroy()` of `get target() { return this.#target; }`. Used by `members.ts`.
 */
import ts from "typescript";
import { returnsOf } from "../transfer/fate.ts";
import { hasBody, memberName, someWithin } from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { fieldOfThis } from "./members.ts";

/** The names of such fields of a class. */
export const endedByGetter = (session: Session, node: ts.ClassLikeDeclaration): readonly string[] =>
  node.members.flatMap((member) => {
    if (!ts.isGetAccessorDeclaration(member) || !hasBody(member)) return [];
    const [only, ...others] = returnsOf(member);
    const field = only && fieldOfThis(only)?.name.text;
    if (field === undefined || others.length > 0) return [];
    const name = memberName(member.name);
    const isEnd = (at: ts.Node): boolean =>
      fieldOfThis(at)?.name.text === name &&
      session.transfer(at as ts.Expression).effect === "disposes";
    return node.members.some((m) => someWithin(m, isEnd)) ? [field] : [];
  });
