/**
 * Which ops run, and in which order. Ops whose effect nobody can observe are dropped. Weight
 * updates move right behind the last op they depend on, where NNTrainer applies them, and gradients
 * that free more than they make before derivatives, unless that raises the peak: the gradients of
 * different layers then share memory, and inputs go sooner. Pure; the first pass.
 */
import type { Program } from "../../graph/program.ts";
import { type Context, livePeak, runsOf } from "../schedule.ts";

/**
 * Indices of the ops whose effect somebody can observe, in issue order. An op is needed when it
 * writes a storage that is pinned or read later; a whole overwrite (written, not read) ends the
 * need for older values.
 */
export function neededOps(program: Program): number[] {
  const wanted = program.storages.map((s) => s.pinned);
  const needed: number[] = [];
  for (let i = program.ops.length - 1; i >= 0; i--) {
    const op = program.ops[i]!;
    if (!op.writes.some((w) => wanted[w])) continue;
    needed.push(i);
    for (const w of op.writes) if (!op.reads.includes(w)) wanted[w] = false;
    for (const r of op.reads) wanted[r] = true;
  }
  return needed.reverse();
}

/**
 * For each op of `order`, the ops it must come after: writers of what it reads (RAW), readers (WAR)
 * and writers (WAW) of what it writes.
 */
export function dependencies(program: Program, order: readonly number[]): Map<number, number[]> {
  const writer = new Map<number, number>(),
    readers = new Map<number, number[]>(),
    result = new Map<number, number[]>();
  for (const i of order) {
    const { reads, writes } = program.ops[i]!,
      before = new Set<number>();
    for (const s of [...reads, ...writes]) {
      const w = writer.get(s);
      if (w !== undefined) before.add(w);
    }
    for (const w of writes) for (const r of readers.get(w) ?? []) before.add(r);
    before.delete(i);
    result.set(i, [...before]);
    for (const r of reads) {
      const list = readers.get(r);
      if (list === undefined) readers.set(r, [i]);
      else list.push(i);
    }
    for (const w of writes) {
      writer.set(w, i);
      readers.set(w, []);
    }
  }
  return result;
}

/** The order in which the needed ops run. */
export function orderOps(context: Context): number[] {
  const { program } = context,
    order = neededOps(program);
  if (!order.some((i) => program.ops[i]!.phase === "apply")) return order;
  const update = (i: number): boolean => program.ops[i]!.phase === "apply",
    gradient = gradientsThatFree(program, order);
  const early = [update, (i: number): boolean => update(i) || gradient.has(i)].map((may) =>
    moveEarly(program, order, may),
  );
  return early.reduce(
    (best, next) =>
      livePeak(context, runsOf(next)) <= livePeak(context, runsOf(best)) ? next : best,
    order,
  );
}

/**
 * Gradient ops that, moved behind the last op they depend on, free at least as many bytes there as
 * they write.
 */
function gradientsThatFree(program: Program, order: readonly number[]): Set<number> {
  const { storages, ops } = program,
    before = dependencies(program, order),
    at = new Map(order.map((i, k) => [i, k])),
    readers = new Map<number, number[]>();
  for (const i of order)
    for (const r of ops[i]!.reads) {
      const list = readers.get(r);
      if (list === undefined) readers.set(r, [i]);
      else list.push(i);
    }
  const bytes = (list: readonly number[]): number =>
    list.reduce((sum, s) => sum + storages[s]!.bytes, 0);
  return new Set(
    order.filter((i) => {
      const { phase, reads, writes } = ops[i]!;
      if (phase !== "calcGradient") return false;
      const place = Math.max(-1, ...before.get(i)!.map((d) => at.get(d)!));
      return (
        bytes(
          reads.filter(
            (r) =>
              !storages[r]!.pinned && readers.get(r)!.every((o) => o === i || at.get(o)! <= place),
          ),
        ) >= bytes(writes)
      );
    }),
  );
}

/** Ops that may move do so, right behind the last op they depend on. */
function moveEarly(
  program: Program,
  order: readonly number[],
  may: (op: number) => boolean,
): number[] {
  const before = dependencies(program, order),
    place = new Map<number, number>(),
    step = 0.5 ** 20,
    rootless = new Set<number>();
  // An op's place: its own number, or for updates just behind the last op it depends on. Sorting is
  // stable, so equal places keep issue order.
  order.forEach((i, at) => {
    const after = before.get(i)!.filter((d) => !rootless.has(d));
    if (!may(i)) place.set(i, at);
    else if (before.get(i)!.length === 0)
      rootless.add(i); // a state's first value: made when it is needed
    else place.set(i, Math.max(-1, ...after.map((d) => place.get(d)!)) + step);
  });
  for (const i of order)
    for (const d of before.get(i)!)
      if (rootless.has(d))
        place.set(d, Math.min(place.get(d) ?? Infinity, place.get(i)! - step / 2));
  order.forEach((i, at) => {
    if (!place.has(i)) place.set(i, at);
  });
  return [...order].sort((a, b) => place.get(a)! - place.get(b)!);
}
