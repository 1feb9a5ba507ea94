/**
 * What an op is: one record of shape rule, gradient rule, computation and declared facts.
 * Recording, autograd, the scheduler and the tests read records; nothing anywhere switches on an
 * op's name. Records are constants of their modules; they own no memory.
 */
import type { DType } from "../base/dtype.ts";
import type { Layout } from "../base/layout.ts";
import type { Shape } from "../base/shape.ts";
import type { Family, Kernels } from "../kernels/families.ts";
import type { Around, Epilogue } from "../kernels/fused.ts";
import type { DeviceCaps, Kernel, View } from "../kernels/kernel.ts";

/** Shape and dtype of a result. */
export interface Meta {
  readonly shape: Shape;
  readonly dtype: DType;
  /**
   * Lies in memory column by column: its last two dimensions are those of a row-major matrix,
   * swapped.
   */
  readonly columns?: boolean;
}

/** A tensor as gradient rules see it: opaque, but for its meta. */
export type Value = Meta;

/**
 * Runs an op on values; how gradient rules compute. `scalars` are the op's per-call numbers, each
 * as the 32 bits that its uniform holds.
 */
export type Run = <A>(
  op: OpDef<A>,
  inputs: readonly Value[],
  attrs: A,
  scalars?: readonly number[],
) => Value;

/** The same, for ops with several results. */
export type RunAll = <A>(
  op: OpDef<A>,
  inputs: readonly Value[],
  attrs: A,
  scalars?: readonly number[],
) => readonly Value[];

/** Declared facts: the only thing passes may look at. */
export interface Facts {
  /** One output element depends on the input elements at the same (broadcast) position only. */
  readonly elementwise?: boolean;
  /** Combines many elements into one. */
  readonly reduces?: boolean;
  /** For each output, the input it overwrites in place, or -1. */
  readonly inplaceOf?: readonly number[];
  /** The output is a view of this input: no computation, no memory. */
  readonly viewOf?: number;
  /** Same inputs, same bits, no other effect. True unless said otherwise. */
  readonly recomputable?: boolean;
  /**
   * Draws from the counter-based generator where it has scalars, the first three of them; replays
   * exactly from those.
   */
  readonly random?: boolean;
  /** Writes every element of its target without looking at it. */
  readonly overwrites?: boolean;
  /** The expression depends on the number of the element: it has `needsIndex`. */
  readonly indexed?: boolean;
  /** The input that `kernel` can compute with a chain of elementwise ops while it reads it. */
  readonly prologue?: number;
  /** `kernel` can put its one result through a chain of elementwise ops before it is stored. */
  readonly epilogue?: boolean;
}

/** What a gradient rule may use. */
export interface VjpContext<A> {
  /** Gradient of the loss with respect to the output; same shape. */
  readonly grad: Value;
  /** Meta of every input, saved or not. */
  readonly metas: readonly Meta[];
  /** Saved input `i`. Only inputs listed in `saves.inputs` may be asked for. */
  readonly input: (i: number) => Value;
  /** The saved output, the first unless told. Only with `saves.output`. */
  readonly output: (k?: number) => Value;
  /** Whether input `i` wants a gradient. */
  readonly needs: (i: number) => boolean;
  readonly attrs: A;
  /** The op's per-call scalars, as the 32 bits that uniforms hold. */
  readonly scalars: readonly number[];
  readonly run: Run;
  /** Not for passes that are recorded. */
  readonly runAll: RunAll;
  /**
   * The pass is recorded to be differentiated again: only ops that have gradients themselves may
   * touch saved values and `grad`.
   */
  readonly recorded: boolean;
}

/** An elementwise computation as WGSL statements from `a0…` and scalars `s0…` to `r0…`. */
export interface Expression {
  readonly body: string;
  readonly helpers?: readonly string[];
  readonly scalars?: readonly { readonly type: "f32" | "u32" | "i32" }[];
  readonly needsIndex?: boolean;
  /**
   * Declares `drawn0: f32`, drawn for the element from the stream that the first three scalars
   * name: seed (two numbers) and number of the stream.
   */
  readonly draws?: "uniform" | "normal";
  /**
   * The one rounding of a result that is only a sum of two f32 (no difference) or only a product.
   * Nothing is declared for anything else.
   */
  readonly rounding?: "sum" | "product";
}

/**
 * One op. `I` and `O` are the tensors that `infer`, `kernel` and the rest are given, e.g. `[View,
 * View?]`: whoever calls an op has counted them.
 */
export interface OpDef<
  A = undefined,
  I extends readonly (View | undefined)[] = readonly View[],
  O extends readonly (View | undefined)[] = readonly View[],
> {
  /** What users call it: errors, reports and labels say so. */
  readonly name: string;
  /** Tells records of one name apart; the name itself unless given. */
  readonly id?: string;
  readonly facts: Facts;
  /** Checks the inputs and says what comes out. @throws ShapeError, DTypeError, ArgumentError */
  infer(inputs: I, attrs: A): readonly Meta[];
  /** Everything in `attrs` that the computation depends on, as 32-bit words. */
  key?(attrs: A): readonly number[];
  /**
   * For views: the layout of the result over the input's storage, or undefined when it needs a
   * contiguous input.
   */
  view?(input: Layout, attrs: A): Layout | undefined;
  /** For elementwise ops. */
  expression?(inputs: I, attrs: A): Expression;
  /**
   * For everything else. One op is one dispatch. `kernels`: the generators, which come with the
   * device; `around` is given only where facts ask for it.
   */
  kernel?(
    inputs: I,
    outputs: O,
    attrs: A,
    caps: DeviceCaps,
    kernels: Kernels,
    around?: Around,
  ): Kernel;
  /** The family that has the generators which `kernel` calls, or helpers of `expression`. */
  readonly family?: Family | undefined;
  /** Inputs that must be contiguous for `kernel`; the others may have any strides. */
  readonly contiguousInputs?: readonly number[];
  /**
   * Gradients of the inputs, null where none flows. Broadcast inputs are summed back by the caller.
   * Where the pass is recorded, an op without a gradient is refused.
   */
  vjp?(context: VjpContext<A>): readonly (Value | null)[];
  /**
   * What `vjp` needs later; nothing else is kept alive. `output`: all of them. Only the first has a
   * gradient.
   */
  readonly saves?: { readonly inputs?: readonly number[]; readonly output?: boolean };
  /** Multiply-adds and the like, for reports; the number of output elements when absent. */
  flops?(inputs: I, outputs: O, attrs: A): number;
  /** Same computation, first input overwritten. */
  readonly inplace?: OpDef<A>;
  /** Records that only its gradient rule uses, where no file exports them: tests look for them. */
  readonly gradientOps?: readonly AnyOp[];
}

/** An op as recorders hold it: a record for some attributes. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- there is no type for "some A"
export type AnyOp = OpDef<any>;

/** The chain behind a kernel, as a kernel's specification takes it. */
export function after(around: Around | undefined): { readonly after?: Epilogue } {
  return around?.after === undefined ? {} : { after: around.after };
}

/**
 * Types a record by what it is given, and hands it on as what others hold. A record of this folder
 * is exported, or named by one that is: that is how tests find it.
 */
export function defineOp<
  A = undefined,
  I extends readonly (View | undefined)[] = readonly View[],
  O extends readonly (View | undefined)[] = readonly View[],
>(op: OpDef<A, I, O>): OpDef<A> {
  return op as OpDef<A>;
}

/** A name that only this record has. */
export function uniqueName(op: AnyOp): string {
  return op.id ?? op.name;
}
