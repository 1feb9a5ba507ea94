/**
 * The passes in order: reads as a table of contents. Called by the runtime on a plan-cache miss,
 * and by anyone with a program read from JSON; pure, needs no GPU.
 */
import { type Program, residentAtEntry } from "../graph/program.ts";
import { arenaPlanners } from "./place/arena.ts";
import {
  type Candidate,
  type FleetingBytes,
  type PlacedBytes,
  choose,
  searchMirrors,
} from "./passes/choose.ts";
import { type Emitted, emit } from "./passes/emit.ts";
import { BudgetError } from "./budget-error.ts";
import { fuse } from "./passes/fuse.ts";
import { extensions } from "./place/lifespan.ts";
import { type PlanOptions, resolveOptions } from "./plan-options.ts";
import { orderOps } from "./passes/order.ts";
import { overlapped, wavesOf, widths } from "./passes/overlap.ts";
import {
  type Item,
  type Placed,
  fewItems,
  placeSlots,
  searchSlots,
  sharingPlanners,
  slotPlanners,
} from "./place/place.ts";
import { Plan } from "./plan.ts";
import { type Context, livePeak, runsOf, segmentsOf } from "./schedule.ts";
import { openingSeconds, placeSpans } from "./place/spans.ts";
import { validate } from "./validate.ts";

/** How a plan is asked for by those who have more than a program. */
export interface PlanInputs {
  /**
   * Storages that arrive with a buffer of their own; the default is all that are resident at entry.
   * Uploads are resident but bring no buffer.
   */
  readonly atEntry?: (storage: number) => boolean;
}

/**
 * Plans a program. @throws BudgetError when no plan fits into the budget; ArgumentError for a
 * program or options that contradict themselves
 */
export function planProgram(
  program: Program,
  options: PlanOptions = {},
  inputs: PlanInputs = {},
): Plan {
  const policy = resolveOptions("plan", options);
  return build(
    program,
    policy.budgetBytes,
    inputs,
    policy.placement,
    (context, order, bytes, fleeting) => choose(context, order, policy, bytes, fleeting),
  );
}

/**
 * Plans a program whose ops were joined; under a budget that asks for more than that, also as it
 * was before, where single values can be dropped that kernels of several ops hold together. The
 * cheaper plan wins. Its `program` says which it is.
 */
export function planJoined(
  joined: Program,
  apart: Program,
  options: PlanOptions = {},
  inputs: PlanInputs = {},
): Plan {
  if (joined === apart || options.budgetBytes === undefined || options.budgetBytes === Infinity)
    return planProgram(joined, options, inputs);
  const first = attempt(joined, options, inputs);
  if (first instanceof Plan && first.extra.seconds === 0) return first;
  const second = attempt(apart, options, inputs);
  if (first instanceof Plan)
    return second instanceof Plan && second.extra.seconds < first.extra.seconds ? second : first;
  if (second instanceof Plan) return second;
  throw second.leastBytes < first.leastBytes ? second : first;
}

function attempt(program: Program, options: PlanOptions, inputs: PlanInputs): Plan | BudgetError {
  try {
    return planProgram(program, options, inputs);
  } catch (error) {
    if (error instanceof BudgetError) return error;
    throw error;
  }
}

/** `planProgram` for programs from outside: checks them first. */
export function plan(program: Program, options: PlanOptions = {}): Plan {
  validate(program, resolveOptions("plan", options).maxStorageBytes);
  return options.fuse === true
    ? planJoined(fuse(program).program, program, options)
    : planProgram(program, options); // chains become one op
}

/**
 * memonger's search with the planner's own peak as cost: the plan of the threshold, in bytes, that
 * needs least memory.
 */
export function searchPlan(program: Program, options: { readonly trials?: number } = {}): Plan {
  validate(program, Infinity);
  const { rates } = resolveOptions("searchPlan", {});
  return build(program, Infinity, {}, "slots", (context, order, bytes) => {
    const tried = searchMirrors(context, order, options.trials ?? 6, rates);
    return tried.reduce((best, next) =>
      (bytes(next) - bytes(best) || next.extra.seconds - best.extra.seconds) < 0 ? next : best,
    );
  });
}

type Choose = (
  context: Context,
  order: readonly number[],
  placedBytes: PlacedBytes,
  fleetingBytes: FleetingBytes,
) => Candidate;

function build(
  program: Program,
  budgetBytes: number,
  { atEntry }: PlanInputs,
  placement: "slots" | "none",
  chooser: Choose,
): Plan {
  const context: Context = {
    program,
    resident: residentAtEntry(program),
    extended: extensions(program),
  }; // lifespans only extend
  const brings = atEntry ?? ((s: number) => context.resident[s] === true);
  const order = orderOps(context); // dead ops never run; updates follow their gradients
  const placed = new Map<Candidate, { items: Item[]; result: Placed }>();
  const place = (c: Candidate, thorough = false): { items: Item[]; result: Placed } => {
    let known = placed.get(c);
    if (known === undefined) {
      const items = itemsOf(context, c, brings);
      placed.set(
        c,
        (known = {
          items,
          result:
            placement === "none" ? slotPlanners.own(items) : placeSlots(items, budgetBytes, c.peak),
        }),
      );
    }
    if (thorough && placement === "slots" && known.items.length <= fewItems)
      placed.set(
        c,
        (known = { items: known.items, result: searchSlots(known.items, known.result) }),
      );
    return known;
  };
  const fleeting = (c: Candidate): { bytes: number; seconds: number } | null => {
    if (placement === "none" || c.actions.length === 0) return null;
    const { items } = place(c);
    return {
      bytes: placeSpans(items, c.actions.length, c.peak).bytes,
      seconds: items.reduce((sum, i) => (i.entry ? sum : sum + openingSeconds), 0),
    };
  };
  // recompute and swap, under the budget
  const first = chooser(context, order, (c, thorough) => place(c, thorough).result.bytes, fleeting);
  const emitOf = (c: Candidate): Emitted => {
    const { items, result } = place(c);
    return emit(program, c.actions, items, result);
  };
  const chosen =
    // independent ops
    place(first).result.bytes > budgetBytes ? first : besideEachOther(context, first, emitOf);
  const { items, result: kept } = place(chosen); // who shares a buffer
  const spans = kept.bytes > budgetBytes ? fleeting(chosen) : null,
    // which buffers come and go
    result = spans === null ? kept : placeSpans(items, chosen.actions.length, budgetBytes);
  const emitted = emit(program, chosen.actions, items, result); // what to do, step by step
  const used = segmentsOf(context, runsOf(order)).filter(
    (s) => s.begin < s.end || brings(s.storage),
  );
  return new Plan({
    program,
    ...emitted,
    resident: context.resident,
    budgetBytes,
    extra:
      spans === null
        ? chosen.extra
        : { ...chosen.extra, seconds: chosen.extra.seconds + spans.seconds },
    how: chosen.how,
    lowerBoundBytes: livePeak(context, chosen.actions),
    naiveBytes: [...new Set(used.map((s) => s.storage))].reduce(
      (sum, s) => sum + program.storages[s]!.bytes,
      0,
    ),
    mirror:
      chosen.mirror === undefined
        ? null
        : {
            thresholdBytes: chosen.mirror.thresholdBytes,
            savedBytes: chosen.mirror.savedBytes,
            largestSegmentBytes: chosen.mirror.largestSegmentBytes,
          },
    placements: () =>
      Object.fromEntries(
        [
          ...Object.values(arenaPlanners).filter(() => items.length <= 4000),
          ...sharingPlanners(items),
        ]
          .map((p) => p(items))
          .map((p) => [p.name, p.bytes]),
      ),
  });
}

/**
 * The schedule with independent ops next to each other, where that takes no more memory and buffers
 * that are shared don't tie them together again.
 */
function besideEachOther(
  context: Context,
  chosen: Candidate,
  emitOf: (c: Candidate) => Emitted,
): Candidate {
  if (chosen.actions.some((a) => a.kind !== "dispatch")) return chosen;
  const order = chosen.actions.map((a) => a.op),
    emitted = emitOf(chosen),
    bytes = ({ slots }: Emitted): number => slots.reduce((sum, s) => sum + s.bytes, 0);
  for (const width of widths) {
    const other = { ...chosen, actions: runsOf(overlapped(context, order, width)) };
    if (other.actions.every(({ op }, k) => op === order[k])) continue;
    const tried = emitOf(other);
    if (bytes(tried) <= bytes(emitted) && wavesOf(tried.steps) < wavesOf(emitted.steps))
      return other;
  }
  return chosen;
}

/**
 * What has to be placed: every residency, and the buffers of storages that are overwritten whole
 * before anybody reads them.
 */
function itemsOf(
  context: Context,
  { actions }: Candidate,
  brings: (storage: number) => boolean,
): Item[] {
  const { program } = context;
  const items = segmentsOf(context, actions)
    .filter((s) => s.begin < s.end || s.exit || brings(s.storage))
    .map(({ storage, begin, end, entry, exit }): Item => ({
      storage,
      begin,
      end,
      exit,
      resident: entry,
      entry: entry && brings(storage),
      bytes: program.storages[storage]!.bytes,
      gradient: program.storages[storage]!.role === "grad",
    }));
  const first = new Set(items.filter((i) => i.entry).map((i) => i.storage));
  program.storages.forEach((s, storage) => {
    if (brings(storage) && !first.has(storage))
      items.push({
        storage,
        begin: 0,
        end: 0,
        resident: false,
        entry: true,
        exit: false,
        bytes: s.bytes,
        gradient: false,
      });
  });
  // Which items an op binds with different access.
  const own: number[][] = program.storages.map(() => []),
    apart = items.map(() => new Set<number>());
  items.forEach((item, i) => own[item.storage]!.push(i));
  const at = (storage: number, t: number): number =>
    own[storage]!.find((i) => items[i]!.begin <= t && t < items[i]!.end)!;
  actions.forEach(({ op }, t) => {
    if (op === -1) return;
    const { reads, writes } = program.ops[op]!,
      there = reads.map((r) => at(r, t));
    for (const w of writes) {
      const mine = at(w, t);
      for (const r of there)
        if (r !== mine) {
          apart[mine]!.add(r);
          apart[r]!.add(mine);
        }
    }
  });
  return items.map((item, i) => ({ ...item, apart: apart[i]! }));
}
