/**
 * Environment variables and shared libraries of the process itself, as the drivers in it see them.
 * In Node that is `process`; Jest gives its tests a copy of it, and Bun keeps a copy of the
 * environment, so that C code is asked there. Called by index.ts. Libraries stay loaded until the
 * process ends.
 */
import { createRequire } from "node:module";
import { constants } from "node:os";
import { messageOf } from "./errors.ts";

/** Not in `os.constants`: the library stays loaded although Node closes its handle. */
const RTLD_NODELETE = 0x1000;
const flags = constants.dlopen.RTLD_NOW | constants.dlopen.RTLD_GLOBAL | RTLD_NODELETE;

/** The part of the C library that is called in Bun. */
interface CLibrary {
  setenv(name: Buffer, value: Buffer, overwrite: number): number;
  unsetenv(name: Buffer): number;
  dlopen(file: Buffer, flags: number): number | null;
  dlerror(): { toString(): string };
}
interface BunFFI {
  dlopen(file: string, symbols: object): { readonly symbols: CLibrary };
}

/** The C library in Bun; undefined elsewhere. */
function cLibrary(): CLibrary | undefined {
  if (process.versions["bun"] === undefined || process.platform !== "linux") return undefined;
  const ffi = createRequire(import.meta.url)("bun:ffi") as BunFFI;
  return ffi.dlopen("libc.so.6", {
    setenv: { args: ["cstring", "cstring", "int"], returns: "int" },
    unsetenv: { args: ["cstring"], returns: "int" },
    dlopen: { args: ["cstring", "int"], returns: "ptr" },
    dlerror: { args: [], returns: "cstring" },
  }).symbols;
}

const cText = (text: string): Buffer => Buffer.from(`${text}\0`);

/** Sets an environment variable, or removes it. */
export function setVariable(name: string, value: string | undefined): void {
  const real = process.getBuiltinModule("node:process").env;
  for (const env of new Set([process.env, real]))
    if (value === undefined) Reflect.deleteProperty(env, name);
    else env[name] = value;
  const c = cLibrary();
  if (value === undefined) c?.unsetenv(cText(name));
  else c?.setenv(cText(name), cText(value), 1);
}

/**
 * Loads a shared library for the rest of the process. Node refuses everything that is no addon, but
 * only after the system loaded it: that refusal is success here.
 * @returns why not
 */
export function loadLibrary(file: string): string | undefined {
  const c = cLibrary();
  if (c !== undefined)
    return c.dlopen(cText(file), flags) === null ? String(c.dlerror()) : undefined;
  try {
    process.dlopen({ exports: {} }, file, flags);
    return undefined;
  } catch (error) {
    const message = messageOf(error);
    return message.includes("did not self-register") ? undefined : message;
  }
}
