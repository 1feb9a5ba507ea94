/**
 * Optimal recomputation on chains by dynamic programming (Griewank & Walther's Revolve for equal
 * steps; Beaumont et al. 2019, arXiv 1911.13214, for unequal ones). A chain is a forward pass with
 * narrow places, each the only thing the rest needs, and a backward pass that visits the stages
 * between them in reverse.
 *
 *     stages      1     2     3     4        groups of backward ops: group k reads boundary k-1, the values inside stage k, perhaps boundary k
 *              0 --- 1 --- 2 --- 3 ---
 *
 * `Rev(i, j, m)`: the least cost of running groups j … i+1 with boundary i resident and m bytes
 * besides; choices are to run on to a boundary s, keep it, reverse behind it, then before it; or to
 * keep all of stage i+1 and reverse behind it. Pure.
 */
import type { Program } from "../../graph/program.ts";
import { opCost } from "../cost.ts";
import { dependencies } from "./order.ts";
import { type Action, type Context, liveCurve, runsOf, segmentsOf } from "../schedule.ts";

/** A plan for one amount of memory. */
export interface ChainPlan {
  readonly cost: number;
  /** Expands the decisions; done for the plan that is used. */
  readonly actions: () => Action[];
}

interface Stage {
  /** All forward ops, in order. */
  readonly ops: readonly number[];
  /**
   * Ops needed to make the boundary, and to make everything the backward group reads (and the
   * boundary).
   */
  readonly toBoundary: readonly number[];
  readonly toAll: readonly number[];
  readonly toNeeded: readonly number[];
  /** Backward ops. */
  group: number[];
  boundary: number;
}

const maxStages = 72;
const maxWork = 4e7;
/** Steps of memory that are told apart, unless all sizes are multiples of fewer. */
const maxLevels = 800;

/**
 * Plans from the least memory to the most, each cheaper than the one before; null when the program
 * is no chain.
 */
export function chainPlans(
  context: Context,
  order: readonly number[],
  candidates: ReadonlySet<number>,
): ChainPlan[] | null {
  const chain = splitChain(context, order, candidates);
  return chain === null ? null : solve(context, order, candidates, chain.stages, chain.needs);
}

interface Needs {
  readonly inside: ReadonlySet<number>;
  readonly boundary: boolean;
}

/** Stages and what their backward groups read. */
function splitChain(
  { program, resident }: Context,
  order: readonly number[],
  candidates: ReadonlySet<number>,
): { stages: Stage[]; needs: Needs[] } | null {
  const split = order.findIndex((i) => program.ops[i]!.phase !== "forward");
  if (split < 2 || order.slice(split).some((i) => program.ops[i]!.phase === "forward")) return null;
  const forward = order.slice(0, split),
    backward = order.slice(split);
  let cuts = cutsOf(program, resident, forward, backward, candidates);
  if (cuts.length < 2) return null;
  if (cuts.length > maxStages)
    cuts = Array.from(
      { length: maxStages },
      (_, k) => cuts[Math.round(((k + 1) * cuts.length) / (maxStages + 1))]!,
    );
  const stageOf = new Map<number, number>(),
    boundaryOf = new Map<number, number>();
  const ranges = [...cuts.map((c) => c.at + 1), forward.length].map((end, k, ends) =>
    forward.slice(k === 0 ? 0 : ends[k - 1], end),
  ); // the last may be empty
  ranges.forEach((ops, k) => {
    for (const i of ops)
      for (const w of program.ops[i]!.writes) if (candidates.has(w)) stageOf.set(w, k + 1);
  });
  cuts.forEach((c, k) => {
    boundaryOf.set(c.storage, k + 1);
    stageOf.delete(c.storage);
  });
  const n = ranges.length;

  // The lowest stage that a new value of a storage would change: it must run no more when the
  // storage is written.
  const limit = new Map<number, number>();
  ranges.forEach((ops, k) => {
    for (const i of ops)
      if (program.ops[i]!.writes.some((w) => candidates.has(w)))
        for (const r of program.ops[i]!.reads) if (!limit.has(r)) limit.set(r, k + 1);
  });
  const after = dependencies(program, order),
    groupOf = new Map<number, number>();

  // Backward ops to groups, which must not rise again; updates wait until their stage is done.
  const groups: number[][] = Array.from({ length: n + 1 }, () => []),
    inside: Set<number>[] = Array.from({ length: n + 1 }, () => new Set()),
    needsBoundary = new Array<boolean>(n + 1).fill(false);
  let current = n;
  for (const i of backward) {
    let low = 1,
      high = current;
    for (const r of program.ops[i]!.reads) {
      const stage = stageOf.get(r),
        boundary = boundaryOf.get(r);
      if (stage !== undefined) {
        low = Math.max(low, stage);
        high = Math.min(high, stage);
      }
      if (boundary !== undefined) {
        low = Math.max(low, boundary);
        high = Math.min(high, boundary + 1);
      }
    }
    for (const w of program.ops[i]!.writes) high = Math.min(high, limit.get(w) ?? n);
    for (const before of after.get(i)!) high = Math.min(high, groupOf.get(before) ?? n);
    if (high < low) return null;
    const reads = program.ops[i]!.reads.some((r) => stageOf.has(r) || boundaryOf.has(r));
    if (reads) current = high;
    groups[high]!.push(i);
    groupOf.set(i, high);
    for (const r of program.ops[i]!.reads) {
      if (stageOf.has(r)) inside[high]!.add(r);
      if (boundaryOf.get(r) === high) needsBoundary[high] = true;
    }
  }
  const stages = ranges.map((ops, k): Stage => {
    const boundary = cuts[k]?.storage ?? -1,
      own = [...inside[k + 1]!];
    const ends = boundary === -1 ? [] : [boundary];
    return {
      ops,
      boundary,
      group: groups[k + 1]!,
      toBoundary: ancestors(program, ops, ends, candidates),
      toAll: ancestors(program, ops, [...own, ...ends], candidates),
      toNeeded: ancestors(
        program,
        ops,
        [...own, ...(needsBoundary[k + 1] === true ? ends : [])],
        candidates,
      ),
    };
  });
  return {
    stages,
    needs: stages.map((_, k) => ({ inside: inside[k + 1]!, boundary: needsBoundary[k + 1]! })),
  };
}

/**
 * Positions behind which the rest of the forward pass needs one value only; the last value may be
 * one that only the backward pass needs.
 */
function cutsOf(
  program: Program,
  resident: readonly boolean[],
  forward: readonly number[],
  backward: readonly number[],
  candidates: ReadonlySet<number>,
): { at: number; storage: number }[] {
  const last = new Map<number, number>(),
    live = new Set<number>(),
    cuts: { at: number; storage: number }[] = [];
  forward.forEach((i, at) => {
    for (const s of program.ops[i]!.reads) last.set(s, at);
  });
  forward.forEach((i, at) => {
    for (const w of program.ops[i]!.writes)
      if (resident[w] !== true && (last.get(w) ?? -1) > at) live.add(w);
    for (const s of program.ops[i]!.reads) if (last.get(s) === at) live.delete(s);
    if (live.size !== 1) return;
    const storage = [...live][0]!;
    if (candidates.has(storage) && cuts.at(-1)?.storage !== storage) cuts.push({ at, storage });
  });
  const end = program.ops[forward.at(-1)!]!.writes;
  if (
    end.length === 1 &&
    candidates.has(end[0]!) &&
    backward.some((i) => program.ops[i]!.reads.includes(end[0]!))
  )
    cuts.push({ at: forward.length - 1, storage: end[0]! });
  return cuts;
}

/** Ops among `ops` needed to make `targets`, following only values that may be recomputed. */
function ancestors(
  program: Program,
  ops: readonly number[],
  targets: readonly number[],
  candidates: ReadonlySet<number>,
): number[] {
  const wanted = new Set(targets),
    found: number[] = [];
  for (let k = ops.length - 1; k >= 0; k--) {
    const op = program.ops[ops[k]!]!;
    if (!op.writes.some((w) => wanted.has(w))) continue;
    found.push(ops[k]!);
    for (const r of op.reads) if (candidates.has(r)) wanted.add(r);
  }
  return found.reverse();
}

/** Peak bytes of the candidates that `ops` make, when those in `kept` stay to the end. */
function transientPeak(
  program: Program,
  ops: readonly number[],
  kept: ReadonlySet<number>,
  candidates: ReadonlySet<number>,
): number {
  const last = new Map<number, number>();
  ops.forEach((i, at) => {
    for (const r of program.ops[i]!.reads) last.set(r, at);
  });
  let now = 0,
    most = 0;
  const made = new Set<number>();
  ops.forEach((i, at) => {
    for (const w of program.ops[i]!.writes)
      if (candidates.has(w) && !made.has(w)) {
        made.add(w);
        now += program.storages[w]!.bytes;
      }
    most = Math.max(most, now);
    for (const s of [...program.ops[i]!.reads, ...program.ops[i]!.writes])
      if (made.has(s) && !kept.has(s) && (last.get(s) ?? at) === at) {
        made.delete(s);
        now -= program.storages[s]!.bytes;
      }
  });
  return most;
}

function solve(
  context: Context,
  order: readonly number[],
  candidates: ReadonlySet<number>,
  stages: readonly Stage[],
  needs: readonly Needs[],
): ChainPlan[] | null {
  const { program } = context,
    n = stages.length;
  // Everything that is not a candidate is where it is whatever we decide.
  const others = segmentsOf(context, runsOf(order)).filter((s) => !candidates.has(s.storage)),
    curve = liveCurve(program, others, order.length);
  const position = new Map(order.map((op, at) => [op, at]));
  const across = (at: number): number =>
    others.reduce(
      (sum, s) => (s.begin < at && s.end > at ? sum + program.storages[s.storage]!.bytes : sum),
      0,
    );
  /**
   * Most bytes while a group runs: what is no candidate, values inside the stage and its boundary
   * up to their last use.
   */
  const groupBytes = stages.map((s, k) => {
    const mine = new Set(needs[k]!.boundary ? [...needs[k]!.inside, s.boundary] : needs[k]!.inside),
      last = new Map<number, number>();
    s.group.forEach((i, at) => {
      for (const r of program.ops[i]!.reads) if (mine.has(r)) last.set(r, at);
    });
    return Math.max(
      0,
      ...s.group.map((i, at) =>
        [...last].reduce(
          (sum, [r, end]) => (end >= at ? sum + program.storages[r]!.bytes : sum),
          curve[position.get(i)!]!,
        ),
      ),
    );
  });
  const pending: number[] = [];
  const firstBackward = order.findIndex((i) => program.ops[i]!.phase !== "forward");
  stages.forEach((s, k) => {
    pending[k] = across(
      s.group.length > 0
        ? position.get(s.group[0]!)!
        : stages[k + 1]?.group.length
          ? position.get(stages[k + 1]!.group.at(-1)!)!
          : firstBackward,
    );
  });

  const bytes = (s: number): number => (s === -1 ? 0 : program.storages[s]!.bytes);
  const sum = (list: Iterable<number>): number => {
    let total = 0;
    for (const s of list) total += bytes(s);
    return total;
  };
  const boundary = stages.map((s) => bytes(s.boundary)),
    kept = stages.map((_, k) => sum(needs[k]!.inside));
  const ends = (k: number): Set<number> =>
    new Set(stages[k]!.boundary === -1 ? [] : [stages[k]!.boundary]);
  const runPeak = stages.map((s, k) => transientPeak(program, s.toBoundary, ends(k), candidates));
  const allPeak = stages.map((s, k) =>
    transientPeak(program, s.toAll, new Set([...ends(k), ...needs[k]!.inside]), candidates),
  );
  const neededPeak = stages.map((s, k) =>
    transientPeak(
      program,
      s.toNeeded,
      new Set([...(needs[k]!.boundary ? ends(k) : []), ...needs[k]!.inside]),
      candidates,
    ),
  );
  const costOf = (ops: readonly number[]): number =>
    ops.reduce((total, i) => total + opCost(program.ops[i]!), 0);
  const runCost = stages.map((s) => costOf(s.toBoundary)),
    allCost = stages.map((s) => costOf(s.toAll)),
    neededCost = stages.map((s) => costOf(s.toNeeded));

  // Memory in units: exact when sizes have a large common divisor.
  const most = Math.max(...liveCurve(program, segmentsOf(context, runsOf(order)), order.length));
  const sizes = [
    ...boundary,
    ...kept,
    ...groupBytes,
    ...pending,
    ...runPeak,
    ...allPeak,
    ...neededPeak,
  ].filter((b) => b > 0);
  const levels = Math.min(maxLevels, Math.max(24, Math.floor(maxWork / (n * n * n + 1))));
  const divisor = sizes.reduce(gcd, 0);
  const unit = most / divisor <= levels ? divisor : Math.ceil(most / levels);
  const u = (list: readonly number[]): number[] => list.map((b) => Math.ceil(b / unit));
  const A = u(boundary),
    I = u(kept),
    R = u(groupBytes),
    C = u(pending),
    W = u(runPeak),
    Wall = u(allPeak),
    Wneeded = u(neededPeak),
    M = Math.ceil(most / unit) + 1;

  // table[((e·n + i)·(n+1) + j)·(M+1) + m]; choice: 0 none, 1 keep stage i+1, 2 + 2s + e' stop at
  // boundary s.
  const at = (e: number, i: number, j: number, m: number): number =>
    ((e * n + i) * (n + 1) + j) * (M + 1) + m;
  const table = new Float64Array(2 * n * (n + 1) * (M + 1)).fill(Infinity),
    choice = new Int16Array(table.length);
  const get = (e: number, i: number, j: number, m: number): number =>
    m < 0 ? Infinity : table[at(e, i, j, Math.min(m, M))]!;
  /** e: boundary k is resident beside m. */
  const base = (k: number, m: number, e: number): number => {
    const { inside, boundary: wantsBoundary } = needs[k]!;
    if (inside.size === 0 && wantsBoundary && e === 1) return R[k]! <= m + A[k]! ? 0 : Infinity;
    const room = e === 1 ? m + A[k]! : m;
    if (inside.size === 0 && !wantsBoundary) return R[k]! <= room ? 0 : Infinity;
    return Wneeded[k]! + C[k]! <= room && R[k]! <= room ? neededCost[k]! : Infinity;
  };
  for (let length = 1; length <= n; length++) {
    for (let i = 0; i + length <= n; i++) {
      const j = i + length;
      for (let e = 0; e < 2; e++) {
        for (let m = 0; m <= M; m++) {
          const here = at(e, i, j, m);
          if (length === 1) {
            table[here] = base(i, m, e);
            continue;
          }
          const after = e === 1 ? m + A[j - 1]! : m;
          let best = Infinity,
            which = 0;
          if (Wall[i]! + C[j - 1]! <= m && R[i]! <= after) {
            const cost = allCost[i]! + get(e, i + 1, j, m - I[i]! - A[i]!);
            if (cost < best) {
              best = cost;
              which = 1;
            }
          }
          let run = 0;
          for (let s = i + 1; s < j; s++) {
            if ((s - 1 > i ? A[s - 2]! : 0) + W[s - 1]! + C[j - 1]! > m) break;
            run += runCost[s - 1]!;
            const behind = run + get(e, s, j, m - A[s - 1]!);
            if (behind >= best) continue;
            const dropped = behind + get(0, i, s, after),
              held = behind + get(1, i, s, after - A[s - 1]!);
            if (dropped < best) {
              best = dropped;
              which = 2 + 2 * s;
            }
            if (held < best) {
              best = held;
              which = 3 + 2 * s;
            }
          }
          table[here] = best;
          choice[here] = which;
        }
      }
    }
  }

  const plans: ChainPlan[] = [];
  for (let m = 0, last = Infinity; m <= M; m++) {
    const cost = get(0, 0, n, m);
    if (cost >= last) continue;
    last = cost;
    plans.push({ cost, actions: () => expand(m) });
  }
  return plans;

  function expand(memory: number): Action[] {
    const actions: Action[] = [],
      ran = new Set<number>(),
      firstPass = new Set<number>();
    const run = (k: number, ops: readonly number[]): void => {
      // The first time, the whole stage runs: somebody may want its other results.
      const list = firstPass.has(k) ? ops : stages[k]!.ops;
      firstPass.add(k);
      for (const op of list) {
        actions.push({ kind: ran.has(op) ? "recompute" : "dispatch", op, storage: -1 });
        ran.add(op);
      }
    };
    const group = (k: number): void => {
      for (const op of stages[k]!.group) actions.push({ kind: "dispatch", op, storage: -1 });
    };
    const visit = (i: number, j: number, m: number, e: number): void => {
      if (j === i + 1) {
        const { inside, boundary: wantsBoundary } = needs[i]!;
        if (!firstPass.has(i) || inside.size > 0 || (wantsBoundary && e === 0))
          run(i, stages[i]!.toNeeded);
        group(i);
        return;
      }
      const which = choice[at(e, i, j, Math.min(m, M))]!,
        after = e === 1 ? m + A[j - 1]! : m;
      if (which === 1) {
        run(i, stages[i]!.toAll);
        visit(i + 1, j, m - I[i]! - A[i]!, e);
        group(i);
        return;
      }
      const s = (which - 2) >> 1,
        held = (which & 1) === 1;
      for (let k = i; k < s; k++) run(k, stages[k]!.toBoundary);
      visit(s, j, m - A[s - 1]!, e);
      visit(i, s, held ? after - A[s - 1]! : after, held ? 1 : 0);
    };
    visit(0, n, memory, 0);
    return actions;
  }
}

export function gcd(a: number, b: number): number {
  while (b > 0) [a, b] = [b, a % b];
  return a;
}
