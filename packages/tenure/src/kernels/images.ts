/**
 * The generators of convolutions and pooling, which are loaded as one. See families.ts. Owns
 * nothing.
 */
export { conv2dBackwardInputKernel, conv2dKernel } from "./conv.ts";
export { conv2dBackwardWeightKernel } from "./conv-weight.ts";
export { avgPool2dBackwardKernel, maxPool2dBackwardKernel } from "./pooling-backward.ts";
export { avgPool2dKernel, maxPool2dIndicesKernel, maxPool2dKernel } from "./pooling.ts";
