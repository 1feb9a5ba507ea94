/**
 * Products of matrices in every way, and what lists such ways, as a part that is loaded by itself;
 * see images-part.ts. Of the main part it names what comes from other files, not the generator that
 * it stands in for. Owns nothing.
 */
export * from "../../kernels/matmul-ways.ts";
export { candidatesOf, placed } from "../candidates.ts";
export { Engine, batchesOf, reduceKernel, softmaxKernel } from "./main-part.ts";
