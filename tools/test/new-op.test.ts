/**
 * `npm run new:op`: what it writes is formatted, parses, names what exists, and is refused twice.
 */
import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { check } from "prettier";
import ts from "typescript";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { newOp } from "../new-op.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const test = suite("new:op");

test("writes a record, a method and a reference, formatted, whose imports exist", async () => {
  const files = newOp("logCosh", read);
  assert.equal(Object.keys(files).length, 4);
  for (const [path, text] of Object.entries(files)) {
    assert.ok(await check(text, { parser: "typescript", printWidth: 100 }), `${path} is formatted`);
    const { importedFiles } = ts.preProcessFile(text);
    for (const { fileName } of importedFiles) {
      if (!fileName.startsWith(".")) continue;
      const target = posix.normalize(posix.join(posix.dirname(path), fileName));
      assert.ok(target in files || existsSync(join(root, target)), `${path} imports ${target}`);
    }
  }
});

test("registers the reference and the method by name", () => {
  const files = newOp("logCosh", read);
  const all = Object.values(files).join("\n");
  for (const part of ["logCosh: {", "logCosh(): this {", "log-cosh.ts"])
    assert.ok(all.includes(part), part);
});

test("refuses names that are none, and ops that exist", () => {
  assert.throws(() => newOp("Log Cosh", read), /expected a name such as softsign/);
  assert.throws(() => newOp("relu", read), /has it already/);
});

test.run();
