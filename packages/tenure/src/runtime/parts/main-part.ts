/**
 * Kernels that most programs need, as a part that is loaded by itself. Each file here names the
 * engine besides, which is there already: so bundlers keep what parts share with it in one file.
 * Owns nothing.
 */
export * from "../../kernels/main.ts";
export { batchesOf, kernelOf } from "../update-batches.ts";
export { Engine } from "../engine.ts";
