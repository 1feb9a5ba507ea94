/**
 * The example as a user runs it, small: it learns, gathers statistics that serve in evaluation,
 * leaks nothing, and refuses bad options; and its images are what they are said to be.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { startEach, threeLegs, withFolder } from "../../test/start.ts";
import { draw, names } from "../images.ts";

const test = suite("examples/cifar-like");
const main = "cifar-like/main.ts";

test("learns without a leak, interrupted or not with the same bits", async () => {
  await withFolder(async (temp) => {
    const [whole, parts] = [join(temp, "whole.safetensors"), join(temp, "parts.safetensors")],
      small = "--limit 200 --tests 100 --epochs 2 --width 4 --batch 10".split(" ");
    // In the second epoch, so that the statistics of batch norm and the schedule have moved.
    const legs = await threeLegs(main, "epoch 2 ", whole, parts, small, temp);
    const accuracy = Number(/test accuracy ([\d.]+) %/.exec(legs.whole)?.[1]);
    assert.ok(accuracy > 25, legs.whole); // one in ten by chance
    const losses = [...legs.whole.matchAll(/loss ([\d.]+)/g)].map((m) => Number(m[1]));
    assert.ok(losses.length > 1 && losses.at(-1)! < losses[0]!, legs.whole);
    for (const name of names) assert.match(legs.whole, new RegExp(`^${name} `, "m"));
    for (const out of [legs.whole, legs.resumed])
      assert.match(out, /^0 tensors leaked, \d+ created$/m);
    assert.match(legs.stopped, /^stopped in epoch 2, \d+ steps done; .* --resume \S+$/m);
    assert.not.match(legs.resumed, "epoch 1 ");
    // The means go on too.
    const last = (text: string): string | undefined =>
      / 20\/20 .*(loss .* %) /.exec(text.slice(text.indexOf("epoch 2 ")))?.[1];
    assert.is(last(legs.resumed), last(legs.whole));
    assert.match(last(legs.whole) ?? "", "accuracy");
    assert.ok((await readFile(parts)).equals(await readFile(whole)));
  });
});

test("bad options are refused before a device starts", async () => {
  const refused = [
    [["--epochs", "0"], /--epochs: expected a whole number of 1 or more, got 0/],
    [["--lr", "x"], /--lr: expected a positive number, got x/],
    [["--nope"], /unknown option '--nope'/],
  ] as const;
  const ends = await startEach(
    main,
    refused.map(([args]) => args),
  );
  for (const [k, [, message]] of refused.entries()) {
    const { code, err } = ends[k]!;
    assert.is(code, 1);
    assert.match(err, message);
    assert.not.match(err, /running on/);
  }
});

test("images are deterministic, balanced, and colours say nothing about the kind", () => {
  const { pixels, labels } = draw(400, 3);
  assert.equal(draw(400, 3).pixels, pixels);
  assert.not.equal(draw(400, 4).pixels, pixels);
  for (let k = 0; k < names.length; k++) assert.is(labels.filter((l) => l === k).length, 40);
  // The mean of each kind in each channel lies near the mean of all: within four standard errors of
  // 40 images with a spread of about 60.
  const mean = (of: (label: number) => boolean, c: number): number => {
    let sum = 0,
      n = 0;
    labels.forEach((label, i) => {
      if (of(label))
        for (let p = 0; p < 1024; p++) {
          sum += pixels[(i * 3 + c) * 1024 + p]!;
          n++;
        }
    });
    return sum / n;
  };
  for (let c = 0; c < 3; c++)
    for (let k = 0; k < names.length; k++)
      assert.ok(
        Math.abs(mean((l) => l === k, c) - mean(() => true, c)) < 40,
        `${names[k]} in channel ${c}`,
      );
});

test.run();
