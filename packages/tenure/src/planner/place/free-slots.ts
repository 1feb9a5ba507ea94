/**
 * The slots that nobody lives in at the moment, by their size, so that the best one for an item is
 * found without looking at all of them. Made and owned by the planner of in-order.ts.
 */
import { last } from "../../base/access.ts";
import type { Item } from "./items.ts";
import type { OpenSlot } from "./open-slots.ts";

/** Numbers of free slots of one size, falling; those that may not grow apart. */
interface OfSize {
  readonly bytes: number;
  readonly fixed: number[];
  readonly growing: number[];
}

/** Free slots. */
export class FreeSlots {
  /** By rising size; none of them is empty. */
  readonly #sizes: OfSize[] = [];
  /** Sizes that were looked at so far. */
  looks = 0;

  /** A slot is free. */
  add(number: number, { bytes, fixed }: OpenSlot): void {
    const k = this.#firstOf(bytes);
    let same = this.#sizes[k];
    if (same?.bytes !== bytes) {
      same = { bytes, fixed: [], growing: [] };
      this.#sizes.splice(k, 0, same);
    }
    const list = fixed ? same.fixed : same.growing;
    list.splice(
      placeIn(list.length, (j) => list[j]! > number),
      0,
      number,
    );
  }

  /**
   * Takes the smallest free slot that is large enough, else the largest, which grows; of equal ones
   * that with the lowest number. What stays behind the program gets exactly its size.
   * @param waste how much larger a slot may be, as a factor; slots don't grow when it is given
   * @returns -1 when there is none
   */
  take({ bytes, exit }: Item, waste: number): number {
    const k = this.#firstOf(bytes);
    const same = this.#sizes[k];
    const most = exit ? bytes : waste * bytes;
    if (same !== undefined && same.bytes <= most) {
      const { fixed, growing } = same;
      const useFixed = growing.length === 0 || (fixed.length > 0 && last(fixed) < last(growing));
      return this.#takeFrom(k, useFixed ? fixed : growing);
    }
    if (exit || waste !== Infinity) return -1;
    for (let j = k - 1; j >= 0; j--) {
      this.looks++;
      const { growing } = this.#sizes[j]!;
      if (growing.length > 0) return this.#takeFrom(j, growing);
    }
    return -1;
  }

  #takeFrom(k: number, list: number[]): number {
    const number = list.pop()!;
    const { fixed, growing } = this.#sizes[k]!;
    if (fixed.length === 0 && growing.length === 0) this.#sizes.splice(k, 1);
    return number;
  }

  /** Where the sizes begin that are no smaller. */
  #firstOf(bytes: number): number {
    return placeIn(this.#sizes.length, (j) => {
      this.looks++;
      return this.#sizes[j]!.bytes < bytes;
    });
  }
}

/** How many of the first of so many places `isBefore`, which holds for none behind them. */
function placeIn(length: number, isBefore: (place: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
