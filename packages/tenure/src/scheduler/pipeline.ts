/**
 * The passes in order: reads as a table of contents. Called by the runtime on a plan-cache miss and by anyone with a program read from JSON; pure, needs no GPU.
 */
import { type Program, residentAtEntry } from "../graph/program.ts";
import { liveRanges, lowerBound, neededOps } from "./liveness.ts";
import { placeSlots } from "./place.ts";
import type { Plan } from "./plan.ts";

export interface PlanOptions {
  /** Storages that arrive with a buffer of their own; the default is all that are resident at entry. Uploads are resident but bring no buffer. */
  readonly atEntry?: (storage: number) => boolean;
  /** Bytes a buffer really takes for a request; the default is the request. */
  readonly granule?: (bytes: number) => number;
}

export function planProgram(program: Program, options: PlanOptions = {}): Plan {
  const resident = residentAtEntry(program);
  const atEntry = options.atEntry ?? ((s) => resident[s] === true);
  const granule = options.granule ?? ((b) => b);
  const order = neededOps(program);                                       // dead values never run
  const ranges = liveRanges(program, order);                              // when each storage is needed
  const placement = placeSlots(program, ranges, atEntry, granule);        // who shares a buffer
  const used = program.storages.filter((_, i) => placement.slotOf[i] !== -1);
  return {
    program, order, ...placement,
    naiveBytes: used.reduce((sum, s) => sum + s.bytes, 0),
    plannedBytes: placement.slots.reduce((sum, s) => sum + s.bytes, 0),
    lowerBoundBytes: lowerBound(program, ranges, order.length),
  };
}
