/**
 * All elementwise records under one name, for callers that use many of them. The records live in
 * the files named here, by what they compute. Owns nothing.
 */
export * from "./activations.ts";
export * from "./arithmetic.ts";
export * from "./casting.ts";
export * from "./comparison.ts";
export * from "./creation.ts";
export * from "./exponentials.ts";
export * from "./extremes.ts";
export * from "./masking.ts";
export * from "./powers.ts";
export * from "./draws.ts";
export * from "./rounding.ts";
export * from "./ternary.ts";
export * from "./trigonometry.ts";
export type { ScalarAttrs } from "./builders.ts";
export { scalarFormOf } from "./scalar-forms.ts";
export { scalarBits } from "./typing.ts";
