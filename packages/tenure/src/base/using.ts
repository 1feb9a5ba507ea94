/**
 * What TypeScript makes of `using` for hosts that do not know it: tools/build.ts has the compiled
 * files import these functions in place of tslib's, which know `await using` too. The library has
 * none of that. Called by compiled code alone; owns nothing.
 */
import { suppressed } from "./polyfills.ts";

/** What a block has to dispose of, and the error that ended it. */
interface Block {
  readonly stack: Disposable[];
  error: unknown;
  hasError: boolean;
}

/** A declaration: its value is disposed of when the block ends. @returns the value */
export function __addDisposableResource<T extends Disposable | null | undefined>(
  block: Block,
  value: T,
): T {
  if (value !== null && value !== undefined) block.stack.push(value);
  return value;
}

/** The end of the block: disposes of the last first. @throws what the block or a disposal threw */
export function __disposeResources(block: Block): void {
  for (const value of block.stack.reverse())
    try {
      value[Symbol.dispose]();
    } catch (error) {
      block.error = block.hasError ? suppressed(error, block.error) : error;
      block.hasError = true;
    }
  if (block.hasError) throw block.error;
}
