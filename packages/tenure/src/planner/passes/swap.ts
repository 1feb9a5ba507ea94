/**
 * The pass that finds schedules with swaps: values wait on the host while the budget needs their
 * room. It starts from the best schedules found so far and tries levels of memory between the least
 * that can work and what the schedule needs in core. Pure.
 */
import { BudgetError } from "../budget-error.ts";
import { type Candidate, candidateOf, pareto, spread } from "../candidate.ts";
import { opCost } from "../cost.ts";
import { opAt } from "../../graph/program.ts";
import { droppable } from "../recompute/rematerialise.ts";
import type { PlanState } from "../plan-state.ts";
import { levelsFor } from "../swap/levels.ts";
import { insertSwaps } from "../swap/offload.ts";
import { preferRecompute } from "../swap/prefer-recompute.ts";

/** Ops from which fewer variants are tried. */
const manyOps = 4000;
/** How often an op of a schedule may run again, on average, for swaps to be tried on it. */
const maxRepeats = 8;

/** The pass: more candidates, where swapping is allowed and needed. */
export function trySwap(state: PlanState): PlanState {
  const { policy, context, order, candidates, chosen } = state;
  if (chosen !== null || policy.swap !== "auto") return state;
  const dropped = new Set(droppable(context, order));
  const many = context.program.ops.length > manyOps;
  const found: Candidate[] = [];
  const bases = pareto(candidates).filter(
    (c) => c.extra.recomputedOps <= maxRepeats * order.length,
  );
  for (const [k, base] of spread(bases, many ? 2 : 4).entries()) {
    const most = many ? 6 : k === 0 ? 24 : 8;
    for (const level of levelsFor(context, base, most))
      found.push(...swapsAt(state, base, level, dropped));
  }
  return { ...state, candidates: [...candidates, ...found] };
}

/** The schedule with swaps at one level of memory, and with recomputation where that is cheaper. */
function swapsAt(
  { policy, context }: PlanState,
  base: Candidate,
  level: number,
  dropped: ReadonlySet<number>,
): Candidate[] {
  const { rates, prefetchBytes, saveHostMemory } = policy;
  let swapped;
  try {
    swapped = insertSwaps(context, base.actions, {
      budgetBytes: level,
      prefetchBytes: prefetchBytes === Infinity ? 1.5 * level : prefetchBytes,
      saveHostMemory,
    });
  } catch (error) {
    if (error instanceof BudgetError) return []; // some op needs more than this level
    throw error;
  }
  const how = base.extra.recomputedOps > 0 ? `${base.how}, and swap` : "swap";
  const found = [candidateOf(context, rates, how, swapped)];
  if (policy.recompute !== "auto") return found;
  const mixed = preferRecompute(
    context,
    swapped,
    dropped,
    (op) => opCost(opAt(context.program, op)) / rates.flopsPerSecond,
    (bytes) => bytes / rates.inBytesPerSecond + bytes / rates.outBytesPerSecond,
  );
  if (mixed.length < swapped.length)
    found.push(candidateOf(context, rates, "swap or recompute, whichever is cheaper", mixed));
  return found;
}
