#!/usr/bin/env node
/**
 * `tenure-inspect trace.json [-o page.html] [-r dist]`: writes one page of a trace file beside it.
 * Reads the named file and the bundles with source maps that it names; writes the page only.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { parseTrace } from "./check.ts";
import { inspectorHTML } from "./render.ts";

const usage = `tenure-inspect trace.json [-o page.html] [-r dist]

Makes one page, for any browser, of what JSON.stringify(memory.chromeTrace()) gave.
  -o, --out FILE   the page; without it the name of the trace with .html
  -r, --root DIR   the folder a server served when the program ran in a browser, with its .map files
  -h, --help       this text
`;

/** @returns the exit code */
function main(): number {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        out: { type: "string", short: "o" },
        root: { type: "string", short: "r" },
        help: { type: "boolean", short: "h" },
      },
    });
    const [trace] = positionals;
    if (values.help === true || trace === undefined) {
      process.stdout.write(usage);
      return values.help === true ? 0 : 2;
    }
    const out = values.out ?? `${trace.replace(/\.json$/, "")}.html`;
    const { root } = values;
    const file = parseTrace(readFileSync(trace, "utf8"));
    writeFileSync(out, inspectorHTML(file, root === undefined ? {} : { root }));
    process.stdout.write(`${out}\n`);
    return 0;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}

process.exitCode = main();
