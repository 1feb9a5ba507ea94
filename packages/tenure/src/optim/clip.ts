/**
 * Clipping gradients between `backward` and `step`, in place and without reading anything back.
 * Called by training loops. Gradients stay their parameters'.
 */
import { f32Bits } from "../base/bits.ts";
import { noGrad } from "../autograd/mode.ts";
import { scoped } from "../ownership/scoped.ts";
import { clipByNorm, clipByValue } from "../ops/updates.ts";
import { full } from "../tensor/create.ts";
import { labelled } from "../tensor/step.ts";
import { type Tensor, call } from "../tensor/tensor.ts";
import { checkNumber } from "./optimizer.ts";

/**
 * Runs `fn` on every gradient there is. The parameter takes what an in-place op made of it: the
 * same bytes, at their new version.
 */
function eachGradient(parameters: Iterable<Tensor>, fn: (gradient: Tensor) => Tensor): void {
  for (const p of parameters) {
    if (!p.hasGrad) continue;
    labelled("apply", p.name, () => {
      using g = p.grad!;
      using changed = fn(g);
      p.grad = changed;
    });
  }
}

/**
 * Scales all gradients together so that their norm, taken over all of them as one vector, is at
 * most `maxNorm` (Pascanu et al. 2013; torch.nn.utils.clip_grad_norm_). A gradient tensor that you
 * assigned yourself is changed too: it is the same bytes.
 * @param normType 1, 2 (default), any positive number, or Infinity
 * @returns the norm before clipping, 0-d float32, owned by the current scope; 0 without gradients
 * @throws ArgumentError for a norm that is negative or NaN
 */
export function clipGradNorm(parameters: Iterable<Tensor>, maxNorm: number, normType = 2): Tensor {
  checkNumber("clipGradNorm", "a largest norm", maxNorm, 0);
  if (normType !== Infinity) checkNumber("clipGradNorm", "a norm type", normType, Number.MIN_VALUE);
  const list = [...new Set(parameters)];
  return noGrad(() =>
    scoped(() => {
      let total: Tensor | null = null;
      for (const p of list) {
        if (!p.hasGrad) continue;
        const g = p.grad!.to("float32");
        const part =
          normType === 2
            ? g.square().sum()
            : normType === Infinity
              ? g.size === 0
                ? full([], 0)
                : g.abs().max()
              : normType === 1
                ? g.abs().sum()
                : g.abs().pow(normType).sum();
        total =
          total === null ? part : normType === Infinity ? total.maximum(part) : total.add(part);
      }
      if (total === null) return full([], 0);
      const norm =
        normType === 2
          ? total.sqrt()
          : normType === Infinity || normType === 1
            ? total
            : total.pow(1 / normType);
      eachGradient(list, (g) => call(clipByNorm, [g, norm], undefined, [f32Bits(maxNorm)]));
      return norm;
    }, "clipGradNorm"),
  );
}

/**
 * Clamps every element of every gradient to [-maxValue, maxValue]; NaN stays NaN
 * (torch.nn.utils.clip_grad_value_).
 * @throws ArgumentError for a value that is negative or NaN
 */
export function clipGradValue(parameters: Iterable<Tensor>, maxValue: number): void {
  checkNumber("clipGradValue", "a largest value", maxValue, 0);
  noGrad(() => {
    eachGradient(new Set(parameters), (g) =>
      call(clipByValue, [g], undefined, [f32Bits(maxValue)]),
    );
  });
}
