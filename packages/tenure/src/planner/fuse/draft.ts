/**
 * One kernel of several ops: lays their operands over one shape and looks for conflicts. Inside the
 * kernel a value is a register, so each invocation can read only the element it computed itself.
 * Called by the fuse pass for each set of ops that it considers. Looks at declared facts and
 * layouts only. Pure.
 */
import { at } from "../../base/access.ts";
import { type Layout, sameElements, stridedLayout } from "../../base/layout.ts";
import { type Shape, sizeOf } from "../../base/shape.ts";
import { type Access, type FuseFacts, opAt } from "../../graph/program.ts";
import type { KernelDraft, KernelOutline, Member, Section } from "./group.ts";
import type { LaidOp, LaidOps } from "./laid-ops.ts";
import { inOrder, layOver, mayLayOver, refined, reordered } from "./lay-over.ts";

/** The ops of the kernel. */
interface Parts {
  readonly ops: LaidOp[];
  /** Section of each op; null when all are elementwise: then each belongs `epilogue`. */
  readonly sections: Section[] | null;
}

/** Where the operands and results of a part lie. */
interface Placed {
  readonly operands: readonly Layout[];
  readonly results: readonly Layout[];
  /** It computes one number, which every invocation computes for itself. */
  readonly small: boolean;
}

/** What is known of a value while it is in a register. */
interface Value {
  readonly layout: Layout;
  readonly type: string;
  readonly section: Section;
  /** Every element is the same number, so any invocation may read it. */
  readonly uniform: boolean;
}

/** A storage that the kernel loads from. */
interface Load {
  readonly storage: number;
  readonly layout: Layout;
  readonly type: string;
  readonly section: Section;
}

/**
 * What one kernel of some ops would be; null when there can be none.
 * @param ops in issue order, all with facts
 * @param vanishes whether a storage needs no memory when the kernel has its value in a register
 */
export function draftKernel(
  laid: LaidOps,
  ops: readonly number[],
  vanishes: (storage: number) => boolean,
  maxStorageBuffers: number,
): KernelDraft | null {
  const sketch = sketchKernel(laid, ops, vanishes, maxStorageBuffers);
  if (sketch === null) return null;
  const { shape, drafting, stored, reads } = sketch;
  const members = drafting.members(shape);
  if (members === null) return null;
  return { members, shape, over: drafting.over, stored, reads, writes: stored };
}

/** A kernel that more ops may join. */
export interface OpenOutline {
  readonly outline: KernelOutline;
  /** Its ops as they were placed. */
  readonly drafting: Drafting;
}

/**
 * What one kernel of some ops would read and write; null when there can be none.
 * @param begun a kernel of the first of these ops, which then are not placed again; it becomes that
 *   of all, and is of no use where there can be none
 */
export function outlineKernel(
  laid: LaidOps,
  ops: readonly number[],
  vanishes: (storage: number) => boolean,
  maxStorageBuffers: number,
  begun?: Drafting,
): OpenOutline | null {
  const sketch = sketchKernel(laid, ops, vanishes, maxStorageBuffers, begun);
  if (sketch?.drafting.mayLayOut(sketch.shape) !== true) return null;
  return { outline: { reads: sketch.reads, writes: sketch.stored }, drafting: sketch.drafting };
}

/** A kernel whose members were not laid out yet. */
interface Sketch {
  readonly drafting: Drafting;
  readonly shape: Shape;
  readonly stored: readonly number[];
  readonly reads: readonly number[];
}

function sketchKernel(
  laid: LaidOps,
  ops: readonly number[],
  vanishes: (storage: number) => boolean,
  maxStorageBuffers: number,
  begun?: Drafting,
): Sketch | null {
  const drafting = begun?.joinedBy(ops) === true ? begun : draftingOf(laid, ops);
  const shape = drafting?.place() ?? null;
  if (drafting === null || shape === null) return null;
  const stored = [...drafting.values.keys()].filter((s) => !vanishes(s));
  if (!drafting.mayStore(stored) || !drafting.loadsComeFirst()) return null;
  if (drafting.bindings(stored) > maxStorageBuffers) return null;
  const reads = drafting.reads();
  return { drafting, shape, stored, reads };
}

function draftingOf(laid: LaidOps, ops: readonly number[]): Drafting | null {
  const parts = partsOf(laid, ops);
  return parts === null ? null : new Drafting(laid, parts);
}

/** Each op with its section; null when two are not elementwise, or one has no facts. */
function partsOf(laid: LaidOps, indices: readonly number[]): Parts | null {
  const ops: LaidOp[] = [];
  let main = -1;
  for (const op of indices) {
    const own = laid.of(op);
    if (own === undefined || (main !== -1 && !own.facts.map)) return null;
    if (!own.facts.map) main = ops.length;
    ops.push(own);
  }
  if (main === -1) return { ops, sections: null };
  const before = makersOf(ops, main);
  const sectionOf = (k: number): Section => {
    if (k === main) return "main";
    return before.has(k) ? "prologue" : "epilogue";
  };
  return { ops, sections: ops.map((_, k) => sectionOf(k)) };
}

/** The ops that compute the operands of one of them, however indirectly. */
function makersOf(ops: readonly LaidOp[], wanted: number): Set<number> {
  const makers = ops.map(() => new Set<number>());
  const writer = new Map<number, number>();
  for (const [k, { facts }] of ops.entries()) {
    const { operands, results } = facts;
    for (const { storage } of operands) {
      const maker = writer.get(storage);
      if (maker !== undefined) at(makers, k).add(maker);
    }
    for (const { storage } of results) writer.set(storage, k);
  }
  const found = new Set<number>();
  const visit = (k: number): void => {
    for (const maker of at(makers, k)) {
      if (found.has(maker)) continue;
      found.add(maker);
      visit(maker);
    }
  };
  visit(wanted);
  return found;
}

/** Some ops as they lie in one kernel. */
export class Drafting {
  readonly #laid: LaidOps;
  readonly #parts: Parts;
  readonly #main: FuseFacts | undefined;
  /** Elements of the results. */
  readonly #size: number;
  readonly #placed: Placed[] = [];
  /** What the results placed so far refine. */
  #shape: Shape | undefined;
  /** Shape of the operand that the prologue computes. */
  readonly over: Shape;
  /** The latest result in each storage. */
  readonly values = new Map<number, Value>();
  /** What the kernel loads. */
  readonly loads: Load[] = [];

  constructor(laid: LaidOps, parts: Parts) {
    this.#laid = laid;
    this.#parts = parts;
    const { ops, sections } = parts;
    this.#main = sections === null ? undefined : at(ops, sections.indexOf("main")).facts;
    this.over = this.#main?.over ?? [];
    let size = 0;
    for (const op of ops) size = Math.max(size, op.size);
    this.#size = this.#main === undefined ? size : sizeOf(this.#main.shape);
    this.#shape = this.#main?.shape;
  }

  /**
   * Puts elementwise ops behind those it has: `place` goes on with them. False, with nothing done,
   * where the others would lie elsewhere then.
   * @param indices all ops, those it has among them
   */
  joinedBy(indices: readonly number[]): boolean {
    const { ops, sections } = this.#parts;
    const more: LaidOp[] = [];
    for (let k = ops.length; k < indices.length; k++) {
      const own = this.#laid.of(at(indices, k));
      if (own?.facts.map !== true) return false;
      if (this.#main === undefined && own.size > this.#size) return false;
      more.push(own);
    }
    for (const own of more) {
      ops.push(own);
      sections?.push("epilogue");
    }
    return true;
  }

  #sectionOf(part: number): Section {
    return this.#parts.sections === null ? "epilogue" : at(this.#parts.sections, part);
  }

  /** Lays out all ops, and returns the shape that their results refine; null when they conflict. */
  place(): Shape | null {
    const { ops } = this.#parts;
    for (let k = this.#placed.length; k < ops.length; k++) {
      const section = this.#sectionOf(k);
      const op = at(ops, k);
      const placed = section === "main" ? this.#placeMain(op) : this.#placeElementwise(op, section);
      if (placed === null) return null;
      this.#placed.push(placed);
      if (section !== "epilogue" || placed.small) continue;
      const own = at(placed.results, 0).shape;
      const shape = this.#shape === undefined ? own : refined(this.#shape, own);
      if (shape === undefined) return null;
      this.#shape = shape;
    }
    return this.#shape ?? [];
  }

  /** Lays out the main op: a prologue may compute one operand, the others are read from memory. */
  #placeMain({ op, facts, operands, results }: LaidOp): Placed | null {
    const [operand] = facts.operands;
    for (const storage of opAt(this.#laid.program, op).reads) {
      const value = this.values.get(storage);
      if (operand?.storage === storage) {
        if (!this.#take(operand, at(operands, 0), "main")) return null;
      } else if (value !== undefined) return null;
      else
        this.loads.push({ storage, layout: stridedLayout([], [], 0), type: "", section: "main" });
    }
    const { storage, type } = at(facts.results, 0);
    if (this.values.has(storage)) return null;
    this.values.set(storage, { layout: at(results, 0), type, section: "main", uniform: false });
    return { operands, results, small: false };
  }

  /**
   * Notes that an operand is read: from a register where it lies as the value does, from memory
   * otherwise. False when the register holds other elements.
   */
  #take({ storage, type }: Access, layout: Layout, section: Section): boolean {
    const value = this.values.get(storage);
    if (value === undefined) {
      this.loads.push({ storage, layout, type, section });
      return true;
    }
    if (value.type !== type) return false;
    return value.uniform || sameElements(value.layout, layout);
  }

  /**
   * Lays the operands and results of an elementwise op over the section's elements, dimensions in
   * the order of the operands that are in registers.
   */
  #placeElementwise(op: LaidOp, section: Section): Placed | null {
    const { facts } = op;
    const small = op.size !== (section === "prologue" ? sizeOf(this.over) : this.#size);
    const uniform = this.#isUniform(op);
    const order = small ? undefined : this.#orderOf(op);
    if (order === null || (small && !uniform)) return null;
    if (facts.index === true && (order !== undefined || section === "prologue")) return null;
    const operands = inOrder(op.operands, order);
    const results = inOrder(op.results, order);
    if (!this.#takeAll(facts, operands, section)) return null;
    for (let k = 0; k < results.length; k++) {
      const { storage, type } = at(facts.results, k);
      const layout = at(results, k);
      const was = this.values.get(storage);
      const same =
        was === undefined ||
        (was.type === type && was.section === section && sameElements(was.layout, layout));
      const updates = readsStorage(facts, storage);
      // A result in place must go exactly where what it replaces was.
      if (!same || (small && updates)) return null;
      // In place it may be a part of the storage only, so elsewhere in it there is something else.
      this.values.set(storage, { layout, type, section, uniform: uniform && !updates });
    }
    return { operands, results, small };
  }

  /** Notes that the operands of an elementwise op are read; false when one cannot be. */
  #takeAll({ operands }: FuseFacts, layouts: readonly Layout[], section: Section): boolean {
    for (let k = 0; k < operands.length; k++) {
      const operand = at(operands, k);
      if (!this.#take(operand, at(layouts, k), section)) return false;
      if (section === "epilogue" && this.values.get(operand.storage)?.section === "prologue")
        return false;
    }
    return true;
  }

  /** Whether an elementwise op computes the same number everywhere. */
  #isUniform({ facts, still }: LaidOp): boolean {
    if (facts.index === true) return false;
    for (let k = 0; k < still.length; k++)
      if (!(this.values.get(at(facts.operands, k).storage)?.uniform ?? at(still, k))) return false;
    return true;
  }

  /**
   * The order of dimensions in which an elementwise op visits elements as its operands in registers
   * do; undefined when they agree already, null when no order makes them agree.
   */
  #orderOf({ facts, operands }: LaidOp): number[] | undefined | null {
    for (let k = 0; k < operands.length; k++) {
      const value = this.values.get(at(facts.operands, k).storage);
      if (value === undefined || value.uniform) continue;
      const layout = at(operands, k);
      if (!sameElements(value.layout, layout)) return reordered(layout, value.layout);
    }
    return undefined;
  }

  /** Whether all values that need memory are results, one for each element. */
  mayStore(stored: readonly number[]): boolean {
    return stored.every((s) => {
      const value = this.values.get(s);
      return value?.section !== "prologue" && value?.layout.size === this.#size;
    });
  }

  /**
   * Whether all uses of storages that the kernel writes concern the same element at the same place,
   * so that loading first and storing last changes nothing.
   */
  loadsComeFirst(): boolean {
    const types = new Map<number, string>();
    for (const { storage, type, layout, section } of this.loads) {
      if (section !== "main") {
        if ((types.get(storage) ?? type) !== type) return false;
        types.set(storage, type);
      }
      const value = this.values.get(storage);
      if (value === undefined) continue;
      if (section !== "epilogue" || value.section !== "epilogue") return false;
      if (value.type !== type || !sameElements(value.layout, layout)) return false;
    }
    return true;
  }

  /** Storages that the kernel loads from. */
  reads(): number[] {
    const reads = new Set<number>();
    for (const { storage } of this.loads) reads.add(storage);
    return [...reads];
  }

  /** The members, laid out over the shape of their section; null when a layout cannot be. */
  members(shape: Shape): Member[] | null {
    const members: Member[] = [];
    for (const [k, { op }] of this.#parts.ops.entries()) {
      const section = this.#sectionOf(k);
      const { operands, results, small } = at(this.#placed, k);
      const space = section === "prologue" ? this.over : shape;
      const laid = (layouts: readonly Layout[]): Layout[] =>
        layouts.flatMap((l) => (section === "main" ? l : (layOver(l, space, small) ?? [])));
      const member = { op, section, operands: laid(operands), results: laid(results) };
      if (member.operands.length < operands.length || member.results.length < results.length)
        return null;
      members.push(member);
    }
    return members;
  }

  /** Whether there are members: whether each layout can be laid over its section. */
  mayLayOut(shape: Shape): boolean {
    for (let k = 0; k < this.#placed.length; k++) {
      const section = this.#sectionOf(k);
      if (section === "main") continue;
      const { operands, results, small } = at(this.#placed, k);
      const space = section === "prologue" ? this.over : shape;
      if (!mayLayOver(operands, space, small) || !mayLayOver(results, space, small)) return false;
    }
    return true;
  }

  /**
   * Storage buffers that the kernel binds: one for each storage, but the main op binds its own
   * inputs.
   */
  bindings(stored: readonly number[]): number {
    const after = new Set(stored);
    const before = new Set<number>();
    for (const { section, storage } of this.loads)
      if (section === "epilogue") after.add(storage);
      else if (section === "prologue") before.add(storage);
    if (this.#main === undefined) return after.size;
    const computed = this.#parts.sections?.includes("prologue") === true;
    return after.size + (computed ? before.size - 1 : 0) + (this.#main.inputs ?? 1);
  }
}

function readsStorage({ operands }: FuseFacts, storage: number): boolean {
  for (const operand of operands) if (operand.storage === storage) return true;
  return false;
}
