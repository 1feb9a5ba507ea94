/**
 * What a compiled function is called with: its tensors in order, and a text that says everything
 * else of them, shapes and dtypes included. Calls with equal texts may be repetitions of each
 * other. Called by compiled.ts; borrows the tensors.
 *
 * Objects of classes are told apart by what they are and by their own fields: tensors among these
 * are arguments, other objects are taken for what they are, and not looked into.
 */
import { BRAND } from "../base/copies.ts";
import { HANDLE } from "../ownership/handle.ts";
import type { TensorHandle } from "../tensor/body.ts";
import { Tensor } from "../tensor/tensor.ts";
import { tape } from "../tensor/tape.ts";

/** The arguments of one call. */
export interface Given {
  readonly key: string;
  /** The tensors among them, at any depth, in the order they are met. */
  readonly handles: readonly TensorHandle[];
  /** Why the call cannot be a repetition; null where it may be. */
  readonly refusal: string | null;
}

/** Reads arguments; gives objects that are no plain containers a number of their own. */
export class Arguments {
  readonly #numbers = new WeakMap<object, number>();
  #last = 0;

  /** The arguments of a call. Never throws: what is wrong with them is the function's to say. */
  read(args: readonly unknown[]): Given {
    const reading = new Reading((value) => this.#numberOf(value));
    for (const arg of args) reading.add(arg);
    const { gradMode, castMode, recomputing } = tape();
    const modes = `${gradMode.enabled ? 1 : 0}${castMode.enabled ? 1 : 0}${recomputing ? 1 : 0}`;
    return { key: modes + reading.key, handles: reading.handles, refusal: reading.refusal };
  }

  #numberOf(value: object): number {
    let known = this.#numbers.get(value);
    if (known === undefined) this.#numbers.set(value, (known = ++this.#last));
    return known;
  }
}

function isHostData(value: object): boolean {
  const shared = typeof SharedArrayBuffer !== "undefined" && value instanceof SharedArrayBuffer;
  return ArrayBuffer.isView(value) || value instanceof ArrayBuffer || shared;
}

/** One pass over the arguments of a call. */
class Reading {
  key = "";
  readonly handles: TensorHandle[] = [];
  refusal: string | null = null;
  readonly #numberOf: (value: object) => number;
  readonly #open: object[] = [];

  constructor(numberOf: (value: object) => number) {
    this.#numberOf = numberOf;
  }

  add(value: unknown): void {
    if (value instanceof Tensor) this.#tensor(value[HANDLE]);
    else if (typeof value === "function") this.key += `,f${this.#numberOf(value)}`;
    else if (typeof value === "object" && value !== null) this.#object(value);
    else if (typeof value === "string") this.key += `,${JSON.stringify(value)}`;
    else if (typeof value === "symbol") this.refusal ??= "an argument is a symbol; pass a string";
    else this.key += Object.is(value, -0) ? ",-0" : `,${typeof value} ${String(value)}`;
  }

  #tensor(handle: TensorHandle): void {
    const { storage, layout, dtype, gradient } = handle;
    if (!handle.isLive) this.refusal ??= "an argument was disposed";
    const { handles } = this;
    let first = 0;
    while (first < handles.length && handles[first]?.storage !== storage) first++;
    const strides = layout.contiguous ? "" : `s${layout.strides.join("x")}`;
    this.key += `,t${first}${dtype}${layout.shape.join("x")}${strides}@${layout.offset}/`;
    this.key += storage.bytes;
    if (gradient !== null) {
      if (gradient.node !== null && tape().gradMode.enabled)
        this.refusal ??= "an argument is part of a graph; detach() it, or compile what made it too";
      this.key +=
        gradient.node === null ? `l${handles.findIndex((h) => h.gradient === gradient)}` : "g";
    }
    handles.push(handle);
  }

  #object(value: object): void {
    const at = this.#open.indexOf(value);
    if (at !== -1) {
      this.key += `,^${at}`;
      return;
    }
    const proto: unknown = Object.getPrototypeOf(value);
    this.#open.push(value);
    if (Array.isArray(value)) this.#list("[", value);
    else if (value instanceof Set) this.#list("S", value);
    else if (value instanceof Map) this.#list("M", [...(value as Map<unknown, unknown>)].flat());
    else if (proto === Object.prototype || proto === null)
      this.#list("{", Object.entries(value).flat());
    else if (value instanceof Date) this.key += `,d${value.getTime()}`;
    else this.#instance(value);
    this.#open.pop();
  }

  /** An object of a class. Tensors of a module are its own. */
  #instance(value: object): void {
    if (isHostData(value)) {
      this.refusal ??= "an argument is data of the host, which may change; pass a tensor";
      return;
    }
    this.key += `,o${this.#numberOf(value)}`;
    for (const [name, field] of Object.entries(value) as [string, unknown][]) {
      const isTensor = field instanceof Tensor;
      if (isTensor && BRAND in value) continue;
      this.key += `.${JSON.stringify(name)}`;
      if (typeof field !== "object" || field === null || isTensor) this.add(field);
      else this.key += `,o${this.#numberOf(field)}`;
    }
  }

  #list(kind: string, items: Iterable<unknown>): void {
    this.key += `,${kind}`;
    for (const item of items) this.add(item);
    this.key += "]";
  }
}
