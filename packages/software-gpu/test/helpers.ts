/**
 * Child processes and throw-away folders for the tests of this package. Each test waits for its
 * processes; folders are removed when the test process ends.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** How a process ended. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly ms: number;
}

const folders: string[] = [];
process.once("exit", () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A new empty folder. */
export function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "tenure-test-"));
  folders.push(folder);
  return folder;
}

/**
 * Runs a file of `fixtures/` to its end, or kills it after 60 seconds. `env` is the whole
 * environment, `fileBlocks` the size in blocks beyond which no file of the child can grow.
 */
export function runFixture(
  name: string,
  args: readonly string[],
  env: Record<string, string> = {},
  fileBlocks?: number,
): Promise<Ended> {
  const started = Date.now();
  const file = fileURLToPath(new URL(`fixtures/${name}.ts`, import.meta.url));
  const tsx = ["--import", import.meta.resolve("tsx"), "--conditions=tenure:source"];
  const command = [process.execPath, ...tsx, file, ...args];
  const limit = fileBlocks === undefined ? "" : `ulimit -f ${fileBlocks}; `;
  const child = spawn("/bin/sh", ["-c", `${limit}exec "$@"`, "sh", ...command], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 60_000,
    killSignal: "SIGKILL",
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => {
      resolve({ code, signal, stdout, stderr, ms: Date.now() - started });
    });
  });
}
