/**
 * The engine as pages load it: with the loaders of its parts, each of which is a file of its own.
 * Loaded by device-life.ts. Owns nothing.
 */
import type { PartLoaders } from "../engine-parts.ts";
import { Engine } from "../engine.ts";

/** The engine that loads its parts where they are needed. */
export class EngineWithParts extends Engine {
  override readonly parts: PartLoaders = {
    main: () => import("./main-part.ts"),
    functions: () => import("./functions-part.ts"),
    images: () => import("./images-part.ts"),
    resizing: () => import("./resizing-part.ts"),
    sequences: () => import("./sequences-part.ts"),
    transformers: () => import("./transformers-part.ts"),
    products: () => import("./products-part.ts"),
    convolutions: () => import("./convolutions-part.ts"),
    devices: () => import("./devices-part.ts"),
    lending: () => import("./lending-part.ts"),
    inspection: () => import("./inspection-part.ts"),
    budgets: () => import("./budgets-part.ts"),
  };
}
