/**
 * The best recomputation of a small program, by search: states are how far the program got and
 * which values are resident, steps run the next op, run an earlier one again, or forget a value.
 * Finds the whole front of cost against memory. For programs of a few ops, and as a yardstick for
 * the rest. Pure.
 */
import { opCost } from "../cost.ts";
import { type Action, type Context, livePeak } from "../schedule.ts";

const maxOps = 10,
  maxBits = 20,
  maxStates = 60_000;

/**
 * Schedules from the least memory to the most, each cheaper than the one before; null when the
 * program is too large.
 */
export function exactPlans(
  context: Context,
  order: readonly number[],
  candidates: ReadonlySet<number>,
): Action[][] | null {
  const { program } = context;
  const used = [
    ...new Set(order.flatMap((i) => [...program.ops[i]!.reads, ...program.ops[i]!.writes])),
  ];
  if (order.length > maxOps || used.length > maxBits || context.extended.some((e) => e !== null))
    return null; // lifespans reserve memory that states do not see
  const front: Action[][] = [];
  let limit = Infinity;
  for (;;) {
    const found = cheapest(context, order, candidates, used, limit);
    if (found === null) return front.reverse();
    if (found === "too large") return null;
    front.push(found);
    limit = livePeak(context, found) - 1;
  }
}

/** The cheapest schedule whose live bytes never exceed `limit`. */
function cheapest(
  context: Context,
  order: readonly number[],
  candidates: ReadonlySet<number>,
  used: readonly number[],
  limit: number,
): Action[] | null | "too large" {
  const { program, resident } = context;
  const bit = new Map(used.map((s, k) => [s, 1 << k])),
    bytes = used.map((s) => program.storages[s]!.bytes);
  const mask = (list: readonly number[]): number => list.reduce((m, s) => m | bit.get(s)!, 0);
  const reads = order.map((i) => mask(program.ops[i]!.reads)),
    writes = order.map((i) => mask(program.ops[i]!.writes));
  const final = mask(used.filter((s) => program.storages[s]!.pinned));
  const sum = (m: number): number =>
    bytes.reduce((total, b, k) => (((m >> k) & 1) === 1 ? total + b : total), 0);
  // An op may run again while its inputs have the versions it saw: none of them is written in
  // between.
  const mayRun = (a: number, p: number): boolean =>
    program.ops[order[a]!]!.writes.every((w) => candidates.has(w)) &&
    (writes.slice(a + 1, p).reduce((m, w) => m | w, 0) & reads[a]!) === 0;
  const idle = residentBytes(context, used);

  interface State {
    readonly p: number;
    readonly mask: number;
    readonly cost: number;
    readonly from: State | null;
    readonly again: number;
  }
  const start: State = {
    p: 0,
    mask: mask(used.filter((s) => resident[s] === true)),
    cost: 0,
    from: null,
    again: -1,
  };
  const best = new Map<string, number>([[`0 ${start.mask}`, 0]]);
  // Costs are few and states many: buckets in a sorted list.
  const buckets = new Map<number, State[]>([[0, [start]]]),
    costs = [0];
  const push = (s: State): void => {
    const key = `${s.p} ${s.mask}`,
      known = best.get(key);
    if (known !== undefined && known <= s.cost) return;
    best.set(key, s.cost);
    const bucket = buckets.get(s.cost);
    if (bucket !== undefined) {
      bucket.push(s);
      return;
    }
    buckets.set(s.cost, [s]);
    let k = costs.length;
    while (k > 0 && costs[k - 1]! < s.cost) k--;
    costs.splice(k, 0, s.cost);
  };
  for (;;) {
    const cost = costs.at(-1);
    if (cost === undefined) return null;
    const state = buckets.get(cost)!.pop();
    if (state === undefined) {
      buckets.delete(cost);
      costs.pop();
      continue;
    }
    if (best.size > maxStates) return "too large";
    const { p, mask: have } = state;
    if (p === order.length) {
      if ((have & final) === final) return trace(state);
      continue;
    }
    if (best.get(`${p} ${have}`)! < cost) continue;
    const next = (a: number, to: number, extra: number): void => {
      if ((have & reads[a]!) !== reads[a] || idle + sum(have | writes[a]!) > limit) return;
      push({
        p: to,
        mask: have | writes[a]!,
        cost: cost + extra,
        from: state,
        again: a === p ? -1 : a,
      });
    };
    next(p, p + 1, 0);
    for (let a = 0; a < p; a++)
      if ((have & writes[a]!) !== writes[a] && mayRun(a, p))
        next(a, p, opCost(program.ops[order[a]!]!));
    for (let k = 0; k < used.length; k++)
      if (((have >> k) & 1) === 1)
        push({ p, mask: have & ~(1 << k), cost, from: state, again: -2 });
  }

  function trace(end: State): Action[] {
    const actions: Action[] = [];
    for (let s: State = end; s.from !== null; s = s.from) {
      if (s.again >= 0) actions.push({ kind: "recompute", op: order[s.again]!, storage: -1 });
      else if (s.again === -1) actions.push({ kind: "dispatch", op: order[s.p - 1]!, storage: -1 });
    }
    return actions.reverse();
  }
}

/** Bytes that are resident from beginning to end and touched by nothing. */
function residentBytes({ program, resident }: Context, used: readonly number[]): number {
  return program.storages.reduce(
    (sum, s, i) => (!used.includes(i) && resident[i] === true && s.pinned ? sum + s.bytes : sum),
    0,
  );
}
