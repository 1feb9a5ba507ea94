/**
 * From the decisions of the dynamic program to a schedule: stages run, are kept or run again, and
 * backward groups run behind them. Called by chain-plans.ts for the plans that are used. Pure.
 */
import { at } from "../../base/access.ts";
import type { OpRuns } from "../op-runs.ts";
import type { Action } from "../schedule.ts";
import type { ChainTable } from "./rotor.ts";
import type { Stage } from "./stages.ts";

/** The schedule for an amount of memory, in units. */
export function expandChain(
  table: ChainTable,
  stages: readonly Stage[],
  memory: number,
  runs: OpRuns,
): Action[] {
  const actions: Action[] = [];
  const ran = new Uint8Array(runs.ops);
  const firstPass = new Uint8Array(stages.length);
  const run = (k: number, part: (stage: Stage) => readonly number[]): void => {
    // The first time, the whole stage runs: somebody may want its other results.
    const stage = at(stages, k);
    const ops = firstPass[k] === 1 ? part(stage) : stage.ops;
    firstPass[k] = 1;
    for (const op of ops) {
      actions.push(ran[op] === 1 ? runs.again(op) : runs.first(op));
      ran[op] = 1;
    }
  };
  const reverse = (k: number): void => {
    for (const op of at(stages, k).group) actions.push(runs.first(op));
  };
  const visit = (i: number, j: number, m: number, e: number): void => {
    if (j === i + 1) {
      const { inside, readsBoundary } = at(stages, i);
      if (firstPass[i] === 0 || inside.size > 0 || (readsBoundary && e === 0))
        run(i, (s) => s.toNeeded);
      reverse(i);
      return;
    }
    const choice = table.choice(e, i, j, m);
    if (choice.kind === "keepStage") {
      run(i, (s) => s.toAll);
      visit(i + 1, j, table.besideStage(i, m), e);
      reverse(i);
      return;
    }
    const { stage, held } = choice;
    const after = table.withBoundary(e, j, m);
    for (let k = i; k < stage; k++) run(k, (s) => s.toBoundary);
    visit(stage, j, table.besideBoundary(stage, m), e);
    visit(i, stage, held ? table.besideBoundary(stage, after) : after, held ? 1 : 0);
  };
  visit(0, stages.length, memory, 0);
  return actions;
}
