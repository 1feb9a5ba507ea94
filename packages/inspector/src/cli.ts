#!/usr/bin/env node
/**
 * `tenure-inspect trace.json [-o page.html]`: writes one page of a trace file beside it. Reads and
 * writes the named files only.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { inspectorHTML } from "./render.ts";

const usage = `tenure-inspect trace.json [-o page.html]

Makes one page, for any browser, of what JSON.stringify(memory.chromeTrace()) gave.
  -o, --out FILE   the page; without it the name of the trace with .html
  -h, --help       this text
`;

/** @returns the exit code */
function main(): number {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { out: { type: "string", short: "o" }, help: { type: "boolean", short: "h" } },
    });
    const [trace] = positionals;
    if (values.help === true || trace === undefined) {
      process.stdout.write(usage);
      return values.help === true ? 0 : 2;
    }
    const out = values.out ?? `${trace.replace(/\.json$/, "")}.html`;
    writeFileSync(out, inspectorHTML(JSON.parse(readFileSync(trace, "utf8"))));
    process.stdout.write(`${out}\n`);
    return 0;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}

process.exitCode = main();
