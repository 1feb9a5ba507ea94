/**
 * Optimizers: they own their state tensors, borrow parameters, and update both in place with one
 * kernel per parameter. Scalars that change from step to step are per-call inputs, so a schedule
 * never compiles anything. A float16 parameter has a float32 master here, which the rule updates
 * and the parameter is the rounding of: steps smaller than half a digit of float16 add up instead
 * of getting lost. Called by training loops.
 */
import "../base/polyfills.ts";
import { TenureError, calledAs } from "../base/errors.ts";
import { at } from "../base/access.ts";
import { type OptionRow, checkArgument, readOptions } from "../base/options.ts";
import { noGrad } from "../autograd/mode.ts";
import { phase } from "../ownership/log.ts";
import { newDisposeScope } from "../ownership/open.ts";
import { full, tensor } from "../tensor/create.ts";
import {
  again,
  hostNumber,
  labelled,
  recordingChanged,
  stepEnded,
  whenDiscarded,
} from "../tensor/step.ts";
import { Tensor } from "../tensor/tensor.ts";
import {
  type GroupSpec,
  type ParameterGroup,
  type ParametersOf,
  groupsOf,
  parametersOf,
} from "./groups.ts";
import { Masters, masterName } from "./masters.ts";
import { learningRate } from "./scalars.ts";
import { StateSlots } from "./state-tensors.ts";
import { type LoadableState, type OptimizerState, checkState } from "./state.ts";

/**
 * Updates a parameter for the `step`th time by its gradient, as `update` does; false, with nothing
 * done, where it has none or that takes more.
 */
export type DirectUpdate = (parameter: Tensor, step: number) => boolean;

/** Property of an optimizer: updates that need no tensor for the gradient. */
export const DIRECTLY: unique symbol = Symbol("tenure.directly");

/**
 * Base of all optimizers. `O`: the hyperparameters of a group.
 * @throws ArgumentError for parameters that are none, and for options that are unknown or out of
 *   range
 */
export abstract class Optimizer<
  O extends { readonly lr: number } = { readonly lr: number },
> implements Disposable {
  readonly #groups: ParameterGroup<O>[] = [];
  readonly #defaults: O;
  readonly #state = new StateSlots(this.constructor.name);
  readonly #counts = new Map<Tensor, number>();
  readonly #masters = new Masters(this.#state);
  #parameters: readonly Tensor[] = [];
  #steps = 0;
  #disposed = false;

  constructor(parameters: ParametersOf<O>, defaults: O) {
    this.#defaults = defaults;
    for (const spec of groupsOf(this.constructor.name, parameters)) this.#addGroup(spec);
  }

  /** @internal No plain object: Vue's `ref` and `reactive` keep it as it is. */
  get [Symbol.toStringTag](): string {
    return "Optimizer";
  }

  /** All parameters, in the order of the groups. */
  get parameters(): readonly Tensor[] {
    return this.#parameters;
  }
  /** The groups. Their hyperparameters may be changed at any time. */
  get groups(): readonly ParameterGroup<O>[] {
    hostNumber("hyperparameters of an optimizer");
    return this.#groups;
  }
  /** Steps taken so far. */
  get steps(): number {
    hostNumber("the count of an optimizer's steps");
    return this.#steps;
  }
  /** Whether `dispose` was called. */
  get isDisposed(): boolean {
    return this.#disposed;
  }

  /** Learning rate of the first group. */
  get lr(): number {
    hostNumber("the rate of an optimizer");
    return at(this.#groups, 0).lr;
  }
  /** Sets the learning rate of every group. */
  set lr(value: number) {
    checkArgument(this.constructor.name, "lr", value, learningRate);
    hostNumber("the rate of an optimizer");
    for (const group of this.#groups) (group as { lr: number }).lr = value;
  }

  /**
   * Adds parameters with hyperparameters of their own, for example layers that are unfrozen later.
   * @throws ArgumentError for parameters that are none or in a group already, GradError for one
   *   that is no leaf with a gradient
   * @example
   * ```ts
   * using head = new Linear(4, 2);
   * optimizer.addGroup({ parameters: head.parameters(), lr: 1e-3 });
   * ```
   */
  addGroup(spec: GroupSpec<O>): void {
    this.#addGroup(spec);
    recordingChanged(); // zeroGrad() does more from now on
  }

  #addGroup(spec: GroupSpec<O>): void {
    const name = this.constructor.name;
    const parameters = parametersOf(name, spec, this.#parameters);
    const given = readOptions(name, spec as object, {
      ...this.#rows(),
      parameters: { type: "any" },
    });
    const group = { ...this.#defaults, ...given, parameters } as unknown as ParameterGroup<O>;
    checkArgument(name, "lr", group.lr, learningRate);
    this.check(group);
    this.#groups.push(group);
    this.#parameters = [...this.#parameters, ...parameters];
  }

  /** Names of the hyperparameters as rows; `check` knows what their values may be. */
  #rows(): Record<string, OptionRow> {
    return Object.fromEntries(Object.keys(this.#defaults).map((key) => [key, { type: "any" }]));
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

  /** @internal What updates the parameters of a group in this step where that is simple. */
  [DIRECTLY](_group: O): DirectUpdate {
    return () => false;
  }

  /** Updates every parameter that has a gradient. */
  step(): void {
    again(this, () => {
      this.#step();
    });
  }

  #step(): void {
    if (this.#disposed)
      throw new TenureError(
        this.constructor.name,
        "expected a live optimizer, got one that was disposed; make a new one",
      );
    this.#rememberCounts();
    this.#steps++;
    phase("optimizer", () => {
      noGrad(() => {
        for (const group of this.#groups) {
          const direct = this[DIRECTLY](group);
          for (const p of group.parameters) this.#stepOf(p, group, direct);
        }
      });
    });
    stepEnded();
  }

  /** A step that is taken back takes its counts back. */
  #rememberCounts(): void {
    whenDiscarded(() => {
      const steps = this.#steps;
      const counts = [...this.#counts];
      return () => {
        this.#steps = steps;
        this.#counts.clear();
        for (const [p, count] of counts) this.#counts.set(p, count);
      };
    });
  }

  /** Updates one parameter, if it has a gradient. */
  #stepOf(p: Tensor, group: O, direct: DirectUpdate): void {
    const count = (this.#counts.get(p) ?? 0) + 1;
    if (direct(p, count)) {
      this.#counts.set(p, count);
      return;
    }
    using g = p.grad;
    if (g === null) return;
    this.#counts.set(p, count);
    labelled("apply", p.name, () => {
      if (p.dtype !== "float16") {
        this.update(p, g, count, group);
        return;
      }
      this.#masters.update(p, (master) => {
        using wide = g.to("float32");
        this.update(master, wide, count, group);
      });
    });
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
    const p = this.#masters.parameterOf(parameter);
    const known = this.#state.get(p, name);
    if (known !== undefined) return known;
    const made = full(p.shape, initial);
    this.#state.keep(p, name, made);
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
      for (const [name, t] of this.#state.entries(p)) tensors.set(`${i}.${name}`, t.detach());
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

  /**
   * Checks what `loadStateDict` would load, and changes nothing.
   * @throws ArgumentError for state that does not belong here, ShapeError for a tensor of another
   *   shape
   */
  checkStateDict(state: LoadableState<O>): void {
    calledAs("checkStateDict", () => {
      this.#check(state);
    });
  }

  #check(state: LoadableState<O>): void {
    checkState(state, {
      parameters: this.#parameters,
      groups: this.#groups.length,
      names: this.stateNames,
      hyperparameters: this.#rows(),
      namesOf: (p) => this.#namesOf(p),
    });
    for (const group of state.groups ?? []) {
      checkArgument("loadStateDict", "lr", group.lr, learningRate);
      this.check({ ...this.#defaults, ...group });
    }
    if (state.lr !== undefined) checkArgument("loadStateDict", "lr", state.lr, learningRate);
  }

  /**
   * Continues where `stateDict` was taken.
   * @throws ArgumentError for state that does not belong here, ShapeError for a tensor of another
   *   shape; then nothing has changed
   */
  loadStateDict(state: LoadableState<O>): void {
    calledAs("loadStateDict", () => {
      this.checkStateDict(state);
    });
    using _ = newDisposeScope("loadStateDict");
    // All sources exist before the first state is touched: a disposed tensor or data of another
    // length changes nothing.
    const sources = new Map<string, Tensor>();
    for (const [key, source] of state.tensors) {
      const given =
        source instanceof Tensor
          ? source.detach()
          : tensor(source.data, { shape: source.shape, dtype: "float32" });
      sources.set(key, given);
    }
    noGrad(() => {
      for (const [i, p] of this.#parameters.entries()) {
        this.#loadInto(p, i, sources);
        this.#counts.set(p, state.counts?.[i] ?? state.steps);
      }
    });
    this.#steps = state.steps;
    for (const [i, options] of state.groups?.entries() ?? []) {
      const group = at(this.#groups, i);
      for (const name of Object.keys(this.#defaults) as (keyof O)[])
        if (options[name] !== undefined) Object.assign(group, { [name]: options[name] });
    }
    if (state.groups === undefined && state.lr !== undefined) this.lr = state.lr;
  }

  /** Drops the state of parameter `i` that is not in `sources`, and copies what is. */
  #loadInto(p: Tensor, i: number, sources: ReadonlyMap<string, Tensor>): void {
    for (const [name] of this.#state.entries(p))
      if (!sources.has(`${i}.${name}`)) this.#state.drop(p, name);
    for (const name of this.#namesOf(p)) {
      const source = sources.get(`${i}.${name}`);
      if (source === undefined) continue;
      const target = name === masterName ? this.#masters.of(p) : this.state(p, name);
      target.copy_(source);
    }
    // Whichever of module and optimizer is loaded first: what fits the parameter stays.
    this.#masters.forget(p);
  }

  /** Frees the state. Parameters are their module's. A second call does nothing. */
  dispose(): void {
    this.#disposed = true;
    this.#state.dispose();
    this.#masters.clear();
  }
  /** `using optimizer = …` frees the state. */
  [Symbol.dispose](): void {
    this.dispose();
  }
}
