/**
 * Devices where there is no `navigator.gpu`, as a part that is loaded by itself; see main-part.ts.
 * Owns nothing.
 */
export * from "../../device/host-devices.ts";
export { Engine } from "../engine.ts";
