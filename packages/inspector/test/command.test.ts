/** The command line: what is wrong with it is said in one line, and no file is lost. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { inspect } from "../src/command.ts";

const test = suite("command");
const folder = mkdtempSync(join(tmpdir(), "tenure-inspect-"));
test.after(() => {
  rmSync(folder, { recursive: true });
});

const nothing = { texts: [], stacks: [], scopes: [], events: [], figures: [], plans: [] };
const text = JSON.stringify({
  tenure: { version: 1, level: "full", dropped: 0, device: null, ...nothing },
});
const trace = join(folder, "trace.json");
writeFileSync(trace, text);
writeFileSync(join(folder, "text.json"), "once");

test("writes the page beside the trace, or where it is told to", () => {
  for (const [args, file] of [
    [[trace], join(folder, "trace.html")],
    [[trace, "--root", folder, "-o", join(folder, "other.html")], join(folder, "other.html")],
  ] as const) {
    assert.equal(inspect(args, "<{{trace}}>"), { text: `${file}\n`, code: 0 });
    assert.match(readFileSync(file, "utf8"), /^<\{"version":1,/);
  }
});

test("--help is no mistake, and no trace is one", () => {
  for (const [args, code] of [
    [["--help"], 0],
    [[], 2],
  ] as const) {
    const told = inspect(args);
    assert.is(told.code, code);
    assert.match(told.text, /^tenure-inspect trace\.json/);
  }
});

const mistakes: readonly (readonly [args: readonly string[], said: RegExp])[] = [
  [["none.json"], /expected a readable trace, got "none\.json" \(ENOENT: no such file.*\); name/],
  [["."], /expected a readable trace, got "\." \(EISDIR/],
  [["text.json"], /expected a file of JSON, got "once"; write/],
  [["trace.json", "text.json"], /expected one trace, got trace\.json and text\.json; name one/],
  [["trace.json", "--root", "none"], /expected a folder after --root, got "none"; name the folder/],
  [["trace.json", "--root", "text.json"], /expected a folder after --root, got "text\.json"/],
  [["trace.json", "-o", "trace.json"], /expected another file than the trace after --out, got/],
  [["trace.json", "-o", "none/page.html"], /expected a page that can be written, got "none\/page/],
  [["trace.json", "-o", "."], /expected a page that can be written, got "\." \(EISDIR/],
  [["trace.json", "-o", ""], /expected a page that can be written, got ""/],
  [["trace.json", "--out"], /expected what --help lists, got option .*missing; try --help/],
  [["trace.json", "--bogus"], /expected what --help lists, got unknown option '--bogus'; try/],
];
for (const [args, said] of mistakes)
  test(`tenure-inspect ${args.join(" ")}`, () => {
    const before = process.cwd();
    process.chdir(folder);
    try {
      assert.throws(() => inspect(args, "<{{trace}}>"), said);
      assert.throws(() => inspect(args, "<{{trace}}>"), /^tenure-inspect: .*$/);
    } finally {
      process.chdir(before);
    }
    assert.is(readFileSync(trace, "utf8"), text);
  });

test.run();
