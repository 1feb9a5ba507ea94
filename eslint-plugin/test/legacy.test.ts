/**
 * Old code bases: baseline files and the `legacy` config, which warns about what the baseline does
 * not have. What was there stays silent wherever it is moved, what is new is told, and a baseline
 * that no longer fits says so once.
 */
import { mkdirSync, readFileSync, rmSync, utimesSync } from "node:fs";
import { win32 } from "node:path";
import { suite } from "uvu";
import { Baseline, baselineText, parseBaseline, pathFrom } from "../src/baseline/baseline.ts";
import { plainCode } from "../src/baseline/leak-place.ts";
import { baselineOf } from "../src/report/leak-report.ts";
import { baselineName, leaky, OldCode } from "./old-code.ts";
import { assert } from "./tester.ts";

const test = suite("old code bases");
const added = "export function more(x: Tensor): number {\n  return x.exp().size;\n}\n";
const renewal = `npx tenure-lint-report --eslint --write-baseline ${baselineName}`;

test("an old code base starts at zero and hears of what is added, of nothing else", () => {
  using code = new OldCode();
  assert.is(code.legacy("src/train.ts", { baseline: null }).length, 3);
  code.keepAll();
  assert.equal(code.legacy(), []);
  code.write("src/train.ts", leaky + added);
  assert.equal(code.legacy(), ["12 tenure/no-leaked-temporary"]);
  code.write("src/train.ts", `// one\n// two\n${leaky}${added}`);
  assert.equal(code.legacy(), ["14 tenure/no-leaked-temporary"], "lines moved");
});

test("moved and renamed files, functions and classes keep their leaks", () => {
  const changes: Record<string, (code: OldCode) => string> = {
    moved: (code) => (code.move("src/train.ts", "src/deep/er/train.ts"), "src/deep/er/train.ts"),
    renamed: (code) => (code.move("src/train.ts", "src/fit.ts"), "src/fit.ts"),
    functions: (code) => edit(code, (text) => text.replace("norm(", "length(")),
    classes: (code) => edit(code, (text) => text.replace("Trainer", "Fitter")),
    returns: (code) => edit(code, (text) => text.replaceAll("\n", "\r\n")),
    mark: (code) => edit(code, (text) => `\uFEFF${text}`),
    format: (code) =>
      edit(code, (text) => text.replace("x.mul(x)", "x\n    .mul(\n      x,\n    )")),
  };
  using code = new OldCode();
  code.keepAll();
  for (const [name, change] of Object.entries(changes)) {
    const file = change(code);
    assert.equal(code.legacy(file), [], name);
    rmSync(code.at(file));
    code.write("src/train.ts", leaky);
  }
});

/** Changes the file with leaks. */
function edit(code: OldCode, change: (text: string) => string): string {
  assert.is.not(change(leaky), leaky);
  code.write("src/train.ts", change(leaky));
  return "src/train.ts";
}

test("an equal leak is new in other functions and files, and as one more of its kind", () => {
  using code = new OldCode();
  code.keepAll();
  const other = leaky.slice(leaky.indexOf("export function"), leaky.indexOf("export class"));
  code.write("src/train.ts", leaky + other.replace("norm", "other"));
  assert.equal(code.legacy(), ["12 tenure/no-leaked-temporary"], "another function");
  code.write("src/train.ts", leaky);
  code.write("src/copy.ts", leaky);
  assert.is(code.legacy("src/copy.ts").length, 3, "a copy, for the first file is still there");
  const twice = leaky.replace("return x.mul(x).sum();", "x.mul(x).size;\n  return x.mul(x).sum();");
  code.write("src/train.ts", twice);
  assert.equal(code.legacy(), ["4 tenure/no-leaked-temporary"], "the last of two equal ones");
  // a comment that excuses a leak does not make another one new
  const excused = twice.replace("  x.mul(x)", "  // eslint-disable-next-line\n  x.mul(x)");
  code.write("src/train.ts", excused);
  assert.equal(code.legacy(), [], "one of two is excused");
});

test("a fixed leak makes the baseline stale, which is said once and for saved files only", () => {
  using code = new OldCode();
  const twice = leaky.replace("return x.mul(x).sum();", "x.mul(x).size;\n  return x.mul(x).sum();");
  code.write("src/train.ts", twice);
  code.write("src/other.ts", twice);
  code.keepAll();
  assert.equal(code.legacy(), []);
  assert.equal(code.legacy("src/train.ts", { text: leaky }), [], "not saved yet");
  code.write("src/train.ts", leaky);
  const stale = [`${baselineName} lists leaks that are gone; renew it with \`${renewal}\`.`];
  assert.equal(code.legacy(), stale, "one of two identical leaks is fixed");
  assert.equal(code.legacy(), stale, "and once more when the same file is looked at again");
  code.write("src/other.ts", "export {};\n");
  assert.equal(code.legacy("src/other.ts"), [], "another file leaves it at that");
  code.keepAll();
  assert.equal(code.legacy(), []);
});

test("a file without any leak left says that the baseline is stale", () => {
  using code = new OldCode();
  code.keepAll();
  code.write("src/train.ts", "export {};\n");
  assert.match(code.legacy().join(), /^tenure-baseline\.json lists leaks that are gone; renew/);
});

test("a missing, broken or older baseline is one message in one file", () => {
  using code = new OldCode();
  const told = (what: string): string =>
    `settings.tenure.baseline: expected a baseline file of version 2 at ${baselineName}, got ` +
    `${what}; write one with \`${renewal}\`.`;
  assert.equal(code.legacy(), [told("none")]);
  assert.equal(code.legacy("src/fine.ts"), [], "said already");
  const broken: [text: string, what: string][] = [
    ["{", "text that is no JSON"],
    ["[]", "JSON of another kind"],
    ['{"version":1,"files":{"src/train.ts":{"require-disposal":1}}}', "one of version 1"],
    ['{"version":3,"files":{}}', "one of version 3"],
    ['{"version":2,"files":{"a":3}}', "JSON of another kind"],
    ['{"version":2,"files":{"a":{"b":{"f x":"1"}}}}', "JSON of another kind"],
    ["<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> main\n", "text that is no JSON"],
  ];
  for (const [i, [text, what]] of broken.entries()) {
    code.write(baselineName, text);
    utimesSync(code.at(baselineName), i, i); // some disks have coarse clocks
    assert.equal(code.legacy(), [told(what)], text);
  }
});

test("the baseline is the same from every folder ESLint runs in", () => {
  using code = new OldCode();
  code.keepAll();
  code.keepAll("src/tenure-own.json");
  for (const cwd of [code.folder, code.at("src"), "/"])
    for (const baseline of [baselineName, "tenure-own.json", "src/tenure-own.json"])
      assert.equal(code.legacy("src/train.ts", { cwd, baseline }), [], `${cwd} ${baseline}`);
});

test("a folder of a baseline's name is no baseline", () => {
  using code = new OldCode();
  mkdirSync(code.at(`src/${baselineName}`));
  code.keepAll();
  assert.equal(code.legacy(), []);
});

test("baselines are the same on every system and in every order", () => {
  assert.is(pathFrom("C:\\work\\app", "c:\\work\\app\\src\\a.ts", win32), "src/a.ts");
  assert.is(pathFrom("C:\\work\\app", "C:\\work\\b.ts", win32), "../b.ts");
  assert.is(plainCode("x\r\n  .mul( y,\r\n)"), plainCode("x.mul(y)"));
  using code = new OldCode();
  code.write("src/a.ts", leaky);
  const report = code.report();
  const text = (leaks = report.leaks): string =>
    baselineText(baselineOf({ ...report, leaks }, code.folder, code.folder));
  assert.is(text([...report.leaks].reverse()), text());
  const parsed = parseBaseline(`\uFEFF${text().replaceAll("\n", "\r\n")}`);
  assert.type(parsed, "object");
  assert.ok(!text().includes("\\"));
});

test("functions with spaces in their names and leaks at module level are told apart", () => {
  const none = (): ReadonlySet<string> => new Set(["f"]);
  const leaks = { "a.ts": { rule: { "my step x.neg()": 1, " x.neg()": 1 } } };
  const of = (name: string): boolean[] => {
    const baseline = new Baseline(leaks, "/");
    return baseline.sift("/a.ts", "rule", [{ function: name, code: "x.neg()" }], none).isNew;
  };
  assert.equal(of("my step"), [false]);
  assert.equal(of(""), [false]);
  assert.equal(of("renamed"), [false], "`my step` is gone");
  assert.equal(new Baseline(leaks, "/").sift("/a.ts", "other", [], none).isStale, false);
});

test("a linted file that was removed leaves no trace", () => {
  using code = new OldCode();
  code.keepAll();
  rmSync(code.at("src/train.ts"));
  assert.equal(code.legacy("src/fine.ts"), []);
  assert.ok(readFileSync(code.at(baselineName), "utf8").includes("src/train.ts"));
});

test.run();
