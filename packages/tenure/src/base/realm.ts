/**
 * The library's one module variable: the instance of Tenure that this copy of the library uses.
 * compose.ts builds the instance out of the parts of each layer and installs it here; each layer
 * reads its own part through an accessor of its own (`ledger()`, `runtime()`, …). No other module
 * keeps anything that changes. Owns the instance until another one replaces it.
 */
let instance: object | null = null;

/**
 * The current instance, seen as whatever has the part a layer asks for. The one place where a type
 * is taken on trust: compose.ts checks that the instance has every part.
 * @throws internal before compose.ts has run
 */
export function current<T extends object>(): T {
  const found = currentIfAny<T>();
  if (found === null) throw new Error("internal: nothing that was imported imports compose.ts");
  return found;
}

/** The current instance; null where only parts that need none were taken of the library. */
export function currentIfAny<T extends object>(): T | null {
  return instance as T | null;
}

/** Makes `next` the current instance. Called by compose.ts. */
export function setCurrent(next: object): void {
  instance = next;
}
