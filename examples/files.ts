/**
 * Files that the command line names: read, tried before training, and never written over unasked.
 * Called by run.ts and the examples. Owns nothing.
 */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { open, readFile, rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { ArgumentError } from "tenure";

/** The bytes of the file that `--option` names. @throws ArgumentError when there is none */
export async function readInput(option: string, file: string): Promise<Uint8Array> {
  try {
    return await readFile(file);
  } catch (error) {
    throw new ArgumentError(
      `--${option}`,
      "a readable file",
      file,
      (error as { code?: string }).code === "ENOENT"
        ? "there is none of that name"
        : (error as Error).message,
    );
  }
}

/**
 * Tries whether `file` can be written, by writing another beside it as saving will.
 * @throws ArgumentError that names the option
 */
export async function checkWritable(option: string, file: string): Promise<void> {
  const refuse = (got: string, remedy: string): never => {
    throw new ArgumentError(`--${option}`, "a file that can be written", got, remedy);
  };
  const folder = dirname(resolve(file)),
    found = await stat(file).catch(() => undefined);
  if (found?.isDirectory()) refuse(`${file}, a folder`, "add a name");
  const trial = `${file}.${randomUUID()}.part`;
  try {
    await (await open(trial, "wx")).close();
    await rm(trial);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const missing = !existsSync(folder);
    if (missing) refuse(`${file}, whose folder is missing`, `make ${folder} first`);
    if (code === "ENOTDIR") refuse(`${file}, in what is no folder`, "choose another place");
    refuse(`${file}, where nothing can be (${message})`, "choose another place");
  }
}

/** `name`, or with a number where there is one: what an earlier run wrote is not lost. */
export function freeName(name: string): string {
  let free = name;
  for (let n = 2; existsSync(free); n++) free = name.replace(/(\.[^./\\]+)*$/, `-${n}$&`);
  return free;
}
