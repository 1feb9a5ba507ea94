/**
 * Checks of what comes in from outside TypeScript: options objects with misspelt names or values
 * out of range, callbacks that are none, values told in words. Pure functions, called where the
 * public API begins.
 *
 * A function that takes options declares them in a table: one row per option with its type, range,
 * default and remedy. The compiler checks the rows against the interface of the options.
 *
 *     interface LoaderOptions { readonly batchSize: number; readonly shuffle?: boolean }
 *
 *     const loaderOptions = {
 *       batchSize: { type: "integer", range: "[1, Infinity)", required: true },
 *       shuffle: { type: "flag", default: false },
 *     } satisfies OptionTable<LoaderOptions>;
 *
 *     const { batchSize, shuffle } = readOptions("DataLoader", options, loaderOptions);
 *
 * `{ batchSize: 0 }` then says `DataLoader: expected batchSize to be a positive integer, got 0;
 * pass an integer`, and `{ batchsize: 1 }` asks whether batchSize was meant.
 */
import { ArgumentError, internal } from "./errors.ts";
import { closest } from "./spelling.ts";

// === Tables ===

/** Numbers between two bounds, as mathematics writes it: `[0, 1)` has 0, but not 1. */
export type Range = `${"[" | "("}${number | "-Infinity"}, ${number | "Infinity"}${"]" | ")"}`;

/** What every row may say. */
interface Common<V> {
  /** What stands for the option where it is left out. */
  readonly default?: V;
  /** It cannot be left out. */
  readonly required?: true;
  /** `null` is a value too. */
  readonly orNull?: true;
  /** What errors call it: "a momentum". Its name, unless given. */
  readonly what?: string;
  /** What to do about a wrong value. */
  readonly remedy?: string;
}

/** One row of a table: the values an option may have. */
export type OptionRow<V = unknown> = Common<V> &
  (
    | { readonly type: "flag" }
    | { readonly type: "number" | "integer"; readonly range?: Range }
    | { readonly type: "choice"; readonly of: readonly string[] }
    /** Anything, or what `check` lets pass: it throws at other values. */
    | { readonly type: "any"; readonly check?: (op: string, value: unknown) => void }
  );

/** A row for every option in `O`. */
export type OptionTable<O> = { readonly [K in keyof Required<O>]: OptionRow<O[K]> };

/** The options in `O` with the defaults of a table filled in. */
export type Filled<O, T> = {
  readonly [K in keyof Required<O>]: K extends keyof T
    ? T[K] extends { readonly default: unknown } | { readonly required: true }
      ? Exclude<O[K], undefined>
      : O[K]
    : O[K];
};

/**
 * Checks options against their table and fills in the defaults. An option that is `undefined` is
 * one left out.
 * @returns a new object with every name of the table
 * @throws ArgumentError for anything but an object, a name that is not in the table, one that is
 *   missing, and a value that its row does not allow
 */
export function readOptions<O extends object, T extends OptionTable<O>>(
  op: string,
  options: O | undefined,
  table: T,
): Filled<O, T> {
  const rows = Object.entries<OptionRow>(table);
  if (options === undefined) needNothing(op, rows);
  else checkOptions(op, options, Object.keys(table));
  const given = (options ?? {}) as Readonly<Record<string, unknown>>;
  const filled: Record<string, unknown> = {};
  for (const [name, row] of rows) {
    const value = given[name];
    filled[name] = value === undefined ? row.default : value;
    if (value !== undefined || row.required) checkArgument(op, name, value, row);
  }
  return filled as Filled<O, T>;
}

/** @throws ArgumentError when a row is required: then there must be options */
function needNothing(op: string, rows: readonly (readonly [string, OptionRow])[]): void {
  const names = rows.filter(([, row]) => row.required).map(([name]) => name);
  if (names.length > 0)
    throw new ArgumentError(
      op,
      `options with ${names.join(" and ")}`,
      "none",
      `pass { ${names.map((name) => `${name}: …`).join(", ")} }`,
    );
}

/** Checks values that have their defaults already. @throws ArgumentError as `readOptions` does */
export function checkValues(
  op: string,
  values: object,
  table: Readonly<Record<string, OptionRow>>,
) {
  const given = values as Readonly<Record<string, unknown>>;
  for (const [name, row] of Object.entries(table)) checkArgument(op, name, given[name], row);
}

/** Checks one value. @throws ArgumentError for one that the row does not allow */
export function checkArgument(op: string, name: string, value: unknown, row: OptionRow): void {
  if (value === null && row.orNull) return;
  if (row.type === "any") {
    if (value === undefined && row.required)
      throw new ArgumentError(op, row.what ?? `the option ${name}`, "none", row.remedy);
    row.check?.(op, value);
    return;
  }
  if (allows(row, value)) return;
  const expected = expectation(row.what ?? name, row);
  throw new ArgumentError(
    op,
    row.orNull ? `${expected} or null` : expected,
    describeValue(value),
    row.remedy ?? remedies[row.type],
  );
}

type CheckedRow = Exclude<OptionRow, { readonly type: "any" }>;

const remedies: Readonly<Record<CheckedRow["type"], string>> = {
  flag: "pass a boolean",
  integer: "pass an integer",
  number: "pass a number in that range",
  choice: "choose one of them",
};

function allows(row: CheckedRow, value: unknown): boolean {
  switch (row.type) {
    case "flag":
      return typeof value === "boolean";
    case "choice":
      return typeof value === "string" && row.of.includes(value);
    case "integer":
      return Number.isSafeInteger(value) && inRange(row.range, value as number);
    case "number":
      return typeof value === "number" && inRange(row.range, value);
  }
}

/** What a row allows, in words. */
function expectation(what: string, row: CheckedRow): string {
  switch (row.type) {
    case "flag":
      return `${what} to be true or false`;
    case "choice":
      return `${what} to be ${listed(row.of.map((name) => JSON.stringify(name)))}`;
    case "integer":
      if (row.range === "[1, Infinity)") return `${what} to be a positive integer`;
      if (row.range === "[0, Infinity)") return `${what} to be a whole number of 0 or more`;
      return `${what} to be an integer${row.range === undefined ? "" : ` in ${row.range}`}`;
    case "number":
      return row.range === undefined ? `${what} to be a number` : `${what} in ${row.range}`;
  }
}

/** Whether a number lies in a range; NaN lies in none. */
function inRange(range: Range | undefined, value: number): boolean {
  if (range === undefined) return true;
  const [, open, low, high, close] = /^([[(])(.+), (.+)([\])])$/.exec(range) ?? [];
  if (low === undefined) throw internal(`a range ${range}`);
  const above = open === "[" ? value >= Number(low) : value > Number(low);
  const below = close === "]" ? value <= Number(high) : value < Number(high);
  return above && below;
}

/** "a, b or c". */
function listed(names: readonly string[]): string {
  const last = names.at(-1) ?? "";
  return names.length < 2 ? last : `${names.slice(0, -1).join(", ")} or ${last}`;
}

// === Names alone, and single values ===

/** @throws ArgumentError unless `options` is undefined or an object whose names are all known */
export function checkOptions(op: string, options: unknown, names: readonly string[]): void {
  if (options === undefined) return;
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw new ArgumentError(
      op,
      "an options object",
      describeValue(options),
      `write { ${names[0] ?? "name"}: … }`,
    );
  for (const key in options) {
    if (names.includes(key)) continue;
    const meant = closest(key, names);
    throw new ArgumentError(
      op,
      names.length === 1 ? `the option ${names.join("")}` : `the options ${names.join(", ")}`,
      JSON.stringify(key),
      meant === undefined ? "check the spelling" : `did you mean ${meant}?`,
    );
  }
}

/** Like `checkOptions`, for options that cannot be left out. */
export function needOptions(op: string, options: unknown, names: readonly string[]): void {
  if (options === undefined)
    throw new ArgumentError(
      op,
      "an options object",
      "nothing",
      `write { ${names[0] ?? "name"}: … }`,
    );
  checkOptions(op, options, names);
}

/** @throws ArgumentError unless `fn` is a function */
export function checkFunction(op: string, fn: unknown, remedy = "pass for example () => …"): void {
  if (typeof fn !== "function")
    throw new ArgumentError(op, "a function", describeValue(fn), remedy);
}

/** @throws ArgumentError unless `value` is a boolean or undefined */
export function checkFlag(op: string, name: string, value: unknown): void {
  if (value !== undefined) checkArgument(op, name, value, { type: "flag" });
}

/** A value in a few words, for error messages. */
export function describeValue(value: unknown): string {
  switch (typeof value) {
    case "string":
      return JSON.stringify(shortened(value));
    case "function":
      return "a function";
    case "bigint":
      return shortened(`${value}n`);
    case "object":
      return describeObject(value);
    default:
      return String(value);
  }
}

function describeObject(value: object | null): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return value.length === 0 ? "an empty array" : "an array";
  const name = (value as { constructor?: { name?: unknown } }).constructor?.name;
  return typeof name === "string" && name !== "" && name !== "Object"
    ? `a ${shortened(name)}`
    : "an object";
}

/** The beginning of a text that may be of any length. */
function shortened(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
