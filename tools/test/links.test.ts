/** Dead links and names: on small trees made here, and in the documents of the repository. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { REPOSITORY } from "../files.ts";
import { LAYERS } from "../layers/table.ts";
import { deadLinks } from "../links/check.ts";

const FILES = ["README.md", "docs/a.md", "packages/tenure/src/nn/layers/linear.ts"];

/** What is wrong with a page of this text. */
function dead(text: string, path = "README.md"): string[] {
  const scripts = new Set(["check", "check:lint", "test"]);
  const pages = new Map([["docs/a.md", "# Top\n\n## The `a` way, twice\n\n## The a way, twice\n"]]);
  return deadLinks({ files: FILES, pages: pages.set(path, text), scripts });
}

const links = suite("links");

links("relative links lead to files, folders and headings", () => {
  const good =
    "[a](docs/a.md) [b](docs) [c](docs/a.md#top) [d](https://x.y/z) [e](#here)\n# Here\n";
  assert.equal(dead(good), []);
  assert.equal(dead("[a](./a.md#the-a-way-twice-1) [r](../README.md)", "docs/b.md"), []);
  assert.equal(dead("\n[x](docs/gone.md)"), [
    "README.md:2 links to docs/gone.md, which does not exist",
  ]);
  assert.equal(dead("![x](picture.png)\n[r]: gone.md\n").length, 2);
  assert.equal(dead("[x](docs/a.md#gone)"), [
    "README.md:1 links to docs/a.md#gone, but docs/a.md has no heading for it",
  ]);
  assert.is(dead("[x](#gone)").length, 1);
});

links("names of files and folders in backticks exist", () => {
  const good = "`docs/a.md` `linear.ts` `layers/linear.ts#Linear` `packages/*/src` `nn/layers/`";
  assert.equal(dead(`${good} \`tenure/nn\` \`a/b\` \`.ts\` \`*.test.ts\` \`x => y\``), []);
  for (const name of ["gone.ts", "nn/linear.ts", "docs/gone", "layer/", "inear.ts", "docs/*.ts"])
    assert.equal(dead(`\`${name}\``), [`README.md:1 names ${name}, which does not exist`]);
  assert.equal(dead("```ts\nimport `gone.ts` [x](gone.md)\n```\n"), [], "code blocks are examples");
  assert.is(dead("    add ─► nn/gone.ts ─► layers/linear.ts").length, 1, "in a picture");
  assert.is(dead("```ts\n```\n`gone.ts`").length, 1, "what follows a code block is none");
});

links("npm scripts exist, in code blocks too", () => {
  assert.equal(dead("`npm run check:lint -- a` and\n```sh\nnpm run check\nnpm test\n```"), []);
  assert.equal(dead("```sh\nnpm run gone\n```"), [
    "README.md:2 names npm run gone, which package.json does not have",
  ]);
  assert.is(dead("`npm start`").length, 1);
});

links.run();

const repository = suite("repository");

/** Pages that are the record of a day, and pages that a program writes. */
const RECORDS = /^(?:CHANGELOG\.md|.*\/results\b.*\.md)$/;
/** Files of a reader's own project that the documents speak of. */
const FOREIGN = new Set([".vscode/settings.json"]);

function read(path: string): string {
  return readFileSync(join(REPOSITORY, path), "utf8");
}

repository("the documents point at nothing that is not there", () => {
  const list = ["ls-files", "--cached", "--others", "--exclude-standard"];
  const files = execFileSync("git", list, { cwd: REPOSITORY, encoding: "utf8" }).trim().split("\n");
  const documents = files.filter((file) => file.endsWith(".md") && !RECORDS.test(file));
  assert.ok(documents.length > 20, `only ${documents.length} documents found`);
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  const found = deadLinks({
    files,
    pages: new Map(documents.map((path) => [path, read(path)])),
    scripts: new Set(Object.keys(scripts)),
    foreign: FOREIGN,
  });
  assert.equal(found, []);
});

repository("ARCHITECTURE.md has every layer", () => {
  const map = read("ARCHITECTURE.md");
  for (const layer of Object.keys(LAYERS)) assert.ok(map.includes(`\`${layer}\``), layer);
});

repository.run();
