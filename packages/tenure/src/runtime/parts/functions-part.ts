/**
 * WGSL functions that fewer programs need, as a part that is loaded by itself; see main-part.ts.
 * Owns nothing.
 */
export * from "../../kernels/functions.ts";
export { Engine } from "../engine.ts";
