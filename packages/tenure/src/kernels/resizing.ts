/** The generator that makes images larger and smaller. See families.ts. Owns nothing. */
export { resampleKernel } from "./resample.ts";
