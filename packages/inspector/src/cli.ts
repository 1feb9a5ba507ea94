#!/usr/bin/env node
/**
 * `tenure-inspect trace.json [-o page.html] [-r dist]`: writes one page of a trace file beside it.
 * Run from a shell; all of it is in `command.ts`.
 */
import { inspect } from "./command.ts";

try {
  const { text, code } = inspect(process.argv.slice(2));
  process.stdout.write(text);
  process.exitCode = code;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
