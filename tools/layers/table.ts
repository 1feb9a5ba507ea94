/**
 * The map of `packages/tenure/src`: which folders there are, what each may import, and which
 * folders may use the same file names. Read by the layer check. Owns nothing.
 */

/** What a layer's files may import besides their own layer. */
export interface LayerRule {
  readonly imports: readonly string[];
  /** Only by `import type`. */
  readonly types?: readonly string[];
  /** Layers that only one file of this layer may import, and which file. */
  readonly onlyBy?: Readonly<Record<string, string>>;
}

/** The layers, lowest first. This table is the architecture: change it knowingly. */
export const LAYERS: Readonly<Record<string, LayerRule>> = {
  base: { imports: [] },
  ownership: { imports: ["base"] },
  graph: { imports: ["base"] },
  kernels: { imports: ["base"] },
  ops: { imports: ["base", "kernels"] },
  planner: { imports: ["base", "graph"] },
  device: { imports: ["base"], types: ["kernels"] },
  runtime: { imports: ["base", "ownership", "graph", "kernels", "ops", "planner", "device"] },
  debug: { imports: ["runtime"] },
  profiling: { imports: ["base", "ownership", "device", "runtime"] },
  scheduling: { imports: ["base", "ownership", "graph", "planner", "device", "runtime"] },
  tensor: {
    imports: ["base", "ownership", "graph", "ops", "runtime"],
    onlyBy: { runtime: "tensor/dispatch.ts" },
  },
  autograd: { imports: ["base", "ownership", "graph", "ops", "tensor"] },
  compiling: { imports: ["base", "ownership", "ops", "tensor"] },
  nn: { imports: ["base", "ownership", "ops", "tensor", "autograd"] },
  optim: { imports: ["base", "ownership", "ops", "tensor", "autograd"] },
  data: { imports: ["base", "ownership", "tensor", "autograd"] },
};

/** Files beside the folders: the entry points. They may import anything, nobody may import them. */
export const ROOT = "(entry points)";

/**
 * Wires the layers together. Any file may import it, for its effect alone: those must that an entry
 * point hands on and that reach the instance.
 */
export const WIRING = "compose.ts";
/** Holds the instance: who reaches this file may need the wiring. */
export const REALM = "base/realm.ts";
/** Files that reach the instance and can be taken of the library without the wiring, and why. */
export const LIGHT: Readonly<Record<string, string>> = {
  "base/env.ts": "a warning comes from a file that has an instance",
  "base/errors.ts": "does without where there is none",
  "ownership/scoped.ts": "hands on a symbol; scopes come from tensor/dispose-scope.ts",
  "tensor/tensor.ts": "hands on the class; tensors come from files that have an instance",
};
/** Gives hosts the symbols that classes with dispose methods look up while they load. */
export const POLYFILLS = "base/polyfills.ts";

/** The only file that may name the packages behind it, and only inside `import()`. */
export const ACQUIRE = "device/host-devices.ts";
/** Packages that bring a device. */
export const DEVICE_PACKAGES: ReadonlySet<string> = new Set(["webgpu", "tenure-software-gpu"]);

/** Folders that speak of the same things, so the same file name means the same family of ops. */
export const SAME_FAMILIES: readonly string[] = [
  "kernels",
  "ops",
  "tensor/methods",
  "nn/functional",
  "nn/layers",
];

/** File names with the same meaning in every folder, and which. */
export const COMMON_NAMES: Readonly<Record<string, string>> = {
  "index.ts": "the entry point of its folder",
};

/** The layer that a path below `src` belongs to. */
export function layerOf(file: string): string {
  return file.includes("/") ? file.slice(0, file.indexOf("/")) : ROOT;
}
