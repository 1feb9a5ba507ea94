/**
 * The test runner against files that try to pass by accident (`fixtures/runner/`, one folder each):
 * what it says about every one of them, and what it exits with. Starts runners as child processes
 * and waits for each.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { suite } from "uvu";
import * as assert from "uvu/assert";

const RUNNER = fileURLToPath(new URL("../test.ts", import.meta.url));
const FIXTURES = fileURLToPath(new URL("fixtures/runner", import.meta.url));

interface Run {
  code: number;
  lines: string[];
}

function runner(...args: string[]): Promise<Run> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ["--import", import.meta.resolve("tsx"), "--conditions=tenure:source", RUNNER, ...args],
      (error, stdout) => {
        resolve({
          code: error === null ? 0 : typeof error.code === "number" ? error.code : -1,
          lines: stdout.trimEnd().split("\n"),
        });
      },
    );
  });
}

/** The line about a file and what follows up to the next file. */
function about(run: Run, file: string): string {
  const start = run.lines.findIndex((line) => /^[✓✗] /.test(line) && line.includes(file));
  assert.is.not(start, -1, `${file} does not appear in:\n${run.lines.join("\n")}`);
  const end = run.lines.findIndex(
    (line, index) => index > start && (/^[✓✗] /.test(line) || line === ""),
  );
  return run.lines.slice(start, end).join("\n");
}

const fixtures = suite<{ all: Run }>("fixtures", { all: { code: -1, lines: [] } });

fixtures.before(async (context) => {
  context.all = await runner("--root", FIXTURES, "--timeout", "10", "--exit-timeout", "3");
});

const expected: Record<string, { passed: number; failed: number; says?: RegExp }> = {
  passing: { passed: 3, failed: 0 },
  named: { passed: 4, failed: 0 },
  flags: { passed: 1, failed: 0 },
  failing: {
    passed: 1,
    failed: 2,
    says: new RegExp(
      /"wrong"[^]*\+\+2 {4}\(Expected\)[^]*failing\.test\.ts:5/.source +
        /[^]*"throws no error"\s+thrown: undefined/.source,
    ),
  },
  "never-settles": { passed: 1, failed: 1, says: /never settled: .*"waits for ever"/ },
  hangs: { passed: 0, failed: 1, says: /hung: no news for 10 s during "spins"/ },
  "no-run": { passed: 0, failed: 1, says: /1 registered, but run\(\) was never called/ },
  "no-tests": { passed: 0, failed: 1, says: /registers no test/ },
  "import-throws": { passed: 0, failed: 1, says: /failed to load: Error: broken on import/ },
  "import-never-settles": { passed: 0, failed: 1, says: /never settled: .*"loading"/ },
  "early-exit": { passed: 1, failed: 1, says: /ended with exit code 0 during "leaves"/ },
  "exit-code": {
    passed: 1,
    failed: 1,
    says: /all tests reported, then the process ended with exit code 3/,
  },
  crash: { passed: 1, failed: 1, says: /ended with signal SIGSEGV during "dies"/ },
  "stray-rejection": { passed: 1, failed: 1, says: /unhandled rejection.*nobody listens/ },
  "late-exception": {
    passed: 1,
    failed: 1,
    says: /uncaught exception after the last test: Error: too late/,
  },
  "held-open": {
    passed: 1,
    failed: 1,
    says: /holding the process after the last test: .*Timeout[^]*did not exit by itself within 3 s/,
  },
  only: { passed: 1, failed: 1, says: /\.only hides 1 tests/ },
  "hook-throws": {
    passed: 0,
    failed: 2,
    says: /1 of 1 tests of a suite did not report[^]*before: Error: no set-up/,
  },
  "after-file": {
    passed: 1,
    failed: 2,
    says: /leak in after-file\/after-file\.test\.ts[^]*and one more/,
  },
};

for (const [name, { passed, failed, says }] of Object.entries(expected)) {
  fixtures(name, ({ all }) => {
    const text = about(all, `${name}/${name}.test.ts`);
    assert.match(
      text,
      new RegExp(
        `^${failed > 0 ? "✗" : "✓"} .* ${passed} passed  ${failed > 0 ? `${failed} failed  ` : ""}`,
      ),
    );
    if (says !== undefined) assert.match(text, says);
  });
}

fixtures("files of one process neither hide nor touch each other", ({ all }) => {
  assert.match(about(all, "mixed/a-forgets.test.ts"), /^✗ .* 0 passed {2}1 failed/);
  assert.match(about(all, "mixed/b-passes.test.ts"), /^✓ .* 1 passed {2}\d/);
  assert.match(about(all, "mixed/c-exits.test.ts"), /^✗ .* 0 passed {2}1 failed/);
  assert.match(about(all, "mixed/d-passes.test.ts"), /^✓ .* 2 passed {2}\d/);
});

fixtures("the slowest files are listed, before the tally", ({ all }) => {
  const at = all.lines.findIndex((line) => /^slowest files, of \d+ s in all:$/.test(line));
  assert.match(all.lines[at + 1] ?? "", /^ +1\d\.\d s {2}hangs\/hangs\.test\.ts$/);
  assert.ok(at < all.lines.length - 2);
});

fixtures("the sums are right and the run fails", ({ all }) => {
  const cases = Object.values(expected);
  const passed = cases.reduce((sum, each) => sum + each.passed, 3);
  const failed = cases.reduce((sum, each) => sum + each.failed, 2);
  assert.is(all.lines.at(-1), `${passed} passed, ${failed} failed`);
  assert.is(all.code, 1);
});

fixtures.run();

const command = suite("command line");

command("passes, with the tally alone on the last line", async () => {
  const run = await runner("--root", FIXTURES, "passing/");
  assert.is(run.lines.at(-1), "3 passed, 0 failed");
  assert.is(run.code, 0);
});

command("runs tests by name, counts only those, and sets up no other suite", async () => {
  const run = await runner("--root", FIXTURES, "named/", "of the second");
  assert.match(about(run, "named/named.test.ts"), /^✓ .* 1 passed {2}\d/);
  const text = run.lines.join("\n");
  assert.match(text, /set up the second/);
  assert.not.match(text, /set up the first/);
  assert.match(text, /clean up the first/);
  assert.match(text, /\n1 files, 3 tests have other names\n/);
  assert.is(run.lines.at(-1), "1 passed, 0 failed");
  assert.is(run.code, 0);
});

command("a name may be that of a suite, and made when the file is loaded", async () => {
  const suite = await runner("--root", FIXTURES, "named/", "--name", "FIRST ›");
  assert.is(suite.lines.at(-1), "2 passed, 0 failed");
  const made = await runner("--root", FIXTURES, "--name", "number 2", "named/");
  assert.is(made.lines.at(-1), "1 passed, 0 failed");
});

command("files of which no test is wanted are not mentioned", async () => {
  const run = await runner("--root", FIXTURES, "named/", "passing/", "of the second");
  assert.not.ok(run.lines.some((line) => line.includes("passing.test.ts")));
  assert.is(run.lines.at(-1), "1 passed, 0 failed");
});

command("fails when no file and no name matches", async () => {
  const path = await runner("--root", FIXTURES, "no/such-path");
  assert.is(path.lines[0], "no test file has such a path");
  assert.is(path.lines.at(-1), "0 passed, 0 failed");
  assert.is(path.code, 1);
  const name = await runner("--root", FIXTURES, "passing/", "no such name");
  assert.match(name.lines[0] ?? "", /no test is called no such name/);
  assert.is(name.lines.at(-1), "0 passed, 0 failed");
  assert.is(name.code, 1);
});

command("refuses unknown options", async () => {
  assert.is.not((await runner("--no-such-option")).code, 0);
});

command.run();
