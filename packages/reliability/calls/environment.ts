/**
 * What one call is made of: the tensors and modules that its arguments consist of, so that they can
 * be looked at and freed afterwards. Made anew for each call.
 */
import { Tensor } from "tenure";

/** Thrown by callbacks and getters that are passed in: comes back unchanged. */
export class CallersError extends Error {}

/** The arguments of one call. Owns what it keeps until its end. */
export class Environment {
  readonly tensors: Tensor[] = [];
  /** What the call is made on; known before its arguments are made. */
  receiver: unknown;
  readonly #kept: Disposable[] = [];
  #sealed = 0;

  /** Keeps a tensor that must be alive after the call. */
  tensor(t: Tensor): Tensor {
    this.tensors.push(t);
    return t;
  }

  /** Keeps anything else that is freed after the call. @takes thing */
  keep<T extends Disposable>(thing: T): T {
    this.#kept.push(thing);
    return thing;
  }

  /** The arguments are complete: what is made from now on may end when it likes. */
  seal(): void {
    this.#sealed = this.tensors.length;
  }

  /** The first argument that did not survive. */
  lost(): Tensor | undefined {
    return this.tensors.slice(0, this.#sealed).find((t) => t.isDisposed);
  }

  /** Frees everything. @returns what was thrown meanwhile: disposers may be hostile, too */
  end(): unknown[] {
    const errors: unknown[] = [];
    for (const thing of [...this.#kept.reverse(), ...this.tensors])
      try {
        thing[Symbol.dispose]();
      } catch (error) {
        errors.push(error);
      }
    return errors;
  }
}

/** How a value is made for one call. */
export type Make = (env: Environment) => unknown;

/** Whether something is a tensor. */
export function isTensor(value: unknown): value is Tensor {
  return value instanceof Tensor;
}
