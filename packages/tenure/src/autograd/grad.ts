/**
 * Functional autograd: gradients of a function instead of a graph. Called by users; leaves `t.grad`
 * of every tensor alone.
 */
import { ArgumentError, GradError } from "../base/errors.ts";
import {
  type OptionTable,
  checkFunction,
  describeValue,
  off,
  readOptions,
} from "../base/options.ts";
import { HANDLE, handleOf } from "../ownership/handle.ts";
import { newDisposeScope } from "../ownership/open.ts";
import { ignoreRejection } from "../ownership/owned.ts";
import { scoped } from "../ownership/scoped.ts";
import { TensorHandle } from "../tensor/body.ts";
import { zeros } from "../tensor/create.ts";
import { Gradient } from "../tensor/tape.ts";
import { Tensor, wrap } from "../tensor/tensor.ts";
import { propagate } from "./backward.ts";
import { enableGrad } from "./mode.ts";

/** Options of `grad` and `valueAndGrad`. */
export interface GradOptions {
  /** Record the backward pass too, so that the gradients can be differentiated again. */
  readonly createGraph?: boolean;
}

const gradOptions = { createGraph: off } satisfies OptionTable<GradOptions>;

/**
 * The function that returns `fn`'s value and its gradients with respect to every float argument
 * (null for the others). `fn` must return a tensor with one element. Results belong to the caller's
 * scope; everything else made inside is freed. Each gradient has its argument's shape.
 * @throws ArgumentError for what is no function or no tensor, GradError unless `fn` returns a
 *   tensor
 */
export function valueAndGrad<A extends readonly Tensor[]>(
  fn: (...args: A) => Tensor,
  options?: GradOptions,
): (...args: A) => { value: Tensor; grads: (Tensor | null)[] } {
  return differentiated("valueAndGrad", fn, options);
}

/** `valueAndGrad` for the function that the user called. */
function differentiated<A extends readonly Tensor[]>(
  op: string,
  fn: (...args: A) => Tensor,
  options: GradOptions | undefined,
): (...args: A) => { value: Tensor; grads: (Tensor | null)[] } {
  checkFunction(op, fn, "pass (...tensors) => loss");
  const given = readOptions(op, options, gradOptions);
  return (...args) =>
    scoped((outer) =>
      enableGrad(() => {
        const inputs = args.map((a) => {
          if (!(handleOf(a) instanceof TensorHandle))
            throw new ArgumentError(
              op,
              "tensors as arguments",
              describeValue(a),
              "make them with tensor(…)",
            );
          const h = a[HANDLE];
          h.assertLive(op);
          if (given.createGraph && h.gradient !== null) return a.alias();
          const leaf = a.dtype === "float32" || a.dtype === "float16" ? new Gradient(null) : null;
          return wrap(new TensorHandle(h.storage, h.layout, h.dtype, leaf));
        });
        const value = fn(...(inputs as unknown as A));
        if (!(value instanceof Tensor)) {
          ignoreRejection(value);
          throw new GradError(
            op,
            `expected a function that returns a tensor, got ${describeValue(value)}; ` +
              "return the loss",
          );
        }
        const records = inputs.map((t) => t[HANDLE].gradient);
        using scope = newDisposeScope(op);
        const found = value.requiresGrad
          ? propagate([value[HANDLE]], undefined, given, scope, {
              records: new Set(records.filter((r) => r !== null)),
              boundary: false,
            })
          : new Map<Gradient, Tensor>();
        const grads = records.map((record, i) => {
          if (record === null) return null;
          const g = found.get(record);
          return g === undefined
            ? outer.enter(() => zeros(inputs[i]!.shape, { dtype: inputs[i]!.dtype }))
            : scope.moveTo(outer, scope.contains(g) ? g : g.alias());
        });
        return {
          value: given.createGraph ? value : outer.run(() => value.detach()),
          grads,
        };
      }),
    );
}

/**
 * Like `valueAndGrad` without the value; a single argument gives a single gradient. Each gradient
 * has its argument's shape.
 * @example
 * ```ts
 * const slope = grad((w: Tensor) => w.square().sum());
 * using w = tensor([1, 2]);
 * using g = slope(w);
 * console.log(await g.toArray()); // → [ 2, 4 ]
 * ```
 */
export function grad<A extends readonly Tensor[]>(
  fn: (...args: A) => Tensor,
  options?: GradOptions,
): (...args: A) => A["length"] extends 1 ? Tensor : (Tensor | null)[] {
  const both = differentiated("grad", fn, options);
  return (...args) =>
    scoped(() => {
      const { grads } = both(...args);
      return (args.length === 1 ? grads[0] : grads) as A["length"] extends 1
        ? Tensor
        : (Tensor | null)[];
    });
}
