/**
 * The generators of attention, with and without stored scores, which are loaded as one. See
 * families.ts. Owns nothing.
 */
export { attentionWeightsKernel } from "./attention.ts";
export {
  attentionRowsKernel,
  flashKernel,
  flashKeyGradKernel,
  flashQueryGradKernel,
} from "./flash.ts";
