/**
 * Kernels that go along an axis, as a part that is loaded by itself; see images-part.ts. Owns
 * nothing.
 */
export * from "../../kernels/sequences.ts";
export * from "./main-part.ts";
