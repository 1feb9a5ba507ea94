/**
 * Pauses: methods that end what an object holds for now, `stop()` and `reset()`, after which it may
 * begin again. Where a class has no other ending they have to end what it made meanwhile. Used by
 * `endings.ts` and the rule about members.
 */
import ts from "typescript";
import type { Ending } from "./endings.ts";
import { isLeft, meansToEnd } from "./field-deeds.ts";
import { reach } from "./class-reach.ts";
import { type Member } from "./members.ts";
import type { Session } from "../session.ts";
import { isPrivate, memberName, within, isStatic } from "../program/syntax.ts";

/** Names of methods after which nothing of what an object did lasts. */
const stopping = /^(stop|finish|end([A-Z]\w*)?)$/;
/** Names of those that leave some of it, for the next time. */
const emptying = /^(reset|clear)$/;

/** The pauses of a class that end what one of its fields holds, and leave it so. */
export function pausesOf(
  session: Session,
  node: ts.ClassLikeDeclaration,
  members: readonly Member[],
): readonly Ending[] {
  return node.members.flatMap((member) => {
    if (!ts.isMethodDeclaration(member) || !member.body || isPrivate(member)) return [];
    const name = memberName(member.name);
    if (isStatic(member) || !(stopping.test(name) || emptying.test(name))) return [];
    const run = reach(session.oracle, node, [member]);
    return members.some((m) => ends(run, m))
      ? [{ member, body: member.body, pauses: true as const }]
      : [];
  });
}

const ends = (run: ReadonlySet<ts.Node>, { name, owned }: Member): boolean =>
  isLeft(run, name, false) && meansToEnd(run, name, owned);

/**
 * The fields that the endings of a class have to end. Pauses need not end what is there from the
 * start, or what another method ends; `reset()` no more than what is made beside what it ends.
 */
export function dueAt(
  session: Session,
  node: ts.ClassLikeDeclaration,
  endings: readonly Ending[],
  members: readonly Member[],
): readonly Member[] {
  if (!endings.every((e) => e.pauses)) return members;
  const stops = endings.some(({ member }) => stopping.test(memberName(member.name)));
  const run = reach(
    session.oracle,
    node,
    endings.map((e) => e.member),
  );
  const ended = members.filter((m) => ends(run, m));
  const methods = node.members.filter((m) => ts.isMethodDeclaration(m));
  return members.filter((m) => {
    if (m.atOnce || methods.some((method) => ends(new Set([method]), m))) return false;
    return stops || ended.some((other) => areMadeTogether(methods, m, other));
  });
}

/** Whether one method makes what two fields hold. */
const areMadeTogether = (methods: readonly ts.Node[], a: Member, b: Member): boolean =>
  methods.some((method) => [a, b].every((m) => m.makes.some((at) => within(at, method))));
