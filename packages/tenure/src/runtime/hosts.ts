/**
 * What hosts other than browsers have: their devices, and files. A part of the engine, which Node
 * loads to find a device, and pages only for the null device. Owns nothing.
 */
export { HostDevices } from "../device/host-devices.ts";
export { fileStore } from "./file-store.ts";
