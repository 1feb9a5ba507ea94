/**
 * `npm run consumers`: the long matrix, which installs from the npm registry into temporary
 * projects. Prints tables; `--save` writes them to `records/`. A part alone by its name: `hosts`,
 * `compilers`, `linters`, `sizes`. Exits with 1 when something is wrong.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { format } from "prettier";
import { runCompilers } from "./compilers.ts";
import { runHosts } from "./hosts.ts";
import { runLinters } from "./linters.ts";
import { runPageSizes } from "./page-sizes.ts";

const parts = {
  hosts: runHosts,
  compilers: runCompilers,
  linters: runLinters,
  sizes: runPageSizes,
};
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { save: { type: "boolean", default: false } },
});

for (const [name, run] of Object.entries(parts)) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  const { table, wrong } = await run();
  process.stdout.write(`${table}\n\n`);
  for (const line of wrong) console.error(`wrong: ${line}`);
  if (wrong.length > 0) process.exitCode = 1;
  const record = join(import.meta.dirname, "records", `${name}.md`);
  if (values.save) writeFileSync(record, await format(table, { parser: "markdown" }));
}
