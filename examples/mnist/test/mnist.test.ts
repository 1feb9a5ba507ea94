/**
 * The example as a user runs it, in processes of its own: it trains, saves and loads, refuses bad
 * options, and when the scope is taken out of its loop it says which line leaks and still trains.
 */
import { readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { examples, start, startEach, withFolder } from "../../test/start.ts";

const folder = join(examples, "mnist");
const accuracy = (out: string): number => Number(/test accuracy ([\d.]+) %/.exec(out)?.[1]);
const test = suite("examples/mnist");

test("trains, leaks nothing, stops and resumes, and saved weights give the same", async () => {
  await withFolder(async (temp) => {
    const file = join(temp, "weights.safetensors"),
      small = ["--limit", "2560", "--epochs", "1", "--tests", "500"];
    const first = await start("mnist/main.ts", [...small, "--save", file]);
    assert.is(first.code, 0, first.err);
    assert.match(
      first.out,
      /^0 tensors leaked: \d+ created, \d+ disposed, 0 left to the collector$/m,
    );
    const lines = first.out.split("\n").filter((line) => !/^epoch|^weights/.test(line));
    for (const line of lines) assert.ok(line.length <= 80, `fits no terminal: ${line}`);
    assert.ok(accuracy(first.out) > 70, first.out); // one in ten by chance

    const parts = join(temp, "parts.safetensors"),
      cut = { interrupt: "loss", cwd: temp };
    const stopped = await start("mnist/main.ts", [...small, "--save", parts], cut);
    assert.is(stopped.code, 130, stopped.err);
    const said = /^stopped in epoch 1, (\d+) steps done; to go on: npm start -- (.+)$/m;
    const [, steps, options = ""] = said.exec(stopped.out) ?? [];
    assert.is(options, `--resume mnist.checkpoint.safetensors --save ${parts}`);
    const rest = await start("mnist/main.ts", options.split(" "), { cwd: temp });
    assert.is(rest.code, 0, rest.err);
    assert.match(rest.out, ` ${Number(steps) + 1}/20  ETA`);
    assert.is(accuracy(rest.out), accuracy(first.out));
    assert.ok((await readFile(parts)).equals(await readFile(file)));

    const load = ["--tests", "500", "--epochs", "0", "--load", file],
      [again, wrong] = await startEach("mnist/main.ts", [load, ["--model", "cnn", ...load]]);
    assert.is(accuracy(again!.out), accuracy(first.out));
    assert.is(wrong!.code, 1);
    assert.match(wrong!.err, /unpackCheckpoint: expected exactly the names of this module/);
  });
});

test("without the scope the report names the leaking lines, and training still works", async () => {
  const source = await readFile(join(folder, "main.ts"), "utf8");
  const line = /^ *using _scope = newDisposeScope\("training step"\);.*\n/m;
  assert.match(source, line);
  const leaky = join(folder, `leaky-${process.pid}.ts`);
  await writeFile(leaky, source.replace(line, "\n"));
  try {
    const { code, out, err } = await start(
      join("mnist", basename(leaky)),
      "--limit 1280 --epochs 1 --tests 500".split(" "),
    );
    assert.is(code, 1, err);
    assert.match(out, /[1-9]\d* tensors leaked/);
    assert.match(out, new RegExp(`made at .*leaky-${process.pid}\\.ts:\\d+:\\d+`));
    assert.ok(accuracy(out) > 50, out);
  } finally {
    await rm(leaky);
  }
});

test("bad options are answered in one line, before a device starts", async () => {
  const refused = [
    [["--model", "gan"], /^--model: expected mlp or cnn, got gan/m],
    [["--epochs", "x"], /^--epochs: expected a whole number/m],
    [["--nope"], /unknown option '--nope'/],
    [["--device", "tpu"], /^--device: expected auto or gpu/m],
    [["--device", "null"], /^--device: expected auto or gpu or software, got null; /m],
    [["--load", "/nope"], /^--load: expected a readable file, got \/nope; /m],
    [["--batch", "-1"], /^--batch: expected a whole number of 1 or more, got -1; /m],
  ] as const;
  const ends = await startEach(
    "mnist/main.ts",
    refused.map(([args]) => args),
  );
  for (const [k, [, message]] of refused.entries()) {
    const { code, err } = ends[k]!;
    assert.is(code, 1);
    assert.match(err, message);
    assert.not.match(err, /running on/);
  }
});

test.run();
