/**
 * Which record computes a binary op when one side is a number. Called by the arithmetic methods of
 * tensors. A table; owns nothing.
 */
import { internal } from "../base/errors.ts";
import { add, addScalar, div, divScalar, mul, mulScalar, sub, subScalar } from "./arithmetic.ts";
import type { ScalarAttrs } from "./builders.ts";
import {
  eq,
  eqScalar,
  ge,
  geScalar,
  gt,
  gtScalar,
  le,
  leScalar,
  lt,
  ltScalar,
  ne,
  neScalar,
} from "./comparison.ts";
import { maximum, maximumScalar, minimum, minimumScalar } from "./extremes.ts";
import type { OpDef } from "./op.ts";
import { pow, powScalar } from "./powers.ts";
import { floorDiv, floorDivScalar, mod, modScalar } from "./rounding.ts";

const forms: ReadonlyMap<OpDef, OpDef<ScalarAttrs>> = new Map([
  [add, addScalar],
  [sub, subScalar],
  [mul, mulScalar],
  [div, divScalar],
  [mod, modScalar],
  [floorDiv, floorDivScalar],
  [pow, powScalar],
  [maximum, maximumScalar],
  [minimum, minimumScalar],
  [eq, eqScalar],
  [ne, neScalar],
  [lt, ltScalar],
  [le, leScalar],
  [gt, gtScalar],
  [ge, geScalar],
]);

/** The form of a binary op that takes a number for one side. @throws Error (internal) for others */
export function scalarFormOf(op: OpDef): OpDef<ScalarAttrs> {
  const form = forms.get(op);
  if (form === undefined) throw internal(`${op.name} has no form that takes a number`);
  return form;
}
