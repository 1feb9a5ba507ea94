/**
 * Handles of things that are no tensors: modules, loaders, callbacks. Made by scopes that were
 * given them.
 */
import { Handle, type Owner, handleOf, handles, register } from "./handle.ts";
import { type LifetimeStatistics, statistics } from "./statistics.ts";

/**
 * Any `Disposable` or callback owned by a scope. The scope holds it strongly: it is only as alive
 * as its owner.
 */
export class DisposableHandle extends Handle {
  readonly value: object;
  readonly #dispose: () => void;

  constructor(value: object, dispose: () => void) {
    super();
    this.value = value;
    this.#dispose = dispose;
  }

  protected release(): void {
    handles().foreign.delete(this.value);
    this.#dispose();
  }
  describe(): string {
    if (typeof this.value === "function")
      return `deferred call ${this.value.name || "(anonymous)"}`;
    // none on Object.create(null)
    const { constructor } = this.value as { constructor?: { name?: string } };
    return constructor?.name || "disposable";
  }
  get bytes(): number {
    return 0;
  }
  get statistics(): LifetimeStatistics {
    return statistics().container;
  }

  /** Puts a disposable that no scope has seen into `scope`. */
  static use(scope: Owner, value: Disposable): void {
    DisposableHandle.#into(scope, value, () => {
      value[Symbol.dispose]();
    });
  }

  /** Puts any value into `scope`, together with the function that frees it. */
  static adopt<V>(scope: Owner, value: V, free: (value: V) => void): void {
    // what has a handle of its own, and what is no object, needs an object to stand for it
    const own =
      ((typeof value === "object" && value !== null) || typeof value === "function") &&
      handleOf(value) === undefined;
    DisposableHandle.#into(scope, own ? value : { adopted: value }, () => {
      free(value);
    });
  }

  /** Has `scope` call `fn` when it ends. */
  static defer(scope: Owner, fn: () => void): void {
    // A fresh function each time: the same one deferred twice runs twice.
    const call = Object.defineProperty(() => undefined, "name", { value: fn.name });
    DisposableHandle.#into(scope, call, fn);
  }

  static #into(scope: Owner, value: object, dispose: () => void): void {
    const handle = new DisposableHandle(value, dispose);
    handles().foreign.set(value, handle);
    register(handle, null, scope);
  }
}

/** The wrappers of live handles, in order; those that nobody holds any more are left out. */
export function wrappersOf(list: readonly Handle[]): object[] {
  let young: Map<Handle, object> | undefined;
  const wrappers: object[] = [];
  for (const handle of list) {
    let wrapper: object | undefined;
    if (handle instanceof DisposableHandle) wrapper = handle.value;
    else if (handle.wrapper !== null) wrapper = handle.wrapper.deref();
    else {
      young ??= handles().young();
      wrapper = young.get(handle);
    }
    if (wrapper !== undefined) wrappers.push(wrapper);
  }
  return wrappers;
}
