/**
 * The random generator: counter-based, so that the same seed gives the same numbers on every
 * adapter. A seed sets the key, each random op takes the next stream. Called by random.ts, by
 * creation, dropout and checkpoints.
 */
import { current } from "../base/realm.ts";
import { whenDiscarded, whenStepDiscarded } from "./dispatch.ts";
import { tape } from "./tape.ts";

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
  /** Stands for the place it was last set to: streams with different numbers do not compare. */
  #setting = {};
  /** Whether it draws again what it drew before. */
  isDisplaced = false;

  /** Where it stands, to go back to by setting it. */
  get state(): GeneratorState {
    return { low: this.#low, high: this.#high, stream: this.#stream };
  }
  set state({ low, high, stream }: GeneratorState) {
    this.#low = low;
    this.#high = high;
    this.#stream = stream;
    this.#setting = {};
  }

  /** The scalars of the next random op. */
  take(): readonly number[] {
    return [this.#low, this.#high, this.#stream++ >>> 0];
  }

  /**
   * What gives the next stream back after it was taken. Streams that others have taken since stay
   * theirs: then it is used by nobody.
   */
  giveBack(): () => void {
    const setting = this.#setting;
    const stream = this.#stream;
    return () => {
      if (this.#setting === setting && this.#stream === stream + 1) this.#stream = stream;
    };
  }

  /** Goes somewhere else. @returns what goes back, unless it was set again since */
  moveTo(state: GeneratorState): () => void {
    const before = this.state;
    const setting = this.#setting;
    this.state = state;
    const now = this.#setting;
    return () => {
      if (this.#setting === now) this.#return(before, setting);
    };
  }

  #return(state: GeneratorState, setting: object): void {
    this.state = state;
    this.#setting = setting;
  }

  /** Runs `fn` from another place, and goes on from here. */
  from<T>(state: GeneratorState, fn: () => T): T {
    const before = this.state;
    const setting = this.#setting;
    const displaced = this.isDisplaced;
    this.state = state;
    this.isDisplaced = true;
    try {
      return fn();
    } finally {
      this.isDisplaced = displaced;
      this.#return(before, setting);
    }
  }
}

/** The generator of the current instance. */
function generator(): Generator {
  return current<{ readonly tensors: { readonly generator: Generator } }>().tensors.generator;
}

/** Where the generator stands, to go back to by `restoreGenerator`. */
export function generatorState(): GeneratorState {
  return generator().state;
}

/** Goes back to where the generator stood. A step that is discarded takes that back, too. */
export function restoreGenerator(state: GeneratorState): void {
  const back = generator().moveTo(state);
  whenStepDiscarded(() => back);
}

/** Runs `fn` with the numbers it had then: how a recomputed forward pass draws the same ones. */
export function withGenerator<T>(state: GeneratorState, fn: () => T): T {
  return generator().from(state, fn);
}

/** The scalars of the next random op. Taking them moves the generator on. */
export function nextRandomScalars(): readonly number[] {
  const own = generator();
  whenDiscarded(() => own.giveBack(), true);
  const scalars = own.take();
  tape().watcher?.took(scalars, own.isDisplaced);
  return scalars;
}
