/**
 * Tables of options: what they let pass, what they fill in, and what they say of everything else.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { ArgumentError } from "../../src/base/errors.ts";
import {
  type OptionRow,
  type OptionTable,
  type Range,
  checkArgument,
  checkValues,
  readOptions,
} from "../../src/base/options.ts";

const test = suite("options");

interface Sample {
  readonly size: number;
  readonly rate?: number | null;
  readonly loud?: boolean;
  readonly mode?: "fast" | "exact" | "both";
  readonly label?: string;
}
const table = {
  size: { type: "integer", range: "[1, Infinity)", required: true, remedy: "pass { size: 3 }" },
  rate: { type: "number", range: "[0, 1)", what: "a rate", orNull: true, default: 0.5 },
  loud: { type: "flag", default: false },
  mode: { type: "choice", of: ["fast", "exact", "both"], default: "fast" },
  label: { type: "any" },
} satisfies OptionTable<Sample>;

const fill = (options: Sample) => readOptions("f", options, table);
/** What `fn` says when it refuses. */
function refusal(fn: () => unknown): string {
  try {
    fn();
  } catch (error) {
    if (error instanceof ArgumentError) return error.message;
    throw error;
  }
  throw new Error("nothing was refused");
}
const read = (options: unknown): string =>
  refusal(() => readOptions("f", options as Sample, table));

test("defaults stand for what is left out or undefined, and values stay", () => {
  const { size, rate, loud, mode, label } = fill({ size: 2 });
  assert.equal([size, rate, loud, mode, label], [2, 0.5, false, "fast", undefined]);
  assert.is(fill({ size: 2, loud: undefined } as never).loud, false);
  assert.is(fill({ size: 2, rate: null }).rate, null);
  assert.equal(fill({ size: 1, label: "x", mode: "both" }).label, "x");
});

test("every row says what it expects, what came and what to do", () => {
  assert.is(
    read({ size: 0 }),
    "f: expected size to be a positive integer, got 0; pass { size: 3 }",
  );
  assert.match(read({}), /^f: expected size to be a positive integer, got undefined/);
  assert.is(
    read({ size: 1, rate: 1 }),
    "f: expected a rate in [0, 1) or null, got 1; pass a number in that range",
  );
  assert.match(read({ size: 1, rate: NaN }), /a rate in \[0, 1\)/);
  assert.match(read({ size: 1, rate: "0.1" }), /got "0\.1"/);
  assert.is(
    read({ size: 1, loud: 1 }),
    "f: expected loud to be true or false, got 1; pass a boolean",
  );
  assert.is(
    read({ size: 1, mode: "slow" }),
    'f: expected mode to be "fast", "exact" or "both", got "slow"; choose one of them',
  );
});

test("unknown names, no objects and nothing at all are refused", () => {
  assert.match(read({ size: 1, Rate: 0 }), /got "Rate"; did you mean rate\?/);
  assert.match(read(3), /^f: expected an options object, got 3/);
  assert.match(read(null), /^f: expected an options object, got null/);
  assert.is(read(undefined), "f: expected options with size, got none; pass { size: … }");
});

test("ranges are open and closed as they are written", () => {
  const takes = (range: Range, value: number): boolean => {
    try {
      checkArgument("f", "x", value, { type: "number", range });
      return true;
    } catch {
      return false;
    }
  };
  assert.equal(
    (["[0, 1]", "[0, 1)", "(0, 1]", "(0, 1)", "(-Infinity, Infinity)"] as const).map((range) =>
      [0, 0.5, 1, 2].map((value) => takes(range, value)),
    ),
    [
      [true, true, true, false],
      [true, true, false, false],
      [false, true, true, false],
      [false, true, false, false],
      [true, true, true, true],
    ],
  );
});

const said = (value: unknown, row: OptionRow): string =>
  refusal(() => {
    checkArgument("f", "x", value, row);
  });
const allowed = (value: unknown, row: OptionRow): void => {
  checkArgument("f", "x", value, row);
};

test("lists have a length, a kind of element, and one number that stands for all", () => {
  const pair: OptionRow = {
    type: "list",
    of: "integer",
    range: "[1, Infinity)",
    length: 2,
    single: true,
  };
  for (const value of [1, [2, 3]]) allowed(value, pair);
  assert.is(
    said([2, 0], pair),
    "f: expected x to be a positive integer or a pair of them, got [2,0]; pass integers",
  );
  for (const value of [0, 1.5, [1], [1, 2, 3], [1, null], [], "2", null, {}, NaN])
    assert.match(
      said(value, pair),
      /^f: expected x to be a positive integer or a pair of them, got/,
    );
  allowed([null, 2], { ...pair, holes: true });
  assert.match(said(["a", 2], { ...pair, holes: true }), /a pair of them or null, got \["a",2\]/);

  const shape: OptionRow = { type: "list", of: "integer", range: "[0, Infinity)" };
  for (const value of [[0], [1, 2, 3, 4, 5]]) allowed(value, shape);
  for (const value of [3, [-1]])
    assert.match(said(value, shape), /x to be a list of whole numbers of 0 or more, got/);
  allowed([], shape);
  assert.match(said([], { ...shape, nonEmpty: true }), /got an empty array/);

  const shares: OptionRow = { type: "list", of: "number", range: "[0, 1)", length: 2 };
  allowed([0.5, 0], shares);
  assert.match(said([0.5, 1], shares), /x to be a pair of numbers in \[0, 1\), got \[0.5,1\]/);
  const borders: OptionRow = { type: "list", of: "integer", length: 4, single: true };
  assert.match(said([1, 2], borders), /x to be an integer or 4 of them, got \[1,2\]/);
});

test("texts, functions, finite numbers, and options of options", () => {
  allowed("a", { type: "text" });
  assert.match(said(3, { type: "text" }), /x to be a string, got 3; pass a string/);
  allowed(() => 0, { type: "function" });
  assert.match(said("f", { type: "function" }), /x to be a function, got "f"; pass for example/);
  const finite: OptionRow = { type: "number", range: "(-Infinity, Infinity)" };
  allowed(-3, finite);
  assert.match(said(Infinity, finite), /x to be a finite number, got Infinity/);
  const inner: OptionRow = { type: "options", of: table };
  allowed({ size: 1 }, inner);
  assert.match(said({ size: 0 }, inner), /^f: expected size to be a positive integer, got 0/);
  assert.match(said({ size: 1, rat: 1 }, inner), /got "rat"; did you mean rate\?/);
  assert.match(said(3, inner), /^f: expected an options object, got 3/);
});

test("names that every object has are names like others", () => {
  for (const name of ["constructor", "toString", "__proto__"])
    assert.match(
      read(Object.defineProperty({ size: 1 }, name, { value: 1, enumerable: true })),
      new RegExp(`got "${name}"`),
    );
});

test("checks of a caller's own run where the row is any", () => {
  const even = (op: string, value: unknown): void => {
    if (value !== 2) throw new ArgumentError(op, "two", String(value), "pass 2");
  };
  assert.is(
    refusal(() => {
      checkValues("f", { n: 3 }, { n: { type: "any", check: even } });
    }),
    "f: expected two, got 3; pass 2",
  );
  assert.is(
    refusal(() => readOptions("f", {}, { n: { type: "any", required: true } })),
    "f: expected the option n, got none; pass n",
  );
});

test.run();
