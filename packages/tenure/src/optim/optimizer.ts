/**
 * Optimizers: they own their state tensors, borrow parameters, and update both in place with one
 * kernel per parameter. Scalars that change from step to step are per-call inputs, so a schedule
 * never compiles anything. A float16 parameter has a float32 master here, which the rule updates
 * and the parameter is the rounding of: steps smaller than half a digit of float16 add up instead
 * of getting lost. Called by training loops.
 */
import { ArgumentError, GradError, TenureError } from "../base/errors.ts";
import { checkOptions, describeValue } from "../base/options.ts";
import { formatShape, sameShape } from "../base/shape.ts";
import { noGrad } from "../autograd/mode.ts";
import { HANDLE } from "../ownership/handle.ts";
import { detachHandle, newDisposeScope } from "../ownership/scope.ts";
import { followParameter } from "../ops/updates.ts";
import { full, tensor } from "../tensor/create.ts";
import { labelled, stepEnded, whenDiscarded } from "../tensor/step.ts";
import { Tensor, update } from "../tensor/tensor.ts";

/** Name of the state that holds a float16 parameter in float32. */
const masterName = "master_param";

/** Checks a hyperparameter. @throws ArgumentError when it lies outside [low, high) */
export function checkNumber(
  op: string,
  what: string,
  value: number,
  low: number,
  high = Infinity,
): number {
  if (typeof (value as unknown) !== "number" || !(value >= low && value < high))
    throw new ArgumentError(
      op,
      `${what} in [${low}, ${high})`,
      describeValue(value),
      "pass a number in that range",
    );
  return value;
}

/**
 * Parameters that share hyperparameters. The numbers may be changed between steps; the list of
 * parameters stays.
 */
export type ParameterGroup<O> = { readonly parameters: readonly Tensor[] } & {
  -readonly [K in keyof O]: O[K];
};
/** What a group is made from: what it leaves out comes from the optimizer's options. */
export type GroupSpec<O> = { readonly parameters: Iterable<Tensor> } & Partial<O>;
/** Parameters for one group, or several groups. */
export type ParametersOf<O> = Iterable<Tensor> | Iterable<GroupSpec<O>>;

/** A state tensor in host memory, as a file holds it. */
export interface HostState {
  readonly data: ArrayBufferView;
  readonly shape: readonly number[];
}

/** Everything an optimizer needs to continue. Plain numbers, but for the tensors. */
export interface OptimizerState<O, T = Tensor> {
  /** Steps taken. */
  readonly steps: number;
  /** The first group's learning rate. */
  readonly lr: number;
  /** Hyperparameters per group. */
  readonly groups: readonly O[];
  /** Steps taken per parameter: one without a gradient takes none. */
  readonly counts: readonly number[];
  /** `index.name`, with PyTorch's names: `0.exp_avg`. */
  readonly tensors: ReadonlyMap<string, T>;
}

/** State to load: a file of an older run may lack the parts with defaults. */
export type LoadableState<O> = Pick<OptimizerState<O, Tensor | HostState>, "tensors" | "steps"> &
  Partial<OptimizerState<O, Tensor | HostState>>;

/** Base of all optimizers. `O`: the hyperparameters of a group. */
export abstract class Optimizer<
  O extends { readonly lr: number } = { readonly lr: number },
> implements Disposable {
  readonly #groups: ParameterGroup<O>[] = [];
  readonly #defaults: O;
  readonly #state = new Map<Tensor, Map<string, Tensor>>();
  readonly #counts = new Map<Tensor, number>();
  /** The parameter of each master. */
  readonly #parameterOf = new WeakMap<Tensor, Tensor>();
  /** What version of a float16 parameter its master has seen. */
  readonly #seen = new Map<Tensor, number>();
  #parameters: readonly Tensor[] = [];
  #steps = 0;
  #disposed = false;

  constructor(parameters: ParametersOf<O>, defaults: O) {
    this.#defaults = defaults;
    const name = this.constructor.name,
      given = parameters as unknown;
    if (typeof (given as { parameters?: unknown } | null | undefined)?.parameters === "function")
      throw new ArgumentError(
        name,
        "the parameters of a module",
        "the module itself",
        "pass module.parameters()",
      );
    if (typeof given !== "object" || given === null || !(Symbol.iterator in given))
      throw new ArgumentError(
        name,
        "a list of parameters, or of groups",
        describeValue(given),
        "pass module.parameters()",
      );
    const items = [...(parameters as Iterable<Tensor | GroupSpec<O>>)];
    if (items.length === 0)
      throw new ArgumentError(name, "at least one parameter", "none", "pass module.parameters()");
    if (items[0] instanceof Tensor)
      this.addGroup({ parameters: items as readonly Tensor[] } as unknown as GroupSpec<O>);
    else for (const item of items) this.addGroup(item as GroupSpec<O>);
  }

  /** All parameters, in the order of the groups. */
  get parameters(): readonly Tensor[] {
    return this.#parameters;
  }
  /** The groups. Their hyperparameters may be changed at any time. */
  get groups(): readonly ParameterGroup<O>[] {
    return this.#groups;
  }
  /** Steps taken so far. */
  get steps(): number {
    return this.#steps;
  }
  get isDisposed(): boolean {
    return this.#disposed;
  }

  /** Learning rate of the first group. */
  get lr(): number {
    return this.#groups[0]!.lr;
  }
  /** Sets the learning rate of every group. */
  set lr(value: number) {
    checkNumber(this.constructor.name, "a learning rate", value, 0);
    for (const group of this.#groups) (group as { lr: number }).lr = value;
  }

  /**
   * Adds parameters with hyperparameters of their own, for example layers that are unfrozen later.
   */
  addGroup(spec: GroupSpec<O>): void {
    const name = this.constructor.name;
    if (
      typeof (spec as { parameters?: Iterable<Tensor> } | undefined)?.parameters?.[
        Symbol.iterator
      ] !== "function"
    )
      throw new ArgumentError(
        name,
        "tensors, or groups { parameters, … }",
        typeof spec,
        "pass module.parameters()",
      );
    const listed = [...spec.parameters],
      parameters: Tensor[] = [],
      leaves = new Set<unknown>(),
      taken = new Set<unknown>(this.#parameters.map((p) => p[HANDLE].gradient));
    if (listed.length === 0)
      throw new ArgumentError(
        name,
        "at least one parameter in every group",
        "none",
        "pass module.parameters()",
      );
    for (const p of listed) {
      if (!(p instanceof Tensor))
        throw new ArgumentError(
          name,
          "tensors as parameters",
          describeValue(p),
          "pass module.parameters()",
        );
      if (!p.requiresGrad || !p.isLeaf)
        throw new GradError(
          name,
          `expected parameters that are leaves with requiresGrad, got ${p.toString()}; ${p.isLeaf ? "leave frozen ones out with filter((p) => p.requiresGrad), and addGroup() them when they learn again" : "pass module.parameters()"}`,
        );
      const leaf = p[HANDLE].gradient; // shared by aliases: tied weights are one parameter
      if (taken.has(leaf))
        throw new ArgumentError(
          name,
          "each parameter in one group",
          `${p.toString()} in two`,
          "leave it out of one of them",
        );
      if (leaves.has(leaf)) continue;
      leaves.add(leaf);
      parameters.push(p);
    }
    checkOptions(name, spec, ["parameters", ...Object.keys(this.#defaults)]);
    const given = Object.fromEntries(
      Object.entries(spec).filter(([, value]) => value !== undefined),
    );
    const group = { ...this.#defaults, ...given, parameters } as unknown as ParameterGroup<O>;
    checkNumber(name, "a learning rate", group.lr, 0);
    this.check(group);
    this.#groups.push(group);
    this.#parameters = [...this.#parameters, ...parameters];
  }

  /**
   * Checks the hyperparameters of a new group. Called by the constructor: fields of a subclass are
   * not set yet. @throws ArgumentError
   */
  protected check(_options: O): void {
    /* nothing to check */
  }

  /**
   * Updates one parameter in place from its gradient, which is borrowed. `step` counts this
   * parameter's updates from 1. For a float16 parameter it gets the float32 master and a float32
   * gradient.
   */
  protected abstract update(parameter: Tensor, gradient: Tensor, step: number, options: O): void;

  /** Updates every parameter that has a gradient. */
  step(): void {
    if (this.#disposed)
      throw new TenureError(
        this.constructor.name,
        "expected a live optimizer, got one that was disposed; make a new one",
      );
    whenDiscarded(() => {
      const steps = this.#steps,
        counts = [...this.#counts];
      return () => {
        this.#steps = steps;
        this.#counts.clear();
        for (const [p, count] of counts) this.#counts.set(p, count);
      };
    });
    this.#steps++;
    noGrad(() => {
      for (const group of this.#groups) {
        for (const p of group.parameters) {
          using g = p.grad;
          if (g === null) continue;
          const count = (this.#counts.get(p) ?? 0) + 1;
          this.#counts.set(p, count);
          labelled("apply", p.name, () => {
            if (p.dtype === "float16") this.#updateMaster(p, g, count, group);
            else this.update(p, g, count, group);
          });
        }
      }
    });
    stepEnded();
  }

  #updateMaster(p: Tensor, gradient: Tensor, count: number, group: O): void {
    const inStep = this.#seen.get(p) === p[HANDLE].storage.version,
      master = this.#master(p);
    using wide = gradient.to("float32");
    this.update(master, wide, count, group);
    using _written = p.copy_(master);
    this.#seen.set(p, p[HANDLE].storage.version);
    whenDiscarded(() => () => {
      if (inStep && !p.isDisposed) this.#seen.set(p, p[HANDLE].storage.version);
      else this.#seen.delete(p);
    });
  }

  /**
   * The float32 master of a float16 parameter. Where somebody else has written the parameter since,
   * it follows.
   */
  #master(p: Tensor): Tensor {
    const known = this.#state.get(p)?.get(masterName),
      { version } = p[HANDLE].storage;
    if (known !== undefined && this.#seen.get(p) === version) return known;
    this.#seen.set(p, version);
    if (known !== undefined) {
      update(followParameter, [known, p], undefined);
      return known;
    }
    const made = this.#keep(p, masterName, p.to("float32"));
    this.#parameterOf.set(made, p);
    return made;
  }

  /** Drops all gradients. */
  zeroGrad(): void {
    for (const p of this.#parameters) p.grad = null;
  }

  /**
   * A float32 state tensor of the parameter's shape, every element `initial` at first. Belongs to
   * the optimizer.
   */
  protected state(parameter: Tensor, name: string, initial = 0): Tensor {
    const p = this.#parameterOf.get(parameter) ?? parameter;
    return this.#state.get(p)?.get(name) ?? this.#keep(p, name, full(p.shape, initial));
  }

  #keep(p: Tensor, name: string, made: Tensor): Tensor {
    let slots = this.#state.get(p);
    if (slots === undefined) this.#state.set(p, (slots = new Map<string, Tensor>()));
    made.name = `${p.name}.${name}`;
    detachHandle(made[HANDLE]);
    made[HANDLE].keeper = this.constructor.name;
    made[HANDLE].storage.role = "state";
    slots.set(name, made);
    whenDiscarded(() => () => {
      if (slots.get(name) === made) {
        slots.delete(name);
        made.dispose();
      }
    });
    return made;
  }

  /** Names of the state tensors this optimizer may keep per parameter. */
  protected abstract readonly stateNames: readonly string[];

  /**
   * All that is needed to continue bit by bit. The tensors are fresh aliases, owned by the current
   * scope.
   */
  stateDict(): OptimizerState<O> {
    const tensors = new Map<string, Tensor>();
    this.#parameters.forEach((p, i) => {
      for (const [name, t] of this.#state.get(p) ?? []) tensors.set(`${i}.${name}`, t.detach());
    });
    const groups = this.#groups.map(({ parameters: _, ...options }) => options as unknown as O);
    return {
      steps: this.#steps,
      lr: this.lr,
      groups,
      counts: this.#parameters.map((p) => this.#counts.get(p) ?? 0),
      tensors,
    };
  }

  #namesOf(p: Tensor): readonly string[] {
    return p.dtype === "float16" ? [masterName, ...this.stateNames] : this.stateNames;
  }

  /** @throws ArgumentError for state that does not belong here. Changes nothing. */
  checkStateDict(state: LoadableState<O>): void {
    const n = this.#parameters.length,
      fix = "check that the file belongs to this optimizer";
    if (
      typeof (state as unknown) !== "object" ||
      (state as unknown) === null ||
      !((state.tensors as unknown) instanceof Map)
    )
      throw new ArgumentError(
        "loadStateDict",
        "the state of an optimizer",
        describeValue(state),
        "pass what stateDict() gave, or what a checkpoint holds",
      );
    for (const [key, source] of state.tensors) {
      const [, index = "", name = ""] = /^(\d+)\.(.*)$/.exec(key) ?? [],
        p = this.#parameters[Number(index)];
      if (index === "" || p === undefined || !this.#namesOf(p).includes(name))
        throw new ArgumentError(
          "loadStateDict",
          `state of ${n} parameters with ${this.stateNames.join(", ") || "nothing"}`,
          key,
          fix,
        );
      if (
        !(source instanceof Tensor) &&
        !ArrayBuffer.isView((source as HostState | null | undefined)?.data)
      )
        throw new ArgumentError(
          "loadStateDict",
          `a tensor or a typed array with a shape for ${key}`,
          describeValue(source),
          fix,
        );
      if (!sameShape(p.shape, source.shape))
        throw new ArgumentError(
          "loadStateDict",
          `${key} of shape ${formatShape(p.shape)}`,
          formatShape(source.shape),
          fix,
        );
    }
    if (!Number.isSafeInteger(state.steps) || state.steps < 0)
      throw new ArgumentError("loadStateDict", "a number of steps", String(state.steps), fix);
    if (state.groups !== undefined && state.groups.length !== this.#groups.length)
      throw new ArgumentError(
        "loadStateDict",
        `${this.#groups.length} parameter groups`,
        String(state.groups.length),
        "make the same groups before loading",
      );
    if (
      state.counts !== undefined &&
      (state.counts.length !== n || state.counts.some((c) => !Number.isSafeInteger(c) || c < 0))
    )
      throw new ArgumentError(
        "loadStateDict",
        `step counts of ${n} parameters`,
        `[${state.counts.join(",")}]`,
        fix,
      );
    for (const group of state.groups ?? []) {
      checkNumber("loadStateDict", "a learning rate", group.lr, 0);
      this.check({ ...this.#defaults, ...group });
    }
  }

  /**
   * Continues where `stateDict` was taken. @throws ArgumentError for state that does not belong
   * here, before anything changes
   */
  loadStateDict(state: LoadableState<O>): void {
    this.checkStateDict(state);
    using _ = newDisposeScope("loadStateDict");
    // All sources exist before the first state is touched: a disposed tensor or data of another
    // length changes nothing.
    const sources = new Map(
      [...state.tensors].map(([key, source]) => {
        return [
          key,
          source instanceof Tensor
            ? source.detach()
            : tensor(source.data, { shape: source.shape, dtype: "float32" }),
        ] as const;
      }),
    );
    noGrad(() => {
      this.#parameters.forEach((p, i) => {
        const slots = this.#state.get(p);
        if (slots !== undefined)
          for (const [name, t] of slots)
            if (!state.tensors.has(`${i}.${name}`)) {
              t.dispose();
              slots.delete(name);
            }
        for (const name of this.#namesOf(p)) {
          const source = sources.get(`${i}.${name}`);
          if (source !== undefined)
            (name === masterName ? this.#master(p) : this.state(p, name)).copy_(source);
        }
        // whichever of module and optimizer is loaded first: what fits the parameter stays
        this.#seen.delete(p);
        this.#counts.set(p, state.counts?.[i] ?? state.steps);
      });
    });
    this.#steps = state.steps;
    state.groups?.forEach((options, i) => {
      Object.assign(this.#groups[i]!, options, { parameters: this.#groups[i]!.parameters });
    });
    if (state.groups === undefined && state.lr !== undefined) this.lr = state.lr;
  }

  /** Frees the state. Parameters are their module's. A second call does nothing. */
  dispose(): void {
    this.#disposed = true;
    for (const slots of this.#state.values()) for (const t of slots.values()) t.dispose();
    this.#state.clear();
    this.#seen.clear();
  }
  [Symbol.dispose](): void {
    this.dispose();
  }
}
