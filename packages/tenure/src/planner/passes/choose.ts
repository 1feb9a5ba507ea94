/**
 * The pass that chooses: of all candidates the cheapest whose placement fits into the budget. Since
 * the candidates don't depend on the budget, a bigger one never costs more up to `fewOps`. Pure.
 */
import { opAt } from "../../graph/program.ts";
import { BudgetError } from "../budget-error.ts";
import { type Candidate, pareto } from "../candidate.ts";
import { bytesTouched } from "../cost.ts";
import { internal } from "../../base/errors.ts";
import { curveOf, highest } from "../schedule.ts";
import { leastBytes, transient } from "../place/under-budget.ts";
import type { PlanState } from "../plan-state.ts";

/** Ops up to which every candidate is placed. */
const fewOps = 500;
/** Candidates at the budget that are placed in any case, of more ops. */
const firstFits = 4;

/**
 * The pass: sets the chosen schedule. @throws BudgetError naming the op that needs most and the
 * least budget that works
 */
export function chooseCheapest(state: PlanState): PlanState {
  if (state.chosen !== null) return state;
  const front = pareto(state.candidates);
  const few = state.order.length <= fewOps;
  const tried = few ? front : thinned(front, state.policy.budgetBytes);
  const chosen = cheapestThatFits(state, tried);
  if (chosen === null) throw overBudget(state, tried);
  return { ...state, chosen };
}

/**
 * Those whose peaks differ by half a percent at least, the least, and the first that could fit:
 * most often they do.
 */
function thinned(front: readonly Candidate[], budgetBytes: number): readonly Candidate[] {
  const first = front.findIndex((c) => c.peak <= budgetBytes);
  let last = Infinity;
  return front.filter((c, k) => {
    const stays = c.peak < 0.995 * last || c === front.at(-1);
    if (stays) last = c.peak;
    return stays || (k >= first && k < first + firstFits);
  });
}

/** Cheapest first: the first that fits, unless one before it fits with transient buffers. */
function cheapestThatFits(
  { policy: { budgetBytes }, placements }: PlanState,
  front: readonly Candidate[],
): Candidate | null {
  let best: Candidate | null = null;
  let bestSeconds = Infinity;
  for (const c of front) {
    if (c.extra.seconds >= bestSeconds) break;
    if (c.peak > budgetBytes) continue;
    if (placements.bytes(c) <= budgetBytes) return c;
    const cost = transient(placements, c);
    if (cost === null || cost.bytes > budgetBytes) continue;
    const seconds = c.extra.seconds + cost.seconds;
    if (seconds >= bestSeconds) continue;
    best = c;
    bestSeconds = seconds;
  }
  return best;
}

/** The error that says what the least budget is, and which op asks for it. */
function overBudget(state: PlanState, front: readonly Candidate[]): BudgetError {
  const { program } = state.context;
  const { budgetBytes, recompute, swap } = state.policy;
  const { candidate, bytes: least } = closestTo(state, front);
  const peak = highest(curveOf(state.context, candidate.actions));
  const action =
    candidate.actions.find(({ op }, t) => t >= peak.at && op !== -1) ??
    candidate.actions.findLast(({ op }) => op !== -1);
  const op = action === undefined ? undefined : opAt(program, action.op);
  const name = op?.name ?? "plan";
  const needs = op === undefined ? 0 : bytesTouched(program, op);
  const remedy =
    recompute === "off" || swap === "off"
      ? ", or allow recompute and swap"
      : ", or make the batch smaller";
  return new BudgetError(
    name,
    `expected the program to fit into a budget of ${budgetBytes} bytes, got at least ${least}: ` +
      `there, ${name} alone touches ${needs} bytes and ${peak.bytes} are resident; ` +
      `raise the budget to ${least} or more${remedy}`,
    budgetBytes,
    least,
  );
}

/** The candidate that takes least memory, however it is placed. */
function closestTo(
  { placements, candidates: [base] }: PlanState,
  front: readonly Candidate[],
): { candidate: Candidate; bytes: number } {
  if (base === undefined) throw internal("plan: no schedule was considered");
  let candidate = base;
  let bytes = Infinity;
  for (const c of [...front].reverse()) {
    if (c.peak >= bytes) break;
    const least = Math.min(leastBytes(placements, c), transient(placements, c)?.bytes ?? Infinity);
    if (least >= bytes) continue;
    bytes = least;
    candidate = c;
  }
  return { candidate, bytes };
}
