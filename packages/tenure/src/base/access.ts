/**
 * Reading what must be there: elements of lists and values of maps whose absence would be a bug of
 * Tenure. Called wherever an index or a key is right by construction; loops over numbers that run
 * millions of times index directly. Pure functions.
 */
import { internal } from "./errors.ts";

/** The element at an index that is inside the list. @throws Error (internal) otherwise */
export function at<T>(list: ArrayLike<T>, index: number): T {
  const element = list[index];
  if (element === undefined) throw internal(`no element ${index} in a list of ${list.length}`);
  return element;
}

/** The last element of a list that is not empty. @throws Error (internal) otherwise */
export function last<T>(list: ArrayLike<T>): T {
  return at(list, list.length - 1);
}

/** The value of a key that the map has. @throws Error (internal) otherwise */
export function lookup<K, V>(map: ReadonlyMap<K, V>, key: K): V {
  const value = map.get(key);
  if (value === undefined) throw internal(`no value for ${String(key)} in a map of ${map.size}`);
  return value;
}

/** Adds a value to the list of a key, which begins empty. */
export function append<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}

/** A value that is there by construction. @throws Error (internal) otherwise */
export function defined<T>(value: T | undefined): T {
  if (value === undefined) throw internal("a value is missing that must be there");
  return value;
}
