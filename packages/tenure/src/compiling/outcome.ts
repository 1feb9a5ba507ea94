/**
 * What a compiled function gives back, as a pattern: containers and plain values as they were, with
 * a number in the place of each tensor. Called by capture.ts, which makes one, and by replay.ts,
 * which fills it in. Owns nothing.
 */
import { Tensor } from "../tensor/tensor.ts";

/** A result without its tensors. */
export type Pattern =
  | { readonly kind: "tensor"; readonly index: number }
  | { readonly kind: "value"; readonly value: unknown }
  | {
      readonly kind: "array" | "set" | "map" | "object" | "bare object";
      readonly names: readonly string[];
      readonly items: readonly Pattern[];
    };

/** A result that has no pattern. */
export class NoPattern extends Error {}

/**
 * The pattern of a result. `indexOf` numbers its tensors.
 * @throws NoPattern for what cannot be made again
 */
export function patternOf(
  value: unknown,
  indexOf: (t: Tensor) => number,
  seen: Set<object> = new Set<object>(),
): Pattern {
  if (value instanceof Tensor) return { kind: "tensor", index: indexOf(value) };
  if (typeof value === "function") throw new NoPattern("it returns a function");
  if (typeof value !== "object" || value === null) return { kind: "value", value };
  if (seen.has(value))
    throw new NoPattern("what it returns contains itself, or one container in two places");
  seen.add(value);
  const all = (items: Iterable<unknown>): Pattern[] =>
    [...items].map((item) => patternOf(item, indexOf, seen));
  if (Array.isArray(value) && Object.keys(value).length === value.length)
    return { kind: "array", names: [], items: all(value) };
  if (value instanceof Set) return { kind: "set", names: [], items: all(value) };
  if (value instanceof Map)
    return { kind: "map", names: [], items: all([...(value as Map<unknown, unknown>)].flat()) };
  const proto: unknown = Object.getPrototypeOf(value);
  const isPlain = proto === Object.prototype || proto === null;
  if (!isPlain || Object.getOwnPropertySymbols(value).length > 0)
    throw new NoPattern("it returns an object that is no plain container; return its tensors");
  const items = all(Object.values(value) as unknown[]);
  const kind = proto === null ? "bare object" : "object";
  return { kind, names: Object.keys(value), items };
}

/** A result of the pattern with other tensors. */
export function filled(pattern: Pattern, tensors: readonly Tensor[]): unknown {
  if (pattern.kind === "value") return pattern.value;
  if (pattern.kind === "tensor") return tensors[pattern.index];
  const items = pattern.items.map((item) => filled(item, tensors));
  switch (pattern.kind) {
    case "array":
      return items;
    case "set":
      return new Set(items);
    case "map":
      return new Map(items.flatMap((key, i) => (i % 2 === 0 ? [[key, items[i + 1]]] : [])));
    case "object":
      return Object.fromEntries(pattern.names.map((name, i) => [name, items[i]]));
    case "bare object":
      return Object.setPrototypeOf(
        Object.fromEntries(pattern.names.map((name, i) => [name, items[i]])),
        null,
      );
  }
}

/** Where two patterns differ, in words; null when they are equal. */
export function patternDifference(a: Pattern, b: Pattern): string | null {
  if (a.kind !== b.kind) return `a part of the result was a ${b.kind}, and is a ${a.kind}`;
  if (a.kind === "value" && b.kind === "value")
    return Object.is(a.value, b.value)
      ? null
      : `the result held ${String(b.value)}, and holds ${String(a.value)}: return it in a tensor`;
  if (a.kind === "tensor" && b.kind === "tensor")
    return a.index === b.index ? null : "the result holds other tensors in another order";
  if (!("items" in a) || !("items" in b)) return null;
  if (a.items.length !== b.items.length || a.names.some((name, i) => name !== b.names[i]))
    return "the result has other parts";
  for (const [i, item] of a.items.entries()) {
    const other = b.items[i];
    const found = other === undefined ? null : patternDifference(item, other);
    if (found !== null) return found;
  }
  return null;
}
