/**
 * Which ops run as one kernel. Elementwise ops (maps) join along the values they hand on; a chain
 * of them may come before a reduction, which then computes its input on the way, or follow a
 * reduction, matrix product or convolution, at the place of each result. Inside a kernel a value is
 * a register: it needs no memory when nobody else reads it and nobody owns it. Results have the
 * same bits as op by op. Looks at declared facts and layouts only, never at names. Pure; called
 * before a program is planned.
 *
 *     conv ─► +bias ─► relu ─► pool          conv+add+relu ─► pool
 *              a        b           becomes                b             a is gone; b stays, because pool reads it
 */
import {
  type Layout,
  permuteLayout,
  refineShapes,
  reshapeLayout,
  sameElements,
  stridedLayout,
} from "../../base/layout.ts";
import { type Shape, sizeOf } from "../../base/shape.ts";
import {
  type Access,
  type FuseFacts,
  type Phase,
  Program,
  type ProgramOp,
  residentAtEntry,
} from "../../graph/program.ts";
import { dependencies, neededOps } from "../dependencies.ts";
import { orderOps } from "./order.ts";
import { contextOf, livePeak, runsOf } from "../schedule.ts";

/** One op of a kernel. */
export interface Member {
  /** Index into the ops of the program before. */
  readonly op: number;
  /** Where its operands and results lie, over the shape of its side; one for each of its facts. */
  readonly operands: readonly Layout[];
  readonly results: readonly Layout[];
  /**
   * `before`: it computes the operand of the whole op. `whole`: no map, computed as its own kernel
   * does. `after`: any other map.
   */
  readonly side: "before" | "whole" | "after";
}

/**
 * What one op of the new program consists of. Members are in issue order; a lone op is a group of
 * one, without layouts.
 */
export interface Group {
  readonly members: readonly Member[];
  /** Shape that the results are computed over, and the operand on the way. */
  readonly shape: Shape;
  readonly over: Shape;
  /** Storages that are written at the end; all other results stay in registers. */
  readonly stored: readonly number[];
}

/**
 * `groups[i]` is what op `i` of `program` does. Storages keep their indices; those that need no
 * memory any more are just not mentioned.
 */
export interface Fused {
  readonly program: Program;
  readonly groups: readonly Group[];
}

export interface FuseLimits {
  /** Storage buffers one kernel may bind. */
  readonly maxStorageBuffers?: number;
  /** Ops one kernel may hold: its text grows with them. */
  readonly maxOps?: number;
}

/**
 * Joins ops where a value then needs no memory, and also where it only saves a kernel and a read.
 * The most bytes live at one time never grow.
 */
export function fuse(program: Program, limits: FuseLimits = {}): Fused {
  return new Fusion(program, limits).joinWhereValuesVanish().joinReaders().result();
}

/** Ops that one kernel could do, and the value that is gone then; -1 for none. */
interface Candidate {
  readonly ops: readonly number[];
  readonly gone: number;
}

/**
 * What the forward pass computes stays there: moved to its reader in the backward pass it would
 * keep its own inputs in memory until then.
 */
const pass = (phase: Phase): string => (phase === "forward" ? phase : "backward");

/** A group under construction, and what the kernel reads and writes. */
interface Draft extends Group {
  readonly reads: readonly number[];
  readonly writes: readonly number[];
}

class Fusion {
  readonly #program: Program;
  readonly #maxStorageBuffers: number;
  readonly #maxOps: number;
  /** Ops that run, and for each storage those of them that mention it. */
  readonly #needed: readonly number[];
  readonly #isNeeded: readonly boolean[];
  readonly #mentions: readonly (readonly number[])[];
  readonly #mayVanish: readonly boolean[];
  readonly #before: ReadonlyMap<number, readonly number[]>;
  /**
   * Group of each op, members of each group in issue order, and groups in an order that every
   * dependency agrees with.
   */
  #groupOf: number[];
  #members: (readonly number[])[];
  #drafts: (Draft | null)[];
  #order: number[];
  #rank: number[];
  /** Most bytes live at one time, as issued. */
  readonly #most: number;

  constructor(program: Program, { maxStorageBuffers = 8, maxOps = 32 }: FuseLimits) {
    this.#program = program;
    this.#maxStorageBuffers = maxStorageBuffers;
    this.#maxOps = maxOps;
    const { ops, storages } = program,
      all = ops.map((_, i) => i);
    this.#needed = neededOps(program);
    const isNeeded = ops.map(() => false),
      mentions: number[][] = storages.map(() => []);
    for (const i of this.#needed) {
      isNeeded[i] = true;
      for (const s of new Set([...ops[i]!.reads, ...ops[i]!.writes])) mentions[s]!.push(i);
    }
    const resident = residentAtEntry(program);
    this.#isNeeded = isNeeded;
    this.#mentions = mentions;
    this.#mayVanish = storages.map(
      (s, i) => !s.pinned && s.lifespan === undefined && !resident[i]!,
    );
    this.#before = dependencies(program, all);
    this.#groupOf = [...all];
    this.#members = all.map((i) => [i]);
    this.#drafts = all.map(() => null);
    this.#order = [...all];
    this.#rank = [...all];
    this.#most = peakOf(program);
  }

  /** Joins all ops that mention a storage, when the storage then needs no memory. */
  joinWhereValuesVanish(): this {
    const candidates: Candidate[] = [];
    for (const i of this.#needed) {
      for (const { storage } of this.#program.ops[i]!.fuse?.operands ?? []) {
        const uses = this.#mentions[storage]!;
        if (this.#mayVanish[storage] === true && uses.at(-1) === i)
          candidates.push({ ops: uses, gone: storage });
      }
    }
    return this.#joinAll(candidates);
  }

  /**
   * Joins an op with the one that made its operand: the value is written all the same, but not read
   * back. Updates stay apart from gradients that are kept: they are a phase of their own, which
   * reports time and order.
   */
  joinReaders(): this {
    const writer = new Map<number, number>(),
      { ops } = this.#program,
      candidates: Candidate[] = [];
    for (const i of this.#needed) {
      const { fuse: facts, writes, phase } = ops[i]!;
      if (facts?.map === true)
        for (const { storage } of facts.operands) {
          const maker = writer.get(storage);
          if (maker !== undefined && (ops[maker]!.phase === "apply") === (phase === "apply"))
            candidates.push({ ops: [maker, i], gone: -1 });
        }
      for (const w of writes) writer.set(w, i);
    }
    return this.#joinAll(candidates);
  }

  /**
   * Joins in order whatever can be joined. Where the peak grows, halves the candidates until those
   * that raise it stand alone, and leaves them apart.
   */
  #joinAll(candidates: readonly Candidate[]): this {
    const saved = [
      this.#groupOf.slice(),
      this.#members.slice(),
      this.#drafts.slice(),
      this.#order.slice(),
      this.#rank.slice(),
    ] as const;
    let joined = 0;
    for (const c of candidates) if (this.#join(c)) joined++;
    if (joined === 0 || peakOf(this.result().program) <= this.#most) return this;
    [this.#groupOf, this.#members, this.#drafts, this.#order, this.#rank] = saved;
    const half = candidates.length >> 1;
    return half === 0
      ? this
      : this.#joinAll(candidates.slice(0, half)).#joinAll(candidates.slice(half));
  }

  /**
   * Makes one group of the groups of `ops`, if one kernel can do what they do and nothing else lies
   * between them.
   */
  #join({ ops, gone }: Candidate): boolean {
    const { ops: all } = this.#program,
      groups = new Set(ops.map((i) => this.#groupOf[i]!));
    if (groups.size < 2 || ops.some((i) => all[i]!.fuse === undefined)) return false;
    const members = [...groups].flatMap((g) => this.#members[g]!).sort((a, b) => a - b),
      first = all[members[0]!]!;
    if (
      members.length > this.#maxOps ||
      members.some(
        (i) => pass(all[i]!.phase) !== pass(first.phase) || all[i]!.stage !== first.stage,
      )
    )
      return false;
    const draft = this.#draft(members);
    if (draft === null || (gone !== -1 && draft.writes.includes(gone))) return false;
    const earlier = this.#between(groups);
    if (earlier === null) return false;
    this.#replace(groups, members, draft, earlier);
    return true;
  }

  /**
   * The groups of the region spanned by `groups` that must come before them; null when one of them
   * would have to come after as well.
   */
  #between(groups: ReadonlySet<number>): Set<number> | null {
    const first = Math.min(...[...groups].map((g) => this.#rank[g]!)),
      earlier = new Set<number>(),
      stack = [...groups];
    for (let g = stack.pop(); g !== undefined; g = stack.pop()) {
      for (const m of this.#members[g]!)
        for (const previous of this.#before.get(m)!) {
          const h = this.#groupOf[previous]!;
          if (h === g || earlier.has(h) || this.#rank[h]! < first) continue;
          if (groups.has(h)) {
            if (groups.has(g)) continue;
            return null;
          }
          earlier.add(h);
          stack.push(h);
        }
    }
    return earlier;
  }

  /**
   * The merged group goes as early as what it depends on allows: a result takes the place of the
   * value that is gone, and operands are done with sooner.
   */
  #replace(
    groups: ReadonlySet<number>,
    members: readonly number[],
    draft: Draft,
    earlier: ReadonlySet<number>,
  ): void {
    const ranks = [...groups].map((g) => this.#rank[g]!),
      first = Math.min(...ranks),
      last = Math.max(...ranks),
      [kept] = groups as Iterable<number> as [number];
    const region = this.#order.slice(first, last + 1).filter((g) => !groups.has(g));
    const rest = [
      ...region.filter((g) => earlier.has(g)),
      kept,
      ...region.filter((g) => !earlier.has(g)),
    ];
    this.#order.splice(first, last + 1 - first, ...rest);
    for (let r = first; r < this.#order.length; r++) this.#rank[this.#order[r]!] = r;
    for (const m of members) this.#groupOf[m] = kept;
    this.#members[kept] = members;
    this.#drafts[kept] = draft;
  }

  /** What one kernel of these ops would be; null when there can be none. */
  #draft(members: readonly number[]): Draft | null {
    const facts = members.map((i) => this.#program.ops[i]!.fuse!),
      wholes = members.filter((_, k) => !facts[k]!.map);
    if (wholes.length > 1) return null;
    const whole = wholes.length === 0 ? null : facts[members.indexOf(wholes[0]!)]!;
    return new Drafting(
      this.#program,
      members,
      facts,
      whole,
      (s) => this.#mayVanish[s] === true && this.#mentions[s]!.every((i) => members.includes(i)),
    ).draft(this.#maxStorageBuffers);
  }

  result(): Fused {
    const { ops, storages } = this.#program,
      gone = new Set<number>(),
      groups: Group[] = [],
      fused: ProgramOp[] = [];
    for (const draft of this.#drafts.values())
      if (draft !== null)
        for (const { op } of draft.members)
          for (const w of ops[op]!.writes) if (!draft.writes.includes(w)) gone.add(w);
    for (const g of this.#order) {
      const members = this.#members[g]!,
        draft = members.length > 1 ? this.#drafts[g]! : null,
        only = ops[members[0]!]!;
      groups.push(
        draft ?? {
          members: [{ op: members[0]!, operands: [], results: [], side: "whole" }],
          shape: [],
          over: [],
          stored: only.writes,
        },
      );
      // What nobody needs never runs; it must not mention what is not there any more.
      fused.push(
        draft !== null
          ? merged(
              members.map((i) => ops[i]!),
              draft,
            )
          : this.#isNeeded[members[0]!] === true
            ? only
            : { ...only, reads: only.reads.filter((s) => !gone.has(s)) },
      );
    }
    return { program: new Program(storages, fused), groups };
  }
}

/** Most bytes live at one time in the order in which the program would run. */
function peakOf(program: Program): number {
  const context = contextOf(program);
  return livePeak(context, runsOf(orderOps(context)));
}

/**
 * The op that stands for a group. Its layer and phase are those of the op that is no map, or of the
 * last.
 */
function merged(ops: readonly ProgramOp[], draft: Draft): ProgramOp {
  const main = ops.find((o) => o.fuse?.map === false) ?? ops.at(-1)!,
    { stage: named } = main;
  return {
    name: joinedName(ops.map((o) => o.name)),
    reads: draft.reads,
    writes: draft.writes,
    phase: main.phase,
    layer: main.layer,
    flops: ops.reduce((sum, o) => sum + o.flops, 0),
    recomputable: ops.every((o) => o.recomputable),
    ...(named === undefined ? {} : { stage: named }),
  };
}

/** Names joined by `+`, repetitions counted: `matmul+add+relu`, `mul×20`. */
export function joinedName(names: readonly string[]): string {
  const runs: { name: string; count: number }[] = [];
  for (const name of names) {
    const last = runs.at(-1);
    if (last?.name === name) last.count++;
    else runs.push({ name, count: 1 });
  }
  return runs.map(({ name, count }) => (count === 1 ? name : `${name}×${count}`)).join("+");
}

/** What is known of a value while it is in a register. */
interface Value {
  readonly layout: Layout;
  readonly type: string;
  readonly side: Member["side"];
  /** The same number at every place, so it does not matter where it is read. */
  readonly uniform: boolean;
}

/**
 * Tries to make one kernel of some ops: lays their operands over one shape and looks for conflicts.
 */
class Drafting {
  readonly #program: Program;
  readonly #ops: readonly number[];
  readonly #facts: readonly FuseFacts[];
  readonly #whole: FuseFacts | null;
  readonly #vanishes: (storage: number) => boolean;
  readonly #size: number;
  readonly #values = new Map<number, Value>();
  /** How storages are used beyond the kernel: what is loaded, and what is the latest result. */
  readonly #loads: { storage: number; layout: Layout; type: string; side: Member["side"] }[] = [];

  constructor(
    program: Program,
    ops: readonly number[],
    facts: readonly FuseFacts[],
    whole: FuseFacts | null,
    vanishes: (storage: number) => boolean,
  ) {
    this.#program = program;
    this.#ops = ops;
    this.#facts = facts;
    this.#whole = whole;
    this.#vanishes = vanishes;
    this.#size =
      whole === null ? Math.max(...facts.map((f) => sizeOf(f.shape))) : sizeOf(whole.shape);
  }

  draft(maxStorageBuffers: number): Draft | null {
    const before = this.#before(),
      whole = this.#whole;
    let shape: Shape = whole?.shape ?? [],
      started = whole !== null;
    const over = whole?.over ?? [],
      made: (Member & { readonly small: boolean })[] = [];
    for (const [k, op] of this.#ops.entries()) {
      const facts = this.#facts[k]!,
        side = facts === whole ? "whole" : before.has(k) ? "before" : "after";
      const placed =
        facts === whole
          ? this.#placeWhole(facts)
          : this.#placeMap(facts, side, side === "before" ? sizeOf(over) : this.#size);
      if (placed === null) return null;
      made.push({ op, side, ...placed });
      if (side !== "after" || placed.small) continue;
      const finer = started
        ? refineShapes(shape, placed.results[0]!.shape)
        : placed.results[0]!.shape;
      if (finer === undefined) return null;
      shape = finer;
      started = true;
    }
    const stored = [...this.#values.keys()].filter((s) => !this.#vanishes(s));
    for (const s of stored) {
      const v = this.#values.get(s)!;
      if (v.side === "before" || v.layout.size !== this.#size) return null;
    }
    if (!this.#inOrder()) return null;
    const members: Member[] = [];
    for (const { op, side, operands, results, small } of made) {
      const space = side === "before" ? over : shape;
      const laid = [...operands, ...results].map((l) =>
        side === "whole"
          ? l
          : small
            ? stridedLayout(
                space,
                space.map(() => 0),
                l.offset,
              )
            : reshapeLayout(l, space),
      );
      if (laid.some((l) => l === undefined)) return null;
      members.push({
        op,
        side,
        operands: laid.slice(0, operands.length) as Layout[],
        results: laid.slice(operands.length) as Layout[],
      });
    }
    const reads = [...new Set(this.#loads.map((l) => l.storage))],
      bindings = this.#bindings(stored, before.size > 0);
    return bindings > maxStorageBuffers
      ? null
      : { members, shape, over, stored, reads, writes: stored };
  }

  /** The maps that compute the operand of the op that is no map. */
  #before(): Set<number> {
    const found = new Set<number>(),
      makers = this.#ops.map((): Set<number> => new Set()),
      writer = new Map<number, number>();
    this.#facts.forEach((f, k) => {
      for (const { storage } of f.operands) {
        const maker = writer.get(storage);
        if (maker !== undefined) makers[k]!.add(maker);
      }
      for (const { storage } of f.results) writer.set(storage, k);
    });
    const visit = (k: number): void => {
      for (const m of makers[k]!)
        if (!found.has(m)) {
          found.add(m);
          visit(m);
        }
    };
    if (this.#whole !== null) visit(this.#facts.indexOf(this.#whole));
    return found;
  }

  #placeWhole(facts: FuseFacts): { operands: Layout[]; results: Layout[]; small: boolean } | null {
    const { reads } = this.#program.ops[this.#ops[this.#facts.indexOf(facts)]!]!,
      [operand] = facts.operands,
      [result] = facts.results;
    const operands: Layout[] = [];
    for (const storage of reads) {
      const value = this.#values.get(storage);
      if (operand?.storage === storage) {
        const layout = stridedLayout(facts.over!, operand.strides, operand.offset);
        operands.push(layout);
        if (value === undefined)
          this.#loads.push({ storage, layout, type: operand.type, side: "whole" });
        else if (
          value.type !== operand.type ||
          (!value.uniform && !sameElements(value.layout, layout))
        )
          return null;
      } else if (value !== undefined)
        return null; // it reads this one anywhere
      else this.#loads.push({ storage, layout: stridedLayout([], [], 0), type: "", side: "whole" });
    }
    const layout = stridedLayout(facts.shape, result!.strides, result!.offset);
    if (this.#values.has(result!.storage)) return null;
    this.#values.set(result!.storage, {
      layout,
      type: result!.type,
      side: "whole",
      uniform: false,
    });
    return { operands, results: [layout], small: false };
  }

  /**
   * Lays a map's operands and results over the side's elements, its dimensions in the order that
   * its operands in registers have theirs.
   */
  #placeMap(
    facts: FuseFacts,
    side: Member["side"],
    size: number,
  ): { operands: Layout[]; results: Layout[]; small: boolean } | null {
    const over = (a: Access): Layout => stridedLayout(facts.shape, a.strides, a.offset),
      small = sizeOf(facts.shape) !== size;
    let order: number[] | null = null,
      uniform = facts.index !== true;
    for (const a of facts.operands) {
      const value = this.#values.get(a.storage),
        layout = over(a);
      if (
        value === undefined
          ? a.strides.some((s, d) => s !== 0 && facts.shape[d]! > 1)
          : !value.uniform
      )
        uniform = false;
      if (
        value === undefined ||
        value.uniform ||
        small ||
        order !== null ||
        sameElements(value.layout, layout)
      )
        continue;
      order = reordered(layout, value.layout);
      if (order === null) return null;
    }
    if ((small && !uniform) || (facts.index === true && (order !== null || side === "before")))
      return null;
    const lay = (a: Access): Layout => (order === null ? over(a) : permuteLayout(over(a), order));
    const operands: Layout[] = [];
    for (const a of facts.operands) {
      const value = this.#values.get(a.storage),
        layout = lay(a);
      operands.push(layout);
      if (value === undefined) this.#loads.push({ storage: a.storage, layout, type: a.type, side });
      else if (value.type !== a.type || (!value.uniform && !sameElements(value.layout, layout)))
        return null;
      else if (value.side === "before" && side === "after") return null;
    }
    const results = facts.results.map(lay);
    for (const [r, { storage, type }] of facts.results.entries()) {
      const was = this.#values.get(storage);
      if (
        was !== undefined &&
        (was.type !== type || was.side !== side || !sameElements(was.layout, results[r]!))
      )
        return null;
      // In place it may be a part of the storage only, so elsewhere in it there is something else.
      this.#values.set(storage, {
        layout: results[r]!,
        type,
        side,
        uniform: uniform && !facts.operands.some((o) => o.storage === storage),
      });
    }
    // A result in place must go exactly where what it replaces was.
    if (small && facts.results.some((a) => facts.operands.some((o) => o.storage === a.storage)))
      return null;
    return { operands, results, small };
  }

  /**
   * Whether all uses of storages that the kernel writes concern the same element at the same place,
   * so that loading first and storing last changes nothing.
   */
  #inOrder(): boolean {
    const types = new Map<number, string>();
    for (const { storage, type, layout, side } of this.#loads) {
      if (side !== "whole") {
        if ((types.get(storage) ?? type) !== type) return false;
        types.set(storage, type);
      }
      const value = this.#values.get(storage);
      if (
        value !== undefined &&
        (side !== "after" ||
          value.side !== "after" ||
          value.type !== type ||
          !sameElements(value.layout, layout))
      )
        return false;
    }
    return true;
  }

  /**
   * Storage buffers the kernel binds: one for each storage, but the op that is no map binds its own
   * inputs apart.
   */
  #bindings(stored: readonly number[], computed: boolean): number {
    const of = (sides: readonly Member["side"][]): Set<number> =>
      new Set(this.#loads.filter((l) => sides.includes(l.side)).map((l) => l.storage));
    const after = of(["after"]);
    for (const s of stored) after.add(s);
    if (this.#whole === null) return after.size;
    return after.size + (computed ? of(["before"]).size - 1 : 0) + (this.#whole.inputs ?? 1);
  }
}

/**
 * The order of the dimensions of `layout` in which it visits the elements as `like` does; null when
 * there is none.
 */
function reordered(layout: Layout, like: Layout): number[] | null {
  if (layout.size !== like.size || layout.offset !== like.offset) return null;
  const left = layout.shape
      .map((d, i) => ({ d, s: layout.strides[i]!, i }))
      .filter(({ d }) => d !== 1),
    order: number[] = [];
  for (const [k, d] of like.shape.entries()) {
    if (d === 1) continue;
    const at = left.findIndex((x) => x.d === d && x.s === like.strides[k]!);
    if (at === -1) return null;
    order.push(left.splice(at, 1)[0]!.i);
  }
  return left.length === 0 ? order : null;
}
