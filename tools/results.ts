/**
 * Writes the tables of figures into the pages: a comment above a table says from which results file
 * it is, see `tools/results/tables.ts`. Run by `npm run results` after a benchmark was saved; the
 * test checks that every page is what this would write. Owns nothing.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { format, resolveConfig } from "prettier";
import { filesBelow, REPOSITORY } from "./files.ts";
import { hasFigures, pick, requestAbove, type Table, tablesOf } from "./results/tables.ts";

const read = (file: string): string => readFileSync(join(REPOSITORY, file), "utf8");

/** The pages that people read, except those that are results. */
export function pagesWithTables(): string[] {
  return ["docs", "packages", "examples", "eslint-plugin"]
    .flatMap((place) => filesBelow(REPOSITORY, place, /\.md$/))
    .filter((file) => !/\/(?:results|records|rules|bench)\//.test(file))
    .concat("README.md");
}

const equal = (a: readonly (readonly string[])[], b: readonly (readonly string[])[]): boolean =>
  JSON.stringify(a) === JSON.stringify(b);

/** What is wrong with a page's tables, one line each. @param file reads a results file */
export function wrongTables(page: string, text: string, file = read): string[] {
  return tablesOf(text).flatMap((table) => {
    const place = `${page}:${table.from + 1}`;
    const request = requestAbove(text, table);
    if (request === undefined)
      return hasFigures(table)
        ? [`${place} has figures, but no <!-- results: … --> that says where they are from`]
        : [];
    return equal(table.rows, pick(file(request.file), request).rows)
      ? []
      : [`${place} differs from ${request.file}; run npm run results`];
  });
}

/** A page with its tables as the results files have them, not yet formatted. */
export function withResults(text: string, file = read): string {
  const lines = text.split("\n");
  const replace = (table: Table): void => {
    const request = requestAbove(text, table);
    if (request === undefined) return;
    const { rows, alignment } = pick(file(request.file), request);
    const [header = [], ...body] = rows;
    const written = [header, alignment, ...body].map((row) => `| ${row.join(" | ")} |`);
    lines.splice(table.from, table.to - table.from, ...written);
  };
  for (const table of tablesOf(text).reverse()) replace(table);
  return lines.join("\n");
}

if (resolve(process.argv[1] ?? "") === fileURLToPath(import.meta.url)) {
  for (const page of pagesWithTables()) {
    const text = read(page);
    if (wrongTables(page, text).length === 0) continue;
    const options = await resolveConfig(join(REPOSITORY, page));
    const written = await format(withResults(text), { ...options, filepath: page });
    if (written !== text) console.log(`${page} written`);
    writeFileSync(join(REPOSITORY, page), written);
  }
}
