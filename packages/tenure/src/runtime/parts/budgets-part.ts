/**
 * Planning under a budget, and what runs plans piece by piece, as a part that is loaded by itself;
 * see main-part.ts. Owns nothing.
 */
export { budgetPlanner, figuresOf } from "../../planner/pipeline.ts";
export { probeRoom } from "../execution/probe.ts";
export { Segments } from "../execution/segments.ts";
export { Engine } from "../engine.ts";
