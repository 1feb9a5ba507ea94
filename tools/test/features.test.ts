/**
 * FEATURES.md is what the exports, the op records and the table give, and a table that leaves
 * something out or names what is not there is refused.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type Ours, features, ours, problems, table } from "../features.ts";

const test = suite("features");
const library = ours();

test("FEATURES.md is up to date", () => {
  const written = readFileSync(join(import.meta.dirname, "..", "..", "FEATURES.md"), "utf8");
  if (written !== features(table(), library))
    throw new Error(
      "FEATURES.md differs from what the library has; run `npm run features` and read the diff",
    );
});

const small: Ours = {
  names: new Set(["t.exp", "t.exp_", "nn.Tanh"]),
  records: library.records.filter((r) => r.name === "exp" || r.name === "exp_"),
};

test("a row covers the op, its in-place form and its record", () => {
  const text = [
    "# Functions",
    "exponential | t.exp | exp | exp | | exp",
    "tanh | nn.Tanh | | | tanh (a remark) |",
  ].join("\n");
  assert.equal(problems(text, small), []);
  const rows = features(text, small).split("\n");
  const exp =
    "| exponential | `t.exp` | elementwise, gradient, in place | `exp` | `exp` | | `exp` |";
  assert.ok(rows.includes(exp));
  assert.ok(rows.includes("| tanh | `nn.Tanh` | | | | `tanh` (a remark) | |"));
});

test("what has no row is named, and so is what does not exist", () => {
  assert.equal(problems("exponential | t.exp | | | |", small), ["nn.Tanh has no row"]);
  assert.equal(problems("all | t.exp nn.Tanh t.log | | | | | expo", small), [
    't.log, in the row "all", does not exist',
    'the op record expo, in the row "all", does not exist',
  ]);
  assert.equal(problems("all | nn.Tanh | | | |", small), [
    "t.exp has no row",
    "t.exp_ has no row",
    "the op record exp_ has no row",
    "the op record exp has no row",
  ]);
  assert.throws(
    () => features("all | nn.Tanh | | | |", small),
    /table\.txt does not fit the library:\n {2}t\.exp has no row/,
  );
  assert.throws(() => problems("too | few", small), /expected "what \| ours/);
});

test("an export without a row would be noticed", () => {
  const more: Ours = { ...library, names: new Set([...library.names, "optim.Adadelta"]) };
  assert.equal(problems(table(), more), ["optim.Adadelta has no row"]);
});

test.run();
