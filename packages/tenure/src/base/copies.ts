/**
 * How one copy of the library knows what another made: package managers may load it twice, and the
 * two share nothing, so that a tensor or a module of one is no use to the other. Called
 * where values are refused or described; owns nothing.
 */

/** Property of tensors and modules, under a name that all copies of the library share. */
export const BRAND: unique symbol = Symbol.for("tenure.tensor");

/** What stands under `BRAND` in everything that this copy makes. */
export const COPY: symbol = Symbol("tenure.copy");

/** What to do about two copies. */
export const joinCopies =
  "load the package once: `npm ls tenure` lists the copies, `npm dedupe` joins them";

/** Whether another copy of the library made it. */
export function isForeign(value: unknown): value is object {
  if (typeof value !== "object" || value === null || !(BRAND in value)) return false;
  return value[BRAND] !== COPY;
}
