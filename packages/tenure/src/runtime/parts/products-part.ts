/**
 * Products of matrices in every way, as a part that is loaded by itself; see images-part.ts. Of
 * the main part it names what comes from other files, not the generator that it stands in for.
 * Owns nothing.
 */
export * from "../../kernels/matmul-ways.ts";
export { Engine, reduceKernel, softmaxKernel } from "./main-part.ts";
