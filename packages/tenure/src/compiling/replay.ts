/**
 * Does a recording again: the same ops on the storages of this call, the same changes of gradients,
 * fresh random numbers, and the steps of optimizers themselves, which know their counts and rates.
 * Called by compiled.ts. Results belong to the current scope; what is made on the way belongs to
 * the replay until nobody needs it.
 */
import { TensorHandle } from "../tensor/body.ts";
import {
  type Operand,
  type Storage,
  beforeOp,
  freshStorage,
  labels,
  record,
  redirectReads,
} from "../tensor/dispatch.ts";
import { nextRandomScalars } from "../tensor/generator.ts";
import { duplicate } from "../tensor/run.ts";
import type { Gradient } from "../tensor/tape.ts";
import { type Tensor, wrap } from "../tensor/tensor.ts";
import { internal } from "../base/errors.ts";
import type { Given } from "./given.ts";
import { filled } from "./outcome.ts";
import type { Act, Leaf, PlacedView, Recording } from "./recording.ts";

/** Why a recording does not fit a call that has the key of its own; null when it does. */
export function misfit(recording: Recording, given: Given): string | null {
  for (const { storage } of given.handles) {
    if (recording.outside.has(storage)) return "an argument shares memory with what it uses itself";
    if (storage.trouble() !== null) return "an argument has lost its contents";
  }
  for (const { isLive } of recording.handles)
    if (!isLive) return "a tensor that it uses was disposed";
  for (const storage of recording.outside) {
    if (storage.refs === 0) return "a tensor that it uses was disposed";
    if (storage.trouble() !== null) return "a tensor that it uses has lost its contents";
  }
  for (const { leaf, view } of recording.leaves) {
    const { grad } = gradientOf(leaf, given);
    if ((grad === null) !== (view === null))
      return grad === null ? "a leaf has no gradient yet" : "a leaf has a gradient already";
  }
  const gradients = new Set<Storage>();
  for (const [, place] of recording.given) {
    if (place.kind !== "gradient") continue;
    const { grad } = gradientOf(place.leaf, given);
    if (grad?.storage.bytes !== place.bytes || !grad.layout.contiguous || grad.layout.offset !== 0)
      return "a leaf has a gradient of another kind";
    if (
      gradients.has(grad.storage) ||
      recording.outside.has(grad.storage) ||
      given.handles.some((h) => h.storage === grad.storage)
    )
      return "a gradient shares memory with something else that it uses";
    gradients.add(grad.storage);
    if (grad.storage.trouble() !== null) return "a gradient has lost its contents";
  }
  return null;
}

function gradientOf(leaf: Leaf, given: Given): Gradient {
  const gradient = leaf.gradient ?? given.handles[leaf.argument]?.gradient;
  if (gradient == null) throw internal("a recording names a leaf that its call does not have");
  return gradient;
}

/** One repetition of a recording that fits. */
export class Replay {
  readonly #recording: Recording;
  readonly #given: Given;
  /** By place; those made in it, as far as they were needed yet. */
  readonly #storages: (Storage | undefined)[];
  /** Made and still needed, with one reference each. */
  readonly #held = new Set<number>();
  /** Random numbers drawn so far. */
  readonly draws: (readonly number[])[] = [];

  constructor(recording: Recording, given: Given) {
    this.#recording = recording;
    this.#given = given;
    this.#storages = recording.fixed.slice();
    for (const [i, place] of recording.given)
      this.#storages[i] =
        place.kind === "argument"
          ? given.handles[place.index]?.storage
          : gradientOf(place.leaf, given).grad?.storage;
  }

  /** Does what `perform` says. @returns what the function would have */
  run(perform: () => void): unknown {
    const now = labels();
    const { phase, layer } = now;
    try {
      perform();
      return filled(this.#recording.pattern, this.#results());
    } finally {
      now.phase = phase;
      now.layer = layer;
      for (const place of this.#held) this.storage(place).release();
    }
  }

  /** Does one act as it was recorded. */
  do(act: Act): void {
    switch (act.kind) {
      case "op":
        this.#record(act);
        return;
      case "draw":
        this.draws.push(nextRandomScalars());
        return;
      case "gradient":
        this.#setGrad(act);
        return;
      case "again":
        act.act();
    }
  }

  #record(act: Extract<Act, { kind: "op" }>): void {
    const { op, attrs, draw, phase, layer } = act;
    const inputs = this.#operands(act.inputs);
    beforeOp(op.name, inputs);
    const outputs = this.#operands(act.outputs);
    const { inplaceOf } = op.facts;
    if (inplaceOf !== undefined)
      for (const i of inplaceOf) {
        const target = i === -1 ? undefined : inputs[i]?.storage;
        if (target !== undefined) redirectReads(target, () => duplicate(target));
      }
    const numbers = this.draws[draw];
    const scalars = numbers === undefined ? act.scalars : [...numbers, ...act.scalars.slice(3)];
    const now = labels();
    now.phase = phase;
    now.layer = layer;
    record(op, inputs, outputs, attrs, scalars);
    for (const place of act.lastOf) {
      this.#held.delete(place);
      this.storage(place).release();
    }
  }

  #operands(views: readonly PlacedView[]): Operand[] {
    const operands = new Array<Operand>(views.length);
    for (let i = 0; i < views.length; i++) {
      const { place, layout, dtype } = views[i]!;
      operands[i] = { storage: this.storage(place), layout, dtype };
    }
    return operands;
  }

  /** The storage at a place, made when it is first asked for. */
  storage(index: number): Storage {
    const known = this.#storages[index];
    if (known !== undefined) return known;
    const place = this.#recording.places[index];
    if (place?.kind !== "made") throw internal(`a recording has no storage at place ${index}`);
    const made = freshStorage(place.bytes, place.role).retain();
    this.#storages[index] = made;
    this.#held.add(index);
    return made;
  }

  /** A leaf gets a gradient again, that of this call. */
  #setGrad({ leaf, grad }: Extract<Act, { kind: "gradient" }>): void {
    const gradient = gradientOf(leaf, this.#given);
    if (grad === null) {
      gradient.setGrad(null);
      return;
    }
    const storage = this.storage(grad.place).retain();
    const version = storage.version - grad.behind;
    gradient.setGrad({ storage, layout: grad.layout, dtype: grad.dtype, version });
  }

  /** The storage of a place, if there is one yet. */
  known(index: number): Storage | undefined {
    return this.#storages[index];
  }

  /** Takes a storage for one that the function makes, and that is still needed. */
  revive(index: number, storage: Storage): void {
    storage.revive();
    this.#storages[index] = storage;
    this.#held.add(index);
  }

  #results(): Tensor[] {
    return this.#recording.results.map(({ place, layout, dtype, name }) => {
      const handle = new TensorHandle(this.storage(place), layout, dtype, null);
      handle.name = name;
      return wrap(handle);
    });
  }
}
