/**
 * The three-operand forms that optimizers and averages use: lerp, addcmul, addcdiv. Run by
 * `tensor/run.ts`; records own nothing.
 */
import { at } from "../base/access.ts";
import { fromBits } from "../base/bits.ts";
import { isFloat } from "../base/dtype.ts";
import { DTypeError } from "../base/errors.ts";
import { broadcastShapes } from "../base/shape.ts";
import type { View } from "../kernels/kernel.ts";
import { div, mul2, mulScalar, neg, scale } from "./arithmetic.ts";
import { withInplace } from "./builders.ts";
import type { OpDef, Value, VjpContext } from "./op.ts";
import { typed } from "./typing.ts";

function checkFloats(op: string, inputs: readonly View[]): void {
  for (const v of inputs)
    if (!isFloat(v.dtype) || v.dtype !== at(inputs, 0).dtype)
      throw new DTypeError(
        op,
        "float tensors of one dtype",
        inputs.map((x) => x.dtype).join(", "),
        "cast them first",
      );
}

function mixing(name: string, expr: string, saved: readonly number[], vjp: OpDef["vjp"]): OpDef {
  return withInplace({
    name,
    facts: { elementwise: true },
    saves: { inputs: saved },
    vjp: vjp!,
    infer: (inputs) => {
      checkFloats(name, inputs);
      return [
        {
          shape: inputs.map((v) => v.layout.shape).reduce((a, b) => broadcastShapes(name, a, b)),
          dtype: at(inputs, 0).dtype,
        },
      ];
    },
    expression: (inputs) =>
      typed(inputs, "f32", { from: "f32", dtype: at(inputs, 0).dtype }, expr, [], {
        scalars: [{ type: "f32" }],
      }),
  });
}

const timesScalar = (c: VjpContext<undefined>, x: Value): Value =>
  c.run(mulScalar, [x], { dtype: x.dtype, reverse: false }, c.scalars);

/** a + weight·(b - a). Scalar: the weight. */
export const lerp: OpDef = mixing(
  "lerp",
  "select(y - (y - x) * (1.0 - s0), x + s0 * (y - x), s0 < 0.5)",
  [],
  (c) => [
    c.needs(0) ? scale(c.run, c.grad, 1 - fromBits(at(c.scalars, 0))) : null,
    c.needs(1) ? timesScalar(c, c.grad) : null,
  ],
);

/** a + factor·b·c. Scalar: the factor. */
export const addcmul: OpDef = mixing("addcmul", "(x + s0 * y * z)", [1, 2], (c) => [
  c.grad,
  c.needs(1) ? timesScalar(c, mul2(c.run, c.grad, c.input(2))) : null,
  c.needs(2) ? timesScalar(c, mul2(c.run, c.grad, c.input(1))) : null,
]);

/** a + factor·b / c. Scalar: the factor. */
export const addcdiv: OpDef = mixing("addcdiv", "(x + s0 * y / z)", [1, 2], (c) => {
  const q = c.run(div, [timesScalar(c, c.grad), c.input(2)], undefined);
  return [
    c.grad,
    q,
    c.needs(2)
      ? c.run(neg, [mul2(c.run, q, c.run(div, [c.input(1), c.input(2)], undefined))], undefined)
      : null,
  ];
});
