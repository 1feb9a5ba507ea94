/** The site: every page of the documents is in it, once, and links lead where they should. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { filesBelow, REPOSITORY } from "../files.ts";
import { addressOf, GUIDE, linkOn, pageOf } from "../site/pages.ts";

const test = suite("site");

test("the side bar has every page of docs, once, and each exists", () => {
  const listed = GUIDE.flatMap(({ items }) => items.map(({ file }) => file));
  assert.equal(new Set(listed).size, listed.length);
  for (const file of listed) assert.ok(existsSync(join(REPOSITORY, file)), file);
  const pages = filesBelow(REPOSITORY, "docs", /\.md$/).filter(
    (file) => !file.startsWith("docs/site/"),
  );
  for (const file of pages) assert.ok(listed.includes(file), `${file} is not in GUIDE`);
});

test("pages have short addresses, other files none", () => {
  assert.is(addressOf("docs/lint.md"), "/lint");
  assert.is(addressOf("FEATURES.md"), "/features");
  assert.is(addressOf("docs/site/index.md"), "/");
  assert.is(addressOf("docs/site/dist/api/tenure/nn/index.md"), "/api/tenure/nn/");
  assert.is(addressOf("docs/site/dist/api/tenure/nn/classes/GRU.md"), "/api/tenure/nn/classes/GRU");
  assert.is(addressOf("eslint-plugin/docs/rules/prefer-using.md"), "/rules/prefer-using");
  for (const file of ["README.md", "packages/tenure/README.md", "docs/site/package.json"])
    assert.is(pageOf(file), undefined, file);
  assert.throws(() => addressOf("README.md"), /README\.md is no page of the site/);
});

test("links lead to pages of the site, or to the repository", () => {
  const from = (link: string): string => linkOn("docs/lint.md", link);
  assert.is(from("ownership.md#across-await"), "/ownership#across-await");
  assert.is(from("../FEATURES.md"), "/features");
  assert.is(from("../eslint-plugin/docs/rules/prefer-using.md"), "/rules/prefer-using");
  assert.match(from("../packages/bench/results"), /\/tree\/main\/packages\/bench\/results$/);
  assert.match(
    from("../packages/tenure/README.md#x"),
    /\/blob\/main\/packages\/tenure\/README\.md#x$/,
  );
  for (const link of ["https://x.y/z", "#rules", "/start"]) assert.is(from(link), link);
});

test.run();
