/** The generators of all families, for tests that lower ops themselves. Owns nothing. */
import type { Kernels } from "../src/kernels/families.ts";
import { everyPart } from "../src/runtime/every-part.ts";

const { main, functions, images, resizing, sequences, transformers } = everyPart;

/** Every generator of kernels. */
export const everyKernel: Kernels = {
  ...main,
  ...functions,
  ...images,
  ...resizing,
  ...sequences,
  ...transformers,
};
