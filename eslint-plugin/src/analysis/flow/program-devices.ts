/**
 * Devices of the program: what the main function of a program asks for once and uses until the
 * exit. Read by the analysis of a file, where such things may last.
 */
import { runsOnce } from "./closure-events.ts";
import type { Problem } from "./flow.ts";
import { isDevice } from "../objects/endings.ts";
import { isInLoop } from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { enclosingFunction } from "../transfer/fate.ts";

/** Whether what leaks is the device of a main function. */
export function isForProgram(
  session: Session,
  { cell, site }: Extract<Problem, { kind: "leak" }>,
): boolean {
  const home = enclosingFunction(site.node);
  return (
    session.settings.untilExit === "allowed" &&
    home !== undefined &&
    isDevice(session, cell.name ?? site.value) &&
    !isInLoop(site.node, home) &&
    runsOnce(session, home)
  );
}
