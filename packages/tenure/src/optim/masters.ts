/**
 * The float32 masters of float16 parameters (Micikevicius et al. 2018): the rule updates the
 * master, and the parameter is its rounding, so that steps smaller than half a digit of float16 add
 * up instead of getting lost. Called by the optimizer, whose state the masters are.
 */
import { followParameter } from "../ops/updates.ts";
import { writesTo } from "../tensor/keep.ts";
import { whenDiscarded } from "../tensor/step.ts";
import { type Tensor, update } from "../tensor/tensor.ts";
import type { StateSlots } from "./state-tensors.ts";

/** Name of the state that holds a float16 parameter in float32. */
export const masterName = "master_param";

/** Knows which master belongs to which parameter, and whether it is up to date. */
export class Masters {
  readonly #slots: StateSlots;
  readonly #parameterOf = new WeakMap<Tensor, Tensor>();
  /** How often a parameter had been written when its master was last made equal to it. */
  readonly #seen = new Map<Tensor, number>();

  constructor(slots: StateSlots) {
    this.#slots = slots;
  }

  /** The parameter of a master; any other tensor is its own. */
  parameterOf(t: Tensor): Tensor {
    return this.#parameterOf.get(t) ?? t;
  }

  /**
   * The master of a float16 parameter, made when it is first asked for. Where somebody else has
   * written the parameter since, it follows.
   */
  of(p: Tensor): Tensor {
    const known = this.#slots.get(p, masterName);
    if (known !== undefined && this.#seen.get(p) === writesTo(p)) return known;
    this.#seen.set(p, writesTo(p));
    if (known !== undefined) {
      update(followParameter, [known, p], undefined);
      return known;
    }
    const made = p.to("float32");
    this.#slots.keep(p, masterName, made);
    this.#parameterOf.set(made, p);
    return made;
  }

  /** Updates the master of a parameter, and rounds the parameter from it. */
  update(p: Tensor, change: (master: Tensor) => void): void {
    const equal = this.#seen.get(p) === writesTo(p);
    const master = this.of(p);
    change(master);
    using _written = p.copy_(master);
    this.#seen.set(p, writesTo(p));
    whenDiscarded(() => () => {
      if (equal && !p.isDisposed) this.#seen.set(p, writesTo(p));
      else this.#seen.delete(p);
    });
  }

  /** The next use makes the master follow the parameter. */
  forget(p: Tensor): void {
    this.#seen.delete(p);
  }
  /** Forgets all parameters. */
  clear(): void {
    this.#seen.clear();
  }
}
