/**
 * Long runs in pieces: results add up whoever ran them, what a file keeps is not run again, and a
 * process that dies is told of.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type BytesRow, pieces } from "../bytes/main.ts";
import { type Pieces, runPieces } from "../pieces.ts";

const test = suite("pieces");
const small: Pieces<BytesRow[]> = { ...pieces, size: 20 };
const options = { seed: 7, count: 50, every: 1, mode: undefined, kind: "idx" };

test("add up to one run, and go on where a file ends", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tenure-pieces-"));
  try {
    const how = { workers: 2, resume: join(folder, "done.jsonl") };
    const whole = pieces.report([await pieces.run(options)], options);
    const counts = (report: string): string => report.split("|").slice(0, -5).join("|");
    assert.is(counts(await runPieces("bytes", small, options, how)), counts(whole));
    const kept = await readFile(how.resume, "utf8");
    assert.is(kept.trim().split("\n").length, 3);
    assert.is(counts(await runPieces("bytes", small, options, how)), counts(whole));
    assert.is(await readFile(how.resume, "utf8"), kept, "nothing ran again");
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("tell of a process that dies", async () => {
  const starved = { ...small, heapMiB: 1 };
  const report = await runPieces("bytes", starved, { ...options, count: 20 }, { workers: 1 });
  assert.match(report, /the process of seeds from 7 on ended with/);
});

test.run();
