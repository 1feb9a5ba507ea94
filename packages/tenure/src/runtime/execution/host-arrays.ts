/**
 * Arrays in host memory that hold what a plan swapped out, from run to run. Taken and given back by
 * host-copies.ts; owned by whoever has the plans.
 */
import type { Bytes } from "../../base/bytes.ts";

/** Arrays for host copies, kept from run to run. */
export class HostArrays {
  readonly #free = new Map<number, Bytes[]>();
  bytes = 0;

  /** An array of exactly `bytes`; its contents are garbage. */
  take(bytes: number): Bytes {
    const known = this.#free.get(bytes)?.pop();
    if (known !== undefined) return known;
    this.bytes += bytes;
    return new Uint8Array(bytes);
  }

  /** Takes an array back. */
  give(array: Bytes): void {
    const free = this.#free.get(array.byteLength);
    if (free === undefined) this.#free.set(array.byteLength, [array]);
    else free.push(array);
  }

  /** Lets all arrays go. */
  clear(): void {
    this.#free.clear();
    this.bytes = 0;
  }
}
