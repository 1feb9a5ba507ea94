/**
 * The generators that records of ops name, in one module, which is loaded with the device. Called
 * by lower.ts, which hands it to the records. Owns nothing.
 */
export { attentionWeightsKernel } from "./attention.ts";
export { conv2dBackwardInputKernel, conv2dKernel } from "./conv.ts";
export { conv2dBackwardWeightKernel } from "./conv-weight.ts";
export {
  attentionRowsKernel,
  flashKernel,
  flashKeyGradKernel,
  flashQueryGradKernel,
} from "./flash.ts";
export { concatKernel, flipKernel, gatherKernel, scatterAddKernel } from "./gather.ts";
export { matmulKernel } from "./matmul.ts";
export { logSumExpKernel, normalizeBackwardKernel, normalizeKernel } from "./normalize.ts";
export { padKernel } from "./pad.ts";
export { pickKernel } from "./pick.ts";
export { avgPool2dBackwardKernel, maxPool2dBackwardKernel } from "./pooling-backward.ts";
export { avgPool2dKernel, maxPool2dIndicesKernel, maxPool2dKernel } from "./pooling.ts";
export { reduceKernel } from "./reduce.ts";
export { resampleKernel } from "./resample.ts";
export { cumProdBackwardKernel, cumProdKernel, cumSumKernel } from "./scan.ts";
export {
  crossEntropyBackwardKernel,
  crossEntropyKernel,
  softmaxBackwardKernel,
  softmaxKernel,
} from "./softmax.ts";
export { mergeBlocksKernel, sortBlocksKernel } from "./sort.ts";
export { unsliceKernel } from "./unslice.ts";
