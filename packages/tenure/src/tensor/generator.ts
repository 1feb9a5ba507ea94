/**
 * The random generator: counter-based, so that the same seed gives the same numbers on every
 * adapter. `manualSeed` sets the key, each random op takes the next stream. Called by creation,
 * dropout and checkpoints.
 */
import { ArgumentError } from "../base/errors.ts";
import { describeValue } from "../base/options.ts";
import { current } from "../base/realm.ts";
import { whenDiscarded } from "./dispatch.ts";

/** Where the generator stands. */
export interface GeneratorState {
  /** The key. */
  readonly low: number;
  readonly high: number;
  /** The stream that the next op takes. */
  readonly stream: number;
}

/** The generator of an instance, seeded by chance. */
export class Generator {
  #low = Math.floor(Math.random() * 2 ** 32);
  #high = 0;
  #stream = 0;

  /** Where it stands, to go back to by setting it. */
  get state(): GeneratorState {
    return { low: this.#low, high: this.#high, stream: this.#stream };
  }
  set state({ low, high, stream }: GeneratorState) {
    this.#low = low;
    this.#high = high;
    this.#stream = stream;
  }

  /** The scalars of the next random op. */
  take(): readonly number[] {
    return [this.#low, this.#high, this.#stream++ >>> 0];
  }
}

/** The generator of the current instance. */
function generator(): Generator {
  return current<{ readonly tensors: { readonly generator: Generator } }>().tensors.generator;
}

/** Restarts the generator: the same seed gives the same numbers on every adapter. */
export function manualSeed(seed: number): void {
  if (!Number.isSafeInteger(seed) || seed < 0)
    throw new ArgumentError(
      "manualSeed",
      "an integer of 0 or more",
      describeValue(seed),
      "pass for example 42",
    );
  generator().state = { low: seed >>> 0, high: Math.floor(seed / 2 ** 32) >>> 0, stream: 0 };
}

/**
 * Where the generator stands, to go back to by `restoreGenerator`: how a recomputed forward pass
 * draws the same numbers.
 */
export function generatorState(): GeneratorState {
  return generator().state;
}

/** Goes back to where the generator stood. */
export function restoreGenerator(state: GeneratorState): void {
  generator().state = state;
}

function rememberGenerator(): () => void {
  const own = generator(),
    before = own.state;
  return () => {
    own.state = before;
  };
}

/** The scalars of the next random op. Taking them moves the generator on. */
export function nextRandomScalars(): readonly number[] {
  whenDiscarded(rememberGenerator);
  return generator().take();
}
