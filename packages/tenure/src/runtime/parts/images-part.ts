/**
 * Kernels of convolutions and pooling, as a part that is loaded by itself. It names main-part.ts
 * besides, which most programs have by then: so bundlers keep what families share in one file. Owns
 * nothing.
 */
export * from "../../kernels/images.ts";
export * from "./main-part.ts";
