/**
 * The parts of the engine that not every program needs: families of kernels, devices outside
 * browsers, devices of the program, and budgets: planning under one, and running such plans piece
 * by piece. A page loads each as a file of its own, once something that needs it was recorded or
 * made; Node, whose files lie beside the program, loads all kernels with the engine. Asked by the
 * recorder, schedulers, the compiler, executions, and submissions, which wait. Owns what was
 * loaded.
 */
import { isNode } from "../base/env.ts";
import { DeviceLostError, internal } from "../base/errors.ts";
import type * as lent from "../device/lent.ts";
import type * as convolutions from "../kernels/conv-ways.ts";
import type { Families, Family, Kernels } from "../kernels/families.ts";
import type * as products from "../kernels/matmul-ways.ts";
import type { probeRoom } from "./execution/probe.ts";
import type { Segments } from "./execution/segments.ts";
import type * as candidates from "./candidates.ts";
import type * as hosts from "./hosts.ts";
import type * as inspection from "./inspection.ts";
import type * as pipeline from "../planner/pipeline.ts";
import type * as batches from "./update-batches.ts";

/** What each part brings. */
export interface Parts extends Families {
  readonly main: Families["main"] & Pick<typeof batches, "batchesOf" | "kernelOf">;
  readonly products: typeof products & Pick<typeof candidates, "candidatesOf" | "placed">;
  readonly convolutions: typeof convolutions;
  readonly devices: typeof hosts;
  readonly lending: typeof lent;
  readonly inspection: typeof inspection;
  readonly budgets: Pick<typeof pipeline, "budgetPlanner" | "figuresOf"> & {
    readonly Segments: typeof Segments;
    readonly probeRoom: typeof probeRoom;
  };
}

/** The name of a part. */
export type PartName = keyof Parts;

/** How parts are loaded, by name. */
export type PartLoaders = { readonly [P in PartName]: () => Promise<Parts[P]> };

const families: readonly Family[] = [
  "main",
  "functions",
  "images",
  "resizing",
  "sequences",
  "transformers",
];

/**
 * What writes the kernels of a family in every way, in place of the family itself: as software
 * adapters need them, and as `tune` may choose.
 */
const everyWay: Partial<Record<PartName, PartName>> = { main: "products", images: "convolutions" };

/** What knows all ways of writing kernels that have several. */
export const otherWays: readonly PartName[] = Object.values(everyWay);
const withKernels: readonly PartName[] = [...families, ...otherWays];

/** What is there of the parts, and what is to come. */
export class EngineParts {
  /** Comes with the engine: until then nothing is loaded. */
  #loaders: PartLoaders | null = null;
  readonly #present: Partial<Parts> = {};
  readonly #coming = new Map<PartName, Promise<void>>();
  /** Parts that are needed soon. */
  readonly #wanted: Set<PartName>;
  /** Whether families are needed in every way of writing their kernels. */
  #inEveryWay = false;

  /** @param early what is loaded at the first chance, asked for or not */
  constructor(early: readonly PartName[] = isNode ? [...withKernels, "inspection"] : []) {
    this.#wanted = new Set(early);
  }

  /** Takes all parts from whoever has them, so that none is loaded. */
  bring(parts: Parts): void {
    Object.assign(this.#present, parts);
    this.#wanted.clear();
  }

  /** Says that a part will be needed: it comes beside the device, or now. */
  want(name: PartName): void {
    const missing = this.needs(name).filter((part) => !this.has(part));
    for (const part of missing) this.#wanted.add(part);
    if (this.#loaders !== null) this.load(missing).catch(heardLater);
  }

  /** A part and what is needed with it. */
  needs(name: PartName): readonly PartName[] {
    const ways = this.#inEveryWay ? everyWay[name] : undefined;
    return ways === undefined ? [name] : [name, ways];
  }

  /** Says that kernels are written in other ways than those of GPUs from now on. */
  wantEveryWay(): void {
    this.#inEveryWay = true;
    for (const family of families)
      if (this.has(family) || this.#wanted.has(family)) this.want(family);
  }

  /** Loads what is wanted by now. What does not come is asked for again when it is needed. */
  async begin(loaders: PartLoaders | null): Promise<void> {
    this.#loaders = loaders;
    await this.load(this.#wanted).catch(heardLater);
  }

  /** Loads all parts. @throws DeviceLostError when one does not come */
  loadAll(): Promise<void> {
    return this.load([...withKernels, "budgets"]);
  }

  /** Whether something that is wanted has not come. */
  get lacks(): boolean {
    return this.#wanted.size > 0;
  }

  /** Whether a part is there. */
  has(name: PartName): boolean {
    return this.#present[name] !== undefined;
  }

  /** A part that is there. */
  get<P extends PartName>(name: P): Parts[P] {
    const part = this.#present[name];
    if (part === undefined) throw internal(`the part ${name} is used before it came`);
    return part;
  }

  /** The generators of the families that are there; what runs waited for its own. */
  get kernels(): Kernels {
    return Object.assign({}, ...withKernels.map((name) => this.#present[name])) as Kernels;
  }

  /** What shows and checks plans; undefined on pages, which do neither. */
  get inspection(): Parts["inspection"] | undefined {
    return this.#present.inspection;
  }

  /** Loads parts. @throws DeviceLostError when one does not come; the next call asks again */
  async load(names: Iterable<PartName>): Promise<void> {
    await Promise.all([...names].map((name) => this.#load(name)));
  }

  /** A part, loaded where it is not there. @throws DeviceLostError when it does not come */
  async loaded<P extends PartName>(name: P): Promise<Parts[P]> {
    await this.#load(name);
    return this.get(name);
  }

  #load(name: PartName): Promise<void> {
    if (this.has(name)) return Promise.resolve();
    const coming = this.#coming.get(name) ?? this.#loadAnew(name);
    this.#coming.set(name, coming);
    return coming;
  }

  async #loadAnew(name: PartName): Promise<void> {
    if (this.#loaders === null) throw internal(`the part ${name} is needed before the engine`);
    try {
      Object.assign(this.#present, { [name]: await this.#loaders[name]() });
      this.#wanted.delete(name);
    } catch (cause) {
      throw notLoaded("flush", `the part of tenure that has its ${name}`, "read again", cause);
    } finally {
      this.#coming.delete(name);
    }
  }
}

/** Whoever needs a part that did not come asks for it again, and hears of it then. */
const heardLater = (): undefined => undefined;

/** The error of a file that did not come. */
export function notLoaded(
  op: string,
  what: string,
  remedy: string,
  cause: unknown,
): DeviceLostError {
  return new DeviceLostError(
    op,
    `expected to load ${what}, got ${String(cause)}; ` +
      `${remedy}, and load the page anew if that fails too; serve all files that the ` +
      'bundler made, or import "tenure/engine", which brings that part with the program',
    { cause },
  );
}
