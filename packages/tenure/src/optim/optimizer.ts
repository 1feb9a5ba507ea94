/**
 * Optimizers: they own their state tensors, borrow parameters, and update both in place with one kernel per parameter. Scalars that change from step to step
 * are per-call inputs, so a schedule never compiles anything. Called by training loops.
 */
import { ArgumentError, GradError, TenureError } from "../base/errors.ts";
import { formatShape, sameShape } from "../base/shape.ts";
import { noGrad } from "../autograd/mode.ts";
import { HANDLE } from "../ownership/handle.ts";
import { detachHandle } from "../ownership/scope.ts";
import { zeros } from "../tensor/create.ts";
import { labelled, stepEnded } from "../tensor/step.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** Checks a hyperparameter. @throws ArgumentError when it lies outside [low, high) */
export function checkNumber(op: string, what: string, value: number, low: number, high = Infinity): number {
  if (!(value >= low && value < high)) throw new ArgumentError(op, `${what} in [${low}, ${high})`, String(value));
  return value;
}

export abstract class Optimizer implements Disposable {
  /** Learning rate; may be changed at any time. */
  lr: number;
  readonly #parameters: readonly Tensor[];
  readonly #state = new Map<Tensor, Map<string, Tensor>>();
  #steps = 0;
  #disposed = false;

  constructor(parameters: Iterable<Tensor>, lr: number) {
    this.#parameters = [...new Set(parameters)];
    this.lr = checkNumber(this.constructor.name, "a learning rate", lr, 0);
    if (this.#parameters.length === 0) throw new ArgumentError(this.constructor.name, "at least one parameter", "none", "pass module.parameters()");
    for (const p of this.#parameters) if (!p.requiresGrad || !p.isLeaf) throw new GradError(this.constructor.name, `expected parameters that are leaves with requiresGrad, got ${p.toString()}; pass module.parameters()`);
  }

  get parameters(): readonly Tensor[] { return this.#parameters; }
  /** Steps taken so far. */
  get steps(): number { return this.#steps; }

  /** Updates one parameter in place from its gradient, which is borrowed. */
  protected abstract update(parameter: Tensor, gradient: Tensor, step: number): void;

  /** Updates every parameter that has a gradient. */
  step(): void {
    if (this.#disposed) throw new TenureError(this.constructor.name, "expected a live optimizer, got one that was disposed; make a new one");
    this.#steps++;
    noGrad(() => {
      for (const p of this.#parameters) {
        using g = p.grad;
        if (g !== null) labelled("apply", p.name, () => { this.update(p, g, this.#steps); });
      }
    });
    stepEnded();
  }

  /** Drops all gradients. */
  zeroGrad(): void { for (const p of this.#parameters) p.grad = null; }

  /** A state tensor of the parameter's shape, zeros at first. Belongs to the optimizer. */
  protected state(parameter: Tensor, name: string): Tensor {
    let slots = this.#state.get(parameter);
    if (slots === undefined) this.#state.set(parameter, (slots = new Map<string, Tensor>()));
    const known = slots.get(name);
    if (known !== undefined) return known;
    const made = zeros(parameter.shape, { dtype: parameter.dtype, name: `${parameter.name}.${name}` });
    detachHandle(made[HANDLE]);
    made[HANDLE].keeper = this.constructor.name;
    made[HANDLE].storage.role = "state";
    slots.set(name, made);
    return made;
  }

  /** Names of the state tensors this optimizer keeps per parameter. */
  protected abstract readonly stateNames: readonly string[];

  /** Number of steps, learning rate, and fresh aliases of the state tensors by `index.name`, owned by the current scope. */
  stateDict(): { steps: number; lr: number; tensors: Map<string, Tensor> } {
    const tensors = new Map<string, Tensor>();
    this.#parameters.forEach((p, i) => { for (const [name, t] of this.#state.get(p) ?? []) tensors.set(`${i}.${name}`, t.detach()); });
    return { steps: this.#steps, lr: this.lr, tensors };
  }

  /** Continues where `stateDict` was taken. @throws ArgumentError for names that do not belong here, before anything changes */
  loadStateDict(state: { readonly steps: number; readonly lr: number; readonly tensors: ReadonlyMap<string, Tensor> }): void {
    const targets: [Tensor, string, Tensor][] = [];
    for (const [key, source] of state.tensors) {
      const [index = "", name = ""] = key.split("."), p = this.#parameters[Number(index)];
      if (p === undefined || !this.stateNames.includes(name)) throw new ArgumentError("loadStateDict", `state of ${this.#parameters.length} parameters with ${this.stateNames.join(", ") || "nothing"}`, key, "check that the file belongs to this optimizer");
      if (!sameShape(p.shape, source.shape)) throw new ArgumentError("loadStateDict", `${key} of shape ${formatShape(p.shape)}`, formatShape(source.shape));
      targets.push([p, name, source]);
    }
    noGrad(() => { for (const [p, name, source] of targets) this.state(p, name).copy_(source).dispose(); });
    this.#steps = state.steps;
    this.lr = state.lr;
  }

  /** Frees the state. Parameters are their module's. A second call does nothing. */
  dispose(): void {
    this.#disposed = true;
    for (const slots of this.#state.values()) for (const t of slots.values()) t.dispose();
    this.#state.clear();
  }
  [Symbol.dispose](): void { this.dispose(); }
}
