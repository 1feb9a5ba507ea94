/**
 * The best recomputation of a small program, by search: states are how far the program got and
 * which values are resident, steps run the next op, run an earlier one again, or forget a value.
 * Finds the whole front of cost against memory. For programs of a few ops, and as a yardstick for
 * the rest. Pure.
 */
import { at, lookup } from "../../base/access.ts";
import { bytesOf, opAt, storageAt } from "../../graph/program.ts";
import { opCost } from "../cost.ts";
import type { Deadline } from "../deadline.ts";
import { type Action, type Context, livePeak } from "../schedule.ts";

const maxOps = 10;
const maxBits = 20;
const maxStates = 60_000;

/**
 * Schedules from the least memory to the most, each cheaper than the one before; null when the
 * program is too large.
 */
export function exactPlans(
  context: Context,
  order: readonly number[],
  candidates: ReadonlySet<number>,
): Action[][] | null {
  const touched = order.flatMap((i) => {
    const { reads, writes } = opAt(context.program, i);
    return [...reads, ...writes];
  });
  const used = [...new Set(touched)];
  if (order.length > maxOps || used.length > maxBits || context.extended.some((e) => e !== null))
    return null; // lifespans reserve memory that states do not see
  const model = modelOf(context, order, candidates, used);
  const front: Action[][] = [];
  let limit = Infinity;
  for (;;) {
    const found = new Search(model, limit).run(context.deadline);
    if (found === "too large") return null;
    if (found === null) return front.reverse();
    const actions = actionsTo(found, order);
    front.push(actions);
    limit = livePeak(context, actions) - 1;
  }
}

/** A program as sets of bits: one bit for each storage it uses. */
interface Model {
  readonly ops: readonly {
    readonly reads: number;
    readonly writes: number;
    readonly cost: number;
    /** All that it writes may be dropped. */
    readonly droppable: boolean;
  }[];
  readonly bytes: readonly number[];
  /** Resident at entry, and owned at the end. */
  readonly initial: number;
  readonly final: number;
  /** Bytes that are resident from beginning to end and touched by nothing. */
  readonly idle: number;
}

function modelOf(
  { program, resident }: Context,
  order: readonly number[],
  candidates: ReadonlySet<number>,
  used: readonly number[],
): Model {
  const bit = new Map(used.map((s, k) => [s, 1 << k]));
  const mask = (list: readonly number[]): number => list.reduce((m, s) => m | lookup(bit, s), 0);
  const idle = program.storages.flatMap((s, i) =>
    !bit.has(i) && resident[i] === true && s.pinned ? [i] : [],
  );
  return {
    ops: order.map((i) => {
      const op = opAt(program, i);
      return {
        reads: mask(op.reads),
        writes: mask(op.writes),
        cost: opCost(op),
        droppable: op.writes.every((w) => candidates.has(w)),
      };
    }),
    bytes: used.map((s) => storageAt(program, s).bytes),
    initial: mask(used.filter((s) => resident[s] === true)),
    final: mask(used.filter((s) => storageAt(program, s).pinned)),
    idle: bytesOf(program, idle),
  };
}

/** How far the program got, and what is resident then. */
interface State {
  /** Ops that ran. */
  readonly ran: number;
  /** Storages that are resident, as bits. */
  readonly resident: number;
  readonly cost: number;
  readonly from: State | null;
  /** How it was reached: the next op ran, an earlier one ran again, or a value was forgotten. */
  readonly step: "next" | "forget" | { readonly again: number };
}

/** Dijkstra's search for the cheapest schedule whose live bytes never exceed a limit. */
class Search {
  readonly #model: Model;
  readonly #limit: number;
  readonly #best = new Map<string, number>();
  /** Costs are few and states many: buckets in a list of falling costs. */
  readonly #buckets = new Map<number, State[]>();
  readonly #costs: number[] = [];

  constructor(model: Model, limit: number) {
    this.#model = model;
    this.#limit = limit;
  }

  /** The state at the end; null when there is none within the limit. */
  run(deadline?: Deadline): State | null | "too large" {
    const { ops, initial, final } = this.#model;
    this.#push({ ran: 0, resident: initial, cost: 0, from: null, step: "next" });
    for (let state = this.#pop(); state !== null; state = this.#pop()) {
      deadline?.check();
      if (this.#best.size > maxStates) return "too large";
      const { ran, resident, cost } = state;
      if (ran === ops.length) {
        if ((resident & final) === final) return state;
        continue;
      }
      if (lookup(this.#best, keyOf(state)) >= cost) this.#expand(state);
    }
    return null;
  }

  #expand(state: State): void {
    const { ops, bytes } = this.#model;
    const { ran, resident, cost } = state;
    this.#runOp(state, ran);
    for (let k = 0; k < ran; k++) {
      const { writes } = at(ops, k);
      if ((resident & writes) !== writes && this.#mayRunAgain(k, ran)) this.#runOp(state, k);
    }
    for (let k = 0; k < bytes.length; k++)
      if (((resident >> k) & 1) === 1)
        this.#push({ ran, resident: resident & ~(1 << k), cost, from: state, step: "forget" });
  }

  /** An op may run again while its inputs have the versions it saw: none is written in between. */
  #mayRunAgain(op: number, ran: number): boolean {
    const { reads, droppable } = at(this.#model.ops, op);
    if (!droppable) return false;
    const written = this.#model.ops.slice(op + 1, ran).reduce((m, o) => m | o.writes, 0);
    return (written & reads) === 0;
  }

  #runOp(state: State, k: number): void {
    const { reads, writes, cost } = at(this.#model.ops, k);
    const resident = state.resident | writes;
    if ((state.resident & reads) !== reads) return;
    if (this.#model.idle + this.#bytesOf(resident) > this.#limit) return;
    if (k === state.ran)
      this.#push({ ran: k + 1, resident, cost: state.cost, from: state, step: "next" });
    else
      this.#push({ ...state, resident, cost: state.cost + cost, from: state, step: { again: k } });
  }

  #bytesOf(mask: number): number {
    return this.#model.bytes.reduce((sum, b, k) => (((mask >> k) & 1) === 1 ? sum + b : sum), 0);
  }

  #push(state: State): void {
    const key = keyOf(state);
    const known = this.#best.get(key);
    if (known !== undefined && known <= state.cost) return;
    this.#best.set(key, state.cost);
    const bucket = this.#buckets.get(state.cost);
    if (bucket !== undefined) {
      bucket.push(state);
      return;
    }
    this.#buckets.set(state.cost, [state]);
    const above = this.#costs.findLastIndex((cost) => cost >= state.cost);
    this.#costs.splice(above + 1, 0, state.cost);
  }

  /** A state of least cost; null when there are no more. */
  #pop(): State | null {
    for (let cost = this.#costs.at(-1); cost !== undefined; cost = this.#costs.at(-1)) {
      const state = lookup(this.#buckets, cost).pop();
      if (state !== undefined) return state;
      this.#buckets.delete(cost);
      this.#costs.pop();
    }
    return null;
  }
}

function keyOf({ ran, resident }: State): string {
  return `${ran} ${resident}`;
}

/** The schedule that leads to a state. */
function actionsTo(end: State, order: readonly number[]): Action[] {
  const actions: Action[] = [];
  for (let s = end; s.from !== null; s = s.from) {
    if (s.step === "next")
      actions.push({ kind: "dispatch", op: at(order, s.ran - 1), storage: -1 });
    else if (s.step !== "forget")
      actions.push({ kind: "recompute", op: at(order, s.step.again), storage: -1 });
  }
  return actions.reverse();
}
