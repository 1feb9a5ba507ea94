/**
 * The cases every built-in op is tested on, found by the op's name only, so an op that is
 * added without a case fails the tests. Pure host code.
 */
import { attentionGrads, attentionTable } from "./cases/attention.ts";
import type { Case, CaseTable, GradCase, GradTable } from "./cases/case.ts";
import { convGrads, convTable } from "./cases/convolution.ts";
import { copyCases, copyGrads } from "./cases/copies.ts";
import { creationCases, creationGrads } from "./cases/creation.ts";
import { elementwiseCasesOf, elementwiseGradsOf } from "./cases/elementwise.ts";
import { gatheringCases, gatheringGrads } from "./cases/gathering.ts";
import { imageCases, imageGrads } from "./cases/images.ts";
import { joiningCases, joiningGrads } from "./cases/joining.ts";
import { layoutCases, layoutGrads } from "./cases/layouts.ts";
import { mathCases, mathGrads } from "./cases/masks.ts";
import { matmulGrads, matmulTable } from "./cases/matmul.ts";
import { normalizationCases, normalizationGrads } from "./cases/normalization.ts";
import { poolGrads, poolTable } from "./cases/pooling.ts";
import { reductionGrads, reductionTable } from "./cases/reductions.ts";
import { totalCases, totalGrads } from "./cases/running-totals.ts";
import {
  crossEntropyGrads,
  crossEntropyTable,
  softmaxGrads,
  softmaxTable,
} from "./cases/softmax.ts";
import { sortingCases } from "./cases/sorting.ts";
import { statisticsCases, statisticsGrads } from "./cases/statistics.ts";
import { updateTable } from "./cases/updates.ts";

const cases: CaseTable = {
  ...attentionTable,
  ...convTable,
  ...copyCases,
  ...creationCases,
  ...crossEntropyTable,
  ...gatheringCases,
  ...imageCases,
  ...joiningCases,
  ...layoutCases,
  ...mathCases,
  ...matmulTable,
  ...normalizationCases,
  ...poolTable,
  ...reductionTable,
  ...softmaxTable,
  ...sortingCases,
  ...statisticsCases,
  ...totalCases,
  ...updateTable,
};

const grads: GradTable = {
  ...attentionGrads,
  ...convGrads,
  ...copyGrads,
  ...creationGrads,
  ...crossEntropyGrads,
  ...gatheringGrads,
  ...imageGrads,
  ...joiningGrads,
  ...layoutGrads,
  ...mathGrads,
  ...matmulGrads,
  ...normalizationGrads,
  ...poolGrads,
  ...reductionGrads,
  ...softmaxGrads,
  ...statisticsGrads,
  ...totalGrads,
};

/** The cases of an op, or undefined when nobody wrote any. */
export function casesOf(name: string): readonly Case[] | undefined {
  return cases[name]?.() ?? elementwiseCasesOf(name);
}

/**
 * The gradient checks of a differentiable op, or undefined when nobody wrote any. In-place twins
 * share those of their base.
 */
export function gradCasesOf(name: string): readonly GradCase[] | undefined {
  return grads[name]?.() ?? elementwiseGradsOf(name);
}
