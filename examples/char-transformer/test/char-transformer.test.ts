/**
 * The example as a user runs it, for a few steps: it trains, tells a little, and leaks nothing; and
 * its tales hold only the words it says they do.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { tales, words } from "../text.ts";

const test = suite("examples/char-transformer");

function run(...args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [
        "--import",
        "tsx",
        "--conditions=tenure:source",
        join(import.meta.dirname, "..", "main.ts"),
        ...args,
      ],
      (error, out, err) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? -1), out, err });
      },
    );
  });
}

test("trains and samples without a leak, and the loss falls", async () => {
  const { code, out, err } = await run("6", "1", "12");
  assert.is(code, 0, err);
  assert.match(out, /^0 tensors leaked$/m);
  const losses = [...out.matchAll(/loss ([\d.]+)/g)].map((m) => Number(m[1]));
  assert.ok(losses.length > 1 && losses.at(-1)! < losses[0]!, out);
});

test("bad numbers are refused", async () => {
  const { code, err } = await run("none");
  assert.is(code, 1);
  assert.match(err, /expected a positive number of steps/);
});

test("tales are deterministic and hold only known words", () => {
  assert.is(tales(5000, 3), tales(5000, 3));
  assert.not(tales(5000, 3) === tales(5000, 4));
  for (const word of tales(5000, 3).split(/[\s.]+/))
    assert.ok(word === "" || words.has(word), word);
});

test.run();
