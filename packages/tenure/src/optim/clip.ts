/**
 * Clipping gradients between `backward` and `step`, in place and without reading anything back.
 * Called by training loops. Gradients stay their parameters'.
 */
import { f32Bits } from "../base/bits.ts";
import { checkArgument } from "../base/options.ts";
import { noGrad } from "../autograd/mode.ts";
import { composed } from "../ownership/scoped.ts";
import { clipByNorm, clipByValue } from "../ops/updates.ts";
import { full } from "../tensor/create.ts";
import { labelled } from "../tensor/step.ts";
import { type Tensor, call } from "../tensor/tensor.ts";
import { tensorsOf } from "./groups.ts";

/** What a bound may be. */
const limit = { type: "number", range: "[0, Infinity)" } as const;

/**
 * Runs `fn` on every gradient there is. The parameter takes what an in-place op made of it: the
 * same bytes, at their new version.
 */
function eachGradient(parameters: Iterable<Tensor>, fn: (gradient: Tensor) => Tensor): void {
  for (const p of parameters) {
    labelled("apply", p.name, () => {
      using g = p.grad;
      if (g === null) return;
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
 * @throws ArgumentError for a norm that is negative or NaN, and for what is no list of tensors
 * @example
 * ```ts
 * model.call(x).square().mean().backward();
 * using norm = clipGradNorm(model.parameters(), 1);
 * optimizer.step();
 * ```
 */
export function clipGradNorm(parameters: Iterable<Tensor>, maxNorm: number, normType = 2): Tensor {
  checkArgument("clipGradNorm", "a largest norm", maxNorm, limit);
  checkArgument("clipGradNorm", "a norm type", normType, {
    type: "number",
    range: "(0, Infinity]",
  });
  const list = tensorsOf("clipGradNorm", parameters);
  return noGrad(() =>
    composed(() => {
      const norm = totalNorm(list, normType);
      eachGradient(list, (g) => call(clipByNorm, [g, norm], undefined, [f32Bits(maxNorm)]));
      return norm;
    }, "clipGradNorm"),
  );
}

/** The norm of all gradients as one vector: Σ |g|^p, to the power 1 / p. 0 without gradients. */
function totalNorm(parameters: ReadonlySet<Tensor>, p: number): Tensor {
  let total: Tensor | null = null;
  for (const { grad } of parameters) {
    if (grad === null) continue;
    const part = normPart(grad.to("float32"), p);
    if (total === null) total = part;
    else total = p === Infinity ? total.maximum(part) : total.add(part);
  }
  if (total === null) return full([], 0);
  if (p === 2) return total.sqrt();
  return p === 1 || p === Infinity ? total : total.pow(1 / p);
}

/** What one gradient adds to the norm, before the root; the largest element for p = Infinity. */
function normPart(g: Tensor, p: number): Tensor {
  if (p === 2) return g.square().sum();
  if (p === Infinity) return g.size === 0 ? full([], 0) : g.abs().max();
  return (p === 1 ? g.abs() : g.abs().pow(p)).sum();
}

/**
 * Clamps every element of every gradient to [-maxValue, maxValue]; NaN stays NaN
 * (torch.nn.utils.clip_grad_value_).
 * @throws ArgumentError for a value that is negative or NaN, and for what is no list of tensors
 */
export function clipGradValue(parameters: Iterable<Tensor>, maxValue: number): void {
  checkArgument("clipGradValue", "a largest value", maxValue, limit);
  const list = tensorsOf("clipGradValue", parameters);
  noGrad(() => {
    eachGradient(list, (g) => call(clipByValue, [g], undefined, [f32Bits(maxValue)]));
  });
}
