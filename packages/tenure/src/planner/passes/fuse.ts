/**
 * Which ops run as one kernel. Elementwise ops fuse with the ops that read their results. They can
 * also be the prologue of a reduction, which then computes its input while it reads, or the
 * epilogue of a reduction, matrix product or convolution. Inside a kernel a value is a register: it
 * needs no memory when no other op reads it and nobody owns it. Results have the same bits as
 * unfused. Looks at declared facts and layouts only, never at names. Pure; called before a program
 * is planned.
 *
 *     conv ─► +bias ─► relu ─► pool     becomes     conv+add+relu ─► pool
 *              a        b                                   b
 *
 * a is gone; b stays, because pool reads it.
 */
import { append, at, defined, last, lookup } from "../../base/access.ts";
import { opAt, type Phase, Program, type ProgramOp, residentAtEntry } from "../../graph/program.ts";
import type { Deadline } from "../deadline.ts";
import { neededOps } from "../dependencies.ts";
import { type Drafting, draftKernel, outlineKernel } from "../fuse/draft.ts";
import { GroupOrder } from "../fuse/group-order.ts";
import type {
  Fused,
  FuseLimits,
  Group,
  KernelDraft,
  KernelOutline,
  Unfused,
} from "../fuse/group.ts";
import { LaidOps } from "../fuse/laid-ops.ts";
import { LivePlaces } from "../fuse/live-places.ts";
import { mergedOp } from "../fuse/merge.ts";
import { contextOf, livePeak, runsOf } from "../schedule.ts";
import { orderOps } from "./order.ts";

/**
 * Fuses ops where that saves the memory of a value, and where it only saves a kernel and a read.
 * The peak never grows. @throws PlanningTooLong after the deadline
 */
export function fuse(program: Program, limits: FuseLimits = {}): Fused {
  return new Fusion(program, limits).fuseWhereValuesVanish().fuseReaders().result();
}

/** Ops that one kernel could do, and the storage that then needs no memory; -1 for none. */
interface Candidate {
  readonly ops: readonly number[];
  readonly gone: number;
}

/**
 * Ops of the forward pass are not fused with readers in the backward pass: their inputs would stay
 * in memory until then.
 */
const direction = (phase: Phase): string => (phase === "forward" ? phase : "backward");

/** Some ops in issue order, and what one kernel of them would be; null for none. */
interface Sketch {
  readonly together: readonly number[];
  readonly outline: KernelOutline | null;
  /** A number that no other sketch has, and no op. */
  readonly contents: number;
}

/**
 * Ops that are walked over to find the peak anew, where updates move; after these, ops of which
 * some raise the peak stay apart.
 */
const maxWalked = 1_000_000;

/** Kernels that are remembered with their ops placed: those sketched last mostly get more. */
const maxBegun = 64;

/** Sketches that are remembered: those thought of lately are thought of again. */
const maxSketches = 8192;

class Fusion {
  readonly #program: Program;
  readonly #maxStorageBuffers: number;
  readonly #maxOps: number;
  readonly #deadline: Deadline | undefined;
  /** Ops that run, and for each storage those of them that mention it. */
  readonly #needed: ReadonlySet<number>;
  readonly #mentions = new Map<number, number[]>();
  readonly #mayVanish: readonly boolean[];
  /** Peak of live bytes in issue order. */
  readonly #most: number;
  readonly #groups: GroupOrder;
  readonly #laid: LaidOps;
  /** Live bytes while groups are merged; null where updates move, which changes them elsewhere. */
  readonly #live: LivePlaces | null;
  /** Kernels considered so far, by the groups they consist of. */
  readonly #sketches = new Map<string, Sketch>();
  /** Kernels that more ops may join, by what stands for their ops. */
  readonly #begun = new Map<number, Drafting>();
  #thoughtOf = 0;
  /** For each op, when it was last asked about as one of the ops of a kernel. */
  readonly #inside: Int32Array;
  #askedFor = 0;
  #walked = 0;

  constructor(program: Program, { maxStorageBuffers = 8, maxOps = 64, deadline }: FuseLimits) {
    this.#program = program;
    this.#maxStorageBuffers = maxStorageBuffers;
    this.#maxOps = maxOps;
    this.#deadline = deadline;
    this.#needed = new Set(neededOps(program));
    for (const i of this.#needed) {
      const { reads, writes } = opAt(program, i);
      for (const s of new Set([...reads, ...writes])) append(this.#mentions, s, i);
    }
    const resident = residentAtEntry(program);
    this.#mayVanish = program.storages.map(
      ({ pinned, lifespan }, s) => !pinned && lifespan === undefined && resident[s] !== true,
    );
    this.#inside = new Int32Array(program.ops.length);
    this.#groups = new GroupOrder(program);
    this.#laid = new LaidOps(program);
    this.#most = peakOf(program);
    const updates = [...this.#needed].some((i) => opAt(program, i).phase === "apply");
    this.#live = updates ? null : new LivePlaces(program, this.#needed, this.#groups, this.#most);
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
   * Fuses an op with the one that made its operand: the value is still written, but not read back.
   * Updates are not fused with gradients that are kept, so that reports can tell the phases apart.
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
    /** How many merges there were before each candidate. */
    const marks: number[] = [];
    const tryFrom = (from: number, to: number): void => {
      const before = this.#groups.mark();
      for (let k = from; k < to; k++) {
        this.#deadline?.check();
        marks[k] = this.#groups.mark();
        this.#fuseOne(at(candidates, k));
      }
      if (this.#groups.mark() > before) settle(from, to);
    };
    const settle = (from: number, to: number): void => {
      this.#deadline?.check();
      if (!this.#raisesPeak()) return;
      const half = this.#walked < maxWalked ? from + ((to - from) >> 1) : from;
      this.#undoTo(at(marks, half));
      if (half === from) return;
      settle(from, half); // its merges are still there
      tryFrom(half, to);
    };
    tryFrom(0, candidates.length);
    return this;
  }

  #undoTo(mark: number): void {
    this.#groups.undoTo(mark);
    this.#live?.undoTo(mark);
  }

  #raisesPeak(): boolean {
    if (this.#live !== null) return this.#live.isOver;
    this.#walked += this.#program.ops.length;
    return peakOf(this.#fusedProgram()) > this.#most;
  }

  /**
   * Makes one group of the groups of `ops`, if one kernel can do what they do and nothing else lies
   * between them.
   */
  #fuseOne({ ops, gone }: Candidate): boolean {
    const groups = new Set<number>();
    for (let k = 0; k < ops.length; k++) groups.add(this.#groups.of(ops[k]!));
    if (groups.size < 2 || groups.size > this.#maxOps) return false;
    const { together, outline, contents } = this.#sketch(groups);
    if (outline === null || (gone !== -1 && outline.writes.includes(gone))) return false;
    const earlier = this.#groups.between(groups);
    if (earlier === null) return false;
    const merge = this.#groups.merge(groups, { together, outline, contents }, earlier);
    this.#live?.merged(merge);
    return true;
  }

  /** What one kernel of some groups would be; remembered, as the same groups come up often. */
  #sketch(groups: ReadonlySet<number>): Sketch {
    let key = "";
    for (const g of groups) key += `${this.#groups.contents(g)} `;
    const known = this.#sketches.get(key);
    if (known !== undefined) return known;
    const together = this.#groups.together(groups);
    const contents = this.#program.ops.length + this.#thoughtOf++;
    const outline = this.#mayShareKernel(together) ? this.#outlineOf(together, contents) : null;
    const sketch = { together, outline, contents };
    if (this.#sketches.size === maxSketches) this.#sketches.clear();
    this.#sketches.set(key, sketch);
    return sketch;
  }

  /** What one kernel of these ops would read and write; null when there can be none. */
  #outlineOf(together: readonly number[], contents: number): KernelOutline | null {
    const vanishes = this.#vanishesIn(together);
    const begun = this.#takeBegun(together);
    const made = outlineKernel(this.#laid, together, vanishes, this.#maxStorageBuffers, begun);
    if (made === null) return null;
    if (this.#begun.size === maxBegun) this.#begun.clear();
    this.#begun.set(contents, made.drafting);
    return made.outline;
  }

  /** The kernel of the first of these ops, if they are a group and it is remembered. */
  #takeBegun(together: readonly number[]): Drafting | undefined {
    const group = this.#groups.of(at(together, 0));
    const own = this.#groups.members(group);
    if (last(own) >= at(together, own.length)) return undefined; // others lie between them
    const contents = this.#groups.contents(group);
    const begun = this.#begun.get(contents);
    this.#begun.delete(contents);
    return begun;
  }

  /** What one kernel of these ops would be; null when there can be none. */
  #draft(together: readonly number[], maxStorageBuffers: number): KernelDraft | null {
    return draftKernel(this.#laid, together, this.#vanishesIn(together), maxStorageBuffers);
  }

  /**
   * Which storages need no memory when one kernel holds these ops, which are in issue order. Holds
   * until it is asked for other ops.
   */
  #vanishesIn(together: readonly number[]): (storage: number) => boolean {
    const inside = this.#inside;
    const now = ++this.#askedFor;
    for (let k = 0; k < together.length; k++) inside[together[k]!] = now;
    return (s) => {
      if (this.#mayVanish[s] !== true) return false;
      const uses = lookup(this.#mentions, s);
      for (let k = 0; k < uses.length; k++) if (inside[uses[k]!] !== now) return false;
      return true;
    };
  }

  /** Few enough ops, all with facts, of one direction and one named stage. */
  #mayShareKernel(ops: readonly number[]): boolean {
    if (ops.length > this.#maxOps) return false;
    const first = opAt(this.#program, at(ops, 0));
    for (const i of ops) {
      const { fuse: facts, phase, stage } = opAt(this.#program, i);
      if (facts === undefined || stage !== first.stage) return false;
      if (direction(phase) !== direction(first.phase)) return false;
    }
    return true;
  }

  /** The program with one op for each group, and what each group is. */
  result(): Fused {
    this.#sketches.clear();
    this.#begun.clear();
    const groups = this.#groups.inOrder().map((g): Group => {
      const own = this.#groups.members(g);
      if (this.#groups.outline(g) !== null)
        return defined(this.#draft(own, this.#maxStorageBuffers) ?? undefined);
      const only = at(own, 0);
      return aloneGroup(only, opAt(this.#program, only));
    });
    const work = this.#groups.visits + (this.#live?.steps ?? this.#walked);
    return { program: this.#fusedProgram(), groups, work, unfused: () => this.#unfused() };
  }

  #fusedProgram(): Program {
    const gone = this.#gone();
    const ops = this.#groups.inOrder().map((g): ProgramOp => {
      const own = this.#groups.members(g);
      const outline = this.#groups.outline(g);
      if (outline !== null)
        return mergedOp(
          own.map((i) => opAt(this.#program, i)),
          outline,
        );
      const only = at(own, 0);
      const op = opAt(this.#program, only);
      // What nobody needs never runs; it must not mention what is not there any more.
      const isNeeded = this.#needed.has(only);
      return isNeeded ? op : { ...op, reads: op.reads.filter((s) => !gone.has(s)) };
    });
    return new Program(this.#program.storages, ops);
  }

  /** Every reader of a value that another kernel makes, with the reason. */
  #unfused(): Unfused[] {
    const writer = new Map<number, number>();
    const pairs: Unfused[] = [];
    for (const reader of this.#needed) {
      const { reads, writes } = opAt(this.#program, reader);
      for (const storage of reads) {
        const maker = writer.get(storage);
        if (maker !== undefined && this.#groups.of(maker) !== this.#groups.of(reader))
          pairs.push({ maker, reader, reason: this.#reason(maker, reader) });
      }
      for (const w of writes) writer.set(w, reader);
    }
    return pairs;
  }

  /** Which of the conditions of `#fuseOne` the kernels of two ops do not meet. */
  #reason(maker: number, reader: number): string {
    const groups = new Set([this.#groups.of(maker), this.#groups.of(reader)]);
    const together = this.#groups.together(groups);
    const [a, b] = [opAt(this.#program, maker), opAt(this.#program, reader)];
    for (const { fuse: facts, name } of [a, b])
      if (facts === undefined) return `${name} can only run as a kernel of its own`;
    if (together.length > this.#maxOps) return `a kernel holds at most ${this.#maxOps} ops`;
    if (a.stage !== b.stage) return "they belong to different stages of a step";
    if (!this.#mayShareKernel(together)) return `${a.phase} and ${b.phase} do not share kernels`;
    const main = together
      .map((i) => opAt(this.#program, i))
      .filter(({ fuse: facts }) => facts?.map !== true)
      .map(({ name }) => name);
    if (main.length > 1) return `${main.join(" and ")} both need a kernel of their own`;
    if (this.#draft(together, this.#maxStorageBuffers) === null)
      return this.#draft(together, Infinity) === null
        ? "their shapes or layouts do not fit one kernel"
        : `one kernel binds at most ${this.#maxStorageBuffers} buffers`;
    if (this.#groups.between(groups) === null) return "another kernel has to run between them";
    return "it would save no memory, or more bytes would be live at one time";
  }

  /** Storages that are registers of a kernel now. */
  #gone(): Set<number> {
    const gone = new Set<number>();
    for (const g of this.#groups.inOrder()) {
      const outline = this.#groups.outline(g);
      if (outline === null) continue;
      for (const i of this.#groups.members(g))
        for (const w of opAt(this.#program, i).writes) if (!outline.writes.includes(w)) gone.add(w);
    }
    return gone;
  }
}

function aloneGroup(op: number, { writes }: ProgramOp): Group {
  const member = { op, operands: [], results: [], section: "main" } as const;
  return { members: [member], shape: [], over: [], stored: writes };
}

/** Most bytes live at one time in the order in which the program would run. */
function peakOf(program: Program): number {
  const context = contextOf(program);
  return livePeak(context, runsOf(orderOps(context)));
}
