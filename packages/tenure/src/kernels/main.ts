/**
 * The generators that most programs need, a step of a multilayer perceptron among them: they come
 * with the engine. See families.ts. Owns nothing.
 */
export { matmulKernel } from "./matmul.ts";
export { reduceKernel } from "./reduce.ts";
export {
  crossEntropyBackwardKernel,
  crossEntropyKernel,
  softmaxBackwardKernel,
  softmaxKernel,
} from "./softmax.ts";
