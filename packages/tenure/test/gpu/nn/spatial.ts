/**
 * What the tests of layers on images share: a layer against plain loops, with its gradient.
 */
import * as assert from "uvu/assert";
import { type Tensor, scopedAsync, tensor } from "tenure";
import { type Module } from "tenure/nn";
import { assertClose, assertNoLeaks } from "tenure/testing";
import { count, numbers } from "../../helpers.ts";

/** The sum of a list. */
export const sum = (v: readonly number[]): number => v.reduce((x, y) => x + y, 0);
/** The elements of a tensor, or none. */
export const data = async (t: Tensor | null): Promise<number[]> =>
  t === null ? [] : [...(await t.data())];
/** Checks a module on numbers of a shape; nothing may leak. */
export function check<M extends Module>(
  make: () => M,
  shape: readonly number[],
  outShape: readonly number[],
  reference: (x: number[], module: M) => number[] | Promise<number[]>,
  tolerance = 1e-5,
): Promise<void> {
  return assertNoLeaks(() =>
    scopedAsync(async () => {
      using module = make();
      const x = numbers(count(shape), 60),
        y = module.call(tensor(x, { shape }));
      assert.equal(y.shape, outShape);
      await assertClose(y, await reference(x, module), tolerance);
    }),
  );
}
