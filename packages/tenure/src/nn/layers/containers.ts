/**
 * Containers of modules. `Sequential` runs its layers one after the other and frees what they hand
 * to each other; lists and dictionaries hold modules whose order of use is the user's. They own and
 * dispose what they hold.
 */
import { ArgumentError, TenureError } from "../../base/errors.ts";
import { checkArgument, checkIterable, describeValue } from "../../base/options.ts";
import { type AnyModule, Layer, Module } from "../module.ts";
import { newDisposeScope } from "../../ownership/open.ts";
import { ignoreRejection } from "../../ownership/owned.ts";
import { type Tensor, live } from "../../tensor/tensor.ts";

/**
 * Layers one after the other. Owns and disposes them; intermediates are freed as soon as the next
 * layer has them.
 * @throws ArgumentError for what is no module
 * @example
 * ```ts
 * using model = new Sequential(new Linear(4, 8), new ReLU(), new Linear(8, 3));
 * using out = model.call(x);
 * console.log(out.shape.join()); // → 8,3
 * ```
 */
export class Sequential extends Layer {
  readonly layers: readonly Module[];
  constructor(...layers: readonly Module[]) {
    super();
    for (const layer of layers)
      if (!(layer instanceof Module))
        throw new ArgumentError(
          "Sequential",
          "modules",
          describeValue(layer),
          Array.isArray(layer)
            ? "spread the list: new Sequential(...layers)"
            : "pass layers, for example new ReLU()",
        );
    this.layers = layers;
  }

  /** PyTorch's names: "0", "1", … */
  override *children(): Generator<[name: string, module: Module]> {
    for (const [i, layer] of this.layers.entries()) yield [String(i), layer];
  }

  forward(x: Tensor): Tensor {
    live(x, "Sequential");
    if (this.layers.length === 0) return x.alias();
    using scope = newDisposeScope("Sequential");
    let out = x;
    for (const layer of this.layers) {
      const next = layer.call(out);
      if (out !== x && out !== next && scope.contains(out)) out.dispose();
      out = next;
    }
    // a layer may hand back what is not its own
    return scope.moveToOuter(scope.contains(out) ? out : out.alias());
  }
}

function checkModule(op: string, module: unknown): void {
  if (module instanceof Module) return;
  ignoreRejection(module);
  throw new ArgumentError(
    op,
    "modules",
    describeValue(module),
    "pass layers, for example new ReLU()",
  );
}

function noModules(op: string, value: unknown, example: string): ArgumentError {
  return new ArgumentError(op, "modules", describeValue(value), `pass for example ${example}`);
}

const position = { type: "integer", remedy: "pass for example 0" } as const;

/**
 * Modules by number. Names are "0", "1", … as PyTorch's.
 * @throws ArgumentError for what is no module
 */
export class ModuleList<M extends AnyModule = Module>
  extends Module<never, never>
  implements Iterable<M>
{
  readonly #modules: M[] = [];
  constructor(modules: Iterable<M> = []) {
    super();
    checkIterable("ModuleList", "modules", modules, "pass for example [new ReLU(), …]");
    for (const module of modules) this.push(module);
  }

  /** How many modules it has. */
  get length(): number {
    return this.#modules.length;
  }
  /** Its modules in order. */
  [Symbol.iterator](): Iterator<M> {
    return this.#modules[Symbol.iterator]();
  }
  /**
   * The module at a position, undefined out of range; negative positions count from the end.
   * @throws ArgumentError for what is no whole number
   */
  at(index: number): M | undefined {
    checkArgument("ModuleList", "index", index, position);
    return this.#modules.at(index);
  }
  /** Takes ownership of a module. @throws ArgumentError for what is no module */
  push(module: M): this {
    checkModule("ModuleList", module);
    this.#modules.push(module);
    return this;
  }

  override *children(): Generator<[name: string, module: AnyModule]> {
    for (const [i, module] of this.#modules.entries()) yield [String(i), module];
  }
  forward(): never {
    throw new TenureError(
      "ModuleList",
      "expected its modules to be called one by one, got a call; loop over it in your forward",
    );
  }
}

/** Modules by name. @throws ArgumentError for what is no module */
export class ModuleDict<M extends AnyModule = Module>
  extends Module<never, never>
  implements Iterable<[string, M]>
{
  readonly #modules = new Map<string, M>();
  constructor(modules: Readonly<Record<string, M>> | Iterable<readonly [string, M]> = {}) {
    super();
    if (typeof modules !== "object" || (modules as unknown) === null || ArrayBuffer.isView(modules))
      throw noModules("ModuleDict", modules, "{ encoder: new ReLU(), … }");
    for (const entry of Symbol.iterator in modules ? modules : Object.entries(modules)) {
      if (!Array.isArray(entry)) throw noModules("ModuleDict", entry, "[name, module]");
      this.set(entry[0], entry[1]);
    }
  }

  /** How many modules it has. */
  get size(): number {
    return this.#modules.size;
  }
  /** Names and modules, in the order they were given. */
  [Symbol.iterator](): Iterator<[string, M]> {
    return this.#modules[Symbol.iterator]();
  }
  /** The names, in order. */
  keys(): IterableIterator<string> {
    return this.#modules.keys();
  }
  /** Whether a module has that name. */
  has(name: string): boolean {
    return this.#modules.has(name);
  }
  /** The module of that name. */
  get(name: string): M | undefined {
    return this.#modules.get(name);
  }
  /**
   * Takes ownership of a module. @throws ArgumentError for a name that is taken, empty or has a dot
   */
  set(name: string, module: M): this {
    checkModule("ModuleDict", module);
    if (typeof (name as unknown) !== "string" || name === "" || name.includes("."))
      throw new ArgumentError(
        "ModuleDict",
        "a name without dots",
        describeValue(name),
        'pass for example "encoder"',
      );
    if (this.#modules.has(name))
      throw new ArgumentError(
        "ModuleDict",
        "a name that is not taken",
        describeValue(name),
        "use another name",
      );
    this.#modules.set(name, module);
    return this;
  }

  override *children(): Generator<[name: string, module: AnyModule]> {
    yield* this.#modules;
  }
  forward(): never {
    throw new TenureError(
      "ModuleDict",
      "expected its modules to be called by name, got a call; use get(name)",
    );
  }
}
