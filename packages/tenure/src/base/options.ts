/**
 * Checks of what comes in from outside TypeScript: options objects with misspelt names, callbacks
 * that are none, values told in words. Pure functions, called where the public API begins; they
 * cost nothing where no options are passed.
 */
import { ArgumentError } from "./errors.ts";

/** A value in a few words, for error messages. */
export function describeValue(value: unknown): string {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
    case "function":
      return "a function";
    case "bigint":
      return `${value}n`;
    case "object": {
      if (value === null) return "null";
      if (Array.isArray(value)) return value.length === 0 ? "an empty array" : "an array";
      const name = (value as { constructor?: { name?: unknown } }).constructor?.name;
      return typeof name === "string" && name !== "" && name !== "Object"
        ? `a ${name}`
        : "an object";
    }
    default:
      return String(value);
  }
}

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
      names.length === 1 ? `the option ${names[0]}` : `the options ${names.join(", ")}`,
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
  if (value !== undefined && typeof value !== "boolean")
    throw new ArgumentError(
      op,
      `${name} to be true or false`,
      describeValue(value),
      "pass a boolean",
    );
}

/**
 * The name that was surely meant: the same but for case and underscores, its initials (learningRate
 * for lr), or two letters away.
 */
export function closest(key: string, names: readonly string[]): string | undefined {
  const plain = (s: string): string => s.replace(/[^A-Za-z0-9]/g, "").toLowerCase();
  const initials = key
    .replace(/[A-Z]/g, "_$&")
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word[0] ?? "")
    .join("")
    .toLowerCase();
  let best: string | undefined,
    least = 3;
  for (const name of names) {
    const d =
      plain(name) === plain(key) || (initials.length > 1 && initials === name)
        ? 0
        : distance(plain(key), plain(name));
    if (d < least && d < Math.max(name.length, 2) - 1) {
      best = name;
      least = d;
    }
  }
  return best;
}

/** Levenshtein's. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(
        Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)),
      );
    row = next;
  }
  return row[b.length]!;
}
