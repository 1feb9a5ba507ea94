/**
 * The example as a user runs it, for a few steps: it trains, tells a little, and leaks nothing; and
 * its tales hold only the words it says they do.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { newDisposeScope } from "tenure";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { threeLegs, withFolder } from "../../test/start.ts";
import { Alphabet, tales, windows, words } from "../text.ts";

const test = suite("examples/char-transformer");
const main = "char-transformer/main.ts";

test("trains and samples without a leak, interrupted or not with the same bits", async () => {
  await withFolder(async (temp) => {
    const [whole, parts] = [join(temp, "whole.safetensors"), join(temp, "parts.safetensors")],
      small = ["--steps", "4", "--tell", "4"];
    const legs = await threeLegs(main, "loss", whole, parts, small, temp);
    const losses = [...legs.whole.matchAll(/loss ([\d.]+)/g)].map((m) => Number(m[1]));
    assert.ok(losses.length > 1 && losses.at(-1)! < losses[0]!, legs.whole);
    for (const out of [legs.whole, legs.resumed]) assert.match(out, /^0 tensors leaked$/m);
    assert.match(legs.stopped, "to go on: npm run example:char-transformer -- --resume ");
    assert.match(legs.resumed, /training .* [2-4]\/4 /);
    const told = (text: string): string => text.slice(text.indexOf("\n\n"));
    assert.is(told(legs.resumed), told(legs.whole));
    assert.ok((await readFile(parts)).equals(await readFile(whole)));
  });
});

test("tales are deterministic and hold only known words", () => {
  assert.is(tales(5000, 3), tales(5000, 3));
  assert.not(tales(5000, 3) === tales(5000, 4));
  for (const word of tales(5000, 3).split(/[\s.]+/))
    assert.ok(word === "" || words.has(word), word);
});

test("windows of text ask for the next character", () => {
  const text = "abcab",
    alphabet = new Alphabet(text);
  using _scope = newDisposeScope("windows");
  const data = windows(alphabet.encode(text), 2);
  assert.is(data.length, 3);
  assert.is(alphabet.characters.join(""), "abc");
  const { input, target } = data.batch([0, 2]);
  assert.equal(
    [input.shape, target.shape],
    [
      [2, 2],
      [2, 2],
    ],
  );
});

test.run();
