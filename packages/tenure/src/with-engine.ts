/**
 * `import "tenure/engine"`: what runs programs comes with the program that imports this, all of it,
 * instead of being loaded by `import()` when a device is asked for, and parts of it when they are
 * needed. For hosts without `import()` (service workers), bundles of one file (a worker in Vite's
 * default format), and pages that must work once they are loaded. Imported for its effect alone;
 * owns nothing.
 * @module tenure/engine
 */
import "./compose.ts";
import * as devices from "./device/host-devices.ts";
import * as functions from "./kernels/functions.ts";
import * as images from "./kernels/images.ts";
import * as main from "./kernels/main.ts";
import * as resizing from "./kernels/resizing.ts";
import * as sequences from "./kernels/sequences.ts";
import * as transformers from "./kernels/transformers.ts";
import { budgetPlanner, figuresOf } from "./planner/pipeline.ts";
import { Engine } from "./runtime/engine.ts";
import { probeRoom } from "./runtime/execution/probe.ts";
import { Segments } from "./runtime/execution/segments.ts";
import * as inspection from "./runtime/inspection.ts";
import { runtime } from "./runtime/runtime.ts";

runtime().bring(Engine, {
  main,
  functions,
  images,
  resizing,
  sequences,
  transformers,
  devices,
  inspection,
  budgets: { budgetPlanner, figuresOf, Segments, probeRoom },
});
