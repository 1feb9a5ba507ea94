/** The generators of all families, for tests that lower ops themselves. Owns nothing. */
import type { Kernels } from "../src/kernels/families.ts";
import { everyPart } from "../src/runtime/every-part.ts";

const { main, functions, images, resizing, sequences, transformers, products, convolutions } =
  everyPart;

/** Every generator of kernels; of products and convolutions, those with every way. */
export const everyKernel: Kernels = {
  ...main,
  ...functions,
  ...images,
  ...resizing,
  ...sequences,
  ...transformers,
  ...products,
  ...convolutions,
};
