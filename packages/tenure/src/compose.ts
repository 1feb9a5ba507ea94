/**
 * Builds the library out of its layers and installs the result: the only wiring, and besides
 * base/polyfills.ts and with-engine.ts the only file with an effect on import. Imported, for that
 * effect alone, by every file that an entry point hands on and that can be the first to need the
 * instance; so whatever is taken of the library brings what it needs, and no more. package.json
 * names the files with an effect in `sideEffects`, for bundlers; `npm run check:layers` finds a
 * file that forgets.
 *
 * How a layer's state gets in: the layer exports a class (`Ledger`, `Runtime`, `TensorState`) and
 * an accessor that reads the current instance (`ledger()`, `runtime()`, `tensorState()`). The class
 * is constructed here. What it needs of a layer above it is a constructor argument, passed as a
 * function, which is not called before everything is built. No layer touches its state while its
 * module loads, and no module fills in another's variable.
 */
import { polyfilled } from "./base/polyfills.ts";
import { backward } from "./autograd/backward.ts";
import { Warnings } from "./base/env.ts";
import { setCurrent } from "./base/realm.ts";
import { Ledger } from "./ownership/ledger.ts";
import { Runtime } from "./runtime/runtime.ts";
import { TensorState } from "./tensor/tensor-state.ts";
import { reasonsBesides } from "./tensor/why.ts";

/** One Tenure: everything that changes, by layer. */
export interface Instance {
  /** Names of the symbols this host lacked and the library added. */
  readonly polyfilled: readonly string[];
  readonly warnings: Warnings;
  readonly ledger: Ledger;
  readonly runtime: Runtime;
  readonly tensors: TensorState;
  /** What holds memory now: the report of every OutOfMemoryError. */
  readonly memoryReport: () => string;
}

/** Builds an instance whose parts know only each other. */
export function compose(runtime: Runtime = new Runtime()): Instance {
  const ledger = new Ledger({
    settled: () => runtime.settled(),
    bytes: () => runtime.bytesInUse(),
    reasons: reasonsBesides,
  });
  const tensors = new TensorState({ backward });
  return {
    polyfilled,
    warnings: new Warnings(),
    ledger,
    runtime,
    tensors,
    memoryReport: () => runtime.outOfMemory(),
  };
}

setCurrent(compose());
