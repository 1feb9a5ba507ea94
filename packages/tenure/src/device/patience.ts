/**
 * How the host waits for a software adapter. The package `webgpu` asks the device again at every
 * turn of the event loop, without a pause, and so takes a core from the kernels it waits for. While
 * somebody waits, each turn pauses a little. Called by the device and its reads; owns four bytes.
 */
import { hostImmediate } from "../base/env.ts";

/** Milliseconds that a turn pauses at most: so much later may other events be seen. */
const longestPause = 0.2;

/** The waits of one device. */
export class Patience {
  /** What the thread sleeps on; undefined where it must not. */
  readonly #word: Int32Array<SharedArrayBuffer> | undefined;
  #waits = 0;
  #since = 0;
  #turning = false;

  /** @param pauses the device computes on the host's cores, and this thread may sleep */
  constructor(pauses: boolean) {
    this.#word = pauses ? new Int32Array(new SharedArrayBuffer(4)) : undefined;
  }

  /** The same promise; until it settles, turns of the event loop pause. */
  during<T>(answer: Promise<T>): Promise<T> {
    const word = this.#word;
    if (word === undefined || hostImmediate === undefined) return answer;
    if (this.#waits++ === 0) this.#since = performance.now();
    if (!this.#turning) {
      this.#turning = true;
      hostImmediate(() => {
        this.#turn(word);
      });
    }
    return answer.finally(() => {
      this.#waits--;
    });
  }

  /** One turn of the event loop: an eighth longer than so far at most. */
  #turn(word: Int32Array<SharedArrayBuffer>): void {
    if (this.#waits === 0) {
      this.#turning = false;
      return;
    }
    const waited = performance.now() - this.#since;
    if (waited > longestPause) Atomics.wait(word, 0, 0, Math.min(waited / 8, longestPause));
    hostImmediate?.(() => {
      this.#turn(word);
    });
  }
}
