/**
 * All parts of the engine at once, for programs that import `tenure/engine`, and for tests that
 * load parts in their own way. Owns nothing.
 */
import type { Parts } from "../engine-parts.ts";
import * as budgets from "./budgets-part.ts";
import * as devices from "./devices-part.ts";
import * as functions from "./functions-part.ts";
import * as images from "./images-part.ts";
import * as inspection from "./inspection-part.ts";
import * as main from "./main-part.ts";
import * as resizing from "./resizing-part.ts";
import * as sequences from "./sequences-part.ts";
import * as transformers from "./transformers-part.ts";

/** Every part, by its name. */
export const everyPart: Parts = {
  main,
  functions,
  images,
  resizing,
  sequences,
  transformers,
  devices,
  inspection,
  budgets,
};
