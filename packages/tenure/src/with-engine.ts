/**
 * `import "tenure/engine"`: what runs programs comes with the program that imports this, all of it,
 * instead of being loaded by `import()` when a device is asked for, and parts of it when they are
 * needed. For hosts without `import()` (service workers), bundles of one file (a worker in Vite's
 * default format), and pages that must work once they are loaded. Imported for its effect alone;
 * owns nothing.
 * @module tenure/engine
 */
import "./compose.ts";
import { Engine } from "./runtime/engine.ts";
import { everyPart } from "./runtime/every-part.ts";
import { runtime } from "./runtime/runtime.ts";

runtime().bring(Engine, everyPart);
