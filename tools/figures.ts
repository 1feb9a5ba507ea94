/**
 * What the source amounts to, per area: lines per file and function, long lines, casts, non-null
 * assertions, documented exports. Owns nothing.
 *
 *     npm run figures -- [folder…] [--list] [--check]
 *
 * `--list` names every place over a limit, `--check` fails when there is one. Fixtures and golden
 * files are left out.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { sourceFiles } from "./figures/areas.ts";
import { measure } from "./figures/measure.ts";
import { areaBreaches, offendersOf, sumUp, tableOf } from "./figures/report.ts";
import { REPOSITORY } from "./files.ts";

const { values: options, positionals: folders } = parseArgs({
  allowPositionals: true,
  options: {
    list: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
  },
});

const files = sourceFiles(REPOSITORY, folders);
const figures = files.map((file) => measure(file, readFileSync(join(REPOSITORY, file), "utf8")));
const rows = sumUp(figures);
console.log(tableOf(rows).join("\n"));

const places = figures.flatMap(offendersOf);
const breaches = [
  ...places.map(({ file, line, what }) => `${file}:${line} ${what}`),
  ...(folders.length === 0 ? areaBreaches(rows) : []),
];
if (options.list || options.check) for (const breach of breaches) console.log(breach);
console.log(breaches.length === 0 ? "within the limits" : `${breaches.length} over the limits`);
if (files.length === 0) console.error(`figures: no source files below ${folders.join(", ")}`);
process.exitCode = files.length === 0 || (options.check && breaches.length > 0) ? 1 : 0;
