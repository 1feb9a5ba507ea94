/**
 * A child of the tests: one example run with several command lines, one after the other in this
 * process. Arguments: `main.ts`, a JSON list of lists of options. What each run said, and how it
 * ended, is written as JSON to file descriptor 3.
 */
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { Ended } from "./start.ts";

const [node = "", , main = "", lists = "[]"] = process.argv,
  ends: Ended[] = [];
for (const [k, args] of (JSON.parse(lists) as string[][]).entries()) {
  let out = "",
    err = "";
  process.stdout.write = (text: string | Uint8Array): boolean => {
    out += String(text);
    return true;
  };
  process.stderr.write = (text: string | Uint8Array): boolean => {
    err += String(text);
    return true;
  };
  process.argv = [node, main, ...args];
  process.exitCode = undefined;
  await import(`${pathToFileURL(main).href}?${k}`);
  ends.push({ code: process.exitCode === 1 ? 1 : 0, out, err });
}
process.exitCode = undefined;
writeFileSync(3, JSON.stringify(ends));
