/**
 * What every tensor has: facts that stay readable after disposal, and the methods by which it is
 * owned. The bottom of the chain of classes that `Tensor` is made of; each family of methods
 * extends the one before it, so that an editor shows them all on `Tensor`.
 */
import "../../base/polyfills.ts";
import { BRAND, COPY } from "../../base/copies.ts";
import type { DType } from "../../base/dtype.ts";
import { ArgumentError } from "../../base/errors.ts";
import { describeValue } from "../../base/options.ts";
import type { Shape } from "../../base/shape.ts";
import { HANDLE, register } from "../../ownership/handle.ts";
import { detachHandle, moveHandleTo, moveHandleToOuter } from "../../ownership/moves.ts";
import { DisposeScope } from "../../ownership/scope.ts";
import type { TensorHandle } from "../body.ts";
import { WRAP, type Wrapping, live } from "../call.ts";
import { tape } from "../tape.ts";

/** Property that Node, Bun and Deno ask how to show an object. */
const INSPECT: unique symbol = Symbol.for("nodejs.util.inspect.custom");

/** What copies and comparisons of tensors say. */
const STAYS =
  "a tensor of tenure, which stays on the device of its thread; compare or send await t.data(), " +
  "with t.shape";

/** Facts and ownership. */
export abstract class OwnershipMethods implements Disposable, Wrapping {
  #handle: TensorHandle;
  /**
   * @internal All that others see of a tensor. `structuredClone` and `postMessage` cannot clone a
   *   symbol, and throw; to what compares properties no two tensors are equal.
   */
  readonly stays: symbol = Symbol(STAYS);

  /** @internal Registers the handle with the current scope. */
  constructor(handle: TensorHandle, scope: DisposeScope | null) {
    this.#handle = handle;
    register(handle, this, scope);
  }

  /** @internal No field, which test runners would compare and print with all that it leads to. */
  get [HANDLE](): TensorHandle {
    return this.#handle;
  }
  /** @internal */
  set [HANDLE](handle: TensorHandle) {
    this.#handle = handle;
  }

  /** @internal No plain object: Vue's `ref` and `reactive` keep it as it is. */
  get [Symbol.toStringTag](): string {
    return "Tensor";
  }

  /** @internal Known to other copies of the library. */
  get [BRAND](): symbol {
    return COPY;
  }

  /** @internal A tensor for a fresh handle, owned by the current scope. */
  abstract [WRAP](handle: TensorHandle): this;

  /** Dimensions, outermost first. */
  get shape(): Shape {
    return this[HANDLE].layout.shape;
  }

  /** What kind of number the elements are. */
  get dtype(): DType {
    return this[HANDLE].dtype;
  }

  /** Number of elements. */
  get size(): number {
    return this[HANDLE].layout.size;
  }

  /** Number of dimensions. */
  get rank(): number {
    return this[HANDLE].layout.shape.length;
  }

  /** Whether this handle has ended. The storage may live on under others. */
  get isDisposed(): boolean {
    return !this[HANDLE].isLive;
  }

  /** Shown in errors and reports. */
  get name(): string {
    return this[HANDLE].name;
  }
  /** Names it, and its gradient with it. */
  set name(name: string) {
    this[HANDLE].name = name;
    if (this[HANDLE].gradient !== null) this[HANDLE].gradient.name = name;
  }

  /** `tensor "w" float32 [2,3]`. Contents need `await t.toArray()`. */
  toString(): string {
    return `${this[HANDLE].describe()}${this.isDisposed ? " (disposed)" : ""}`;
  }

  /**
   * The text of `toString`: contents do not come at once. Save them with `toSafetensors`, or read
   * them with `await t.toArray()`.
   */
  toJSON(): string {
    return this.toString();
  }

  /** @internal What `console.log` shows in Node, Bun and Deno. */
  [INSPECT](): string {
    return this.toString();
  }

  /**
   * `${t}` is the text of `toString`.
   * @throws ArgumentError for `a + b`, `a * 2` and `a < b`, which JavaScript has no way to compute
   */
  [Symbol.toPrimitive](hint: string): string {
    if (hint === "string") return this.toString();
    throw new ArgumentError(
      "Tensor",
      "a method such as a.add(b), a.mul(2) or a.lt(b)",
      `an operator on ${this.toString()}`,
      "for a number write await a.item(), for text String(a)",
    );
  }

  /**
   * Another handle on the same storage, owned by the current scope. Differentiable identity is
   * shared. It has the same shape.
   */
  alias(): this {
    const h = live(this, "alias");
    tape().watcher?.uses(h);
    return this[WRAP](h.alias());
  }

  /**
   * Ends this handle. The bytes go when no other handle, graph node or read needs them. A second
   * call does nothing.
   */
  dispose(): void {
    this[HANDLE].dispose();
  }

  /** `dispose`, at the end of the block of a `using` declaration. */
  [Symbol.dispose](): void {
    this[HANDLE].dispose();
  }

  /**
   * Hands the tensor to the scope around the one that owns it now. @returns the tensor itself
   * @example
   * ```ts
   * function twice(x: Tensor): Tensor {
   *   using _scope = newDisposeScope();
   *   return x.add(x).moveToOuter();
   * }
   * using y = twice(x);
   * ```
   */
  moveToOuter(): this {
    moveHandleToOuter(this[HANDLE]);
    return this;
  }

  /**
   * Hands the tensor to a scope, or to whoever owns another tensor (nobody, if nobody does).
   * @returns the tensor itself
   * @throws ArgumentError for what is neither
   */
  moveTo(target: DisposeScope | this): this {
    if (!(target instanceof OwnershipMethods) && !(target instanceof DisposeScope))
      throw new ArgumentError(
        "moveTo",
        "a dispose scope or a tensor",
        describeValue(target),
        "pass the scope that should own it; detachFromScope() takes it out of all",
      );
    moveHandleTo(this[HANDLE], target instanceof OwnershipMethods ? target[HANDLE] : target);
    return this;
  }

  /**
   * Takes the tensor out of its scope: only you dispose it now. (`detach()` is autograd's.)
   * @returns the tensor itself
   */
  detachFromScope(): this {
    this[HANDLE].assertLive("detachFromScope");
    detachHandle(this[HANDLE]);
    return this;
  }
}
