/**
 * The state tensors of an optimizer: by parameter, then by name. They belong to it, whatever scope
 * was current when they were made, and are freed with it.
 */
import { adopt } from "../tensor/keep.ts";
import { whenDiscarded } from "../tensor/step.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** State tensors by parameter and name. */
export class StateSlots {
  readonly #slots = new Map<Tensor, Map<string, Tensor>>();
  readonly #keeper: string;

  /** @param keeper the optimizer's name, for error messages and reports */
  constructor(keeper: string) {
    this.#keeper = keeper;
  }

  /** The state of a parameter under a name, if there is one. Borrowed. */
  get(p: Tensor, name: string): Tensor | undefined {
    return this.#slots.get(p)?.get(name);
  }

  /** Names and state tensors of a parameter. Borrowed. */
  entries(p: Tensor): readonly (readonly [name: string, state: Tensor])[] {
    return [...(this.#slots.get(p) ?? [])];
  }

  /** Takes a new state tensor. A step that is taken back frees what was made in it. */
  keep(p: Tensor, name: string, made: Tensor): void {
    const slots = this.#slots.get(p) ?? new Map<string, Tensor>();
    this.#slots.set(p, slots);
    made.name = `${p.name}.${name}`;
    adopt(made, "optimizer", this.#keeper, "state");
    slots.set(name, made);
    whenDiscarded(() => () => {
      if (slots.get(name) === made) this.drop(p, name);
    });
  }

  /** Frees one state tensor. */
  drop(p: Tensor, name: string): void {
    const slots = this.#slots.get(p);
    slots?.get(name)?.dispose();
    slots?.delete(name);
  }

  /** Frees all. */
  dispose(): void {
    for (const slots of this.#slots.values()) for (const t of slots.values()) t.dispose();
    this.#slots.clear();
  }
}
