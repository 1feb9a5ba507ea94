/** docs/ownership.md keeps its word: every test it names exists. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { suite } from "uvu";
import * as assert from "uvu/assert";

const test = suite("docs/ownership.md");
const tests = fileURLToPath(new URL("../..", import.meta.url)),
  root = join(tests, "../../.."),
  page = readFileSync(join(root, "docs/ownership.md"), "utf8");

test("every complaint names a test that exists", () => {
  const rows = page
    .split("## What people complain about elsewhere")[1]!
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .slice(2);
  assert.ok(rows.length >= 17);
  for (const row of rows) {
    const [, file, name] = /\| `([^`]+)` › (.+?) +\|$/.exec(row) ?? [];
    const path = join(file?.startsWith("packages/") === true ? root : tests, file ?? "");
    assert.ok(file !== undefined && existsSync(path), `no file in: ${row}`);
    const text = readFileSync(path, "utf8");
    assert.ok(
      text.includes(`"${name}"`) || text.includes(`\`${name}`),
      `${file} has no test "${name}"`,
    );
  }
});

test.run();
