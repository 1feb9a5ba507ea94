/**
 * What random programs are made of: arrays of small integers, schedulers with options of all kinds,
 * turns of the event loop. Used by `program.ts`, which owns what it gets.
 */
import { Scheduler, type SchedulerOptions } from "tenure/scheduler";
import type { Random } from "../random.ts";
import type { Coverage } from "./coverage.ts";

/** Half of them under a budget, which is small enough now and then to be refused. */
export function makeScheduler(random: Random, coverage: Coverage): Scheduler {
  const limited = random.chance(0.5);
  coverage.count(limited ? "scheduler under a budget" : "scheduler without budget");
  const budgetBytes = 256 * (4 + random.int(random.pick([8, 80])));
  const options: SchedulerOptions = {
    ...(limited ? { budgetBytes } : {}),
    ...(random.chance(0.2) ? { swap: "off" } : {}),
    ...(random.chance(0.2) ? { recompute: "off" } : {}),
    ...(random.chance(0.2) ? { fuse: false } : {}),
    // measuring the rates of copies takes longer than the rest of a program
    ...(random.chance(0.98) ? { rates: { outBytesPerSecond: 1e9, inBytesPerSecond: 1e9 } } : {}),
  };
  if (options.swap === "off") coverage.count("scheduler, swap off");
  if (options.recompute === "off") coverage.count("scheduler, recompute off");
  if (options.fuse === false) coverage.count("scheduler, fuse off");
  return new Scheduler(options);
}

/** Until timers have had their turn. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** Of rank 0 to 2, up to four elements along each. */
export function randomArray(random: Random): { shape: number[]; values: number[] } {
  const shape = Array.from({ length: random.int(3) }, () => 1 + random.int(4));
  const size = shape.reduce((n, d) => n * d, 1);
  return { shape, values: Array.from({ length: size }, () => random.int(9) - 4) };
}
