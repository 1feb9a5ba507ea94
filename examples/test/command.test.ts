/**
 * What all examples share: every one has help, a script and a page; options are read from tables;
 * files are tried before training; and a checkpoint goes on only where it came from.
 */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ArgumentError } from "tenure";
import { packCheckpoint } from "tenure/data";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type OptionTable, readArguments, readValues } from "../command.ts";
import { checkWritable, freeName } from "../files.ts";
import { resumedTexts } from "../run.ts";
import { examples, start, withFolder } from "./start.ts";

const test = suite("examples");
const folders = readdirSync(examples).filter((f) => existsSync(join(examples, f, "package.json"))),
  programs = folders.filter((f) => existsSync(join(examples, f, "main.ts")) && f !== "browser");
const scripts = (
  JSON.parse(readFileSync(join(examples, "..", "package.json"), "utf8")) as {
    scripts: Record<string, string>;
  }
).scripts;

const options = {
  batch: { kind: "whole", least: 1, usual: 128, help: "" },
  lr: { kind: "positive", usual: 0.1, help: "" },
  model: { kind: "choice", of: ["mlp", "cnn"], usual: "mlp", help: "" },
  load: { kind: "input", help: "" },
} as const satisfies OptionTable;

async function refused(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    assert.instance(error, ArgumentError);
    return (error as Error).message;
  }
  return "nothing was refused";
}

test("every example has a script and a page", () => {
  assert.ok(programs.length >= 3 && folders.includes("browser"), folders.join());
  for (const folder of folders) {
    assert.ok(scripts[`example:${folder}`] !== undefined, folder);
    const page = readFileSync(join(examples, folder, "README.md"), "utf8");
    assert.match(page, `npm run example:${folder}`);
  }
});

test("every program has help that fits a terminal, without a device", async () => {
  for (const folder of programs) {
    const { code, out, err } = await start(`${folder}/main.ts`, ["--help"]);
    assert.is(code, 0, err);
    assert.is(err, "");
    for (const word of ["--save FILE", "--resume FILE", "--help", "Ctrl-C", "--seed N"])
      assert.match(out, word);
    for (const line of out.split("\n")) assert.ok(line.length <= 80, line);
  }
});

test("options are values of their kind, or errors that say what is allowed", () => {
  const read = (...args: string[]): ReturnType<typeof readValues<typeof options>> =>
    readValues(readArguments(args, options), options);
  assert.equal(
    { ...read("--batch", "4", "--model=cnn") },
    {
      batch: 4,
      lr: 0.1,
      model: "cnn",
      load: undefined,
    },
  );
  for (const [args, message] of [
    [["--batch", "-1"], "--batch: expected a whole number of 1 or more, got -1; "],
    [["--batch", ""], "--batch: expected a whole number of 1 or more, got nothing; "],
    [["--lr", "Infinity"], "--lr: expected a positive number, got Infinity; "],
    [["--model", "gan"], "--model: expected mlp or cnn, got gan; "],
    [["--load="], "--load: expected a file, got nothing; "],
    [["--nope"], "options: expected what --help lists, got unknown option '--nope'"],
    [["7"], "options: expected what --help lists, got unexpected argument '7'"],
  ] as const)
    assert.throws(
      () => read(...args),
      (error: unknown) => error instanceof ArgumentError && error.message.startsWith(message),
    );
});

test("a run goes on with its own settings, from what Ctrl-C wrote in it", async () => {
  const command = { name: "mnist", script: "npm start", about: "", options },
    settings = { batch: "64", lr: "0.1", model: "mlp" };
  const written = (extra: unknown): Promise<Uint8Array> =>
      packCheckpoint({ random: true }, { extra }),
    bytes = await written({ example: "mnist", settings });
  const read = (texts: Record<string, string>, from = bytes): unknown =>
    resumedTexts(command, texts, "file", from);
  assert.equal(read({ lr: "1e-1", resume: "file" }), { ...settings, resume: "file" });
  for (const [texts, from, message] of [
    [{ batch: "32" }, bytes, "--batch: expected 64, as in file, got 32; leave it out"],
    [{ load: "x" }, bytes, "--load: expected none beside --resume, got x; leave it out"],
    [{}, await written({ example: "other", settings }), "got file of other; "],
    [{}, await packCheckpoint({}), "got file, which it did not write; "],
  ] as const)
    assert.throws(
      () => read(texts, from),
      (error: unknown) => error instanceof ArgumentError && error.message.includes(message),
    );
});

test("a file that cannot be written is refused, and the trial leaves nothing", async () => {
  await withFolder(async (temp) => {
    const file = join(temp, "weights");
    await checkWritable("save", file);
    assert.equal(await readdir(temp), []);
    await writeFile(file, "");
    await checkWritable("save", file); // it may be replaced
    for (const [path, message] of [
      [join(temp, "no", "weights"), `whose folder is missing; make ${join(temp, "no")} first`],
      [temp, `got ${temp}, a folder; add a name`],
      [join(file, "weights"), "in what is no folder; choose another place"],
    ] as const)
      assert.match(await refused(checkWritable("save", path)), message);
  });
});

test("a default checkpoint replaces none", async () => {
  await withFolder(async (temp) => {
    const name = join(temp, "mnist.checkpoint.safetensors");
    assert.is(freeName(name), name);
    await writeFile(name, "");
    const second = freeName(name);
    assert.is(second, join(temp, "mnist-2.checkpoint.safetensors"));
    await mkdir(second);
    assert.is(freeName(name), join(temp, "mnist-3.checkpoint.safetensors"));
  });
});

test.run();
