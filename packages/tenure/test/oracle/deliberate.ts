/**
 * Where Tenure means to answer differently from PyTorch: the cases of the oracle that differ, and
 * why. Read by the oracle test, which fails for a row that no longer differs, and by `npm run
 * features`, which prints the table.
 */

/** What differs, the cases that show it, and the reason. */
export interface Deliberate {
  readonly what: string;
  readonly cases: RegExp;
  readonly reason: string;
}

/** All deliberate differences. */
export const deliberate: readonly Deliberate[] = [
  {
    what: "the sign of NaN is NaN, not 0",
    cases: /^sign special$/,
    reason: "NumPy, JAX and the array API standard keep NaN; an error should not become a 0",
  },
];
