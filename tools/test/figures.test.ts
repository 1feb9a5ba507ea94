/** The figures on small sources made here. Owns nothing. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { areasOf } from "../figures/areas.ts";
import { measure } from "../figures/measure.ts";
import { areaBreaches, offendersOf, sumUp } from "../figures/report.ts";

const figures = suite("figures");

figures("measures functions of every kind, with the nested ones inside their parents", () => {
  const { functions, lines } = measure(
    "a.ts",
    [
      "export function outer(): void {",
      "  const inner = () => 1;",
      "  inner();",
      "}",
      "class A {",
      "  constructor() {}",
      "  get b() { return 1; }",
      "}",
      'test("says so", () => {',
      "  outer();",
      "});",
      "declare function nobody(): void;",
      "",
    ].join("\n"),
  );
  assert.is(lines, 12);
  assert.equal(
    functions.map((each) => [each.name, each.line, each.lines]),
    [
      ["outer", 1, 4],
      ["inner", 2, 1],
      ["constructor", 6, 1],
      ["b", 7, 1],
      ['test("says so")', 9, 3],
    ],
  );
});

figures("counts casts and assertions, but not `as const`, strings or comments", () => {
  const text = `const a = b as C; const d = [1] as const; const e = f as any;
    const g = h as unknown as I; const j = k!.l![0]!; const m = "n as any!"; // o as any!
    const p = q as unknown;`;
  const found = measure("a.ts", text);
  assert.is(found.casts, 4);
  assert.is(found.anyCasts.length, 1);
  assert.equal(
    found.doubleCasts.map(({ line }) => line),
    [2],
  );
  assert.is(found.assertions.length, 3);
});

figures("an export is documented by a comment on any of its declarations", () => {
  const { exports, undocumented } = measure(
    "a.ts",
    `/** The file. */
import "b";
/** Said. */
export const c = 1;
export const d = 2, e = 3;
export function f(x: number): void;
/** Said. */
export function f(x: string): void;
export function f(): void {}
const g = 1;
/** Said. */
const h = 2;
export { g, h as i };
export { j } from "k";
export type L = 1;
export default g;`,
  );
  assert.is(exports, 8);
  assert.equal(
    undocumented.map(({ what }) => what),
    ["export d", "export e", "export g", "export L", "export default"],
  );
});

figures("names what is over the limits, with its line", () => {
  const long = `const a = "${"x".repeat(100)}";\n`;
  const body = "  a;\n".repeat(79);
  const text = `${long}function b() {\n${body}}\nfunction c() {\n${body}  a;\n}\n`;
  const offenders = offendersOf(measure("src/a.ts", text));
  assert.equal(
    offenders.map(({ line, what }) => `${line} ${what}`),
    ["1 113 columns, over 100", "2 b has 81 lines, over 80", "83 c has 82 lines, over 80"],
  );
  const planted = offendersOf(measure("eslint-plugin/bench/planted/a.ts", text));
  assert.equal(
    planted.map(({ what }) => what),
    ["113 columns, over 100"],
    "functions of programs that are measured",
  );
  assert.is(offendersOf(measure("src/a.ts", "//\n".repeat(450))).length, 0);
  assert.match(offendersOf(measure("src/a.ts", "//\n".repeat(451)))[0]?.what ?? "", /451 lines/);
  assert.match(offendersOf(measure("src/a.ts", "a as any"))[0]?.what ?? "", /as any/);
  assert.match(offendersOf(measure("src/a.ts", "export const a = 1"))[0]?.what ?? "", /docstring/);
  assert.is(offendersOf(measure("test/a.ts", "export const a = 1")).length, 0);
});

figures("sums up by area, the library by layer and as a whole", () => {
  assert.equal(areasOf("packages/tenure/src/nn/a.ts"), ["tenure/nn", "tenure"]);
  assert.equal(areasOf("packages/tenure/src/index.ts"), ["tenure/(entry points)", "tenure"]);
  assert.equal(areasOf("packages/tenure/test/a.ts"), ["tests"]);
  assert.equal(areasOf("tools/a.ts"), ["tools"]);
  const rows = sumUp([
    measure("packages/tenure/src/nn/a.ts", "//\n//\n"),
    measure("packages/tenure/src/nn/b.ts", "a!;\n"),
    measure("tools/c.ts", "//\n".repeat(3)),
  ]);
  assert.equal(
    rows.map(({ area, files, lines }) => [area, files, lines]),
    [
      ["tenure/nn", 2, 3],
      ["tenure", 2, 3],
      ["tools", 1, 3],
    ],
  );
  assert.equal(rows[0]?.fileLines, { median: 2, p90: 2, max: 2 });
  assert.equal(areaBreaches(rows), ["tenure: `!` per 1,000 lines is 333, over 30"]);
});

figures.run();
