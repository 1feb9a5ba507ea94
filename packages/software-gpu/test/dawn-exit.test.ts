/**
 * How processes with a WebGPU device end: by themselves, with the right code, without a crash. A
 * new version of `webgpu` must pass this before it is used.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { runFixture } from "./helpers.ts";

/** Exit code of each way to end, and what it prints. */
const WAYS: Record<string, { code: number; prints?: RegExp; complains?: RegExp }> = {
  "device-global": { code: 0, prints: /end of code/ },
  "device-destroyed": { code: 0, prints: /end of code/ },
  "work-submitted": { code: 0, prints: /end of code/ },
  "map-pending": { code: 0, prints: /end of code/ },
  "buffer-mapped": { code: 0, prints: /end of code/ },
  "destroyed-while-mapping": { code: 0, prints: /end of code/ },
  "lost-promise-pending": { code: 0, prints: /end of code/ },
  "uncaught-exception": { code: 1, complains: /Error: on purpose/ },
  "exception-at-once": { code: 1, complains: /Error: on purpose/ },
  "process-exit": { code: 5 },
};
/** A process that lives longer is taken for one that hangs. Starting takes under a second. */
const HANGS_MS = 30_000;

const exit = suite("a process with a device ends");

for (const [way, { code, prints, complains }] of Object.entries(WAYS)) {
  exit(way, async () => {
    const env: Record<string, string> = {};
    for (const name of ["HOME", "XDG_CACHE_HOME", "TMPDIR"])
      if (process.env[name] !== undefined) env[name] = process.env[name];
    const ended = await runFixture("dawn-exit", [way], env);
    assert.is(ended.signal, null, ended.stderr);
    assert.is(ended.code, code, ended.stderr);
    assert.ok(ended.ms < HANGS_MS, `took ${ended.ms} ms`);
    if (prints !== undefined) assert.match(ended.stdout, prints);
    if (complains !== undefined) assert.match(ended.stderr, complains);
  });
}

exit.run();
