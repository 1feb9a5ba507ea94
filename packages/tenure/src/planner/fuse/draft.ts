/**
 * One kernel of several ops: lays their operands over one shape and looks for conflicts. Inside the
 * kernel a value is a register, so each invocation can read only the element it computed itself.
 * Called by the fuse pass for each set of ops that it considers. Looks at declared facts and
 * layouts only. Pure.
 */
import { at } from "../../base/access.ts";
import {
  type Layout,
  permuteLayout,
  refineShapes,
  reshapeLayout,
  sameElements,
  stridedLayout,
} from "../../base/layout.ts";
import { type Shape, sizeOf } from "../../base/shape.ts";
import { type Access, type FuseFacts, opAt, type Program } from "../../graph/program.ts";
import type { KernelDraft, KernelOutline, Member, Section } from "./group.ts";

/** An op of the kernel, with its facts and its section. */
interface Part {
  readonly op: number;
  readonly facts: FuseFacts;
  readonly section: Section;
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
  program: Program,
  ops: readonly number[],
  vanishes: (storage: number) => boolean,
  maxStorageBuffers: number,
): KernelDraft | null {
  const sketch = sketchKernel(program, ops, vanishes, maxStorageBuffers);
  if (sketch === null) return null;
  const { shape, drafting, stored, reads } = sketch;
  const members = drafting.members(shape);
  if (members === null) return null;
  return { members, shape, over: drafting.over, stored, reads, writes: stored };
}

/** What one kernel of some ops would read and write; null when there can be none. */
export function outlineKernel(
  program: Program,
  ops: readonly number[],
  vanishes: (storage: number) => boolean,
  maxStorageBuffers: number,
): KernelOutline | null {
  const sketch = sketchKernel(program, ops, vanishes, maxStorageBuffers);
  if (sketch?.drafting.mayLayOut(sketch.shape) !== true) return null;
  return { reads: sketch.reads, writes: sketch.stored };
}

/** A kernel whose members were not laid out yet. */
interface Sketch {
  readonly drafting: Drafting;
  readonly shape: Shape;
  readonly stored: readonly number[];
  readonly reads: readonly number[];
}

function sketchKernel(
  program: Program,
  ops: readonly number[],
  vanishes: (storage: number) => boolean,
  maxStorageBuffers: number,
): Sketch | null {
  const parts = partsOf(program, ops);
  if (parts === null) return null;
  const drafting = new Drafting(program, parts);
  const shape = drafting.place();
  if (shape === null) return null;
  const stored = [...drafting.values.keys()].filter((s) => !vanishes(s));
  if (!drafting.mayStore(stored) || !drafting.loadsComeFirst()) return null;
  if (drafting.bindings(stored) > maxStorageBuffers) return null;
  const reads = [...new Set(drafting.loads.map((l) => l.storage))];
  return { drafting, shape, stored, reads };
}

/** Each op with its section; null when two are not elementwise, or one has no facts. */
function partsOf(program: Program, ops: readonly number[]): Part[] | null {
  const facts: FuseFacts[] = [];
  for (const op of ops) {
    const own = opAt(program, op).fuse;
    if (own === undefined) return null;
    facts.push(own);
  }
  const main = facts.findIndex((f) => !f.map);
  if (facts.some((f, k) => !f.map && k !== main)) return null;
  const before = main === -1 ? new Set<number>() : makersOf(facts, main);
  const sectionOf = (k: number): Section => {
    if (k === main) return "main";
    return before.has(k) ? "prologue" : "epilogue";
  };
  return ops.map((op, k) => ({ op, facts: at(facts, k), section: sectionOf(k) }));
}

/** The ops that compute the operands of one of them, however indirectly. */
function makersOf(facts: readonly FuseFacts[], wanted: number): Set<number> {
  const makers = facts.map(() => new Set<number>());
  const writer = new Map<number, number>();
  for (const [k, { operands, results }] of facts.entries()) {
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

class Drafting {
  readonly #program: Program;
  readonly #parts: readonly Part[];
  readonly #main: FuseFacts | undefined;
  /** Elements of the results. */
  readonly #size: number;
  readonly #placed: Placed[] = [];
  /** Shape of the operand that the prologue computes. */
  readonly over: Shape;
  /** The latest result in each storage. */
  readonly values = new Map<number, Value>();
  /** What the kernel loads. */
  readonly loads: Load[] = [];

  constructor(program: Program, parts: readonly Part[]) {
    this.#program = program;
    this.#parts = parts;
    this.#main = parts.find((p) => p.section === "main")?.facts;
    this.over = this.#main?.over ?? [];
    this.#size =
      this.#main === undefined
        ? Math.max(...parts.map((p) => sizeOf(p.facts.shape)))
        : sizeOf(this.#main.shape);
  }

  /** Lays out all ops, and returns the shape that their results refine; null when they conflict. */
  place(): Shape | null {
    let shape = this.#main?.shape;
    for (const part of this.#parts) {
      const placed = part.section === "main" ? this.#placeMain(part) : this.#placeElementwise(part);
      if (placed === null) return null;
      this.#placed.push(placed);
      if (part.section !== "epilogue" || placed.small) continue;
      const own = at(placed.results, 0).shape;
      shape = shape === undefined ? own : refined(shape, own);
      if (shape === undefined) return null;
    }
    return shape ?? [];
  }

  /** Lays out the main op: a prologue may compute one operand, the others are read from memory. */
  #placeMain({ op, facts }: Part): Placed | null {
    const [operand] = facts.operands;
    const operands: Layout[] = [];
    for (const storage of opAt(this.#program, op).reads) {
      const value = this.values.get(storage);
      if (operand?.storage === storage) {
        const layout = stridedLayout(this.over, operand.strides, operand.offset);
        operands.push(layout);
        if (!this.#take(operand, layout, "main")) return null;
      } else if (value !== undefined) return null;
      else
        this.loads.push({ storage, layout: stridedLayout([], [], 0), type: "", section: "main" });
    }
    const { storage, type, strides, offset } = at(facts.results, 0);
    const layout = stridedLayout(facts.shape, strides, offset);
    if (this.values.has(storage)) return null;
    this.values.set(storage, { layout, type, section: "main", uniform: false });
    return { operands, results: [layout], small: false };
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
  #placeElementwise({ facts, section }: Part): Placed | null {
    const small = sizeOf(facts.shape) !== (section === "prologue" ? sizeOf(this.over) : this.#size);
    const uniform = this.#isUniform(facts);
    const order = small ? undefined : this.#orderOf(facts);
    if (order === null || (small && !uniform)) return null;
    if (facts.index === true && (order !== undefined || section === "prologue")) return null;
    const lay = (a: Access): Layout => {
      const layout = stridedLayout(facts.shape, a.strides, a.offset);
      return order === undefined ? layout : permuteLayout(layout, order);
    };
    const operands = facts.operands.map(lay);
    for (const [k, operand] of facts.operands.entries()) {
      const value = this.values.get(operand.storage);
      if (!this.#take(operand, at(operands, k), section)) return null;
      if (value?.section === "prologue" && section === "epilogue") return null;
    }
    const updates = (storage: number): boolean => facts.operands.some((o) => o.storage === storage);
    const results = facts.results.map(lay);
    for (const [k, { storage, type }] of facts.results.entries()) {
      const layout = at(results, k);
      const was = this.values.get(storage);
      const same =
        was === undefined ||
        (was.type === type && was.section === section && sameElements(was.layout, layout));
      // A result in place must go exactly where what it replaces was.
      if (!same || (small && updates(storage))) return null;
      // In place it may be a part of the storage only, so elsewhere in it there is something else.
      this.values.set(storage, { layout, type, section, uniform: uniform && !updates(storage) });
    }
    return { operands, results, small };
  }

  /** Whether an elementwise op computes the same number everywhere. */
  #isUniform({ index, operands, shape }: FuseFacts): boolean {
    if (index === true) return false;
    return operands.every(({ storage, strides }) => {
      const value = this.values.get(storage);
      return value?.uniform ?? strides.every((s, d) => s === 0 || at(shape, d) <= 1);
    });
  }

  /**
   * The order of dimensions in which an elementwise op visits elements as its operands in registers
   * do; undefined when they agree already, null when no order makes them agree.
   */
  #orderOf({ operands, shape }: FuseFacts): number[] | undefined | null {
    for (const { storage, strides, offset } of operands) {
      const value = this.values.get(storage);
      if (value === undefined || value.uniform) continue;
      const layout = stridedLayout(shape, strides, offset);
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

  /** The members, laid out over the shape of their section; null when a layout cannot be. */
  members(shape: Shape): Member[] | null {
    const members: Member[] = [];
    for (const [k, { op, section }] of this.#parts.entries()) {
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
    return this.#parts.every(({ section }, k) => {
      if (section === "main") return true;
      const { operands, results, small } = at(this.#placed, k);
      const space = section === "prologue" ? this.over : shape;
      const may = (l: Layout): boolean => l.contiguous || layOver(l, space, small) !== undefined;
      return operands.every(may) && results.every(may);
    });
  }

  /**
   * Storage buffers that the kernel binds: one for each storage, but the main op binds its own
   * inputs.
   */
  bindings(stored: readonly number[]): number {
    const loaded = (section: Section): Set<number> =>
      new Set(this.loads.filter((l) => l.section === section).map((l) => l.storage));
    const after = new Set([...loaded("epilogue"), ...stored]).size;
    if (this.#main === undefined) return after;
    const computed = this.#parts.some((p) => p.section === "prologue");
    return after + (computed ? loaded("prologue").size - 1 : 0) + (this.#main.inputs ?? 1);
  }
}

/** What two shapes refine; most often they are the same. */
function refined(a: Shape, b: Shape): Shape | undefined {
  const same = a.length === b.length && a.every((d, k) => d === b[k] && d > 1);
  return same ? a : refineShapes(a, b);
}

/** A layout over the shape of a section; a small one repeats its number. */
function layOver(layout: Layout, space: Shape, small: boolean): Layout | undefined {
  if (!small) return reshapeLayout(layout, space);
  return stridedLayout(
    space,
    space.map(() => 0),
    layout.offset,
  );
}

/**
 * The order of the dimensions of `layout` in which it visits the elements as `like` does; null when
 * there is none.
 */
function reordered(layout: Layout, like: Layout): number[] | null {
  if (layout.size !== like.size || layout.offset !== like.offset) return null;
  const left = layout.shape
    .map((length, dimension) => ({ length, stride: layout.strides[dimension], dimension }))
    .filter(({ length }) => length !== 1);
  const order: number[] = [];
  for (const [k, length] of like.shape.entries()) {
    if (length === 1) continue;
    const found = left.findIndex((d) => d.length === length && d.stride === like.strides[k]);
    if (found === -1) return null;
    for (const { dimension } of left.splice(found, 1)) order.push(dimension);
  }
  return left.length === 0 ? order : null;
}
