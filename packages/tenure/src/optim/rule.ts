/**
 * Optimizers whose update of a parameter is one op: they say which, with which states and numbers,
 * and it is recorded without tensors in between. A subclass with an `update` of its own is called
 * as ever. Extended by the rules of this folder; parameters, gradients and states are borrowed.
 */
import type { AnyOp } from "../ops/op.ts";
import { updateDirectly } from "../tensor/direct.ts";
import { labelled } from "../tensor/step.ts";
import { type Tensor, update } from "../tensor/tensor.ts";
import { DIRECTLY, type DirectUpdate, Optimizer } from "./optimizer.ts";

/** The update of one parameter. */
export interface UpdateRule {
  /** Takes parameter, gradient and states, and writes parameter and states in place. */
  readonly op: AnyOp;
  readonly attrs?: unknown;
  /** Names of the states the op takes. */
  readonly states: readonly string[];
  /** What fresh states are filled with; 0 if left out. */
  readonly initial?: number;
  /** As the op's uniforms hold them. */
  readonly scalars: readonly number[];
}

/** Property of an optimizer: its rule. */
export const RULE: unique symbol = Symbol("tenure.rule");

/** Base of the optimizers with a rule. `O`: the hyperparameters of a group. */
export abstract class RuleOptimizer<O extends { readonly lr: number }> extends Optimizer<O> {
  /** The update of a parameter that is updated for the `step`th time. */
  abstract [RULE](step: number, options: O): UpdateRule;

  protected update(p: Tensor, g: Tensor, step: number, options: O): void {
    const rule = this[RULE](step, options);
    update(rule.op, [p, g, ...this.#statesOf(p, rule)], rule.attrs, rule.scalars);
  }

  /** @internal */
  override [DIRECTLY](group: O): DirectUpdate {
    if (this.update !== RuleOptimizer.prototype.update) return () => false;
    let known: UpdateRule | null = null;
    let knownFor = 0; // most parameters of a group have been updated equally often
    return (p, step) => {
      if (!p.hasGrad || p.isDisposed || p.dtype === "float16") return false;
      if (known === null || knownFor !== step) known = this[RULE]((knownFor = step), group);
      const rule = known;
      return labelled("apply", p.name, () =>
        updateDirectly(rule.op, p, this.#statesOf(p, rule), rule.attrs, rule.scalars),
      );
    };
  }

  #statesOf(p: Tensor, { states, initial }: UpdateRule): Tensor[] {
    return states.map((name) => this.state(p, name, initial));
  }
}
