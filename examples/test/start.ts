/**
 * Examples as a user runs them, in processes of their own. Called by the examples' tests, which own
 * the folder that files go to.
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";

/** What a process said, and how it ended. */
export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Where the examples are. */
export const examples = join(import.meta.dirname, "..");

/** Runs `examples/<script>`; presses Ctrl-C as soon as `interrupt` is in what it prints. */
export function start(
  script: string,
  args: readonly string[],
  { interrupt, cwd }: { readonly interrupt?: string; readonly cwd?: string } = {},
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      [
        "--import",
        import.meta.resolve("tsx"),
        "--conditions=tenure:source",
        join(examples, script),
        ...args,
      ],
      { cwd: cwd ?? examples, stdio: ["ignore", "pipe", "pipe"] },
    );
    let out = "",
      err = "",
      pressed = false;
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
      if (pressed || interrupt === undefined || !out.includes(interrupt)) return;
      pressed = true;
      // Twice, as npm and a terminal do together.
      child.kill("SIGINT");
      child.kill("SIGINT");
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      err += text;
    });
    child.on("error", reject);
    child.on("close", (code) => {
      resolve({ code, out, err });
    });
  });
}

/** Runs `examples/<script>` with each list of options in turn, all in one process. */
export function startEach(
  script: string,
  lists: readonly (readonly string[])[],
): Promise<readonly Ended[]> {
  return new Promise((resolve, reject) => {
    const args = ["--import", import.meta.resolve("tsx"), "--conditions=tenure:source"],
      child = spawn(
        process.execPath,
        [...args, join(examples, "test/each.ts"), join(examples, script), JSON.stringify(lists)],
        { cwd: examples, stdio: ["ignore", "inherit", "inherit", "pipe"] },
      );
    let told = "";
    (child.stdio[3] as Readable).setEncoding("utf8").on("data", (text: string) => {
      told += text;
    });
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve(JSON.parse(told) as Ended[]);
      else reject(new Error(`${script}: expected exit code 0, got ${code}`));
    });
  });
}

/** What `examples/test/legs.ts` prints in each of its legs, which must end as they should. */
export async function threeLegs(
  main: string,
  cue: string,
  whole: string,
  parts: string,
  options: readonly string[],
  cwd: string,
): Promise<Record<"whole" | "stopped" | "resumed", string>> {
  const args = [join(examples, main), cue, whole, parts, ...options],
    { out, err } = await start("test/legs.ts", args, { cwd });
  const ends = ["whole: exit code 0\n", "stopped: exit code 130\n", "resumed: exit code 0$"],
    legs = new RegExp(ends.map((end) => `([^]*)^${end}`).join(""), "m").exec(out);
  if (legs === null)
    throw new Error(`expected three legs with codes 0, 130 and 0, got ${out}${err}`);
  return { whole: legs[1] ?? "", stopped: legs[2] ?? "", resumed: legs[3] ?? "" };
}

/** A folder for what `use` writes, gone afterwards. */
export async function withFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tenure-example-"));
  try {
    await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}
