/**
 * What `stateDict` gives and `loadStateDict` takes: a module's values by dotted name, and the
 * checks of a state before anything is changed. Called by `Module`. The scope that was open owns
 * the aliases in a state, and `dispose` ends them sooner.
 */
import "../base/polyfills.ts";
import { isForeign } from "../base/copies.ts";
import { ArgumentError, ShapeError } from "../base/errors.ts";
import { describeValue } from "../base/options.ts";
import { formatShape, sameShape } from "../base/shape.ts";
import { checkHostArray } from "../tensor/host.ts";
import { Tensor, live } from "../tensor/tensor.ts";

/**
 * A module's values by dotted name, as `stateDict` returns and `loadStateDict` takes them. Each is
 * an alias owned by the scope that was open; `using state = model.stateDict()` ends them together.
 */
export type StateDict = Map<string, Tensor> &
  Disposable & {
    /** Ends all of them; a second call does nothing. */
    dispose(): void;
  };

/** A state that ends its tensors and forgets them when it is disposed; more often does nothing. */
export class StateMap extends Map<string, Tensor> implements Disposable {
  dispose(): void {
    for (const t of this.values()) t.dispose();
    this.clear();
  }
  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** One value to load. */
export type Loadable =
  Tensor | { readonly data: ArrayBufferView; readonly shape: readonly number[] };
/** Values to load: tensors, or host arrays as a file gives them, in a map or a plain object. */
export type LoadableState = ReadonlyMap<string, Loadable> | Readonly<Record<string, Loadable>>;

/** The values of a state by name. @throws ArgumentError for what is none */
export function entriesOf(state: LoadableState): ReadonlyMap<string, Loadable> {
  if (
    typeof state !== "object" ||
    (state as unknown) === null ||
    Array.isArray(state) ||
    (state as unknown) instanceof Tensor
  )
    throw new ArgumentError(
      "loadStateDict",
      "tensors by name",
      describeValue(state),
      "pass what stateDict() gave, or what fromSafetensors read",
    );
  const map: ReadonlyMap<string, Loadable> =
    state instanceof Map
      ? (state as ReadonlyMap<string, Loadable>)
      : new Map(Object.entries(state as Readonly<Record<string, Loadable>>));
  for (const [name, entry] of map) checkEntry(name, entry);
  return map;
}

function checkEntry(name: string, entry: unknown): void {
  if (entry instanceof Tensor || isForeign(entry)) {
    live(entry as Tensor, "loadStateDict");
    return;
  }
  const { data, shape } = (entry as { data?: unknown; shape?: unknown } | null | undefined) ?? {};
  if (ArrayBuffer.isView(data) && Array.isArray(shape)) return;
  throw new ArgumentError(
    "loadStateDict",
    `a tensor, or { data: a typed array, shape }, for ${name}`,
    data === undefined ? describeValue(entry) : `data that is ${describeValue(data)}`,
    "convert it with new Float32Array(…)",
  );
}

/** Names that only one of a module and a state has. */
export interface StateDifference {
  /** Names of the module that the state lacks. */
  missing: string[];
  /** Names of the state that the module does not have. */
  unexpected: string[];
}

/** Names in a row, or the first of them. */
function some(names: readonly string[]): string {
  if (names.length <= 10) return names.join(", ");
  return `${names.slice(0, 10).join(", ")} and ${names.length - 10} more`;
}

/**
 * Compares a state with a module's own values.
 * @throws ArgumentError listing missing and unexpected names if `strict`, ShapeError for a shape
 *   that differs
 */
export function checkState(
  state: ReadonlyMap<string, Loadable>,
  own: ReadonlyMap<string, Tensor>,
  strict: boolean,
): StateDifference {
  const remedy = "check that the file belongs to this architecture";
  const missing = [...own.keys()].filter((name) => !state.has(name));
  const unexpected = [...state.keys()].filter((name) => !own.has(name));
  const problems = [
    ...(missing.length > 0 ? [`no ${some(missing)}`] : []),
    ...(unexpected.length > 0 ? [`unknown ${some(unexpected)}`] : []),
  ];
  if (strict && problems.length > 0)
    throw new ArgumentError(
      "loadStateDict",
      "exactly the names of this module",
      problems.join("; "),
      remedy,
    );
  for (const [name, target] of own) {
    const source = state.get(name);
    if (source === undefined) continue;
    const { shape, dtype } = target;
    if (!sameShape(source.shape, shape))
      throw new ShapeError(
        "loadStateDict",
        `${name} of shape ${formatShape(shape)}`,
        formatShape(source.shape),
        remedy,
      );
    if (!(source instanceof Tensor))
      checkHostArray("loadStateDict", name, source.data, shape, dtype);
  }
  return { missing, unexpected };
}
