/** Every GPU test file runs in a page too, or the list of those left out says why not. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { FOLDER, leftOut, needsOf } from "../browser/left-out.ts";
import { REPOSITORY, filesBelow } from "../files.ts";

const test = suite("files that take part in a browser");

test("a file is left out if and only if it needs Node", () => {
  const paths = filesBelow(REPOSITORY, FOLDER, /\.test\.ts$/);
  const needs = needsOf(paths);
  const listed = [...leftOut.keys()].map((name) => `${FOLDER}/${name}`);
  assert.equal(listed.sort(), [...needs.keys()].sort(), JSON.stringify([...needs]));
  const ops = paths.filter((path) => path.startsWith(`${FOLDER}/ops/`) && !needs.has(path));
  assert.ok(ops.length >= 6, ops.join());
});

test.run();
