/**
 * Copies of tensors in host memory while their buffers are used for others: made when a plan swaps
 * out, read when it swaps in. Called by the segments of a run, which own the copies; arrays are
 * kept for the next run by whoever has the plans. Staging buffers come from the device's rings and
 * go back there.
 */
import type { Bytes } from "../../base/bytes.ts";
import { internal } from "../../base/errors.ts";
import type { Device } from "../../device/device.ts";
import { type PooledBuffer, sizeClass } from "../../device/buffer-pool.ts";
import type { HostArrays } from "./host-arrays.ts";

/**
 * Copies under way to the host may hold so many bytes of staging, or one copy if that is larger.
 */
const stagingLimit = 64 * 2 ** 20;

/** One copy in host memory, or on its way there. */
export interface HostCopy {
  readonly array: Bytes;
  readonly ready: Promise<void>;
  readonly staged: number;
  complete: boolean;
}

/** The host copies of one run, by storage. */
export class HostCopies {
  readonly #device: Device;
  readonly #arrays: HostArrays;
  readonly #copies = new Map<string, HostCopy>();
  readonly #leaving = new Set<HostCopy>();
  #staged = 0;
  #held = 0;
  /** Most bytes of host copies at one time. */
  mostBytes = 0;

  constructor(device: Device, arrays: HostArrays) {
    this.#device = device;
    this.#arrays = arrays;
  }

  /** The copy to wait for before `bytes` more may leave; none while there is room for them. */
  inTheWay(bytes: number): HostCopy | undefined {
    if (this.#staged === 0 || this.#staged + bytes <= stagingLimit) return undefined;
    return this.#leaving.values().next().value;
  }

  /** The copy of a storage that was swapped out. */
  of(storage: string): HostCopy {
    const copy = this.#copies.get(storage);
    if (copy === undefined) throw internal(`${storage} is fetched from the host, where it is not`);
    return copy;
  }

  /** Copies a part of a buffer to the host. Submits. */
  swapOut(storage: string, buffer: PooledBuffer, offset: number, bytes: number): void {
    const { queue, reads } = this.#device;
    this.forget(storage);
    const staging = reads.filled(bytes, (target) => {
      queue.copy(buffer.gpu, offset, target, 0, bytes);
      queue.submit(); // mapped before more work is queued, or the map waits for that too
    });
    const array = this.#arrays.take(bytes);
    const ready = reads.read(staging, bytes, (data) => {
      array.set(new Uint8Array(data, 0, bytes));
    });
    const copy: HostCopy = {
      array,
      staged: sizeClass(bytes),
      complete: false,
      ready: ready.finally(() => {
        copy.complete = true;
        this.#leaving.delete(copy);
        this.#staged -= copy.staged;
      }),
    };
    copy.ready.catch(() => undefined); // whoever waits for it hears of it
    this.#copies.set(storage, copy);
    this.#leaving.add(copy);
    this.#staged += copy.staged;
    this.#held += bytes;
    this.mostBytes = Math.max(this.mostBytes, this.#held);
  }

  /** Copies a storage back into a buffer. Submits. */
  swapIn(storage: string, { gpu }: PooledBuffer, offset: number): void {
    const { queue, uploads } = this.#device;
    const { array } = this.of(storage);
    queue.submit(); // the queue's own writes come after this, not before
    const done = uploads.write(gpu, offset, array, (source, size) => {
      queue.copy(source, 0, gpu, offset, size);
    });
    if (done === undefined) return;
    queue.submit();
    done();
  }

  /** Gives a storage's copy up, if there is one. */
  forget(storage: string): void {
    const copy = this.#copies.get(storage);
    if (copy === undefined) return;
    this.#copies.delete(storage);
    this.#held -= copy.array.byteLength;
    const giveBack = (): void => {
      this.#arrays.give(copy.array);
    };
    if (copy.complete) giveBack();
    else void copy.ready.then(giveBack, () => undefined);
  }

  /** Ends with the run: copies nobody fetched again (parameters that stayed clean, say) go. */
  async end(): Promise<void> {
    for (const [storage, copy] of [...this.#copies]) {
      await copy.ready;
      this.forget(storage);
    }
  }
}
