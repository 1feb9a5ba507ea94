/**
 * `Tensor`: what users hold. An alias of a storage with its own handle; every op returns a fresh
 * one, owned by the current scope or by whoever declares it with `using`. Methods check and record,
 * nothing runs until somebody reads. All tensors come from `wrap`, everything computed goes through
 * `call`.
 */
import { f32Bits } from "../base/bits.ts";
import {
  type DType,
  type HostArray,
  checkDType,
  dtypeBytes,
  isFloat,
  promote,
} from "../base/dtype.ts";
import { ArgumentError, DTypeError, GradError, ShapeError, internal } from "../base/errors.ts";
import { checkFunction, checkOptions, describeValue } from "../base/options.ts";
import { type Shape, formatShape, normalizeAxes, normalizeAxis } from "../base/shape.ts";
import { currentScope } from "../ownership/current.ts";
import { HANDLE, type Handle, handleOf, register } from "../ownership/handle.ts";
import { scoped } from "../ownership/scoped.ts";
import { DisposeScope, detachHandle, moveHandleTo, moveHandleToOuter } from "../ownership/scope.ts";
import * as E from "../ops/elementwise.ts";
import type { AnyOp, OpDef } from "../ops/op.ts";
import * as M from "../ops/elementwise.ts";
import { matmul } from "../ops/matmul.ts";
import * as R from "../ops/reduce.ts";
import { logSoftmax, softmax } from "../ops/softmax.ts";
import * as V from "../ops/views.ts";
import { readBytes, reading } from "../runtime/execute.ts";
import { TensorHandle } from "./body.ts";
import { maker } from "./door.ts";
import { decode, fits, integerRange, nested, numberWord, preview } from "./host.ts";
import * as X from "./indexing.ts";
import * as S from "./statistics.ts";
import { Gradient } from "./tape.ts";
import { runOp } from "./run.ts";

/** Nested arrays of numbers, as `toArray` gives them. */
export type NestedArray = number | boolean | NestedArray[];
/** A tensor, or a number that stands for a 0-d tensor. */
export type TensorLike = Tensor | number;
type Axes = number | readonly number[] | null;

/** Extra arguments of `backward`. */
export interface BackwardOptions {
  /**
   * Keep what the graph saved, so that backward can run again. For second derivatives see `grad(fn,
   * { createGraph: true })`.
   */
  readonly retainGraph?: boolean;
}

/** Backward pass, installed by autograd/: tensors know of it, not how it works. */
export const engine: {
  backward: (root: Tensor, gradient: Tensor | undefined, options: BackwardOptions) => void;
} = {
  backward: () => {
    throw internal("autograd is not installed");
  },
};

/** A multi-dimensional array on the device. Make one with `tensor`, `zeros`, … or by computing. */
export class Tensor implements Disposable {
  /** @internal */
  readonly [HANDLE]: TensorHandle;

  /** @internal Registers the handle with the current scope. */
  constructor(handle: TensorHandle, scope: DisposeScope | null) {
    this[HANDLE] = handle;
    register(handle, this, scope);
  }

  // === Looking: legal also after disposal ===

  /** Dimensions, outermost first. */
  get shape(): Shape {
    return this[HANDLE].layout.shape;
  }
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
  get isDisposed(): boolean {
    return !this[HANDLE].isLive;
  }
  /** Shown in errors and reports. */
  get name(): string {
    return this[HANDLE].name;
  }
  set name(name: string) {
    this[HANDLE].name = name;
    if (this[HANDLE].gradient !== null) this[HANDLE].gradient.name = name;
  }

  /** `tensor "w" float32 [2,3]`. Contents need `await t.toArray()`. */
  toString(): string {
    return `${this[HANDLE].describe()}${this.isDisposed ? " (disposed)" : ""}`;
  }

  // === Ownership ===

  /**
   * Another handle on the same storage, owned by the current scope. Differentiable identity is
   * shared.
   */
  alias(): this {
    const h = live(this, "alias");
    const other = new TensorHandle(h.storage, h.layout, h.dtype, h.gradient);
    other.version = h.version;
    other.name = h.name;
    return wrap(other) as this;
  }

  /**
   * Ends this handle. The bytes go when no other handle, graph node or read needs them. A second
   * call does nothing.
   */
  dispose(): void {
    this[HANDLE].dispose();
  }
  [Symbol.dispose](): void {
    this[HANDLE].dispose();
  }

  /** Hands the tensor to the scope around the one that owns it now. */
  moveToOuter(): this {
    moveHandleToOuter(this[HANDLE]);
    return this;
  }

  /** Hands the tensor to a scope, or to whoever owns another tensor (nobody, if nobody does). */
  moveTo(target: DisposeScope | Tensor): this {
    if (!(target instanceof Tensor) && !(target instanceof DisposeScope))
      throw new ArgumentError(
        "moveTo",
        "a dispose scope or a tensor",
        describeValue(target),
        "pass the scope that should own it; detachFromScope() takes it out of all",
      );
    moveHandleTo(this[HANDLE], target instanceof Tensor ? target[HANDLE] : target);
    return this;
  }

  /** Takes the tensor out of its scope: only you dispose it now. (`detach()` is autograd's.) */
  detachFromScope(): this {
    this[HANDLE].assertLive("detachFromScope");
    detachHandle(this[HANDLE]);
    return this;
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
    const [copy] = runOp(E.copy, [h], undefined);
    const bits = readBytes(copy!.storage, 0, h.layout.size * bytes);
    copy!.discard();
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
    return (await this.#data())[0]!;
  }

  /** Nested arrays, a plain number for a 0-d tensor, booleans for bool. Pins like `data`. */
  toArray(): Promise<NestedArray> {
    return reading(this.#toArray());
  }

  async #toArray(): Promise<NestedArray> {
    return nested(await this.#data(), this.shape, this.dtype);
  }

  /** A readable rendering of the contents, shortened like NumPy's. Pins like `data`. */
  async print(): Promise<string> {
    const text = this.toString();
    return `${text}\n${preview(await this.data(), this.shape, this.dtype)}`;
  }

  // === Autograd ===

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
    if (gradient !== null) gradient.name = h.name;
    h.setGradient(gradient);
  }
  /** True unless an op that takes part in autograd made it. */
  get isLeaf(): boolean {
    return this[HANDLE].gradient?.node == null;
  }
  /** Whether a gradient has been accumulated, without making a tensor. */
  get hasGrad(): boolean {
    return this[HANDLE].gradient?.grad != null;
  }
  /**
   * A fresh alias of the accumulated gradient, owned by the current scope; null when there is none.
   */
  get grad(): Tensor | null {
    const grad = live(this, "grad").gradient?.grad ?? null;
    if (grad === null) return null;
    const handle = new TensorHandle(grad.storage, grad.layout, grad.dtype, null);
    handle.name = this.name === "" ? "" : `${this.name}.grad`;
    return wrap(handle);
  }
  /**
   * Replaces or (null) drops the accumulated gradient. The tensor keeps its own reference. A
   * float16 tensor may have a float32 gradient.
   */
  set grad(value: Tensor | null) {
    const h = live(this, "grad");
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
   * scope see `detachFromScope`.
   */
  detach(): Tensor {
    const h = live(this, "detach");
    return wrap(new TensorHandle(h.storage, h.layout, h.dtype, null));
  }

  /**
   * Calls `hook` with this tensor's gradient in every backward pass, once it is complete. What it
   * returns takes the gradient's place; the gradient itself is freed afterwards, so keep an
   * `alias()`. Disposing the result removes the hook.
   */
  registerHook(hook: (gradient: Tensor) => Tensor | undefined): Disposable {
    const { gradient } = live(this, "registerHook");
    if (gradient === null)
      throw new GradError(
        "registerHook",
        `expected a tensor with requiresGrad, got ${this.toString()}; set requiresGrad = true first`,
      );
    checkFunction("registerHook", hook, "pass (gradient) => …");
    (gradient.hooks ??= new Set()).add(hook);
    return {
      [Symbol.dispose]: () => {
        gradient.hooks?.delete(hook);
      },
    };
  }

  /**
   * Accumulates the gradients of this tensor into every leaf with `requiresGrad` that it was
   * computed from.
   * @param gradient of the same shape; may be left out for a single element
   * @throws GradError when there is no graph, or it was freed by an earlier backward without
   *   `retainGraph`
   */
  backward(gradient?: Tensor, options: BackwardOptions = {}): void {
    live(this, "backward");
    if (gradient !== undefined && !(handleOf(gradient) instanceof TensorHandle))
      throw new ArgumentError(
        "backward",
        "a gradient that is a tensor",
        describeValue(gradient),
        "leave it out for a single element; options come second: backward(undefined, { … })",
      );
    checkOptions("backward", options, ["retainGraph", "createGraph"]);
    engine.backward(this, gradient, options);
  }

  // === Arithmetic. Operands broadcast; a number stands for a 0-d tensor ===

  add(other: TensorLike): Tensor {
    return binary(E.add, this, other);
  }
  sub(other: TensorLike): Tensor {
    return binary(E.sub, this, other);
  }
  mul(other: TensorLike): Tensor {
    return binary(E.mul, this, other);
  }
  /** True division: integers give float32. */
  div(other: TensorLike): Tensor {
    return binary(E.div, this, other);
  }
  pow(exponent: TensorLike): Tensor {
    return binary(E.pow, this, exponent);
  }
  /** Remainder with the divisor's sign. */
  mod(other: TensorLike): Tensor {
    return binary(E.mod, this, other);
  }
  floorDiv(other: TensorLike): Tensor {
    return binary(E.floorDiv, this, other);
  }
  maximum(other: TensorLike): Tensor {
    return binary(E.maximum, this, other);
  }
  minimum(other: TensorLike): Tensor {
    return binary(E.minimum, this, other);
  }

  add_(other: TensorLike): Tensor {
    return binary(E.add, this, other, true);
  }
  sub_(other: TensorLike): Tensor {
    return binary(E.sub, this, other, true);
  }
  mul_(other: TensorLike): Tensor {
    return binary(E.mul, this, other, true);
  }
  div_(other: TensorLike): Tensor {
    return binary(E.div, this, other, true);
  }
  /** Overwrites the elements with another tensor's, broadcast and converted. */
  copy_(source: Tensor): Tensor {
    return call(E.assign, [this, source], undefined);
  }
  /** Overwrites every element with a number. */
  fill_(value: number): Tensor {
    const target = live(this, "fill_"),
      { dtype } = target,
      [source] = runOp(E.fill, [], { shape: [], dtype }, [numberWord("fill_", value, dtype)]);
    try {
      return wrap(runOp(E.assign, [target, source!], undefined)[0]!);
    } finally {
      source!.discard();
    }
  }
  zero_(): Tensor {
    return this.fill_(0);
  }

  // === Comparison: bool results ===

  eq(other: TensorLike): Tensor {
    return binary(E.eq, this, other);
  }
  ne(other: TensorLike): Tensor {
    return binary(E.ne, this, other);
  }
  lt(other: TensorLike): Tensor {
    return binary(E.lt, this, other);
  }
  le(other: TensorLike): Tensor {
    return binary(E.le, this, other);
  }
  gt(other: TensorLike): Tensor {
    return binary(E.gt, this, other);
  }
  ge(other: TensorLike): Tensor {
    return binary(E.ge, this, other);
  }
  logicalAnd(other: Tensor): Tensor {
    return call(E.logicalAnd, [this, other], undefined);
  }
  logicalOr(other: Tensor): Tensor {
    return call(E.logicalOr, [this, other], undefined);
  }
  logicalXor(other: Tensor): Tensor {
    return call(E.logicalXor, [this, other], undefined);
  }
  logicalNot(): Tensor {
    return unary(E.logicalNot, this);
  }

  // === Elementwise functions ===

  neg(): Tensor {
    return unary(E.neg, this);
  }
  abs(): Tensor {
    return unary(E.abs, this);
  }
  sign(): Tensor {
    return unary(E.sign, this);
  }
  exp(): Tensor {
    return unary(E.exp, this);
  }
  expm1(): Tensor {
    return unary(E.expm1, this);
  }
  log(): Tensor {
    return unary(E.log, this);
  }
  log1p(): Tensor {
    return unary(E.log1p, this);
  }
  sqrt(): Tensor {
    return unary(E.sqrt, this);
  }
  rsqrt(): Tensor {
    return unary(E.rsqrt, this);
  }
  square(): Tensor {
    return unary(E.square, this);
  }
  reciprocal(): Tensor {
    return unary(E.reciprocal, this);
  }
  sin(): Tensor {
    return unary(E.sin, this);
  }
  cos(): Tensor {
    return unary(E.cos, this);
  }
  tanh(): Tensor {
    return unary(E.tanh, this);
  }
  sigmoid(): Tensor {
    return unary(E.sigmoid, this);
  }
  softplus(): Tensor {
    return unary(E.softplus, this);
  }
  relu(): Tensor {
    return unary(E.relu, this);
  }
  floor(): Tensor {
    return unary(E.floor, this);
  }
  ceil(): Tensor {
    return unary(E.ceil, this);
  }
  /** Halves go to the even neighbour. */
  round(): Tensor {
    return unary(E.round, this);
  }
  isNaN(): Tensor {
    return unary(E.isNaNOp, this);
  }
  isFinite(): Tensor {
    return unary(E.isFiniteOp, this);
  }
  isInf(): Tensor {
    return unary(M.isInf, this);
  }
  /** The whole part. */
  trunc(): Tensor {
    return unary(M.trunc, this);
  }
  erf(): Tensor {
    return unary(M.erf, this);
  }
  exp2(): Tensor {
    return unary(M.exp2, this);
  }
  log2(): Tensor {
    return unary(M.log2, this);
  }
  log10(): Tensor {
    return unary(M.log10, this);
  }
  tan(): Tensor {
    return unary(M.tan, this);
  }
  asin(): Tensor {
    return unary(M.asin, this);
  }
  acos(): Tensor {
    return unary(M.acos, this);
  }
  atan(): Tensor {
    return unary(M.atan, this);
  }
  sinh(): Tensor {
    return unary(M.sinh, this);
  }
  cosh(): Tensor {
    return unary(M.cosh, this);
  }
  /** Angle of the point (other, this), in (-π, π]. */
  atan2(other: Tensor): Tensor {
    return call(M.atan2, [this, other], undefined);
  }
  logSigmoid(): Tensor {
    return unary(M.logSigmoid, this);
  }
  /** x·Φ(x), or its approximation by tanh. */
  gelu(approximate: "none" | "tanh" = "none"): Tensor {
    return unary(approximate === "tanh" ? M.geluTanh : M.gelu, this);
  }
  silu(): Tensor {
    return unary(M.silu, this);
  }
  mish(): Tensor {
    return unary(M.mish, this);
  }
  elu(alpha = 1): Tensor {
    return call(M.elu, [this], undefined, [f32Bits(alpha)]);
  }
  selu(): Tensor {
    return unary(M.selu, this);
  }
  leakyRelu(slope = 0.01): Tensor {
    return call(M.leakyRelu, [this], undefined, [f32Bits(slope)]);
  }
  hardSwish(): Tensor {
    return unary(M.hardSwish, this);
  }
  hardSigmoid(): Tensor {
    return unary(M.hardSigmoid, this);
  }
  /** Kept within bounds; either may be left out (null). NaN stays NaN. */
  clamp(min?: number | null, max?: number | null): Tensor {
    return bounded(this, min, max, false);
  }
  /** `value` where the mask is true, this tensor elsewhere. */
  maskedFill(mask: Tensor, value: number): Tensor {
    return call(M.maskedFill, [this, mask], undefined, [
      numberWord("maskedFill", value, this.dtype),
    ]);
  }
  /** Zeros above a diagonal of each matrix; positive ones lie above the main one. */
  tril(diagonal = 0): Tensor {
    return banded(this, false, diagonal);
  }
  /** Zeros below a diagonal of each matrix. */
  triu(diagonal = 0): Tensor {
    return banded(this, true, diagonal);
  }
  /** this + weight·(end - this). */
  lerp(end: Tensor, weight: TensorLike): Tensor {
    return typeof weight === "number"
      ? call(M.lerp, [this, end], undefined, [f32Bits(weight)])
      : scoped(() => call(M.addcmul, [this, weight, end.sub(this)], undefined, [f32Bits(1)]));
  }
  /** this + value·a·b. */
  addcmul(a: Tensor, b: Tensor, value = 1): Tensor {
    return call(M.addcmul, [this, a, b], undefined, [f32Bits(value)]);
  }
  /** this + value·a / b. */
  addcdiv(a: Tensor, b: Tensor, value = 1): Tensor {
    return call(M.addcdiv, [this, a, b], undefined, [f32Bits(value)]);
  }

  // === In place ===

  pow_(exponent: TensorLike): Tensor {
    return binary(E.pow, this, exponent, true);
  }
  mod_(other: TensorLike): Tensor {
    return binary(E.mod, this, other, true);
  }
  floorDiv_(other: TensorLike): Tensor {
    return binary(E.floorDiv, this, other, true);
  }
  abs_(): Tensor {
    return unary(E.abs.inplace!, this);
  }
  sign_(): Tensor {
    return unary(E.sign.inplace!, this);
  }
  expm1_(): Tensor {
    return unary(E.expm1.inplace!, this);
  }
  log_(): Tensor {
    return unary(E.log.inplace!, this);
  }
  log1p_(): Tensor {
    return unary(E.log1p.inplace!, this);
  }
  rsqrt_(): Tensor {
    return unary(E.rsqrt.inplace!, this);
  }
  square_(): Tensor {
    return unary(E.square.inplace!, this);
  }
  reciprocal_(): Tensor {
    return unary(E.reciprocal.inplace!, this);
  }
  sin_(): Tensor {
    return unary(E.sin.inplace!, this);
  }
  cos_(): Tensor {
    return unary(E.cos.inplace!, this);
  }
  tanh_(): Tensor {
    return unary(E.tanh.inplace!, this);
  }
  sigmoid_(): Tensor {
    return unary(E.sigmoid.inplace!, this);
  }
  floor_(): Tensor {
    return unary(E.floor.inplace!, this);
  }
  ceil_(): Tensor {
    return unary(E.ceil.inplace!, this);
  }
  round_(): Tensor {
    return unary(E.round.inplace!, this);
  }
  trunc_(): Tensor {
    return unary(M.trunc.inplace!, this);
  }
  clamp_(min?: number | null, max?: number | null): Tensor {
    return bounded(this, min, max, true);
  }
  maskedFill_(mask: Tensor, value: number): Tensor {
    return call(M.maskedFill.inplace!, [this, mask], undefined, [
      numberWord("maskedFill_", value, this.dtype),
    ]);
  }
  lerp_(end: Tensor, weight: number): Tensor {
    return call(M.lerp.inplace!, [this, end], undefined, [f32Bits(weight)]);
  }
  addcmul_(a: Tensor, b: Tensor, value = 1): Tensor {
    return call(M.addcmul.inplace!, [this, a, b], undefined, [f32Bits(value)]);
  }
  addcdiv_(a: Tensor, b: Tensor, value = 1): Tensor {
    return call(M.addcdiv.inplace!, [this, a, b], undefined, [f32Bits(value)]);
  }
  relu_(): Tensor {
    return unary(E.relu.inplace!, this);
  }
  neg_(): Tensor {
    return unary(E.neg.inplace!, this);
  }
  exp_(): Tensor {
    return unary(E.exp.inplace!, this);
  }
  sqrt_(): Tensor {
    return unary(E.sqrt.inplace!, this);
  }

  /**
   * Another dtype. The same dtype gives an alias. NaN becomes 0 in integers, floats are truncated.
   */
  to(dtype: DType): Tensor {
    return dtype === live(this, "to").dtype
      ? this.alias()
      : call(E.cast, [this], { dtype: checkDType("to", dtype) });
  }
  float(): Tensor {
    return this.to("float32");
  }
  /** float16. @throws DTypeError on a device without shader-f16 */
  half(): Tensor {
    return this.to("float16");
  }
  int(): Tensor {
    return this.to("int32");
  }
  bool(): Tensor {
    return this.to("bool");
  }
  /** The same elements, contiguous in a storage of their own. */
  clone(): Tensor {
    return unary(E.copy, this);
  }
  /** An alias if the elements lie in row-major order, else a copy. */
  contiguous(): Tensor {
    return live(this, "contiguous").layout.contiguous ? this.alias() : this.clone();
  }

  // === Reductions. Without axes: over all elements, to a 0-d tensor ===

  sum(axes?: Axes, keepDims = false): Tensor {
    return reduce(R.sum, this, axes, keepDims);
  }
  mean(axes?: Axes, keepDims = false): Tensor {
    return reduce(R.mean, this, axes, keepDims);
  }
  /** NaN wins. */
  max(axes?: Axes, keepDims = false): Tensor {
    return reduce(R.max, this, axes, keepDims);
  }
  /** NaN wins. */
  min(axes?: Axes, keepDims = false): Tensor {
    return reduce(R.min, this, axes, keepDims);
  }
  /** Position of the first largest element: along an axis, or in the flattened tensor. int32. */
  argMax(axis?: number | null, keepDims = false): Tensor {
    return reduce(R.argMax, this, oneAxis("argMax", axis), keepDims);
  }
  argMin(axis?: number | null, keepDims = false): Tensor {
    return reduce(R.argMin, this, oneAxis("argMin", axis), keepDims);
  }
  any(axes?: Axes, keepDims = false): Tensor {
    return reduce(R.any, this, axes, keepDims);
  }
  all(axes?: Axes, keepDims = false): Tensor {
    return reduce(R.all, this, axes, keepDims);
  }
  /** Product; exact gradients where factors are 0. */
  prod(axes?: Axes, keepDims = false): Tensor {
    return S.prod(this, axes, keepDims);
  }
  /** Σ (x - mean)² / (n - correction). */
  var(axes?: Axes, correction = 1, keepDims = false): Tensor {
    return S.variance(this, axes, correction, keepDims);
  }
  /** Standard deviation; its gradient at 0 is 0. */
  std(axes?: Axes, correction = 1, keepDims = false): Tensor {
    return S.std(this, axes, correction, keepDims);
  }
  /** (Σ |x|^p)^(1/p); largest magnitude for p = Infinity. */
  norm(p = 2, axes?: Axes, keepDims = false): Tensor {
    return S.norm(this, p, axes, keepDims);
  }
  /** log Σ exp(x), without overflow. */
  logSumExp(axes?: Axes, keepDims = false): Tensor {
    return S.logSumExp(this, axes, keepDims);
  }
  softmax(axis = -1): Tensor {
    return call(softmax, [this], { axis: normalizeAxis("softmax", axis, this.rank) });
  }
  logSoftmax(axis = -1): Tensor {
    return call(logSoftmax, [this], { axis: normalizeAxis("logSoftmax", axis, this.rank) });
  }

  // === Shape: views, no copies unless said ===

  /** One dimension may be -1. Copies only when strides cannot express the shape. */
  reshape(...shape: readonly number[] | [readonly number[]]): Tensor {
    return call(V.reshape, [this], { shape: dims(shape) });
  }
  /** Merges dimensions from `start` to `end` (inclusive) into one. */
  flatten(start = 0, end = -1): Tensor {
    const { shape, rank } = this;
    if (rank === 0) return this.reshape(1);
    const a = normalizeAxis("flatten", start, rank),
      b = normalizeAxis("flatten", end, rank);
    if (b < a)
      throw new ShapeError(
        "flatten",
        "a start that is not after the end",
        `${start} and ${end}`,
        "swap them",
      );
    const merged = shape.slice(a, b + 1).reduce((n, d) => n * d, 1);
    return this.reshape([...shape.slice(0, a), merged, ...shape.slice(b + 1)]);
  }
  /** Swaps two dimensions; the last two by default. */
  transpose(a = -2, b = -1): Tensor {
    const { rank } = this,
      order = Array.from({ length: rank }, (_, i) => i);
    const x = normalizeAxis("transpose", a, rank),
      y = normalizeAxis("transpose", b, rank);
    order[x] = y;
    order[y] = x;
    return this.permute(order);
  }
  /** Dimensions in the given order. */
  permute(...order: readonly number[] | [readonly number[]]): Tensor {
    return call(V.permute, [this], {
      order: dims(order).map((d) => normalizeAxis("permute", d, this.rank)),
    });
  }
  /** Repeats dimensions of 1 without copying. */
  expand(...shape: readonly number[] | [readonly number[]]): Tensor {
    return call(V.expand, [this], { shape: dims(shape) });
  }
  /** A dimension of 1 at `axis`. */
  unsqueeze(axis: number): Tensor {
    const at = normalizeAxis("unsqueeze", axis, this.rank + 1);
    return this.reshape([...this.shape.slice(0, at), 1, ...this.shape.slice(at)]);
  }
  /** Without the dimensions of 1; without just one of them when `axis` is given. */
  squeeze(axis?: number): Tensor {
    if (axis === undefined) return this.reshape(this.shape.filter((d) => d !== 1));
    const at = normalizeAxis("squeeze", axis, this.rank);
    if (this.shape[at] !== 1)
      throw new ShapeError(
        "squeeze",
        "a dimension of 1",
        `${this.shape[at]} at axis ${axis} of ${formatShape(this.shape)}`,
        "leave the axis out to drop all of them",
      );
    return this.reshape(this.shape.filter((_, i) => i !== at));
  }
  /** Positions `start ≤ i < end` by `step` along an axis; negative positions count from the end. */
  slice(axis: number, start = 0, end = Number.MAX_SAFE_INTEGER, step = 1): Tensor {
    return call(V.slice, [this], {
      axis: normalizeAxis("slice", axis, this.rank),
      start,
      end: Math.min(end, 0x7fff_ffff),
      step,
    });
  }
  /** One position along an axis, which goes away. */
  select(axis: number, index: number): Tensor {
    const at = normalizeAxis("select", axis, this.rank),
      dim = this.shape[at]!;
    if (!Number.isInteger(index) || index < -dim || index >= dim)
      throw new ShapeError(
        "select",
        `an index in [${-dim}, ${dim - 1}]`,
        String(index),
        "check the axis",
      );
    const from = index < 0 ? index + dim : index;
    const [row] = runOp(V.slice, [live(this, "select")], {
      axis: at,
      start: from,
      end: from + 1,
      step: 1,
    });
    const [out] = runOp(V.reshape, [row!], { shape: this.shape.filter((_, i) => i !== at) });
    row!.discard();
    return wrap(out!);
  }

  // === Picking and reordering ===

  /** Views of `size` positions each along an axis, or of the sizes given. */
  split(sizes: number | readonly number[], axis = 0): Tensor[] {
    return X.split(this, sizes, axis);
  }
  /** At most `count` views of equal size along an axis. */
  chunk(count: number, axis = 0): Tensor[] {
    return X.chunk(this, count, axis);
  }
  /** A view of each position along an axis, which goes away. */
  unbind(axis = 0): Tensor[] {
    return X.unbind(this, axis);
  }
  /**
   * Rows of the first axis by int32 or uint32 indices of any shape; negative ones count from the
   * end, one out of range gives NaN.
   */
  index(indices: Tensor): Tensor {
    return X.index(this, indices);
  }
  /** Positions of an axis by a list of indices, which takes its place. */
  indexSelect(axis: number, indices: Tensor): Tensor {
    return X.indexSelect(this, axis, indices);
  }
  /**
   * `out[i][j] = this[i][indices[i][j]]` along the last axis of a matrix; likewise for any axis and
   * rank.
   */
  gather(axis: number, indices: Tensor): Tensor {
    return X.gather(this, axis, indices);
  }
  /**
   * Plus each element of `source` at its index along an axis; equal indices add up in a fixed
   * order.
   */
  scatterAdd(axis: number, indices: Tensor, source: Tensor): Tensor {
    return X.scatterAdd(this, axis, indices, source);
  }
  /** Elements of an axis in order, and where they were. Stable; NaN counts as the largest value. */
  sort(axis = -1, descending = false): X.Sorted {
    return X.sort(this, axis, descending);
  }
  /** Positions that sort an axis, int32. Stable; NaN counts as the largest value. */
  argSort(axis = -1, descending = false): Tensor {
    return X.argSort(this, axis, descending);
  }
  /** The `k` largest (or smallest) elements of an axis in order, and where they were. */
  topK(k: number, axis = -1, largest = true): X.Sorted {
    return X.topK(this, k, axis, largest);
  }
  /** Elements in reverse order along the axes. */
  flip(...axes: readonly number[] | [readonly number[]]): Tensor {
    return X.flip(this, dims(axes));
  }
  /**
   * Elements moved on along axes, from the end back to the beginning. Without axes: of the
   * flattened tensor.
   */
  roll(shifts: number | readonly number[], axes?: number | readonly number[]): Tensor {
    return X.roll(this, shifts, axes);
  }
  /**
   * The tensor so many times along each dimension; more counts than dimensions add dimensions in
   * front.
   */
  repeat(...counts: readonly number[] | [readonly number[]]): Tensor {
    return X.repeat(this, dims(counts));
  }
  /** Like `repeat`, with missing leading counts taken as 1. */
  tile(...counts: readonly number[] | [readonly number[]]): Tensor {
    return X.tile(this, dims(counts));
  }
  /** Each element `count` times in place, along an axis. */
  repeatInterleave(count: number, axis?: number): Tensor {
    return X.repeatInterleave(this, count, axis);
  }
  /** Sum of all elements up to each position of an axis. */
  cumSum(axis: number): Tensor {
    return X.cumSum(this, axis);
  }
  /** Product of all elements up to each position of an axis. */
  cumProd(axis: number): Tensor {
    return X.cumProd(this, axis);
  }

  // === Linear algebra ===

  /**
   * [..., M, K] × [..., K, N] → [..., M, N]; leading dimensions broadcast. A vector counts as one
   * row on the left, one column on the right, which then goes away.
   */
  matmul(other: Tensor): Tensor {
    return live(this, "matmul").layout.shape.length > 1 &&
      live(other, "matmul").layout.shape.length > 1
      ? call(matmul, [this, other], undefined)
      : vectorMatmul(this, other);
  }
  /** [B, M, K] × [B, K, N] → [B, M, N]. */
  bmm(other: Tensor): Tensor {
    if (
      live(this, "bmm").layout.shape.length !== 3 ||
      live(other, "bmm").layout.shape.length !== 3 ||
      this.shape[0] !== other.shape[0]
    )
      throw new ShapeError(
        "bmm",
        "[B, M, K] and [B, K, N]",
        `${formatShape(this.shape)} and ${formatShape(other.shape)}`,
        "use matmul to broadcast",
      );
    return call(matmul, [this, other], undefined);
  }
  /** Σ a·b of two vectors. */
  dot(other: Tensor): Tensor {
    return S.dot(this, other);
  }
  /** [n] and [m] → [n, m] of products. */
  outer(other: Tensor): Tensor {
    return S.outer(this, other);
  }
}

/**
 * The live handle behind a tensor. @throws DisposedError; ArgumentError for anything that is no
 * tensor
 */
export function live(t: Tensor, op: string): TensorHandle {
  const handle: Handle | undefined = handleOf(t);
  if (!(handle instanceof TensorHandle))
    throw new ArgumentError(op, "a tensor", describeValue(t), "make one with tensor(…)");
  handle.assertLive(op);
  return handle;
}

/** A tensor for a fresh handle, owned by the current scope. */
export function wrap(handle: TensorHandle): Tensor {
  return new Tensor(handle, currentScope());
}
maker.wrap = wrap;

/**
 * @internal Lets a tensor that no scope owns stand for another storage, as a module does that
 *   changes the dtype of its parameters. Takes over `handle`; the old one ends, but what was
 *   recorded with it keeps its meaning.
 */
export function replaceHandle(t: Tensor, handle: TensorHandle): void {
  const before = t[HANDLE];
  handle.name = before.name;
  handle.keeper = before.keeper;
  (t as { [HANDLE]: TensorHandle })[HANDLE] = handle;
  register(handle, before.wrapper === null ? null : t, null); // a young wrapper is known already
  before.dispose();
}

/** Runs an op that has one result. */
export function call<A>(
  op: OpDef<A>,
  inputs: readonly Tensor[],
  attrs: A,
  words?: readonly number[],
): Tensor {
  return wrap(runOp(op, handles(op.name, inputs), attrs, words)[0]!);
}

/** Runs an in-place op for its effect; its results are dropped. */
export function update<A>(
  op: OpDef<A>,
  inputs: readonly Tensor[],
  attrs: A,
  words?: readonly number[],
): void {
  for (const out of runOp(op, handles(op.name, inputs), attrs, words)) out.discard();
}

function handles(op: string, inputs: readonly Tensor[]): TensorHandle[] {
  const list = new Array<TensorHandle>(inputs.length);
  for (let i = 0; i < inputs.length; i++) list[i] = live(inputs[i]!, op);
  return list;
}

function unary(op: OpDef, x: Tensor): Tensor {
  return wrap(runOp(op, [live(x, op.name)], undefined)[0]!);
}

/** A binary op, in the form that takes a number where one is given. */
function binary(op: OpDef, a: Tensor, b: TensorLike, inplace = false): Tensor {
  if (typeof b !== "number") return call(inplace ? op.inplace! : op, [a, b], undefined);
  const own = live(a, inplace ? op.inplace!.name : op.name).dtype,
    form = E.scalarFormOf(op);
  if (op.inplace === undefined && Number.isInteger(b) && !fits(b, own))
    return call(form, [a], { dtype: "float32", reverse: false }, [
      f32Bits(b < 0 ? -Infinity : Infinity),
    ]); // a comparison: beyond all integers of the dtype
  const dtype = scalarDType(inplace ? op.inplace! : op, own, b);
  return call(inplace ? form.inplace! : form, [a], { dtype, reverse: false }, [
    E.dtypeWord(b, dtype),
  ]);
}

/**
 * What an op with a number computes in: floats stay, integers stay with whole numbers, anything
 * else becomes float32. @throws ArgumentError for a whole number that the integers do not hold
 */
export function scalarDType(op: AnyOp, dtype: DType, value: number): DType {
  if (typeof value !== "number")
    throw new ArgumentError(
      op.name,
      "a tensor or a number",
      describeValue(value),
      "make a tensor with tensor(…)",
    );
  if (isFloat(dtype)) return dtype;
  if (op === E.div || op === E.div.inplace || !Number.isInteger(value)) return "float32";
  const computed = dtype === "bool" || (dtype === "uint32" && value < 0) ? "int32" : dtype;
  if (!fits(value, computed))
    throw new ArgumentError(
      op.name,
      `a number from ${integerRange[computed]!.join(" to ")} for ${dtype}`,
      String(value),
      "cast the tensor with .float() first",
    );
  return computed;
}

/** @throws ArgumentError for a list of axes */
function oneAxis(op: string, axis: number | null | undefined): number | null | undefined {
  if (axis !== undefined && axis !== null && typeof (axis as unknown) !== "number")
    throw new ArgumentError(
      op,
      "one axis",
      describeValue(axis),
      "leave it out for the flattened tensor, or flatten the axes first",
    );
  return axis;
}

function reduce(
  op: OpDef<R.ReduceAttrs>,
  x: Tensor,
  axes: Axes | undefined,
  keepDims: boolean,
): Tensor {
  return call(op, [x], {
    axes: normalizeAxes(op.name, axes, live(x, op.name).layout.shape.length),
    keepDims,
  });
}

function vectorMatmul(a: Tensor, b: Tensor): Tensor {
  if (a.rank === 0 || b.rank === 0)
    throw new ShapeError(
      "matmul",
      "two tensors of rank 1 or more",
      `${formatShape(a.shape)} and ${formatShape(b.shape)}`,
      "use mul for numbers",
    );
  if (a.rank === 1 && b.rank === 1) return S.dot(a, b);
  return scoped(
    () =>
      a.rank === 1
        ? call(matmul, [a.unsqueeze(0), b], undefined).squeeze(-2)
        : call(matmul, [a, b.unsqueeze(1)], undefined).squeeze(-1),
    "matmul",
  );
}

function bounded(
  x: Tensor,
  min: number | null | undefined,
  max: number | null | undefined,
  inplace: boolean,
): Tensor {
  const { dtype: own } = live(x, "clamp"),
    given = [min, max].filter((v) => typeof v === "number");
  if (given.length === 0)
    throw new ArgumentError(
      "clamp",
      "a lower or an upper bound",
      "neither",
      "pass clamp(min, max), null for none",
    );
  const dtype = given.map((v) => scalarDType(M.clamp, own, v)).reduce(promote);
  const [low, high] = isFloat(dtype)
    ? [-Infinity, Infinity]
    : dtype === "uint32"
      ? [0, 0xffffffff]
      : [-0x80000000, 0x7fffffff];
  if (inplace && own === "bool")
    throw new DTypeError("clamp_", "numbers", "bool", "cast to int32 first");
  return call(inplace ? M.clamp.inplace! : M.clamp, [x], { dtype }, [
    E.dtypeWord(min ?? low, dtype),
    E.dtypeWord(max ?? high, dtype),
  ]);
}

function banded(x: Tensor, upper: boolean, diagonal: number): Tensor {
  const { shape } = live(x, upper ? "triu" : "tril").layout;
  if (!Number.isInteger(diagonal))
    throw new ArgumentError(
      upper ? "triu" : "tril",
      "a whole number for the diagonal",
      describeValue(diagonal),
      "0 is the main diagonal",
    );
  return call(M.band, [x], { upper }, [shape.at(-2) ?? 0, shape.at(-1) ?? 0, diagonal >>> 0]);
}

/** `f(2, 3)` and `f([2, 3])` alike. */
function dims(list: readonly number[] | readonly [readonly number[]]): readonly number[] {
  return Array.isArray(list[0]) ? (list[0] as readonly number[]) : (list as readonly number[]);
}
