/**
 * Convolutions in every way, as a part that is loaded by itself; see products-part.ts. Owns
 * nothing.
 */
export * from "../../kernels/conv-ways.ts";
export { Engine, avgPool2dKernel, maxPool2dBackwardKernel } from "./images-part.ts";
