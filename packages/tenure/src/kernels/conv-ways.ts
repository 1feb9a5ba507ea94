/**
 * Convolutions in every way: those of conv.ts and conv-weight.ts, and of conv-implicit.ts, for
 * `tune` to choose from. Owns nothing.
 */
import { conv2dBackwardWeightKernel as weightGradient } from "./conv-weight.ts";
import { conv2dBackwardInputKernel as inputGradient, conv2dKernel as forward } from "./conv.ts";
import { implicit } from "./conv-implicit.ts";

/** As in conv.ts. */
export const conv2dKernel: typeof forward = (spec, caps) => forward(spec, caps, implicit);
/** As in conv.ts. */
export const conv2dBackwardInputKernel: typeof inputGradient = (spec, caps) =>
  inputGradient(spec, caps, implicit);
/** As in conv-weight.ts. */
export const conv2dBackwardWeightKernel: typeof weightGradient = (spec, caps) =>
  weightGradient(spec, caps, implicit);
