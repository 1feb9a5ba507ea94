/**
 * What autocast does to each op: which are worth computing from float16, and which need the range
 * or the digits of float32. Every kernel accumulates in float32 anyway; this is about what is
 * stored between them. The lists are those of torch.amp. Ops that are in neither take what they
 * get, the wider of their operands.
 */
import { attention, attentionWeights } from "./attention.ts";
import { conv2d } from "./conv.ts";
import { exp, expm1, log, log1p, erf, exp2, log10, log2 } from "./exponentials.ts";
import { pow, powScalar, reciprocal, rsqrt } from "./powers.ts";
import { softplus, logSigmoid } from "./activations.ts";
import { square } from "./arithmetic.ts";
import { sinh, cosh, tan, acos, asin } from "./trigonometry.ts";
import { matmul } from "./matmul.ts";
import { logSumExp, squaredDeviation, sumOfProducts } from "./sums.ts";
import { normalize } from "./normalize.ts";
import type { AnyOp } from "./op.ts";
import { crossEntropyRows, logSoftmax, softmax } from "./softmax.ts";
import { mean, prod, sum } from "./reduce.ts";
import { cumProd, cumSum } from "./scan.ts";

/** Products of matrices: half the traffic, and sums that stay in float32. */
const inFloat16: readonly AnyOp[] = [matmul, conv2d, attention, attentionWeights];

/** What overflows or loses its small terms in eleven bits. */
const inFloat32: readonly AnyOp[] = [
  exp,
  exp2,
  expm1,
  log,
  log2,
  log10,
  log1p,
  pow,
  powScalar,
  square,
  reciprocal,
  rsqrt,
  softplus,
  logSigmoid,
  sinh,
  cosh,
  tan,
  asin,
  acos,
  erf,
  sum,
  mean,
  prod,
  cumSum,
  cumProd,
  logSumExp,
  squaredDeviation,
  sumOfProducts,
  softmax,
  logSoftmax,
  crossEntropyRows,
  normalize,
];

const table: ReadonlyMap<AnyOp, "float16" | "float32"> = new Map([
  ...inFloat16.map((op) => [op, "float16"] as const),
  ...inFloat32.map((op) => [op, "float32"] as const),
]);

/** The dtype an op wants its float inputs in under autocast; undefined when it does not matter. */
export function precisionOf(op: AnyOp): "float16" | "float32" | undefined {
  return table.get(op);
}
