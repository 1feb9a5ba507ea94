/** Kernels of attention, as a part that is loaded by itself; see images-part.ts. Owns nothing. */
export * from "../../kernels/transformers.ts";
export * from "./main-part.ts";
