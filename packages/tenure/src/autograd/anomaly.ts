/**
 * Finding the op that made the first NaN or infinity, forward or backward. Every float result is
 * reduced to one truth value on the device while `fn` runs; nothing is read before it has ended.
 * Called by users whose loss went wrong.
 */
import "../compose.ts";
import { isFloat } from "../base/dtype.ts";
import { NumericError } from "../base/errors.ts";
import { checkFunction } from "../base/options.ts";
import { formatShape } from "../base/shape.ts";
import { captureSite } from "../ownership/site.ts";
import { formatSite } from "../ownership/stack.ts";
import { isFiniteOp } from "../ops/comparison.ts";
import type { AnyOp } from "../ops/op.ts";
import { all } from "../ops/reduce.ts";
import type { TensorHandle } from "../tensor/body.ts";
import { readBytes } from "../tensor/dispatch.ts";
import { runOp } from "../tensor/run.ts";
import { tensorState } from "../tensor/tensor-state.ts";

/**
 * Runs `fn` (also an async one) and checks every result on the way.
 * @returns what `fn` returns
 * @throws NumericError naming the first op whose result is not finite, its shape and the line that
 *   called it, ArgumentError for what is no function
 * @example
 * ```ts
 * using x = tensor([-1]);
 * try {
 *   await detectAnomaly(() => x.log().dispose());
 * } catch (error) {
 *   console.log((error as Error).name); // → NumericError
 * }
 * ```
 */
export async function detectAnomaly<T>(fn: () => T | Promise<T>): Promise<T> {
  checkFunction("detectAnomaly", fn);
  const checks: {
    op: AnyOp;
    shape: string;
    dtype: string;
    site: string | undefined;
    finite: Promise<ArrayBuffer>;
  }[] = [];
  const state = tensorState(),
    before = state.observer;
  const watch = (op: AnyOp, _: readonly TensorHandle[], outputs: readonly TensorHandle[]): void => {
    state.observer = null; // the checks themselves are not checked
    try {
      for (const out of outputs) {
        if (!isFloat(out.dtype) || out.layout.size === 0) continue;
        const [finite] = runOp(isFiniteOp, [out], undefined),
          axes = out.layout.shape.map((__, i) => i);
        const [verdict] = runOp(all, [finite!], { axes, keepDims: false });
        checks.push({
          op,
          shape: formatShape(out.layout.shape),
          dtype: out.dtype,
          site: formatSite(captureSite()),
          finite: readBytes(verdict!.storage, 0, 4),
        });
        finite!.discard();
        verdict!.discard();
      }
    } finally {
      state.observer = watch;
    }
  };
  state.observer = watch;
  let result: T;
  try {
    result = await fn();
  } finally {
    state.observer = before;
  }
  for (const { op, shape, dtype, site, finite } of checks) {
    if (new Uint32Array(await finite)[0] === 0)
      throw new NumericError(
        op.name,
        "a finite result",
        `NaN or infinity in ${dtype} ${shape}${site === undefined ? "" : `, called at ${site}`}`,
        "look at its inputs: a division by 0, the log of 0, or a learning rate that is too high",
      );
  }
  return result;
}
