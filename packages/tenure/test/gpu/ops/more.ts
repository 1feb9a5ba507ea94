/**
 * The case tables that live in files of their own, by op. Read by `casesOf` and `gradCasesOf`.
 */
import type { Case, GradCase } from "./cases.ts";
import { indexingCases, indexingGrads } from "./indexing.ts";
import { mathCases, mathGrads } from "./math.ts";

export const moreCases: Readonly<Record<string, () => Case[]>> = { ...indexingCases, ...mathCases };
export const moreGrads: Readonly<Record<string, () => GradCase[]>> = { ...indexingGrads, ...mathGrads };
