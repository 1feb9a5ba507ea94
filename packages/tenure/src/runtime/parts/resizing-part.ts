/**
 * The kernel of resampling, as a part that is loaded by itself; see images-part.ts. Owns nothing.
 */
export * from "../../kernels/resizing.ts";
export * from "./main-part.ts";
