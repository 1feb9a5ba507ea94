/**
 * The case tables that live in files of their own, by op. Read by `casesOf` and `gradCasesOf`.
 */
import "tenure/nn"; // ops register when they are imported
import type { Case, GradCase } from "./cases.ts";
import { imageCases, imageGrads } from "./images.ts";
import { indexingCases, indexingGrads } from "./indexing.ts";
import { mathCases, mathGrads } from "./math.ts";
import { normCases, normGrads } from "./norms.ts";

export const moreCases: Readonly<Record<string, () => Case[]>> = {
  ...indexingCases,
  ...mathCases,
  ...normCases,
  ...imageCases,
};
export const moreGrads: Readonly<Record<string, () => GradCase[]>> = {
  ...indexingGrads,
  ...mathGrads,
  ...normGrads,
  ...imageGrads,
};
