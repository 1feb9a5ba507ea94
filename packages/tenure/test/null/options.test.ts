/**
 * Tables of options: what they let pass, what they fill in, and what they say of everything else.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { ArgumentError } from "../../src/base/errors.ts";
import {
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

test("checks of a caller's own run where the row is any", () => {
  const even = (op: string, value: unknown): void => {
    if (value !== 2) throw new ArgumentError(op, "two", String(value));
  };
  assert.is(
    refusal(() => {
      checkValues("f", { n: 3 }, { n: { type: "any", check: even } });
    }),
    "f: expected two, got 3",
  );
  assert.is(
    refusal(() => readOptions("f", {}, { n: { type: "any", required: true } })),
    "f: expected the option n, got none",
  );
});

test.run();
