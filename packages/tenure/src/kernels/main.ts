/**
 * The generators that most programs need: products of matrices, reductions, softmax and cross
 * entropy, which are loaded as one. See families.ts. Owns nothing.
 */
export { matmulKernel } from "./matmul.ts";
export { reduceKernel } from "./reduce.ts";
export {
  crossEntropyBackwardKernel,
  crossEntropyKernel,
  softmaxBackwardKernel,
  softmaxKernel,
} from "./softmax.ts";
