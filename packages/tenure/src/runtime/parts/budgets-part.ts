/** Planning under a budget, as a part that is loaded by itself; see main-part.ts. Owns nothing. */
export * from "../../planner/pipeline.ts";
export { Engine } from "../engine.ts";
