/**
 * Devices of the program and their buffers, as a part that is loaded by itself; see main-part.ts.
 * Owns nothing.
 */
export * from "../../device/lent.ts";
export { Engine } from "../engine.ts";
