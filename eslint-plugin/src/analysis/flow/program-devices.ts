/**
 * Devices of the program: what the main function of a program asks for once and uses until the
 * exit, and what it has that device make. Read by the analysis of a file, where such things may
 * last.
 */
import { runsOnce } from "./closure-events.ts";
import type { Problem } from "./flow.ts";
import type { Owned } from "../program/oracle.ts";
import { isInLoop } from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { enclosingFunction } from "../transfer/fate.ts";

/** Whether what leaks is the device of a main function, or goes with it at the exit. */
export function isForProgram(
  session: Session,
  { cell, site }: Extract<Problem, { kind: "leak" }>,
): boolean {
  const home = enclosingFunction(site.node);
  return (
    session.settings.untilExit === "allowed" &&
    home !== undefined &&
    makesDevices(cell.owned) &&
    !isInLoop(site.node, home) &&
    runsOnce(session, home)
  );
}

/** Whether devices are among the values of a family, all of which end with theirs. */
const makesDevices = ({ owner }: Owned): boolean =>
  owner.fresh.some((made) => (typeof made === "string" ? made : made.name) === "requestDevice");
