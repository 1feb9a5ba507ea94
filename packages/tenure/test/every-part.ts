/**
 * All parts of the engine, as a program has them that imports `tenure/engine`. Used by tests that
 * lower ops themselves, or load parts in their own way. Owns nothing.
 */
import * as devices from "../src/device/host-devices.ts";
import type { Kernels } from "../src/kernels/families.ts";
import * as functions from "../src/kernels/functions.ts";
import * as images from "../src/kernels/images.ts";
import * as main from "../src/kernels/main.ts";
import * as resizing from "../src/kernels/resizing.ts";
import * as sequences from "../src/kernels/sequences.ts";
import * as transformers from "../src/kernels/transformers.ts";
import { budgetPlanner, figuresOf } from "../src/planner/pipeline.ts";
import { probeRoom } from "../src/runtime/execution/probe.ts";
import { Segments } from "../src/runtime/execution/segments.ts";
import * as inspection from "../src/runtime/inspection.ts";
import type { Parts } from "../src/runtime/engine-parts.ts";

/** Every part. */
export const everyPart: Parts = {
  main,
  functions,
  images,
  resizing,
  sequences,
  transformers,
  devices,
  inspection,
  budgets: { budgetPlanner, figuresOf, Segments, probeRoom },
};

/** Every generator of kernels. */
export const everyKernel: Kernels = {
  ...main,
  ...functions,
  ...images,
  ...resizing,
  ...sequences,
  ...transformers,
};
