/**
 * Swapping under a byte budget, after NNabla's SwapInOutScheduler: values leave for the host when
 * the budget needs their room and come back before their next use. A swap-out is only issued when
 * the room was really needed (NNabla cancels it otherwise), right behind the value's last use; a
 * value whose host copy is still good is dropped without a transfer; what is never used again is
 * freed on last use (preclear). Victims are those used farthest in the future, which on chains is
 * the least possible. Swap-ins move to earlier ops while their bytes and those of the window,
 * measured in bytes of arrays, allow it; one that would break the budget is stopped, and the plan
 * made again without it. Pure.
 */
import { BudgetError } from "../budget-error.ts";
import { type Action, type Context, liveCurve, segmentsOf } from "../schedule.ts";

export interface SwapOptions {
  /** Most bytes resident at any action. */
  readonly budgetBytes: number;
  /** How far ahead of its use a value may be fetched, in bytes of arrays touched in between. */
  readonly prefetchBytes: number;
  /**
   * Drop the host copy when a value comes back: host memory holds one copy, and leaving again costs
   * a transfer.
   */
  readonly saveHostMemory: boolean;
}

/**
 * The schedule with copies to the host and back. @throws BudgetError naming the op that needs more
 * than the budget
 */
export function insertSwaps(
  context: Context,
  actions: readonly Action[],
  options: SwapOptions,
): Action[] {
  return prefetch(context, merge(actions, demand(context, actions, options)), options);
}

interface Moves {
  /** Storages copied out before the first position. */
  readonly first: number[];
  /** Storages fetched before each position. */
  readonly before: number[][];
  /** Storages copied out after each position. */
  readonly after: number[][];
}

/** Which values leave, and when they must be back. */
function demand(
  { program, resident, extended }: Context,
  actions: readonly Action[],
  { budgetBytes, saveHostMemory }: SwapOptions,
): Moves {
  const n = actions.length,
    bytes = program.storages.map((s) => s.bytes);
  const first: number[] = [],
    before: number[][] = Array.from({ length: n + 1 }, () => []),
    after: number[][] = Array.from({ length: n }, () => []);
  // Uses of each storage: positions, and whether the use begins a new value.
  const uses: { at: number; birth: boolean }[][] = program.storages.map(() => []);
  actions.forEach(({ op }, at) => {
    const { reads, writes } = program.ops[op]!;
    for (const s of reads) uses[s]!.push({ at, birth: false });
    for (const s of writes) if (!reads.includes(s)) uses[s]!.push({ at, birth: true });
  });
  const next = new Int32Array(program.storages.length);
  /**
   * When the value in `s` is needed again: a position, n for the end of the program, Infinity for
   * never.
   */
  const nextNeed = (s: number): number => {
    const use = uses[s]![next[s]!];
    return use === undefined
      ? program.storages[s]!.pinned
        ? n
        : Infinity
      : use.birth
        ? Infinity
        : use.at;
  };
  const here = new Set<number>(),
    onHost = new Set<number>(),
    last = new Int32Array(program.storages.length).fill(-1);
  let now = 0;
  const enter = (s: number): void => {
    here.add(s);
    now += bytes[s]!;
  };
  const leave = (s: number): void => {
    here.delete(s);
    now -= bytes[s]!;
  };
  program.storages.forEach((_, s) => {
    if (resident[s] === true && nextNeed(s) !== Infinity) enter(s);
  });
  if (now > budgetBytes)
    throw new BudgetError(
      "plan",
      `expected what is resident at entry to fit into the budget of ${budgetBytes} bytes, got ${now}`,
      budgetBytes,
      now,
    );

  const makeRoom = (need: number, keep: ReadonlySet<number>, at: number): void => {
    while (now + need > budgetBytes) {
      let victim = -1,
        farthest = -1;
      for (const s of here) {
        if (keep.has(s) || extended[s] !== null) continue;
        const need = nextNeed(s);
        if (need > farthest || (need === farthest && bytes[s]! > bytes[victim]!)) {
          victim = s;
          farthest = need;
        }
      }
      if (victim === -1) {
        const name = at < n ? program.ops[actions[at]!.op]!.name : "the end of the program";
        throw new BudgetError(
          name,
          `expected the tensors it needs at one time to fit into the budget of ${budgetBytes} bytes, got ${now + need}`,
          budgetBytes,
          now + need,
        );
      }
      leave(victim);
      if (!onHost.has(victim)) {
        (after[last[victim]!] ?? first).push(victim);
        onHost.add(victim);
      }
    }
  };

  for (let t = 0; t < n; t++) {
    const { reads, writes } = program.ops[actions[t]!.op]!;
    const touched = new Set([...reads, ...writes]);
    let need = 0;
    for (const s of touched) if (!here.has(s)) need += bytes[s]!;
    makeRoom(need, touched, t);
    for (const s of touched) {
      if (here.has(s)) continue;
      if (reads.includes(s)) {
        before[t]!.push(s);
        if (saveHostMemory) onHost.delete(s);
      }
      enter(s);
    }
    for (const s of writes) onHost.delete(s);
    for (const s of touched) {
      next[s]!++;
      last[s] = t;
      if (nextNeed(s) === Infinity) leave(s);
    }
  }
  // What somebody still owns must be back at the end.
  const owned = program.storages
    .map((_, s) => s)
    .filter((s) => program.storages[s]!.pinned && (uses[s]!.length > 0 || resident[s] === true));
  const missing = owned.filter((s) => !here.has(s));
  makeRoom(
    missing.reduce((sum, s) => sum + bytes[s]!, 0),
    new Set(owned),
    n,
  );
  for (const s of missing) {
    before[n]!.push(s);
    enter(s);
  }
  return { first, before, after };
}

function merge(actions: readonly Action[], { first, before, after }: Moves): Action[] {
  const merged = first.map((storage): Action => ({ kind: "swapOut", op: -1, storage }));
  actions.forEach((action, t) => {
    for (const storage of before[t]!) merged.push({ kind: "swapIn", op: -1, storage });
    merged.push(action);
    for (const storage of after[t]!) merged.push({ kind: "swapOut", op: -1, storage });
  });
  for (const storage of before[actions.length]!) merged.push({ kind: "swapIn", op: -1, storage });
  return merged;
}

/** Moves fetches to earlier places, first to last, as far as the budget and the window go. */
function prefetch(
  context: Context,
  actions: readonly Action[],
  { budgetBytes, prefetchBytes }: SwapOptions,
): Action[] {
  const { program } = context,
    list = [...actions];
  if (!list.some((a) => a.kind === "swapIn") || prefetchBytes <= 0) return list;
  const live = [...liveCurve(program, segmentsOf(context, list), list.length)];
  for (let t = 0; t < list.length; t++) {
    if (list[t]!.kind !== "swapIn") continue;
    const { storage } = list[t]!,
      { bytes } = program.storages[storage]!;
    let at = t,
      window = bytes;
    while (at > 0) {
      const earlier = list[at - 1]!;
      if (earlier.kind === "swapIn" || (earlier.kind === "swapOut" && earlier.storage === storage))
        break;
      if (earlier.kind !== "swapOut") {
        const { reads, writes } = program.ops[earlier.op]!;
        if (reads.includes(storage) || writes.includes(storage)) break;
        for (const s of new Set([...reads, ...writes])) window += program.storages[s]!.bytes;
        if (window > prefetchBytes) break;
      }
      if (live[at - 1]! + bytes > budgetBytes) break;
      at--;
    }
    if (at === t) continue;
    // ops at … t-1 move one place back and have the fetched bytes beside them.
    const [moved] = list.splice(t, 1);
    list.splice(at, 0, moved!);
    live.splice(t, 1);
    for (let k = at; k < t; k++) live[k]! += bytes;
    live.splice(at, 0, live[at] ?? 0);
  }
  return list;
}

/**
 * Replaces swaps by recomputation where that is cheaper and the op's inputs are resident when the
 * value has to be back.
 */
export function preferRecompute(
  context: Context,
  actions: readonly Action[],
  candidates: ReadonlySet<number>,
  recomputeSeconds: (op: number) => number,
  swapSeconds: (bytes: number) => number,
): Action[] {
  const { program } = context,
    producer = new Map<number, number>();
  for (const { kind, op } of actions)
    if (kind === "dispatch") for (const w of program.ops[op]!.writes) producer.set(w, op);
  const segments = segmentsOf(context, actions),
    residency: { begin: number; end: number }[][] = program.storages.map(() => []);
  for (const s of segments) residency[s.storage]!.push(s);
  const version = new Int32Array(program.storages.length),
    saw = new Map<number, number[]>();
  // A copy that serves several fetches stays.
  const uses = new Map<Action, number>(),
    latest = new Map<number, Action>();
  for (const action of actions) {
    if (action.kind === "swapOut") latest.set(action.storage, action);
    const out = action.kind === "swapIn" ? latest.get(action.storage) : undefined;
    if (out !== undefined) uses.set(out, (uses.get(out) ?? 0) + 1);
  }
  const list: Action[] = [],
    lastOut = new Map<number, Action>(),
    dropped = new Set<Action>();
  actions.forEach((action, t) => {
    const { kind, op, storage } = action;
    if (kind === "swapOut") lastOut.set(storage, action);
    if (kind === "swapIn" && candidates.has(storage)) {
      const made = producer.get(storage),
        out = lastOut.get(storage);
      if (
        made !== undefined &&
        out !== undefined &&
        uses.get(out) === 1 &&
        program.ops[made]!.writes.length === 1
      ) {
        const { reads } = program.ops[made]!,
          { bytes } = program.storages[storage]!;
        const there = reads.every(
          (r, k) =>
            version[r] === saw.get(made)?.[k] &&
            residency[r]!.some((s) => s.begin < t && s.end > t),
        );
        if (there && recomputeSeconds(made) < swapSeconds(bytes)) {
          dropped.add(out);
          list.push({ kind: "recompute", op: made, storage: -1 });
          return;
        }
      }
    }
    if (kind === "dispatch") {
      saw.set(
        op,
        program.ops[op]!.reads.map((r) => version[r]!),
      );
      for (const w of program.ops[op]!.writes) version[w]!++;
    }
    list.push(action);
  });
  return list.filter((a) => !dropped.has(a));
}
