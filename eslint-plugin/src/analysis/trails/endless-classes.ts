/**
 * Endless classes: which fields a class that offers no end should offer one for. Used by the rule
 * about members.
 */
import type ts from "typescript";
import { isInStatic } from "../program/class-makers.ts";
import { endlessMembers, goesWithDevice, isDevice } from "../objects/endings.ts";
import { isEndedSomewhere } from "./endless-values.ts";
import { isOfferedByName } from "../program/entry-points.ts";
import { isEndRunBy } from "../objects/kept-fields.ts";
import { isKeptToTheEnd } from "../objects/left-behind.ts";
import { isMadeAgain, onlyGrows } from "./made-again.ts";
import type { Member } from "../objects/members.ts";
import type { Session } from "../session.ts";
import { baseOf } from "../program/syntax.ts";

/**
 * The fields for which a class that has no ending should have one: of GPU objects, one is enough to
 * say so. `always` asks for it of classes that are made once, too.
 */
export function membersDueAnEnd(
  session: Session,
  node: ts.ClassLikeDeclaration,
  kept: readonly Member[],
  always: boolean,
): readonly Member[] {
  const isRun = (m: Member): boolean => isEndRunBy(session, m, new Set(node.members));
  const members = kept.filter((m) => !isRun(m));
  if (members.length === 0) return [];
  const isGeneric = members[0]!.owned.owner.policy === "generic";
  if (isGeneric ? goesWithDevice(session, node) : baseOf(node)) return [];
  if (always && !baseOf(node)) {
    const all = members.filter(
      (m) => !isDevice(session, m.at) && !isInStatic(m.at, node) && !isEndedSomewhere(session, m),
    );
    return isGeneric ? all.slice(0, 1) : all;
  }
  const grows = (): readonly Member[] =>
    baseOf(node) ? [] : members.filter((m) => onlyGrows(session, node, m));
  if (!isGeneric) return isMadeAgain(session, node) ? members : grows();
  const [first] = endlessMembers(session, node);
  const comesAndGoes =
    first !== undefined &&
    (isMadeAgain(session, node) ||
      isKeptToTheEnd(session, node) ||
      isOfferedByName(session.oracle, node));
  return comesAndGoes ? [first] : grows();
}
