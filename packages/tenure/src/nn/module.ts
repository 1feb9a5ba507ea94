/**
 * `Module`: owns parameters, buffers and child modules. A parameter belongs to its module whatever
 * scope was current when it was made, so a scope never frees weights; disposing the module frees
 * them and all children. Subclassed by users and by the layers here.
 */
import "../base/polyfills.ts";
import { BRAND, COPY, isForeign, joinCopies } from "../base/copies.ts";
import { checkDType, isFloat } from "../base/dtype.ts";
import { ArgumentError, DTypeError, TenureError, calledAs } from "../base/errors.ts";
import { type OptionTable, checkArgument, describeValue, readOptions } from "../base/options.ts";
import { noGrad } from "../autograd/mode.ts";
import { newDisposeScope } from "../ownership/open.ts";
import { tensor } from "../tensor/create.ts";
import { adopt, convertInPlace, identityOf } from "../tensor/keep.ts";
import { currentLayer, labelled, recordingChanged } from "../tensor/step.ts";
import { tensorState } from "../tensor/tensor-state.ts";
import { Tensor, live } from "../tensor/tensor.ts";
import {
  type LoadableState,
  type StateDict,
  type StateDifference,
  StateMap,
  checkState,
  entriesOf,
} from "./state-dict.ts";

/** Options of `loadStateDict`. */
export interface LoadOptions {
  /** Refuses missing and unexpected names; true by default. */
  readonly strict?: boolean;
}
const loadOptions = {
  strict: { type: "flag", default: true },
} satisfies OptionTable<LoadOptions>;

/** A module of any arguments and result: what containers of modules hold. */
export type AnyModule = Module<never, unknown>;

/** @internal Runs `fn`; `observe` hears of every module called meanwhile, inner ones first. */
export function observeCalls<T>(
  observe: (module: AnyModule, args: readonly unknown[], result: unknown) => void,
  fn: () => T,
): T {
  const state = tensorState();
  const before = state.moduleObserver;
  state.moduleObserver = (module, args, result) => {
    if (module instanceof Module) observe(module as AnyModule, args, result);
  };
  try {
    return fn();
  } finally {
    state.moduleObserver = before;
  }
}

/**
 * A module that hands back its argument gives an alias: caller and module may dispose their own.
 */
function fresh<R>(result: R, args: readonly unknown[]): R {
  return result instanceof Tensor && args.includes(result) ? result.alias() : result;
}

/** A module of another copy is no child, and would be neither trained nor saved. */
function refuseForeign(module: object): void {
  for (const value of Object.values(module).flat() as unknown[])
    if (isForeign(value) && "namedModules" in value)
      throw new ArgumentError(
        module.constructor.name,
        "modules of this copy of tenure",
        describeValue(value),
        joinCopies,
      );
}

/**
 * Base of everything that has weights. Assign modules to fields and they are found (`#private`
 * fields are not: use `registerModule`); register tensors with `parameter` and `buffer`.
 *
 * `A` are the arguments of `forward` and `call`, `R` is what they give: a tensor from a tensor
 * unless said otherwise, as in `class Attention extends Module<[query: Tensor, key: Tensor, value:
 * Tensor]>`.
 * @example
 * ```ts
 * class Scale extends Module<[x: Tensor]> {
 *   readonly factor = this.parameter("factor", ones([]));
 *   forward(x: Tensor): Tensor {
 *     return x.mul(this.factor);
 *   }
 * }
 * using scale = new Scale();
 * using out = scale.call(x);
 * console.log(out.shape.join()); // → 8,4
 * ```
 */
export abstract class Module<
  A extends readonly unknown[] = [x: Tensor],
  R = Tensor,
> implements Disposable {
  readonly #parameters = new Map<string, Tensor>();
  readonly #buffers = new Map<string, Tensor>();
  readonly #modules = new Map<string, AnyModule>();
  #training = true;
  #disposed = false;
  /**
   * Dotted path in the module tree, known once the outermost module has run; labels recorded ops.
   */
  #path = "";

  /** @internal No plain object: Vue's `ref` and `reactive` keep it as it is. */
  get [Symbol.toStringTag](): string {
    return "Module";
  }

  /** @internal Known to other copies of the library. */
  get [BRAND](): symbol {
    return COPY;
  }

  /** The computation. Results belong to the caller's scope. */
  abstract forward(...args: A): R;

  /**
   * Runs `forward` with recorded ops labelled by this module. Call this, not `forward`, from
   * outside.
   */
  call(...args: A): R {
    this.#checkLive();
    return labelled(null, this.#label(currentLayer()), () => {
      const result = fresh(this.forward(...args), args);
      tensorState().moduleObserver?.(this, args, result);
      return result;
    });
  }

  #checkLive(): void {
    if (this.#disposed)
      throw new TenureError(
        this.constructor.name,
        "expected a live module, got one that was disposed; make a new one",
      );
  }

  #label(outer: string): string {
    if (outer === "") for (const [name, child] of this.namedModules()) child.#path = name;
    return this.#path === "" ? this.constructor.name : this.#path;
  }

  /** True while training: dropout drops. */
  get training(): boolean {
    return this.#training;
  }
  /** Whether `dispose` was called. */
  get isDisposed(): boolean {
    return this.#disposed;
  }

  // === Owning ===

  /**
   * Takes a tensor as a parameter: it leaves its scope, belongs to the module, and gets
   * `requiresGrad`.
   */
  protected parameter(name: string, value: Tensor): Tensor {
    this.#own(name, value, this.#parameters, "param");
    value.requiresGrad = true;
    return value;
  }

  /** Takes a tensor as a buffer: saved and moved with the module, but not trained. */
  protected buffer(name: string, value: Tensor): Tensor {
    this.#own(name, value, this.#buffers, "state");
    return value;
  }

  /**
   * Takes a module as a child: for `#private` fields, which nothing outside can see, and for names
   * that are no field's. `this.#net = this.registerModule("net", new Linear(2, 3))`.
   */
  protected registerModule<M extends AnyModule>(name: string, module: M): M {
    if (!((module as unknown) instanceof Module))
      throw new ArgumentError(
        this.constructor.name,
        `a module for ${describeValue(name)}`,
        describeValue(module),
        "pass a layer, for example new ReLU()",
      );
    if (typeof (name as unknown) !== "string" || name === "" || name.includes("."))
      throw new ArgumentError(
        this.constructor.name,
        "a name without dots",
        describeValue(name),
        'pass for example "encoder"',
      );
    if (this.#modules.has(name))
      throw new ArgumentError(
        this.constructor.name,
        "a name that is not taken",
        JSON.stringify(name),
        "dispose the old module first",
      );
    this.#modules.set(name, module);
    return module;
  }

  #own(name: string, value: Tensor, slots: Map<string, Tensor>, role: "param" | "state"): void {
    const { keeper } = live(value, this.constructor.name);
    const refuse = (expected: string, remedy: string): never => {
      throw new ArgumentError(this.constructor.name, expected, JSON.stringify(name), remedy);
    };
    if (name === "" || name.includes("."))
      refuse("a name without dots", 'pass for example "weight"');
    if (this.#parameters.has(name) || this.#buffers.has(name))
      refuse("a name that is not taken", "dispose the old value first");
    if (keeper !== null)
      throw new TenureError(
        this.constructor.name,
        `expected a tensor nobody else keeps, got ${live(value, name).describe()} of ${keeper}; ` +
          "register an alias() to share it",
      );
    adopt(value, "module", this.constructor.name, role);
    if (value.name === "") value.name = name;
    slots.set(name, value);
  }

  // === Finding ===

  /**
   * Child modules by field name, in order of assignment, then the registered ones. Arrays of
   * modules count by index. `#private` fields cannot be seen: register those.
   */
  *children(): Generator<[name: string, module: AnyModule]> {
    for (const [name, value] of Object.entries(this) as [string, unknown][]) {
      if (value instanceof Module) yield [name, value];
      else if (Array.isArray(value))
        for (const [i, item] of (value as unknown[]).entries())
          if (item instanceof Module) yield [`${name}.${i}`, item];
    }
    yield* this.#modules;
  }

  /**
   * This module ("") and all below it by dotted path. A module used twice appears once.
   * @throws ArgumentError for a prefix that is no string, for what is no set, and for modules that
   *   another copy of the library made
   */
  *namedModules(
    prefix = "",
    seen: Set<AnyModule> = new Set(),
  ): Generator<[name: string, module: AnyModule]> {
    checkArgument("namedModules", "prefix", prefix, { type: "text" });
    if (!((seen as unknown) instanceof Set))
      throw new ArgumentError(
        "namedModules",
        "a set of modules seen before",
        describeValue(seen),
        "leave it out",
      );
    if (seen.has(this)) return;
    seen.add(this);
    refuseForeign(this);
    yield [prefix, this];
    for (const [name, child] of this.children())
      yield* child.namedModules(prefix === "" ? name : `${prefix}.${name}`, seen);
  }

  /**
   * Parameters by dotted name, this module's first. Weights tied by `alias()` appear once, under
   * their first name. Borrowed: the module keeps them.
   */
  *namedParameters(): Generator<[name: string, parameter: Tensor]> {
    const seen = new Set<unknown>();
    for (const [name, p] of this.#allParameters()) {
      const identity = identityOf(p);
      if (identity !== null && seen.has(identity)) continue;
      seen.add(identity);
      yield [name, p];
    }
  }
  *#allParameters(): Generator<[name: string, parameter: Tensor]> {
    for (const [path, module] of this.namedModules())
      for (const [name, p] of module.#parameters) yield [path === "" ? name : `${path}.${name}`, p];
  }
  /** Parameters, in the order of `namedParameters`. Borrowed: the module keeps them. */
  parameters(): Tensor[] {
    return [...this.namedParameters()].map(([, p]) => p);
  }

  /** Buffers by dotted name. */
  *namedBuffers(): Generator<[name: string, buffer: Tensor]> {
    for (const [path, module] of this.namedModules())
      for (const [name, b] of module.#buffers) yield [path === "" ? name : `${path}.${name}`, b];
  }

  /** All that `stateDict` saves: parameters, tied ones under each name, and buffers. */
  #values(): [name: string, value: Tensor][] {
    return [...this.#allParameters(), ...this.namedBuffers()];
  }

  // === Mode and state ===

  /** Sets training mode here and below. */
  train(on = true): this {
    for (const [, module] of this.namedModules()) {
      if (module.#training !== on) recordingChanged();
      module.#training = on;
    }
    return this;
  }
  /** Sets evaluation mode here and below: dropout passes through, batch norm uses averages. */
  eval(): this {
    return this.train(false);
  }

  /**
   * Converts all float parameters and buffers, here and below, to another float dtype, with the
   * gradients they have. Values and tied weights stay tied, optimizers keep working on the same
   * tensors: one that holds float16 parameters keeps float32 masters of them. An `alias()` from
   * before keeps the old values.
   * @throws DTypeError for a dtype that is no float, or float16 on a device without shader-f16;
   *   then nothing has changed
   */
  to(dtype: "float32" | "float16"): this {
    this.#checkLive();
    if (!isFloat(checkDType("to", dtype)))
      throw new DTypeError(
        "to",
        "float32 or float16 for a module",
        dtype,
        "convert single tensors with their to()",
      );
    using _ = newDisposeScope("to");
    const tensors = this.#values()
      .map(([, t]) => t)
      .filter((t) => isFloat(t.dtype) && t.dtype !== dtype);
    convertInPlace(tensors, dtype);
    for (const p of this.parameters()) {
      const { grad } = p;
      if (grad !== null) p.grad = grad.to(dtype);
    }
    return this;
  }
  /** To float16. @throws DTypeError on a device without shader-f16 */
  half(): this {
    return this.to("float16");
  }
  /** To float32. */
  float(): this {
    return this.to("float32");
  }

  /** Drops the gradients of all parameters. */
  zeroGrad(): void {
    calledAs("zeroGrad", () => {
      for (const p of this.parameters()) p.grad = null;
    });
  }

  /**
   * Fresh aliases of all parameters and buffers, owned by the current scope, outside the graph; or
   * `using state = model.stateDict()`.
   */
  stateDict(): StateDict {
    const state = new StateMap();
    calledAs("stateDict", () => {
      for (const [name, t] of this.#values()) state.set(name, t.detach());
    });
    return state;
  }

  /**
   * Checks what `loadStateDict` would load, and changes nothing.
   * @throws ArgumentError listing missing and unexpected names (with `strict`, the default),
   *   ShapeError for a shape that differs
   */
  checkStateDict(given: LoadableState, options: LoadOptions = {}): StateDifference {
    return calledAs("checkStateDict", () => {
      const { strict } = readOptions("checkStateDict", options, loadOptions);
      return checkState(entriesOf(given), new Map(this.#values()), strict);
    });
  }

  /**
   * Overwrites parameters and buffers in place; shapes must match, and names unless `strict` is
   * false. Checks everything before it changes anything.
   * @returns the names that were not in `state`, and those in it that the module does not have
   * @throws ArgumentError listing missing and unexpected names, ShapeError for a shape that differs
   */
  loadStateDict(given: LoadableState, options: LoadOptions = {}): StateDifference {
    const state = entriesOf(given);
    const result = calledAs("loadStateDict", () => this.checkStateDict(state, options));
    using _ = newDisposeScope("loadStateDict");
    // All sources exist before the first target is touched: a disposed tensor or data of another
    // length changes nothing.
    const pairs: [target: Tensor, source: Tensor][] = [];
    for (const [name, target] of this.#values()) {
      const source = state.get(name);
      if (source === undefined) continue;
      const given =
        source instanceof Tensor
          ? source.detach()
          : tensor(source.data, { shape: source.shape, dtype: target.dtype });
      pairs.push([target, given]);
    }
    noGrad(() => {
      for (const [target, source] of pairs) target.copy_(source);
    });
    return result;
  }

  /**
   * Runs a part of a constructor. When it throws, nobody gets the module, so what it owns by then
   * is freed: `this.build(() => { this.a = new Linear(2, 3); … })`.
   */
  protected build<T>(make: () => T): T {
    try {
      return make();
    } catch (error) {
      this.dispose();
      throw error;
    }
  }

  /** Frees parameters, buffers and child modules. A second call does nothing. */
  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    recordingChanged(); // a function that calls it must hear of it
    for (const t of [...this.#parameters.values(), ...this.#buffers.values()]) t.dispose();
    for (const [, child] of this.children()) child.dispose();
  }
  /** `using model = …` frees the module. */
  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** Base of layers that take one tensor: anything else is refused before `forward`. */
export abstract class Layer extends Module {
  override call(x: Tensor): Tensor {
    if (!this.isDisposed) live(x, this.constructor.name); // one that was disposed says that
    return super.call(x);
  }
}
