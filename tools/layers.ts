/**
 * Checks who may import whom inside `packages/tenure/src` (type imports and `import()` included),
 * that no files import each other in a circle, not even by their types, that a file name means one
 * thing, and that the package needs nothing at run time. Prints what each layer amounts to. Run by
 * `npm run check:layers`; owns nothing.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { filesBelow, REPOSITORY } from "./files.ts";
import { checkLayers } from "./layers/check.ts";

const home = join(REPOSITORY, "packages/tenure");
const source = join(home, "src");
const manifest = JSON.parse(readFileSync(join(home, "package.json"), "utf8")) as {
  dependencies?: Record<string, string>;
};
const tree = new Map(
  filesBelow(source, "", /\.ts$/).map((file) => [file, readFileSync(join(source, file), "utf8")]),
);
const { breaches, rows } = checkLayers(tree, manifest);

const line = (name: string, files: number | string, lines: number | string): string =>
  name.padEnd(16) + String(files).padStart(9) + String(lines).padStart(9);
const sum = (key: "files" | "lines"): number => rows.reduce((total, row) => total + row[key], 0);
console.log(line("layer", "files", "lines"));
for (const row of rows) console.log(line(row.layer, row.files, row.lines));
console.log(line("all", sum("files"), sum("lines")));
for (const breach of breaches) console.error(breach);
console.log(breaches.length === 0 ? "layers hold" : `${breaches.length} breaches of the layers`);
process.exitCode = breaches.length === 0 ? 0 : 1;
