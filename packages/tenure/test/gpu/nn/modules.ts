/**
 * What the tests of layers share: a module in a scope that must leave nothing behind.
 */
import { type Tensor, scopedAsync } from "tenure";
import { assertNoLeaks } from "tenure/testing";

/** The sum of a list. */
export const sum = (v: readonly number[]): number => v.reduce((x, y) => x + y, 0);
/** The elements of a tensor. */
export const values = async (t: Tensor): Promise<number[]> => [...(await t.data())];
/**
 * Runs `fn` with a module, in a scope, and checks that only the module stays, until it is disposed.
 */
export function withModule<M extends Disposable>(
  make: () => M,
  fn: (module: M) => Promise<void> | void,
): Promise<void> {
  return assertNoLeaks(() =>
    scopedAsync(async () => {
      using module = make();
      await fn(module);
    }),
  );
}
