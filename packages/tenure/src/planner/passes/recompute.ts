/**
 * The pass that finds schedules with recomputation: values of the forward pass are dropped and made
 * again where the backward pass needs them. Under a budget the whole family of recompute/ is tried;
 * without one, cheap ops only. Pure.
 */
import { type Candidate, candidateOf, leastBy, without } from "../candidate.ts";
import { isCheap } from "../cost.ts";
import { recomputeFamily, shaved, withTransients } from "../recompute/family.ts";
import { cheapestKept } from "../recompute/mincut.ts";
import { droppable, onlyWriter, rematerialise } from "../recompute/rematerialise.ts";
import type { PlanState } from "../plan-state.ts";

/** The pass: more candidates under a budget; without one, the cheap recomputation if it helps. */
export function tryRecompute(state: PlanState): PlanState {
  const { policy, context, order, candidates, chosen } = state;
  if (chosen !== null || policy.recompute !== "auto") return state;
  const [base] = candidates;
  if (policy.budgetBytes === Infinity && base !== undefined)
    return { ...state, chosen: recomputeCheap(state, base) };
  const all = new Set(droppable(context, order));
  const found = recomputeFamily(context, order, all, policy.rates);
  return { ...state, candidates: [...candidates, ...found] };
}

/**
 * Recomputation of cheap ops only, when it lowers the peak: elementwise values are folded again
 * into what reads them.
 */
function recomputeCheap(state: PlanState, base: Candidate): Candidate {
  const { policy, context, order, placements } = state;
  const { program } = context;
  const { rates } = policy;
  const how = "cheap ops recomputed";
  const all = new Set(droppable(context, order));
  const cheap = (op: number): boolean => isCheap(program, op);
  const dropped = without(all, cheapestKept(context, order, all, cheap));
  const actions = rematerialise(context, order, dropped);
  const found: [Candidate, ...Candidate[]] = [base, candidateOf(context, rates, how, actions)];
  const transient = withTransients(context, order, dropped, rates, how);
  if (transient !== null) found.push(transient);
  const writer = onlyWriter(program, order);
  const few = new Set([...all].filter((s) => cheap(writer(s))));
  for (const from of [...found])
    for (const c of shaved(context, order, few, rates, from)) found.push({ ...c, how });
  const least = leastBy(found, (c) => c.peak);
  return least.peak < base.peak && placements.bytes(least) < placements.bytes(base) ? least : base;
}
