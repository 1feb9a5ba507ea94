/**
 * What shows and checks plans, as a part that is loaded by itself; see main-part.ts. Owns nothing.
 */
export * from "../inspection.ts";
export { Engine } from "../engine.ts";
