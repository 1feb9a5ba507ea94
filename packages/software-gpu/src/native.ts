/**
 * Environment variables and shared libraries of the process itself, as the drivers in it see them.
 * In Node that is `process` of the main context, of which Jest gives its tests a copy. Worker
 * threads have a copy of the environment, so that the main thread is asked, and so has Bun, so that
 * C code is asked there. Called by index.ts. Libraries stay loaded until the process ends.
 */
import type { Session } from "node:inspector";
import { createRequire } from "node:module";
import { constants } from "node:os";
import { messageOf, SoftwareGpuError } from "./errors.ts";

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

/** Environment variables to set; those without a value are removed. */
export type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Sets environment variables of the process: at once, but in worker threads when the promise is
 * kept.
 * @throws SoftwareGpuError in a worker thread whose main thread does not do it
 */
export async function setVariables(variables: Variables): Promise<void> {
  const c = cLibrary();
  const { runInThisContext } = process.getBuiltinModule("node:vm");
  const real = c === undefined ? (runInThisContext("process") as NodeJS.Process) : process;
  for (const env of new Set([process.env, real.env])) assign(env, variables);
  for (const [name, value] of Object.entries(variables))
    if (value === undefined) c?.unsetenv(cText(name));
    else c?.setenv(cText(name), cText(value), 1);
  const { isMainThread } = process.getBuiltinModule("node:worker_threads");
  if (!isMainThread && c === undefined) await setOnMainThread(variables);
}

function assign(env: NodeJS.ProcessEnv, variables: Variables): void {
  for (const [name, value] of Object.entries(variables))
    if (value === undefined) Reflect.deleteProperty(env, name);
    else env[name] = value;
}

/** How long the main thread may take: its JavaScript is interrupted, a wait for a lock is not. */
const MAIN_THREAD_MS = 10_000;

/** Has the main thread, whose environment is the real one, set variables, busy or not. */
async function setOnMainThread(variables: Variables): Promise<void> {
  let session: Session | undefined;
  let timer: NodeJS.Timeout | undefined;
  try {
    const inspector = process.getBuiltinModule("node:inspector");
    const talk = (session = new inspector.Session());
    talk.connectToMainThread();
    const entries = JSON.stringify(Object.entries(variables).map(([k, v]) => [k, v ?? null]));
    const expression =
      `for (const [name, value] of ${entries})` +
      "{ if (value === null) delete process.env[name]; else process.env[name] = value; }";
    await new Promise<void>((resolve, reject) => {
      timer = setTimeout(() => {
        reject(new Error(`no answer in ${MAIN_THREAD_MS / 1000} s`));
      }, MAIN_THREAD_MS);
      talk.post("Runtime.evaluate", { expression }, (error, answer) => {
        const failed = error?.message ?? answer.exceptionDetails?.text;
        if (failed === undefined) resolve();
        else reject(new Error(failed));
      });
    });
  } catch (error) {
    throw new SoftwareGpuError(
      "environment-failed",
      "installSoftwareVulkan: expected the main thread to choose the driver, got " +
        `"${messageOf(error)}"; call it on the main thread first, or start the worker with ` +
        "env: SHARE_ENV",
      { cause: error },
    );
  } finally {
    clearTimeout(timer);
    session?.disconnect();
  }
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
