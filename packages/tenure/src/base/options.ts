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
import { isForeign } from "./copies.ts";
import { ArgumentError } from "./errors.ts";
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
    | { readonly type: "flag" | "text" | "function" }
    | NumberRow
    | ListRow
    | { readonly type: "choice"; readonly of: readonly string[] }
    /** An object with options of its own. */
    | { readonly type: "options"; readonly of: Readonly<Record<string, OptionRow>> }
    /** Anything, or what `check` lets pass: it throws at other values. */
    | { readonly type: "any"; readonly check?: (op: string, value: unknown) => void }
  );

interface NumberRow {
  readonly type: "number" | "integer";
  readonly range?: Range;
}

interface ListRow {
  readonly type: "list";
  readonly of: "number" | "integer";
  /** Of each element. */
  readonly range?: Range;
  /** How many there are; any number unless given. */
  readonly length?: number;
  /** There is at least one. */
  readonly nonEmpty?: true;
  /** One number stands for all of them. */
  readonly single?: true;
  /** An element may be null. */
  readonly holes?: true;
}

/** A row for every option in `O`. */
export type OptionTable<O> = { readonly [K in keyof Required<O>]: OptionRow<O[K]> };

type Table = Readonly<Record<string, OptionRow>>;

/** Names in `T` that always have a value. */
type Sure<T> = {
  [K in keyof T]: T[K] extends { readonly default: unknown } | { readonly required: true }
    ? K
    : never;
}[keyof T];

/** The options in `O` with the defaults of a table filled in. */
export type Filled<O, T> = {
  readonly [K in keyof O as K extends Sure<T> ? K : never]-?: Exclude<O[K], undefined>;
} & { readonly [K in keyof O as K extends Sure<T> ? never : K]?: O[K] };

/**
 * Checks options against their table and fills in the defaults. An option that is `undefined` is
 * one left out.
 * @returns a new object with what was given and the defaults of the rest
 * @throws ArgumentError for anything but an object, a name that is not in the table, one that is
 *   missing, and a value that its row does not allow
 */
export function readOptions<O extends object, T extends OptionTable<O>>(
  op: string,
  options: O | undefined,
  table: T,
): Filled<O, T> {
  if (options !== undefined) checkNames(op, options, table);
  const given = options as Readonly<Record<string, unknown>> | undefined;
  const filled: Record<string, unknown> = {};
  // ops come here at every call: a row is asked for no more than its turn needs
  for (const name in table) {
    const row: OptionRow = table[name];
    const value = given === undefined ? undefined : given[name];
    if (value !== undefined) {
      checkArgument(op, name, value, row);
      filled[name] = value;
      continue;
    }
    const left = row.default;
    if (left !== undefined) filled[name] = left;
    else if (row.required) refuseMissing(op, name, table, given);
  }
  return filled as Filled<O, T>;
}

/** @throws ArgumentError for an option that cannot be left out */
function refuseMissing(op: string, name: string, table: Table, given: object | undefined): void {
  if (given !== undefined) {
    checkArgument(op, name, undefined, table[name] ?? { type: "any", required: true });
    return;
  }
  const names = Object.keys(table).filter((name) => table[name]?.required);
  throw new ArgumentError(
    op,
    `options with ${names.join(" and ")}`,
    "none",
    `pass { ${names.map((name) => `${name}: …`).join(", ")} }`,
  );
}

/** @throws ArgumentError unless `options` is an object whose names are all in the table */
function checkNames(op: string, options: unknown, table: Table): void {
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw new ArgumentError(
      op,
      "an options object",
      describeValue(options),
      `write { ${Object.keys(table)[0] ?? "name"}: … }`,
    );
  for (const key in options) if (!Object.hasOwn(table, key)) throw unknownName(op, key, table);
}

function unknownName(op: string, key: string, table: Table): ArgumentError {
  const names = Object.keys(table);
  const meant = closest(key, names);
  return new ArgumentError(
    op,
    names.length === 1 ? `the option ${names.join("")}` : `the options ${names.join(", ")}`,
    describeValue(key),
    meant === undefined ? "check the spelling" : `did you mean ${meant}?`,
  );
}

/** Checks values that have their defaults already. @throws ArgumentError as `readOptions` does */
export function checkValues(op: string, values: object, table: Table) {
  const given = values as Readonly<Record<string, unknown>>;
  for (const [name, row] of Object.entries(table)) checkArgument(op, name, given[name], row);
}

/** Checks one value. @throws ArgumentError for one that the row does not allow */
export function checkArgument(op: string, name: string, value: unknown, row: OptionRow): void {
  if (value === null && row.orNull) return;
  switch (row.type) {
    case "any":
      if (value === undefined && row.required)
        throw new ArgumentError(
          op,
          row.what ?? `the option ${name}`,
          "none",
          row.remedy ?? `pass ${name}`,
        );
      row.check?.(op, value);
      return;
    case "options":
      checkNames(op, value, row.of);
      readOptions(op, value as object, row.of);
      return;
    default:
      if (!allows(row, value)) throw refusal(op, name, value, row);
  }
}

type CheckedRow = Exclude<OptionRow, { readonly type: "any" | "options" }>;

function refusal(op: string, name: string, value: unknown, row: CheckedRow): ArgumentError {
  const expected = expectation(row.what ?? name, row);
  return new ArgumentError(
    op,
    row.orNull ? `${expected} or null` : expected,
    row.type === "list" ? describeList(value) : describeValue(value),
    row.remedy ?? remedies[row.type],
  );
}

const remedies: Readonly<Record<CheckedRow["type"], string>> = {
  flag: "pass a boolean",
  text: "pass a string",
  function: "pass for example () => …",
  integer: "pass an integer",
  number: "pass a number in that range",
  list: "pass integers",
  choice: "choose one of them",
};

function allows(row: CheckedRow, value: unknown): boolean {
  switch (row.type) {
    case "flag":
      return typeof value === "boolean";
    case "text":
      return typeof value === "string";
    case "function":
      return typeof value === "function";
    case "choice":
      return typeof value === "string" && row.of.includes(value);
    case "integer":
    case "number":
      return isNumber(row.type, row.range, value);
    case "list":
      return isList(row, value);
  }
}

function isNumber(type: "number" | "integer", range: Range | undefined, value: unknown): boolean {
  const fits = type === "integer" ? Number.isSafeInteger(value) : typeof value === "number";
  return fits && inRange(range, value as number);
}

function isList(row: ListRow, value: unknown): boolean {
  if (row.single && typeof value === "number") return isNumber(row.of, row.range, value);
  if (!Array.isArray(value)) return false;
  if (value.length !== (row.length ?? value.length)) return false;
  if (row.nonEmpty && value.length === 0) return false;
  for (const element of value as unknown[])
    if (!(element === null && row.holes) && !isNumber(row.of, row.range, element)) return false;
  return true;
}

/** What a row allows, in words. */
function expectation(what: string, row: CheckedRow): string {
  switch (row.type) {
    case "flag":
      return `${what} to be true or false`;
    case "text":
      return `${what} to be a string`;
    case "function":
      return `${what} to be a function`;
    case "choice":
      return `${what} to be ${listed(row.of.map((name) => JSON.stringify(name)))}`;
    case "list":
      return `${what} to be ${listWords(row)}`;
    case "number":
      if (row.range !== undefined && row.range !== "(-Infinity, Infinity)")
        return `${what} in ${row.range}`;
      return `${what} to be ${numberWords(row.type, row.range)[0]}`;
    case "integer":
      return `${what} to be ${numberWords(row.type, row.range)[0]}`;
  }
}

/** What numbers of a range are called: one of them, and several. */
function numberWords(type: "number" | "integer", range: Range | undefined): [string, string] {
  if (type === "integer" && range === "[1, Infinity)")
    return ["a positive integer", "positive integers"];
  if (type === "integer" && range === "[0, Infinity)")
    return ["a whole number of 0 or more", "whole numbers of 0 or more"];
  if (range === "(-Infinity, Infinity)") return ["a finite number", "finite numbers"];
  const bounds = range === undefined ? "" : ` in ${range}`;
  return type === "integer"
    ? [`an integer${bounds}`, `integers${bounds}`]
    : [`a number${bounds}`, `numbers${bounds}`];
}

function listWords({ of, range, length, single, holes }: ListRow): string {
  const [one, many] = numberWords(of, range);
  const each = holes ? "them or null" : "them";
  if (single) {
    if (length === undefined) return `${one} or a list of ${each}`;
    return `${one} or ${length === 2 ? "a pair" : `${length}`} of ${each}`;
  }
  const those = holes ? `${many} or null` : many;
  if (length === undefined) return `a list of ${those}`;
  return length === 2 ? `a pair of ${those}` : `${length} ${those}`;
}

/** Whether a number lies in a range; NaN lies in none but the missing one. */
function inRange(range: Range | undefined, value: number): boolean {
  // the usual ones at once: ops check some at every call
  switch (range) {
    case undefined:
      return true;
    case "[0, Infinity)":
      return value >= 0 && value < Infinity;
    case "[1, Infinity)":
      return value >= 1 && value < Infinity;
    default:
      return within(range, value);
  }
}

function within(range: Range, value: number): boolean {
  const comma = range.indexOf(", ");
  const [low, high] = [Number(range.slice(1, comma)), Number(range.slice(comma + 2, -1))];
  const above = range.startsWith("[") ? value >= low : value > low;
  const below = range.endsWith("]") ? value <= high : value < high;
  return above && below;
}

/** "a, b or c". */
function listed(names: readonly string[]): string {
  const last = names.at(-1) ?? "";
  return names.length < 2 ? last : `${names.slice(0, -1).join(", ")} or ${last}`;
}

// === Rows that many tables have, and single values ===

/** A switch that is on unless told otherwise. */
export const on = { type: "flag", default: true } as const satisfies OptionRow;
/** A switch that is off unless told otherwise. */
export const off = { type: "flag", default: false } as const satisfies OptionRow;

/** @throws ArgumentError unless `fn` is a function */
export function checkFunction(op: string, fn: unknown, remedy = "pass for example () => …"): void {
  if (typeof fn !== "function")
    throw new ArgumentError(op, "a function", describeValue(fn), remedy);
}

/** @throws ArgumentError unless `value` is an array */
export function checkArray(op: string, what: string, value: unknown): void {
  if (!Array.isArray(value))
    throw new ArgumentError(
      op,
      `an array of ${what}`,
      describeValue(value),
      "pass for example […]",
    );
}

/** @throws ArgumentError unless `value` can be gone through, and is no text or bytes */
export function checkIterable(
  op: string,
  what: string,
  value: unknown,
  remedy: string,
): asserts value is Iterable<unknown> {
  const object = typeof value === "object" && !ArrayBuffer.isView(value) ? value : null;
  if (typeof (object as Partial<Iterable<unknown>> | null)?.[Symbol.iterator] !== "function")
    throw new ArgumentError(op, what, describeValue(value), remedy);
}

/** @throws ArgumentError unless `value` is a Uint8Array, as files are read */
export function checkBytes(op: string, value: unknown): asserts value is Uint8Array {
  if (!(value instanceof Uint8Array))
    throw new ArgumentError(
      op,
      "the bytes of a file as a Uint8Array",
      describeValue(value),
      "pass for example await readFile(path)",
    );
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

/** Like `describeValue`, with the elements of short lists. */
function describeList(value: unknown): string {
  if (!Array.isArray(value) || value.length === 0 || value.length > 8) return describeValue(value);
  return `[${value.map(describeValue).join(",")}]`;
}

function describeObject(value: object | null): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return value.length === 0 ? "an empty array" : "an array";
  const name = (value as { constructor?: { name?: unknown } }).constructor?.name;
  const what =
    typeof name === "string" && name !== "" && name !== "Object"
      ? `a ${shortened(name)}`
      : "an object";
  return isForeign(value) ? `${what} of another copy of tenure (see \`npm ls tenure\`)` : what;
}

/** The beginning of a text that may be of any length. */
function shortened(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
