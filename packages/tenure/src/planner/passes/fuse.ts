/**
 * Which ops run as one kernel. Elementwise ops (maps) fuse along the values they hand on; a chain
 * of them may come before a reduction, which then computes its input on the way, or follow a
 * reduction, matrix product or convolution, at the place of each result. Inside a kernel a value is
 * a register: it needs no memory when nobody else reads it and nobody owns it. Results have the
 * same bits as op by op. Looks at declared facts and layouts only, never at names. Pure; called
 * before a program is planned.
 *
 *     conv ─► +bias ─► relu ─► pool     becomes     conv+add+relu ─► pool
 *              a        b                                   b
 *
 * a is gone; b stays, because pool reads it.
 */
import { append, at, lookup } from "../../base/access.ts";
import { opAt, type Phase, Program, type ProgramOp, residentAtEntry } from "../../graph/program.ts";
import { dependencies, neededOps } from "../dependencies.ts";
import { draftKernel } from "../fuse/draft.ts";
import type { Fused, FuseLimits, Group, KernelDraft, Unfused } from "../fuse/group.ts";
import { mergedOp } from "../fuse/merge.ts";
import { contextOf, livePeak, runsOf } from "../schedule.ts";
import { orderOps } from "./order.ts";

/**
 * Fuses ops where a value then needs no memory, and also where it only saves a kernel and a read.
 * The most bytes live at one time never grow.
 */
export function fuse(program: Program, limits: FuseLimits = {}): Fused {
  return new Fusion(program, limits).fuseWhereValuesVanish().fuseReaders().result();
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
const direction = (phase: Phase): string => (phase === "forward" ? phase : "backward");

/** The groups found so far. */
interface Groups {
  /** Group of each op. */
  readonly groupOf: number[];
  /** Ops of each group, in issue order. */
  readonly members: (readonly number[])[];
  /** What the kernel of each group is; null for ops that are alone. */
  readonly drafts: (KernelDraft | null)[];
  /** Groups in an order that every dependency agrees with, and the place of each in it. */
  readonly order: number[];
  readonly rank: number[];
}

class Fusion {
  readonly #program: Program;
  readonly #maxStorageBuffers: number;
  readonly #maxOps: number;
  /** Ops that run, and for each storage those of them that mention it. */
  readonly #needed: ReadonlySet<number>;
  readonly #mentions = new Map<number, number[]>();
  readonly #mayVanish: readonly boolean[];
  readonly #before: ReadonlyMap<number, readonly number[]>;
  /** Most bytes live at one time, as issued. */
  readonly #most: number;
  #groups: Groups;

  constructor(program: Program, { maxStorageBuffers = 8, maxOps = 32 }: FuseLimits) {
    this.#program = program;
    this.#maxStorageBuffers = maxStorageBuffers;
    this.#maxOps = maxOps;
    this.#needed = new Set(neededOps(program));
    for (const i of this.#needed) {
      const { reads, writes } = opAt(program, i);
      for (const s of new Set([...reads, ...writes])) append(this.#mentions, s, i);
    }
    const resident = residentAtEntry(program);
    this.#mayVanish = program.storages.map(
      ({ pinned, lifespan }, s) => !pinned && lifespan === undefined && resident[s] !== true,
    );
    const all = program.ops.map((_, i) => i);
    this.#before = dependencies(program, all);
    this.#groups = {
      groupOf: [...all],
      members: all.map((i) => [i]),
      drafts: all.map(() => null),
      order: [...all],
      rank: [...all],
    };
    this.#most = peakOf(program);
  }

  /** Fuses all ops that mention a storage, when the storage then needs no memory. */
  fuseWhereValuesVanish(): this {
    const candidates: Candidate[] = [];
    for (const i of this.#needed)
      for (const { storage } of opAt(this.#program, i).fuse?.operands ?? []) {
        const uses = this.#mentions.get(storage) ?? [];
        if (this.#mayVanish[storage] === true && uses.at(-1) === i)
          candidates.push({ ops: uses, gone: storage });
      }
    return this.#fuseAll(candidates);
  }

  /**
   * Fuses an op with the one that made its operand: the value is written all the same, but not read
   * back. Updates are not fused with gradients that are kept: they are a phase of their own, which
   * reports time and order.
   */
  fuseReaders(): this {
    const writer = new Map<number, number>();
    const candidates: Candidate[] = [];
    const isUpdate = (i: number): boolean => opAt(this.#program, i).phase === "apply";
    for (const i of this.#needed) {
      const { fuse: facts, writes } = opAt(this.#program, i);
      for (const { storage } of facts?.map === true ? facts.operands : []) {
        const maker = writer.get(storage);
        if (maker !== undefined && isUpdate(maker) === isUpdate(i))
          candidates.push({ ops: [maker, i], gone: -1 });
      }
      for (const w of writes) writer.set(w, i);
    }
    return this.#fuseAll(candidates);
  }

  /**
   * Fuses in order whatever can be fused. Where the peak grows, halves the candidates until those
   * that raise it stand alone, and leaves them unfused.
   */
  #fuseAll(candidates: readonly Candidate[]): this {
    const { groupOf, members, drafts, order, rank } = this.#groups;
    const saved = {
      groupOf: [...groupOf],
      members: [...members],
      drafts: [...drafts],
      order: [...order],
      rank: [...rank],
    };
    let fused = 0;
    for (const c of candidates) if (this.#fuseOne(c)) fused++;
    if (fused === 0 || peakOf(this.result().program) <= this.#most) return this;
    this.#groups = saved;
    const half = candidates.length >> 1;
    if (half === 0) return this;
    return this.#fuseAll(candidates.slice(0, half)).#fuseAll(candidates.slice(half));
  }

  /**
   * Makes one group of the groups of `ops`, if one kernel can do what they do and nothing else lies
   * between them.
   */
  #fuseOne({ ops, gone }: Candidate): boolean {
    const { groupOf, members } = this.#groups;
    const groups = new Set(ops.map((i) => at(groupOf, i)));
    if (groups.size < 2) return false;
    const together = [...groups].flatMap((g) => at(members, g)).sort((a, b) => a - b);
    if (!this.#mayShareKernel(together)) return false;
    const draft = this.#draft(together, this.#maxStorageBuffers);
    if (draft === null || (gone !== -1 && draft.writes.includes(gone))) return false;
    const earlier = this.#between(groups);
    if (earlier === null) return false;
    this.#replace(groups, together, draft, earlier);
    return true;
  }

  /** What one kernel of these ops would be; null when there can be none. */
  #draft(together: readonly number[], maxStorageBuffers: number): KernelDraft | null {
    const inside = new Set(together);
    const vanishes = (s: number): boolean =>
      this.#mayVanish[s] === true && lookup(this.#mentions, s).every((i) => inside.has(i));
    return draftKernel(this.#program, together, vanishes, maxStorageBuffers);
  }

  /** Few enough ops, all with facts, of one direction and one named stage. */
  #mayShareKernel(ops: readonly number[]): boolean {
    if (ops.length > this.#maxOps) return false;
    const first = opAt(this.#program, at(ops, 0));
    return ops.every((i) => {
      const { fuse: facts, phase, stage } = opAt(this.#program, i);
      if (facts === undefined || stage !== first.stage) return false;
      return direction(phase) === direction(first.phase);
    });
  }

  /**
   * The groups of the region spanned by `groups` that must come before them; null when one of them
   * would have to come after as well.
   */
  #between(groups: ReadonlySet<number>): Set<number> | null {
    const { groupOf, members, rank } = this.#groups;
    const first = Math.min(...[...groups].map((g) => at(rank, g)));
    const earlier = new Set<number>();
    const stack = [...groups];
    for (let g = stack.pop(); g !== undefined; g = stack.pop()) {
      for (const previous of at(members, g).flatMap((m) => lookup(this.#before, m))) {
        const h = at(groupOf, previous);
        if (h === g || earlier.has(h) || at(rank, h) < first) continue;
        if (!groups.has(h)) {
          earlier.add(h);
          stack.push(h);
        } else if (!groups.has(g)) return null;
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
    together: readonly number[],
    draft: KernelDraft,
    earlier: ReadonlySet<number>,
  ): void {
    const { groupOf, members, drafts, order, rank } = this.#groups;
    const ranks = [...groups].map((g) => at(rank, g));
    const first = Math.min(...ranks);
    const count = Math.max(...ranks) + 1 - first;
    const kept = at([...groups], 0);
    const region = order.slice(first, first + count).filter((g) => !groups.has(g));
    const front = region.filter((g) => earlier.has(g));
    const back = region.filter((g) => !earlier.has(g));
    order.splice(first, count, ...front, kept, ...back);
    for (let r = first; r < order.length; r++) rank[at(order, r)] = r;
    for (const m of together) groupOf[m] = kept;
    members[kept] = together;
    drafts[kept] = draft;
  }

  /** The program with one op for each group. */
  result(): Fused {
    const { storages } = this.#program;
    const { members, drafts, order } = this.#groups;
    const gone = this.#gone();
    const groups: Group[] = [];
    const ops: ProgramOp[] = [];
    for (const g of order) {
      const own = at(members, g);
      const draft = own.length > 1 ? (drafts[g] ?? null) : null;
      const first = at(own, 0);
      if (draft === null) {
        const op = opAt(this.#program, first);
        groups.push(aloneGroup(first, op));
        // What nobody needs never runs; it must not mention what is not there any more.
        const isNeeded = this.#needed.has(first);
        ops.push(isNeeded ? op : { ...op, reads: op.reads.filter((s) => !gone.has(s)) });
      } else {
        groups.push(draft);
        const merged = own.map((i) => opAt(this.#program, i));
        ops.push(mergedOp(merged, draft));
      }
    }
    return { program: new Program(storages, ops), groups, unfused: () => this.#unfused() };
  }

  /** Every reader of a value that another kernel makes, with the reason. */
  #unfused(): Unfused[] {
    const { groupOf } = this.#groups;
    const writer = new Map<number, number>();
    const pairs: Unfused[] = [];
    for (const reader of this.#needed) {
      const { reads, writes } = opAt(this.#program, reader);
      for (const storage of reads) {
        const maker = writer.get(storage);
        if (maker !== undefined && groupOf[maker] !== groupOf[reader])
          pairs.push({ maker, reader, reason: this.#reason(maker, reader) });
      }
      for (const w of writes) writer.set(w, reader);
    }
    return pairs;
  }

  /** Which of the conditions of `#fuseOne` the kernels of two ops do not meet. */
  #reason(maker: number, reader: number): string {
    const { groupOf, members } = this.#groups;
    const groups = new Set([at(groupOf, maker), at(groupOf, reader)]);
    const together = [...groups].flatMap((g) => at(members, g)).sort((a, b) => a - b);
    const [a, b] = [opAt(this.#program, maker), opAt(this.#program, reader)];
    for (const { fuse: facts, name } of [a, b])
      if (facts === undefined) return `${name} can only run as a kernel of its own`;
    if (together.length > this.#maxOps) return `a kernel holds at most ${this.#maxOps} ops`;
    if (a.stage !== b.stage) return "they belong to different stages of a step";
    if (!this.#mayShareKernel(together)) return `${a.phase} and ${b.phase} do not share kernels`;
    const whole = together
      .map((i) => opAt(this.#program, i))
      .filter(({ fuse: facts }) => facts?.map !== true)
      .map(({ name }) => name);
    if (whole.length > 1) return `${whole.join(" and ")} both need a kernel of their own`;
    if (this.#draft(together, this.#maxStorageBuffers) === null)
      return this.#draft(together, Infinity) === null
        ? "their shapes or layouts do not fit one kernel"
        : `one kernel binds at most ${this.#maxStorageBuffers} buffers`;
    if (this.#between(groups) === null) return "another kernel has to run between them";
    return "it would save no memory, or more bytes would be live at one time";
  }

  /** Storages that are registers of a kernel now. */
  #gone(): Set<number> {
    const gone = new Set<number>();
    for (const draft of this.#groups.drafts)
      for (const { op } of draft?.members ?? [])
        for (const w of opAt(this.#program, op).writes)
          if (draft?.writes.includes(w) === false) gone.add(w);
    return gone;
  }
}

function aloneGroup(op: number, { writes }: ProgramOp): Group {
  const member = { op, operands: [], results: [], side: "whole" } as const;
  return { members: [member], shape: [], over: [], stored: writes };
}

/** Most bytes live at one time in the order in which the program would run. */
function peakOf(program: Program): number {
  const context = contextOf(program);
  return livePeak(context, runsOf(orderOps(context)));
}
