/**
 * The family of schedules with recomputation: every way we know, from exact search on small
 * programs through optimal chains and minimum cuts to shaving, at amounts of memory that depend on
 * the program alone. Called by the recompute pass. Pure.
 */
import { at, lookup } from "../../base/access.ts";
import { bytesOf, opAt, type ProgramOp } from "../../graph/program.ts";
import {
  type Candidate,
  candidateOf,
  laterCandidate,
  pareto,
  spread,
  without,
} from "../candidate.ts";
import { type Rates, againExtra, extraOf, isCheap, opCost } from "../cost.ts";
import { type Context, livePeak, runsOf } from "../schedule.ts";
import { exactPlans } from "./exact.ts";
import { mirrorPlan, narrowPlaces, searchThresholds } from "./memonger.ts";
import { cheapestKept } from "./mincut.ts";
import { onlyWriter, rematerialise } from "./rematerialise.ts";
import { type ChainPlan, chainPlans } from "./chain-plans.ts";
import { shave } from "./shave.ts";
import { takeBack } from "./take-back.ts";

/** Ops from which fewer variants are tried. */
const manyOps = 4000;
/** Plans of one chain that are looked at, where none is known to be the best. */
const maxPlans = 800;
/** Peaks times ops that are looked at while one schedule is shaved: each peak takes a walk. */
const maxShaving = 400_000;
/** How often an op may run again, on average. */
const maxRepeats = 64;

/** What all members of the family start from. */
interface Search {
  readonly context: Context;
  readonly order: readonly number[];
  /** Storages that may be dropped. */
  readonly all: ReadonlySet<number>;
  readonly rates: Rates;
  readonly many: boolean;
  /** What an op costs to run again, per byte it makes. */
  readonly price: (op: number) => number;
  /** Prices below which given shares of the values lie. */
  readonly limitsAt: (shares: readonly number[]) => number[];
}

/** Schedules with recomputation, none of which another beats in both memory and cost. */
export function recomputeFamily(
  context: Context,
  order: readonly number[],
  all: ReadonlySet<number>,
  rates: Rates,
): Candidate[] {
  if (all.size === 0) return [];
  const exact = exactPlans(context, order, all);
  if (exact !== null)
    return exact.map((a) => candidateOf(context, rates, "recompute, exact search", a));
  const search = searchOf(context, order, all, rates);
  const { found, optimal } = bestOnChains(search);
  if (optimal) return found;
  const cut = minimumCuts(search);
  const front = pareto([...found, ...cut.transient, ...cut.kept]);
  const inCore = candidateOf(context, rates, "in core", runsOf(order));
  const bases = [inCore, ...spread(front, search.many ? 2 : 8)];
  const smaller = pareto([
    ...front,
    ...bases.flatMap((base) => shaved(context, order, all, rates, base)),
  ]);
  const less = smaller
    .filter((c) => c.extra.recomputedOps > 0)
    .map((c) => candidateOf(context, rates, c.how, takeBack(context, c.actions, opCost)));
  return pareto([...smaller, ...less]);
}

function searchOf(
  context: Context,
  order: readonly number[],
  all: ReadonlySet<number>,
  rates: Rates,
): Search {
  const { program } = context;
  const price = (i: number): number => {
    const op = opAt(program, i);
    return opCost(op) / (1 + bytesOf(program, op.writes));
  };
  const writer = onlyWriter(program, order);
  const prices = [...new Set([...all].map((s) => price(writer(s))))].sort((a, b) => a - b);
  const limit = (share: number): number =>
    at(prices, Math.min(prices.length - 1, Math.floor(share * prices.length)));
  const limitsAt = (shares: readonly number[]): number[] => [...new Set(shares.map(limit))];
  return { context, order, all, rates, many: order.length > manyOps, price, limitsAt };
}

/**
 * Chains: ops below a limit may run again, the results of the others are kept. `optimal`: nothing
 * can be better.
 */
function bestOnChains(search: Search): { found: Candidate[]; optimal: boolean } {
  const { context, order, all, rates, many, price, limitsAt } = search;
  const how = "recompute, optimal on the chain";
  let found: Candidate[] = [];
  const writer = onlyWriter(context.program, order);
  for (const limit of limitsAt(many ? [1] : [0.5, 0.7, 0.9, 1])) {
    const may = new Set([...all].filter((s) => price(writer(s)) <= limit));
    const chain = chainPlans(context, order, may);
    if (chain === null) continue;
    if (chain.unit !== null && may.size === all.size)
      return { found: unitChain(search, chain.plans, chain.unit, how), optimal: true };
    // Of a thousand plans only those that nothing beats are remembered, and none is written down.
    const weighed = spread(chain.plans, maxPlans).map(({ actions }) => {
      context.deadline?.check();
      const now = actions();
      const extra = extraOf(context.program, now, rates);
      return laterCandidate(how, livePeak(context, now), extra, actions);
    });
    found = pareto([...found, ...weighed]);
  }
  return { found, optimal: false };
}

/**
 * Plans of a chain of equal ops, expanded when somebody asks. What runs an op more than so many
 * times on average is left out.
 */
function unitChain(
  { context, order, rates }: Search,
  plans: readonly ChainPlan[],
  unit: ProgramOp,
  how: string,
): Candidate[] {
  const { ops } = context.program;
  const once = order.filter((i) => ops[i]?.phase === "forward").length;
  return plans.flatMap(({ cost, peak, actions }) => {
    const recomputedOps = Math.round(cost / opCost(unit)) - once;
    if (recomputedOps > maxRepeats * once) return [];
    return laterCandidate(how, peak, againExtra(unit, recomputedOps, rates), actions);
  });
}

/** Minimum cuts: the best of them, and the same with cheap values not staying. */
function minimumCuts(search: Search): { kept: Candidate[]; transient: Candidate[] } {
  const { context, order, rates } = search;
  const how = "recompute, minimum cut";
  const seen = new Set<string>();
  const tried = new Map<Candidate, Set<number>>();
  for (const dropped of dropsOf(search)) {
    const key = [...dropped].join();
    if (dropped.size === 0 || seen.has(key)) continue;
    seen.add(key);
    const actions = rematerialise(context, order, dropped);
    tried.set(candidateOf(context, rates, how, actions), dropped);
  }
  const kept = pareto([...tried.keys()]);
  const transient = kept.flatMap(
    (made) => withTransients(context, order, lookup(tried, made), rates, made.how) ?? [],
  );
  return { kept, transient };
}

/** Sets of storages to drop: what cuts leave, between narrow places of segments of many sizes. */
function dropsOf({ context, order, all, many, price, limitsAt }: Search): Set<number>[] {
  const { program } = context;
  const limits = limitsAt(many ? [0.5, 1] : [0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1]);
  const rules = [
    (op: number): boolean => isCheap(program, op),
    ...limits.map((limit) => (op: number) => price(op) <= limit),
  ];
  const narrow = narrowPlaces(context, order, all);
  const total = bytesOf(program, all);
  const drops: Set<number>[] = [];
  for (const part of many ? [1, 16, 32, 64] : [1, 3, 4, 6, 8, 12, 16, 24, 32, 64]) {
    const cuts =
      part === 1
        ? new Set<number>()
        : mirrorPlan(context, order, all, Math.floor(total / part), narrow).kept;
    for (const mayRun of rules)
      drops.push(without(all, cheapestKept(context, order, all, mayRun, cuts)));
    if (part > 1) drops.push(without(all, cuts));
  }
  for (const t of searchThresholds((t) => mirrorPlan(context, order, all, t), 6))
    drops.push(without(all, mirrorPlan(context, order, all, t).kept));
  return drops;
}

/**
 * Cheap values on the way to others don't stay, but are computed once more; null when that would be
 * far too many.
 */
export function withTransients(
  context: Context,
  order: readonly number[],
  dropped: ReadonlySet<number>,
  rates: Rates,
  how: string,
): Candidate | null {
  const { program } = context;
  const writer = onlyWriter(program, order);
  const transient = new Set([...dropped].filter((s) => isCheap(program, writer(s))));
  const actions = rematerialise(context, order, new Set(dropped), transient);
  return actions.length > 3 * order.length ? null : candidateOf(context, rates, how, actions);
}

/** Schedules whose peaks are shaved further. */
export function shaved(
  context: Context,
  order: readonly number[],
  all: ReadonlySet<number>,
  rates: Rates,
  base: Candidate,
): Candidate[] {
  const writer = onlyWriter(context.program, order);
  const producer = Int32Array.from(context.program.storages, (_, s) =>
    all.has(s) ? writer(s) : -1,
  );
  const maxSteps = Math.max(10, Math.min(400, Math.floor(maxShaving / order.length)));
  const how =
    base.extra.recomputedOps > 0 ? `${base.how}, peaks shaved` : "recompute, peaks shaved";
  return shave(context, base.actions, all, producer, opCost, maxSteps).map((actions) =>
    candidateOf(context, rates, how, actions),
  );
}
