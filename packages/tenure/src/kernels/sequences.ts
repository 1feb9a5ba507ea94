/**
 * The generators of what goes along an axis, and is loaded as one: norms, looking up, putting
 * together and taking apart, sorting, cumulative sums and products. See families.ts. Owns nothing.
 */
export { concatKernel, flipKernel, gatherKernel, scatterAddKernel } from "./gather.ts";
export { logSumExpKernel, normalizeBackwardKernel, normalizeKernel } from "./normalize.ts";
export { padKernel } from "./pad.ts";
export { pickKernel } from "./pick.ts";
export { cumProdBackwardKernel, cumProdKernel, cumSumKernel } from "./scan.ts";
export { mergeBlocksKernel, sortBlocksKernel } from "./sort.ts";
export { unsliceKernel } from "./unslice.ts";
