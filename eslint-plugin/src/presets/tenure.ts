/**
 * The `tenure` preset: what the analysis must know about Tenure's own API. Used by `settings.ts`;
 * it is the default. The brand recognises the type in forks and workspaces, where the package name
 * alone would not.
 */
import type { OwnerSettings } from "../owner.ts";

/** Tensors, modules and optimizers of Tenure. */
export const tenure: readonly OwnerSettings[] = [
  {
    noun: "tensor",
    // the second is what `Tensor` inherits its methods from, through several classes
    types: [{ from: "package", package: "tenure", name: ["Tensor", "OwnershipMethods"] }],
    brand: ["moveToOuter", "detachFromScope", "isDisposed", "alias"],
    dispose: { methods: ["dispose"], functions: [] },
    calls: "fresh",
    fresh: ["carry", "call", "forward", "stateDict"],
    freshProperties: ["grad"],
    borrows: ["tensors", "parameters", "parameter", "buffer", "namedParameters", "namedBuffers"],
    takes: [
      { callee: "carry", args: [0, 1] },
      { callee: "parameter", args: [1] },
      { callee: "buffer", args: [1] },
    ],
    args: "borrow",
    keep: {
      methods: ["moveToOuter", "moveTo", "detachFromScope"],
      functions: [
        "attach",
        "detach",
        "moveToOuter",
        "moveTo",
        "use",
        "adopt",
        "disposeEverythingBut",
      ],
    },
    lasting: ["detachFromScope", "detach"],
    alias: "alias",
    scopes: [
      { callee: "scoped", callback: "first", movesResultOut: true },
      { callee: "scopedAsync", callback: "first", movesResultOut: true, async: true },
      { callee: "step", callback: "first", movesResultOut: true, async: true },
      { using: "newDisposeScope" },
      { using: "NewDisposeScope" },
    ],
    scopeObject: {
      type: "DisposeScope",
      keeps: ["attach", "use", "adopt", "disposeEverythingBut"],
      carries: ["carry"],
      runs: ["run", "enter", "go"],
      moves: ["moveTo"],
      others: [
        ...["wait", "defer", "detach", "moveToOuter", "tensors", "contains", "describe", "report"],
      ],
    },
    listing: "tensors",
    runsInScope: ["go", "run", "enter", "trace", "grad", "valueAndGrad", "gradcheck", "compile"],
    runsInline: [
      ...["noGrad", "enableGrad", "autocast", "assertNoLeaks", "checkpoint"],
      ...["detectAnomaly", "profile", "tune"],
    ],
    safeAfterDispose: [
      "shape",
      "dtype",
      "size",
      "rank",
      "name",
      "isDisposed",
      "toString",
      "requiresGrad",
    ],
    policy: "protocol",
  },
  {
    // Modules and optimizers own tensors and are no tensors: nothing but their own `dispose()`
    // frees them, and who is handed one may keep it. They own the modules in their fields, and of
    // tensors those they were given with `parameter` or `buffer` alone.
    noun: "module",
    types: [
      { from: "package", package: "tenure", name: ["Module", "Optimizer", "DataLoader"] },
      ...["tenure/nn", "tenure/optim", "tenure/data"].map((name) => ({
        from: "package" as const,
        package: name,
        name: ["Module", "Optimizer", "DataLoader"],
      })),
    ],
    dispose: { methods: ["dispose"], functions: [] },
    calls: "unknown",
    args: "transfer",
    borrowers: ["Schedule", "ReduceLROnPlateau"],
    safeAfterDispose: ["training", "length", "isDisposed"],
    managers: ["Module", "Optimizer", "Sequential"],
    overrides: [{ method: "forward", calledBy: ["call"] }],
    policy: "generic",
  },
  {
    noun: "stack",
    // by which a function owns several values at once
    types: [{ from: "lib", name: ["DisposableStack", "AsyncDisposableStack"] }],
    dispose: { methods: ["dispose", "disposeAsync"], functions: [] },
    calls: "unknown",
    args: "transfer",
    keep: { methods: ["move"], functions: [] },
    safeAfterDispose: ["disposed"],
    policy: "generic",
  },
  {
    noun: "scope",
    // rules of their own speak of those that are opened; who moves one on owns it
    types: [{ from: "package", package: "tenure", name: "DisposeScope" }],
    dispose: { methods: ["dispose"], functions: [] },
    calls: "unknown",
    fresh: ["move"],
    args: "transfer",
    policy: "generic",
  },
];
