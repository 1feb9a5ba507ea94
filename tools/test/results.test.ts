/** Tables of figures: read, picked from results files, and in the pages as they are in files. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { REPOSITORY } from "../files.ts";
import { pagesWithTables, withResults, wrongTables } from "../results.ts";
import { tablesOf } from "../results/tables.ts";

const test = suite("results");

const RESULTS = [
  "# memory",
  "",
  "| first | x |",
  "| --- | --- |",
  "| a | 1 |",
  "",
  "## Under a budget",
  "",
  "| batch | MB | ms |",
  "| --- | ---: | ---: |",
  "| 16 | 1.5 | 3 |",
  "| 32 | 2.5 | 4 |",
].join("\n");

const page = (fields: string, table: string): string =>
  `# P\n\n<!-- results: r.md${fields} -->\n\n${table}\n\nend\n`;
const wrong = (text: string): string[] => wrongTables("p.md", text, () => RESULTS);
const written = (fields: string): string =>
  withResults(page(fields, "| x |\n| --- |\n| ? |"), () => RESULTS);

test("a table is picked by heading, columns and rows", () => {
  assert.match(written(""), "-->\n\n| first | x |\n| --- | --- |\n| a | 1 |\n\nend\n");
  const fields = "\n table: Under a budget\n columns: ms; batch\n rows: ^32";
  assert.match(written(fields), "| ms | batch |\n| ---: | --- |\n| 4 | 32 |\n\nend\n");
  assert.equal(wrong(written(fields)), []);
});

test("a figure that differs is told, however the table is laid out", () => {
  const fields = "\n table: Under a budget\n rows: ^16";
  const good = "| batch |  MB |  ms |\n| :-- | --: | --: |\n| 16 | 1.5 |   3 |";
  assert.equal(wrong(page(fields, good)), []);
  assert.equal(wrong(page(fields, good.replace("1.5", "1.4"))), [
    "p.md:7 differs from r.md; run npm run results",
  ]);
});

test("figures from nowhere are told, words are not", () => {
  const figures = "| a | b |\n| --- | --- |\n| x | 1,024 kB |\n| y | −3.5 % |\n";
  assert.match(wrong(figures)[0] ?? "", /^p\.md:1 has figures, but no /);
  assert.equal(wrong("| a | b |\n| --- | --- |\n| x | one |\n"), []);
  assert.equal(wrong(`\`\`\`\n${figures}\`\`\`\n`), [], "code blocks show what a program prints");
});

test("what is asked for must exist", () => {
  assert.throws(() => written("\n table: Gone"), /expected a table "Gone" in r\.md/);
  assert.throws(() => written("\n columns: kB"), /expected one of first; x, got "kB"/);
  assert.throws(() => written("\n colums: x"), /expected table, columns or rows, got "colums: x"/);
});

test("the pages have the figures of the results files", () => {
  const pages = pagesWithTables().map(
    (file) => [file, readFileSync(join(REPOSITORY, file), "utf8")] as const,
  );
  assert.ok(pages.filter(([, text]) => tablesOf(text).length > 0).length > 5);
  assert.equal(
    pages.flatMap(([file, text]) => wrongTables(file, text)),
    [],
  );
});

test.run();
