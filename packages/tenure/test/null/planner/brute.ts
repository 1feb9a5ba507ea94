/**
 * What the planner is measured against: the least number of recomputed flops under a byte budget by
 * trying everything, and Griewank's formula for chains. Shares no code with the passes. Tests only.
 */
import type { Program } from "../../../src/graph/program.ts";

/**
 * Least flops of recomputation with which the program runs in issue order and never more than
 * `budget` bytes live; Infinity when it cannot. Only for programs whose storages are written once
 * or updated in place.
 */
export function leastRecompute({ storages, ops }: Program, budget: number): number {
  const n = storages.length,
    from = storages.reduce((m, _, s) => (firstIsRead(ops, s) ? m | (1 << s) : m), 0);
  const bits = (list: readonly number[]): number => list.reduce((m, s) => m | (1 << s), 0);
  const bytes = (m: number): number => {
    let sum = 0;
    for (let s = 0; s < n; s++) if ((m >> s) & 1) sum += storages[s]!.bytes;
    return sum;
  };
  const final = bits(storages.flatMap((s, i) => (s.pinned ? [i] : [])));
  const again = ops.map(
    (o, i) =>
      o.recomputable &&
      o.phase === "forward" &&
      o.writes.every(
        (w) =>
          !storages[w]!.pinned &&
          !o.reads.includes(w) &&
          ops.every((p, k) => k === i || !p.writes.includes(w)),
      ),
  );
  const sameInputs = (i: number, at: number): boolean =>
    ops.slice(i + 1, at).every((o) => !o.writes.some((w) => ops[i]!.reads.includes(w)));
  const needed = neededIn(storages, ops);
  // Dijkstra over (ops run, resident set), cheapest first.
  const best = new Map<string, number>(),
    queue: { cost: number; at: number; have: number }[] = [];
  const push = (cost: number, at: number, have: number): void => {
    const key = `${at}/${have}`;
    if ((best.get(key) ?? Infinity) <= cost) return;
    best.set(key, cost);
    queue.push({ cost, at, have });
  };
  push(0, 0, from);
  while (queue.length > 0) {
    let k = 0;
    for (let i = 1; i < queue.length; i++) if (queue[i]!.cost < queue[k]!.cost) k = i;
    const [{ cost, at, have }] = queue.splice(k, 1) as [{ cost: number; at: number; have: number }];
    if (best.get(`${at}/${have}`)! < cost) continue;
    if (at === ops.length && (have & final) === final) return cost;
    for (let s = 0; s < n; s++) if ((have >> s) & 1) push(cost, at, have & ~(1 << s));
    const run = (i: number, to: number, price: number): void => {
      const { reads, writes } = ops[i]!;
      if ((have & bits(reads)) !== bits(reads) || bytes(have | bits(writes)) > budget) return;
      push(cost + price, to, have | bits(writes));
    };
    if (at < ops.length) {
      if (needed[at] === true) run(at, at + 1, 0);
      else push(cost, at + 1, have);
    }
    for (let i = 0; i < at; i++)
      if (again[i] === true && sameInputs(i, at)) run(i, at, ops[i]!.flops);
  }
  return Infinity;
}

/** Ops with an effect on what is owned in the end. */
function neededIn(storages: Program["storages"], ops: Program["ops"]): boolean[] {
  const wanted = new Set(storages.flatMap((s, i) => (s.pinned ? [i] : []))),
    needed: boolean[] = [];
  for (let i = ops.length - 1; i >= 0; i--) {
    needed[i] = ops[i]!.writes.some((w) => wanted.has(w));
    if (needed[i] === true) for (const r of ops[i]!.reads) wanted.add(r);
  }
  return needed;
}

function firstIsRead(ops: Program["ops"], s: number): boolean {
  return ops.find((o) => o.reads.includes(s) || o.writes.includes(s))?.reads.includes(s) === true;
}

/**
 * Griewank & Walther: steps run beyond the first sweep to reverse a chain of `length` steps with
 * `snapshots` places for states, the initial one included.
 */
export function revolve(length: number, snapshots: number): number {
  if (length <= 1) return 0;
  let r = 0;
  while (choose(snapshots + r, snapshots) < length) r++;
  // Advances of the whole reversal; the first sweep alone takes length - 1.
  return r * length - choose(snapshots + r, snapshots + 1) - (length - 1);
}

function choose(n: number, k: number): number {
  let c = 1;
  for (let i = 1; i <= k; i++) c = (c * (n - k + i)) / i;
  return Math.round(c);
}

/**
 * Least transfers, to the host and back, with which a program of single-assignment values runs in
 * issue order within `budget` live bytes; Infinity when it cannot.
 */
export function leastSwaps({ storages, ops }: Program, budget: number): number {
  const bits = (list: readonly number[]): number => list.reduce((m, s) => m | (1 << s), 0);
  const bytes = (m: number): number =>
    storages.reduce((sum, s, i) => ((m >> i) & 1 ? sum + s.bytes : sum), 0);
  const from = bits(storages.flatMap((_, s) => (firstIsRead(ops, s) ? [s] : []))),
    final = bits(storages.flatMap((s, i) => (s.pinned ? [i] : [])));
  const needed = neededIn(storages, ops),
    best = new Map<string, number>(),
    levels: { at: number; have: number; host: number }[][] = [[]];
  const push = (cost: number, at: number, have: number, host: number): void => {
    const key = `${at}/${have}/${host}`;
    if (bytes(have) > budget || (best.get(key) ?? Infinity) <= cost) return;
    best.set(key, cost);
    (levels[cost] ??= []).push({ at, have, host });
  };
  push(0, 0, from, 0);
  for (let cost = 0; cost < levels.length; cost++) {
    for (let state = levels[cost]!.pop(); state !== undefined; state = levels[cost]!.pop()) {
      const { at, have, host } = state;
      if (best.get(`${at}/${have}/${host}`)! < cost) continue;
      if (at === ops.length) {
        if ((have & final) === final) return cost;
      } else {
        const { reads, writes } = ops[at]!;
        if (needed[at] !== true) push(cost, at + 1, have, host);
        else if ((have & bits(reads)) === bits(reads))
          push(cost, at + 1, have | bits(writes), host & ~bits(writes));
      }
      for (let s = 0; s < storages.length; s++) {
        const bit = 1 << s;
        if ((have & bit) !== 0) {
          push(cost, at, have & ~bit, host);
          if ((host & bit) === 0) push(cost + 1, at, have, host | bit);
        } else if ((host & bit) !== 0) push(cost + 1, at, have | bit, host);
      }
    }
    levels[cost + 1] ??= cost > 40 ? undefined! : [];
    if (levels[cost + 1] === undefined) return Infinity;
  }
  return Infinity;
}
