/**
 * `Tensor`: what users hold. An alias of a storage with its own handle; every op returns a fresh
 * one, owned by the current scope or by whoever declares it with `using`. Methods check and record,
 * nothing runs until somebody reads. The methods that compute are in methods/, a family a file,
 * each a class that extends the one before it; reading and autograd are here. All tensors come from
 * `wrap`, everything computed goes through `call`.
 */
import { type HostArray, dtypeBytes, isFloat } from "../base/dtype.ts";
import { ArgumentError, DTypeError, GradError, ShapeError } from "../base/errors.ts";
import { type OptionTable, checkFunction, describeValue, readOptions } from "../base/options.ts";
import { formatShape } from "../base/shape.ts";
import { HANDLE, handleOf, register } from "../ownership/handle.ts";
import { currentScope } from "../ownership/open.ts";
import { copy as copyOp } from "../ops/casting.ts";
import { TensorHandle } from "./body.ts";
import { WRAP, live, only } from "./call.ts";
import { type GPUBuffer, checkTarget, copyBytesOut, readBytes, reading } from "./dispatch.ts";
import { type NestedArray, decode, nested, preview } from "./host.ts";
import { LinalgMethods } from "./methods/linalg.ts";
import { runOp } from "./run.ts";
import { tensorState } from "./tensor-state.ts";
import { type BackwardOptions, Gradient, tape } from "./tape.ts";

export { call, live, update } from "./call.ts";
export type { NestedArray } from "./host.ts";
export type { BackwardOptions } from "./tape.ts";

/** `createGraph` is for second derivatives: see `grad`. */
const backwardOptions = {
  retainGraph: { type: "flag" },
  createGraph: { type: "flag" },
} satisfies OptionTable<BackwardOptions & { readonly createGraph?: boolean }>;

/** Where in a buffer of the program a tensor goes. */
export interface BufferPlace {
  /** In bytes, a multiple of 4; 0 unless given. */
  readonly offset?: number;
}

const bufferPlace = {
  offset: { type: "integer", range: "[0, Infinity)", default: 0 },
} as const satisfies OptionTable<BufferPlace>;

/** A tensor, or a number that stands for a 0-d tensor. */
export type TensorLike = Tensor | number;

/** A multi-dimensional array on the device. Make one with `tensor`, `zeros`, … or by computing. */
export class Tensor extends LinalgMethods {
  /** @internal */
  override [WRAP](handle: TensorHandle): this {
    return wrap(handle) as this;
  }

  // === Reading ===

  /**
   * The elements in row-major order. Pins the storage at once, so the tensor may be disposed right
   * after the call. float16 comes back as Float32Array, bool as Uint8Array of 0 and 1. Rejects with
   * DisposedError, or with the device's error.
   */
  data(): Promise<HostArray> {
    return reading(this.#data());
  }

  async #data(): Promise<HostArray> {
    const h = live(this, "data");
    if (h.layout.size === 0) return decode(h.dtype, new ArrayBuffer(0), 0);
    const bytes = dtypeBytes(h.dtype),
      first = h.layout.offset * bytes;
    if (h.layout.contiguous && first % 4 === 0)
      return decode(
        h.dtype,
        await readBytes(h.storage, first, h.layout.size * bytes),
        h.layout.size,
      );
    const copy = only(runOp(copyOp, [h], undefined));
    const bits = readBytes(copy.storage, 0, h.layout.size * bytes);
    copy.discard();
    return decode(h.dtype, await bits, h.layout.size);
  }

  /**
   * The only element, as a number. Pins like `data`.
   * Rejects with ShapeError when there is not exactly one element.
   */
  item(): Promise<number> {
    return reading(this.#item());
  }

  async #item(): Promise<number> {
    live(this, "item");
    if (this.size !== 1)
      throw new ShapeError(
        "item",
        "a tensor with one element",
        formatShape(this.shape),
        "reduce it first, or use data()",
      );
    const [element = NaN] = await this.#data();
    return element;
  }

  /** Nested arrays, a plain number for a 0-d tensor, booleans for bool. Pins like `data`. */
  toArray(): Promise<NestedArray> {
    return reading(this.#toArray());
  }

  async #toArray(): Promise<NestedArray> {
    live(this, "toArray");
    return nested(await this.#data(), this.shape, this.dtype);
  }

  /**
   * Copies the elements, in row-major order, into a buffer of your own on the device that
   * `init({ gpuDevice })` was given. Nothing comes to the host. Resolves once the copy is submitted
   * and the device has taken it: what you submit then sees it. Pins like `data`; the buffer stays
   * yours. float16 takes 2 bytes an element, bool 4: 0 or 1.
   *
   * Rejects with ArgumentError for a buffer that is mapped, too small or made without COPY_DST,
   * DeviceLostError without such a device, DisposedError, or the device's error.
   */
  copyToBuffer(buffer: GPUBuffer, options?: BufferPlace): Promise<void> {
    return reading(this.#copyToBuffer(buffer, options));
  }

  async #copyToBuffer(buffer: GPUBuffer, options?: BufferPlace): Promise<void> {
    const h = live(this, "copyToBuffer"),
      { offset } = readOptions("copyToBuffer", options, bufferPlace);
    const bytes = h.layout.size * dtypeBytes(h.dtype),
      first = h.layout.offset * dtypeBytes(h.dtype),
      target = { buffer, offset };
    checkTarget("copyToBuffer", target, bytes);
    if (bytes === 0) return;
    if (h.layout.contiguous && first % 4 === 0) {
      await copyBytesOut(h.storage, first, bytes, target);
      return;
    }
    const copy = only(runOp(copyOp, [h], undefined));
    const copied = copyBytesOut(copy.storage, 0, bytes, target);
    copy.discard();
    await copied;
  }

  /** A readable rendering of the contents, shortened like NumPy's. Pins like `data`. */
  async print(): Promise<string> {
    live(this, "print");
    const text = this.toString();
    return `${text}\n${preview(await this.data(), this.shape, this.dtype)}`;
  }

  /** Whether gradients flow to this tensor. */
  get requiresGrad(): boolean {
    return this[HANDLE].gradient !== null;
  }
  /**
   * Only leaves can be switched. @throws GradError for a computed tensor, DTypeError for integers
   */
  set requiresGrad(wanted: boolean) {
    const h = live(this, "requiresGrad");
    if (typeof (wanted as unknown) !== "boolean")
      throw new ArgumentError(
        "requiresGrad",
        "true or false",
        describeValue(wanted),
        "set a boolean",
      );
    if (wanted === this.requiresGrad) return;
    if (wanted && !isFloat(h.dtype))
      throw new DTypeError("requiresGrad", "a float tensor", h.dtype, "cast it to float32");
    if (h.gradient !== null && h.gradient.node !== null)
      throw new GradError(
        "requiresGrad",
        `expected a leaf, got ${h.describe()}, which an op made; use detach()`,
      );
    const gradient = wanted ? new Gradient(null) : null;
    h.storage.leaf = wanted;
    tape().changes++;
    tape().watcher?.switches(h);
    if (gradient !== null) gradient.name = h.name;
    h.setGradient(gradient);
  }

  /** True unless an op that takes part in autograd made it. */
  get isLeaf(): boolean {
    return this[HANDLE].gradient?.node == null;
  }

  /** Whether a gradient has been accumulated, without making a tensor. */
  get hasGrad(): boolean {
    const { gradient } = this[HANDLE];
    if (gradient !== null) tape().watcher?.readGrad(gradient);
    return gradient?.grad != null;
  }

  /**
   * A fresh alias of the accumulated gradient, owned by the current scope; null when there is none.
   */
  get grad(): Tensor | null {
    const h = live(this, "grad");
    const { gradient } = h;
    tape().watcher?.uses(h);
    if (gradient !== null) tape().watcher?.readGrad(gradient);
    const grad = gradient?.grad ?? null;
    if (grad === null) return null;
    const handle = new TensorHandle(grad.storage, grad.layout, grad.dtype, null);
    handle.name = this.name === "" ? "" : `${this.name}.grad`;
    return wrap(handle);
  }
  /**
   * Replaces or (null) drops the accumulated gradient. The tensor keeps its own reference. A
   * float16 tensor may have a float32 gradient. Without requiresGrad there is none to drop.
   */
  set grad(value: Tensor | null) {
    const h = live(this, "grad");
    tape().watcher?.uses(h);
    if (h.gradient === null && value === null) return;
    if (h.gradient === null)
      throw new GradError(
        "grad",
        `expected a tensor with requiresGrad, got ${h.describe()}; set requiresGrad = true first`,
      );
    if (value === null) {
      h.gradient.setGrad(null);
      return;
    }
    const g = live(value, "grad");
    if (g.dtype !== h.dtype && !(h.dtype === "float16" && g.dtype === "float32"))
      throw new DTypeError("grad", `a ${h.dtype} gradient`, g.dtype, "convert it with to()");
    if (formatShape(value.shape) !== formatShape(this.shape))
      throw new ShapeError(
        "grad",
        `a gradient of shape ${formatShape(this.shape)}`,
        formatShape(value.shape),
        "reshape it",
      );
    h.gradient.setGrad({
      storage: g.storage.retain(),
      layout: g.layout,
      dtype: g.dtype,
      version: g.storage.version,
    });
  }

  /**
   * The same storage outside the graph: no gradient flows through the result. For leaving a dispose
   * scope see `detachFromScope`. The shape stays.
   */
  detach(): Tensor {
    const h = live(this, "detach");
    tape().watcher?.uses(h);
    return wrap(new TensorHandle(h.storage, h.layout, h.dtype, null));
  }

  /**
   * Calls `hook` with this tensor's gradient in every backward pass, once it is complete. What it
   * returns takes the gradient's place; the gradient itself is freed afterwards, so keep an
   * `alias()`. Disposing the result removes the hook. The gradient has this tensor's shape.
   * @throws GradError for a tensor without gradient, ArgumentError for what is no function
   */
  registerHook(hook: (gradient: Tensor) => Tensor | undefined): Disposable {
    const { gradient } = live(this, "registerHook");
    if (gradient === null)
      throw new GradError(
        "registerHook",
        `expected a tensor with requiresGrad, got ${this.toString()}; ` +
          "set requiresGrad = true first",
      );
    checkFunction("registerHook", hook, "pass (gradient) => …");
    (gradient.hooks ??= new Set()).add(hook);
    tape().changes++;
    return {
      [Symbol.dispose]: () => {
        gradient.hooks?.delete(hook);
        tape().changes++;
      },
    };
  }

  /**
   * Accumulates the gradients of this tensor into every leaf with `requiresGrad` that it was
   * computed from.
   * @param gradient of the same shape; may be left out for a single element
   * @throws GradError when there is no graph, or it was freed by an earlier backward without
   *   `retainGraph`, ArgumentError for a gradient that is no tensor
   * @example
   * ```ts
   * using w = tensor([1, 2], { requiresGrad: true });
   * using loss = w.square().sum();
   * loss.backward();
   * console.log(await w.grad?.toArray()); // → [ 2, 4 ]
   * ```
   */
  backward(gradient?: Tensor, options?: BackwardOptions): void {
    live(this, "backward");
    if (gradient !== undefined && !(handleOf(gradient) instanceof TensorHandle))
      throw new ArgumentError(
        "backward",
        "a gradient that is a tensor",
        describeValue(gradient),
        "leave it out for a single element; options come second: backward(undefined, { … })",
      );
    const given = readOptions("backward", options, backwardOptions);
    tensorState().backward(this[HANDLE], gradient?.[HANDLE] ?? null, given);
  }
}

/** A tensor for a fresh handle, owned by the current scope. */
export function wrap(handle: TensorHandle): Tensor {
  return new Tensor(handle, currentScope());
}

/**
 * @internal Lets a tensor that no scope owns stand for another storage, as a module does that
 *   changes the dtype of its parameters. Takes over `handle`; the old one ends, but what was
 *   recorded with it keeps its meaning.
 */
export function replaceHandle(t: Tensor, handle: TensorHandle): void {
  const before = t[HANDLE];
  handle.name = before.name;
  handle.keeper = before.keeper;
  handle.keeperKind = before.keeperKind;
  t[HANDLE] = handle;
  register(handle, before.wrapper === null ? null : t, null); // a young wrapper is known already
  before.dispose();
}
