/**
 * Choosing a schedule: every way we know to run a program with less memory is tried at amounts of
 * memory that depend on the program alone, and the cheapest whose placement fits into the budget
 * wins. Since the candidates don't depend on the budget, a bigger budget never costs more. Pure.
 */
import { BudgetError } from "../budget-error.ts";
import { chainPlans, gcd } from "./rotor.ts";
import { type Extra, type Rates, bytesTouched, extraOf, isCheap, opCost } from "../cost.ts";
import { exactPlans } from "./exact.ts";
import { type MirrorPlan, mirrorPlan, narrowPlaces, searchThresholds } from "./memonger.ts";
import { cheapestKept } from "./mincut.ts";
import { droppable, rematerialise, writersOf } from "./recompute.ts";
import { shave, takeBack } from "./shave.ts";
import { type Action, type Context, liveCurve, livePeak, runsOf, segmentsOf } from "../schedule.ts";
import { insertSwaps, preferRecompute } from "./swap.ts";

/** A schedule under consideration. */
export interface Candidate {
  /** How it was found, for `explain`. */
  readonly how: string;
  readonly actions: readonly Action[];
  readonly peak: number;
  readonly extra: Extra;
  readonly mirror?: MirrorPlan;
}

export interface Policy {
  readonly budgetBytes: number;
  readonly prefetchBytes: number;
  readonly recompute: "off" | "auto" | { readonly thresholdBytes: number };
  readonly swap: "off" | "auto";
  readonly saveHostMemory: boolean;
  readonly rates: Rates;
}

/**
 * Bytes a candidate takes once placed. `thorough`: by an exact search too, however far from the
 * budget.
 */
export type PlacedBytes = (c: Candidate, thorough?: boolean) => number;

/**
 * Bytes a candidate takes with buffers that come and go, and the seconds that costs; neither
 * depends on the budget. Null where they may not.
 */
export type FleetingBytes = (
  c: Candidate,
) => { readonly bytes: number; readonly seconds: number } | null;

/** Ops from which fewer variants are tried, and up to which every one is placed. */
const manyOps = 4000,
  fewOps = 500;

function candidate(
  context: Context,
  rates: Rates,
  how: string,
  actions: readonly Action[],
  mirror?: MirrorPlan,
): Candidate {
  return {
    how,
    actions,
    peak: livePeak(context, actions),
    extra: extraOf(context.program, actions, rates),
    ...(mirror === undefined ? {} : { mirror }),
  };
}

/**
 * The cheapest candidate whose `placedBytes` fit into the budget.
 * @throws BudgetError naming the op that needs most and the least budget that works
 */
export function choose(
  context: Context,
  order: readonly number[],
  policy: Policy,
  placedBytes: PlacedBytes,
  fleetingBytes: FleetingBytes = () => null,
): Candidate {
  const { budgetBytes, recompute, swap, rates } = policy,
    { program } = context;
  const base =
    typeof recompute === "object"
      ? mirrored(context, order, recompute.thresholdBytes, rates)
      : candidate(context, rates, "in core", runsOf(order));
  if (budgetBytes === Infinity)
    return recompute === "auto" ? cheapFold(context, order, rates, base, placedBytes) : base;
  if (base.extra.seconds === 0 && base.peak <= budgetBytes && placedBytes(base) <= budgetBytes)
    return base;

  const dropped = new Set(droppable(context, order));
  const found: Candidate[] = [
    base,
    ...(recompute === "auto" ? recomputeFamily(context, order, dropped, rates) : []),
  ];
  if (swap === "auto") found.push(...swapFamily(context, pareto(found), dropped, policy));
  const front = pareto(found),
    all = order.length > fewOps ? thinned(front) : front;
  let best: Candidate | null = null,
    bestSeconds = Infinity;
  for (const c of all) {
    if (c.extra.seconds >= bestSeconds) break;
    if (c.peak > budgetBytes) continue;
    if (placedBytes(c) <= budgetBytes) {
      best = c;
      break;
    }
    const fleeting = fleetingBytes(c);
    if (
      fleeting !== null &&
      fleeting.bytes <= budgetBytes &&
      c.extra.seconds + fleeting.seconds < bestSeconds
    ) {
      best = c;
      bestSeconds = c.extra.seconds + fleeting.seconds;
    }
  }
  if (best !== null) return best;

  let least = Infinity,
    closest = base;
  for (const c of [...all].reverse()) {
    if (c.peak >= least) break;
    const bytes = Math.min(placedBytes(c, true), fleetingBytes(c)?.bytes ?? Infinity);
    if (bytes < least) {
      least = bytes;
      closest = c;
    }
  }
  const curve = liveCurve(program, segmentsOf(context, closest.actions), closest.actions.length),
    at = curve.indexOf(Math.max(...curve));
  const action =
      closest.actions.find(({ op }, t) => t >= at && op !== -1) ??
      closest.actions.findLast(({ op }) => op !== -1),
    op = action === undefined ? undefined : program.ops[action.op]!;
  const name = op?.name ?? "plan",
    needs = op === undefined ? 0 : bytesTouched(program, op);
  throw new BudgetError(
    name,
    `expected the program to fit into a budget of ${budgetBytes} bytes, got at least ${least}: there, ${name} alone touches ${needs} bytes and ${curve[at] ?? 0} are resident; raise the budget to ${least} or more${recompute === "off" || swap === "off" ? ", or allow recompute and swap" : ", or make the batch smaller"}`,
    budgetBytes,
    least,
  );
}

/** Candidates that no other beats in both memory and cost. */
function pareto(all: readonly Candidate[]): Candidate[] {
  const sorted = [...all].sort((a, b) => a.extra.seconds - b.extra.seconds || a.peak - b.peak),
    front: Candidate[] = [];
  for (const c of sorted) if (front.length === 0 || c.peak < front.at(-1)!.peak) front.push(c);
  return front;
}

/** Those whose peaks differ by half a percent at least, and the least. */
function thinned(front: readonly Candidate[]): readonly Candidate[] {
  let last = Infinity;
  return front.filter((c) => {
    const stays = c.peak < 0.995 * last || c === front.at(-1);
    if (stays) last = c.peak;
    return stays;
  });
}

// === Recompute ===

/** memonger's plan at one threshold. */
export function mirrored(
  context: Context,
  order: readonly number[],
  thresholdBytes: number,
  rates: Rates,
  cuts?: ReadonlySet<number>,
): Candidate {
  const all = new Set(droppable(context, order)),
    mirror = mirrorPlan(context, order, all, thresholdBytes, cuts);
  return candidate(
    context,
    rates,
    `memonger, threshold ${thresholdBytes} bytes`,
    rematerialise(context, order, without(all, mirror.kept)),
    mirror,
  );
}

/** memonger's search: the thresholds it tries, each as a candidate. */
export function searchMirrors(
  context: Context,
  order: readonly number[],
  trials: number,
  rates: Rates,
): Candidate[] {
  const all = new Set(droppable(context, order));
  return searchThresholds((t) => mirrorPlan(context, order, all, t), trials).map((t) =>
    mirrored(context, order, t, rates),
  );
}

/**
 * Recomputation of cheap ops only, when it lowers the peak: elementwise values are folded again
 * into what reads them.
 */
function cheapFold(
  context: Context,
  order: readonly number[],
  rates: Rates,
  base: Candidate,
  placedBytes: PlacedBytes,
): Candidate {
  const { program } = context,
    all = new Set(droppable(context, order)),
    writers = writersOf(program, order),
    cheap = (op: number): boolean => isCheap(program, program.ops[op]!);
  const dropped = without(all, cheapestKept(context, order, all, cheap)),
    folded = [
      base,
      candidate(context, rates, "cheap ops recomputed", rematerialise(context, order, dropped)),
    ];
  const fleeting = withFleeting(context, order, dropped, rates, "cheap ops recomputed");
  if (fleeting !== null) folded.push(fleeting);
  const few = new Set([...all].filter((s) => cheap(writers[s]![0]!)));
  for (const from of [...folded])
    folded.push(
      ...shaved(context, order, few, rates, from).map((c) => ({
        ...c,
        how: "cheap ops recomputed",
      })),
    );
  const least = folded.reduce((best, next) =>
    (next.peak - best.peak || next.extra.seconds - best.extra.seconds) < 0 ? next : best,
  );
  return least.peak < base.peak && placedBytes(least) < placedBytes(base) ? least : base;
}

/**
 * Cheap values on the way to others don't stay, but are computed once more; null when that would be
 * far too many.
 */
function withFleeting(
  context: Context,
  order: readonly number[],
  dropped: ReadonlySet<number>,
  rates: Rates,
  how: string,
): Candidate | null {
  const { program } = context,
    writers = writersOf(program, order),
    fleeting = new Set([...dropped].filter((s) => isCheap(program, program.ops[writers[s]![0]!]!)));
  const actions = rematerialise(context, order, new Set(dropped), fleeting);
  return actions.length > 3 * order.length ? null : candidate(context, rates, how, actions);
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
    return exact.map((actions) => candidate(context, rates, "recompute, exact search", actions));
  const found: Candidate[] = [],
    { program } = context,
    many = order.length > manyOps;

  // What a value costs to make again, per byte: ops below a limit may run again, the others'
  // results are kept or cut.
  const writers = writersOf(program, order),
    price = (op: number): number =>
      opCost(program.ops[op]!) /
      program.ops[op]!.writes.reduce((sum, w) => sum + program.storages[w]!.bytes, 1);
  const prices = [...new Set([...all].map((s) => price(writers[s]![0]!)))].sort((a, b) => a - b);
  const limitsAt = (shares: readonly number[]): number[] => [
    ...new Set(
      shares.map((f) => prices[Math.min(prices.length - 1, Math.floor(f * prices.length))]!),
    ),
  ];
  for (const limit of limitsAt(many ? [1] : [0.5, 0.7, 0.9, 1])) {
    const may = new Set([...all].filter((s) => price(writers[s]![0]!) <= limit));
    for (const plan of chainPlans(context, order, may) ?? [])
      found.push(candidate(context, rates, "recompute, optimal on the chain", plan.actions()));
  }

  const rules: ((op: number) => boolean)[] = [
    (op) => isCheap(program, program.ops[op]!),
    ...limitsAt(many ? [0.5, 1] : [0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1]).map(
      (l) => (op: number) => price(op) <= l,
    ),
  ];
  const narrow = narrowPlaces(context, order, all),
    total = [...all].reduce((sum, s) => sum + program.storages[s]!.bytes, 0);
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
  const seen = new Set<string>(),
    tried = new Map<Candidate, Set<number>>();
  for (const dropped of drops) {
    const key = [...dropped].join();
    if (dropped.size === 0 || seen.has(key)) continue;
    seen.add(key);
    tried.set(
      candidate(context, rates, "recompute, minimum cut", rematerialise(context, order, dropped)),
      dropped,
    );
  }
  const cut = pareto([...tried.keys()]);
  for (const made of cut) {
    const fleeting = withFleeting(context, order, tried.get(made)!, rates, made.how);
    if (fleeting !== null) found.push(fleeting);
  }
  const front = pareto([...found, ...cut]);
  const smaller = pareto([
    ...front,
    ...[
      candidate(context, rates, "in core", runsOf(order)),
      ...spread(front, many ? 2 : 8),
    ].flatMap((base) => shaved(context, order, all, rates, base)),
  ]);
  return pareto([
    ...smaller,
    ...smaller
      .filter((c) => c.extra.recomputedOps > 0)
      .map((c) => candidate(context, rates, c.how, takeBack(context, c.actions, opCost))),
  ]);
}

/** Schedules whose peaks are shaved further. */
function shaved(
  context: Context,
  order: readonly number[],
  all: ReadonlySet<number>,
  rates: Rates,
  base: Candidate,
): Candidate[] {
  const writers = writersOf(context.program, order),
    producer = Int32Array.from(context.program.storages, (_, s) =>
      all.has(s) ? writers[s]![0]! : -1,
    );
  return shave(
    context,
    base.actions,
    all,
    producer,
    opCost,
    order.length > manyOps ? 100 : 400,
  ).map((actions) =>
    candidate(
      context,
      rates,
      base.extra.recomputedOps > 0 ? `${base.how}, peaks shaved` : "recompute, peaks shaved",
      actions,
    ),
  );
}

function without(all: ReadonlySet<number>, less: ReadonlySet<number>): Set<number> {
  return new Set([...all].filter((s) => !less.has(s)));
}

// === Swap ===

/**
 * Schedules with swaps, at levels of memory between the least that can work and what the program
 * needs in core.
 */
function swapFamily(
  context: Context,
  bases: readonly Candidate[],
  dropped: ReadonlySet<number>,
  policy: Policy,
): Candidate[] {
  const { program } = context,
    { rates } = policy,
    found: Candidate[] = [];
  const few = spread(bases, program.ops.length > manyOps ? 2 : 4);
  for (const base of few) {
    for (const level of levels(
      context,
      base,
      program.ops.length > manyOps ? 6 : base === few[0] ? 24 : 8,
    )) {
      try {
        const swapped = insertSwaps(context, base.actions, {
          budgetBytes: level,
          prefetchBytes: policy.prefetchBytes === Infinity ? 1.5 * level : policy.prefetchBytes,
          saveHostMemory: policy.saveHostMemory,
        });
        found.push(
          candidate(
            context,
            rates,
            base.extra.recomputedOps > 0 ? `${base.how}, and swap` : "swap",
            swapped,
          ),
        );
        if (policy.recompute !== "auto") continue;
        const mixed = preferRecompute(
          context,
          swapped,
          dropped,
          (op) => opCost(program.ops[op]!) / rates.flopsPerSecond,
          (bytes) => bytes / rates.inBytesPerSecond + bytes / rates.outBytesPerSecond,
        );
        if (mixed.length < swapped.length)
          found.push(candidate(context, rates, "swap or recompute, whichever is cheaper", mixed));
      } catch (error) {
        if (!(error instanceof BudgetError)) throw error;
      }
    }
  }
  return found;
}

function spread<T>(list: readonly T[], most: number): T[] {
  return list.length <= most
    ? [...list]
    : Array.from(
        { length: most },
        (_, k) => list[Math.round((k * (list.length - 1)) / (most - 1))]!,
      );
}

/** Amounts of memory to try: what is live along the program, from what its largest op needs. */
function levels(context: Context, base: Candidate, most: number): number[] {
  const { program, resident, extended } = context;
  let least = 0;
  const fixed = program.storages.reduce(
    (sum, s, i) => (extended[i] !== null ? sum + s.bytes : sum),
    0,
  );
  for (const { op } of base.actions)
    least = Math.max(
      least,
      bytesTouched(program, program.ops[op]!),
      fixed +
        bytesTouched(program, {
          ...program.ops[op]!,
          reads: program.ops[op]!.reads.filter((s) => extended[s] === null),
          writes: program.ops[op]!.writes.filter((s) => extended[s] === null),
        }),
    );
  const sum = (keep: (i: number) => boolean): number =>
    program.storages.reduce((total, s, i) => (keep(i) ? total + s.bytes : total), 0);
  const used = new Set(
    base.actions.flatMap(({ op }) => [...program.ops[op]!.reads, ...program.ops[op]!.writes]),
  );
  least = Math.max(
    least,
    sum((i) => resident[i] === true && (used.has(i) || program.storages[i]!.pinned)),
    sum((i) => program.storages[i]!.pinned && (used.has(i) || resident[i] === true)),
  );
  const live = [
    ...new Set(liveCurve(program, segmentsOf(context, base.actions), base.actions.length)),
  ]
    .filter((b) => b >= least && b < base.peak)
    .sort((a, b) => a - b);
  // Sizes with a large common divisor have few levels: all are tried.
  const unit = program.storages.reduce((g, s) => gcd(g, s.bytes), 0);
  if (program.ops.length <= 300 && (base.peak - least) / unit <= 2 * most)
    return Array.from(
      { length: Math.ceil((base.peak - least) / unit) },
      (_, k) => least + k * unit,
    );
  const steps = Array.from({ length: most >> 1 }, (_, k) =>
    Math.round(least + (k * (base.peak - least)) / (most >> 1)),
  );
  return [...new Set([least, ...spread(live, most), ...steps])]
    .filter((b) => b < base.peak)
    .sort((a, b) => a - b);
}
