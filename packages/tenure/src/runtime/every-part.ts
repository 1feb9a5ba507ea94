/**
 * All parts of the engine at once, for programs that import `tenure/engine`, and for tests that
 * load parts in their own way. The files in parts/ name the same, each for itself. Owns nothing.
 */
import * as lending from "../device/lent.ts";
import * as convolutions from "../kernels/conv-ways.ts";
import * as functions from "../kernels/functions.ts";
import * as images from "../kernels/images.ts";
import * as main from "../kernels/main.ts";
import * as products from "../kernels/matmul-ways.ts";
import * as resizing from "../kernels/resizing.ts";
import * as sequences from "../kernels/sequences.ts";
import * as transformers from "../kernels/transformers.ts";
import { budgetPlanner, figuresOf } from "../planner/pipeline.ts";
import { candidatesOf, placed } from "./candidates.ts";
import type { Parts } from "./engine-parts.ts";
import { probeRoom } from "./execution/probe.ts";
import { Segments } from "./execution/segments.ts";
import * as devices from "./hosts.ts";
import * as inspection from "./inspection.ts";
import { batchesOf, kernelOf } from "./update-batches.ts";

/** Every part, by its name. */
export const everyPart: Parts = {
  main: { ...main, batchesOf, kernelOf },
  functions,
  images,
  resizing,
  sequences,
  transformers,
  products: { ...products, candidatesOf, placed },
  convolutions,
  devices,
  lending,
  inspection,
  budgets: { budgetPlanner, figuresOf, Segments, probeRoom },
};
