/**
 * The WGSL functions that fewer programs need, which are loaded as one. See families.ts. Owns
 * nothing.
 */
export { rareHelpers } from "./rare-helpers.ts";
