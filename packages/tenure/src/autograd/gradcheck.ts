/**
 * Comparing gradients with finite differences: the test of every differentiable op. Called by tests
 * of Tenure and of libraries on top.
 */
import { ArgumentError, GradError } from "../base/errors.ts";
import {
  type OptionTable,
  checkArray,
  checkFunction,
  describeValue,
  readOptions,
} from "../base/options.ts";
import { ignoreRejection } from "../ownership/owned.ts";
import { newDisposeScope } from "../ownership/open.ts";
import { tensor } from "../tensor/create.ts";
import { Tensor } from "../tensor/tensor.ts";

/** Options of `gradcheck`. */
export interface GradCheckOptions {
  /** Step of the central difference. float32 loses about 1e-7 / step. */
  readonly step?: number;
  /** Largest |analytic - numeric| allowed, relative to max(1, |numeric|). */
  readonly tolerance?: number;
}

const gradCheckOptions = {
  step: { type: "number", range: "(0, Infinity)", what: "a step", default: 1e-2 },
  tolerance: { type: "number", range: "[0, Infinity)", what: "a tolerance", default: 1e-2 },
} satisfies OptionTable<GradCheckOptions>;

/**
 * Checks the gradients of `fn` at the given points by central differences along a fixed random
 * direction of the output. Inputs and output may have any shape.
 * @throws GradError naming the input and element that disagree, ShapeError for values that do not
 *   fill their shape, ArgumentError for what is no function or no point
 * @example
 * ```ts
 * await gradcheck((a) => a.square(), [{ shape: [2], values: [1, 2] }]);
 * ```
 */
export async function gradcheck(
  fn: (...inputs: Tensor[]) => Tensor,
  points: readonly { readonly shape: readonly number[]; readonly values: readonly number[] }[],
  options?: GradCheckOptions,
): Promise<void> {
  checkFunction("gradcheck", fn, "pass (...tensors) => result");
  const { step, tolerance } = readOptions("gradcheck", options, gradCheckOptions);
  checkArray("gradcheck", "points", points);
  for (const p of points as readonly unknown[])
    if (typeof p !== "object" || p === null || !Array.isArray((p as { values?: unknown }).values))
      throw new ArgumentError(
        "gradcheck",
        "points { shape, values }",
        describeValue(p),
        "pass the numbers of each input as an array",
      );
  let weights: number[] | undefined;
  const weighted = (out: Tensor): Tensor => {
    if (!(out instanceof Tensor)) {
      ignoreRejection(out);
      throw new GradError(
        "gradcheck",
        `expected a function that returns a tensor, got ${describeValue(out)}; return the result`,
      );
    }
    weights ??= Array.from({ length: out.size }, (_, i) => Math.sin(1.7 * i + 0.6) + 1.1);
    return out.mul(tensor(weights, { shape: out.shape })).sum();
  };
  const reads: Promise<ArrayLike<number>>[] = [];
  {
    using _ = newDisposeScope("gradcheck");
    const inputs = points.map((p) =>
      tensor(p.values as number[], { shape: p.shape, requiresGrad: true }),
    );
    const loss = weighted(fn(...inputs));
    if (!loss.requiresGrad)
      throw new GradError(
        "gradcheck",
        "expected a result computed from the inputs, got one that has no gradient; " +
          "compute it from the function's arguments",
      );
    loss.backward();
    for (const input of inputs)
      reads.push(
        input.grad === null ? Promise.resolve(new Float32Array(input.size)) : input.grad.data(),
      );
  }
  const analytic = await Promise.all(reads);
  for (let k = 0; k < points.length; k++) {
    const differences: Promise<number>[] = [];
    {
      using _ = newDisposeScope("gradcheck");
      for (let i = 0; i < points[k]!.values.length; i++) {
        for (const sign of [1, -1]) {
          const inputs = points.map((p, j) =>
            tensor(
              p.values.map((v, at) => (j === k && at === i ? v + sign * step : v)),
              { shape: p.shape },
            ),
          );
          differences.push(weighted(fn(...inputs)).item());
        }
      }
    }
    const values = await Promise.all(differences);
    for (let i = 0; i < points[k]!.values.length; i++) {
      const numeric = (values[2 * i]! - values[2 * i + 1]!) / (2 * step),
        got = analytic[k]![i]!;
      if (!(Math.abs(got - numeric) <= tolerance * Math.max(1, Math.abs(numeric))))
        throw new GradError("gradcheck", `expected d/d(input ${k})[${i}] = ${numeric}, got ${got}`);
    }
  }
}
