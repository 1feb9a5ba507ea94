/**
 * Devices where there is no `navigator.gpu`, and files, as a part that is loaded by itself; see
 * main-part.ts. Owns nothing.
 */
export * from "../hosts.ts";
export { Engine } from "../engine.ts";
