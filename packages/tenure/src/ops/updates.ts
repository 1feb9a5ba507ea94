/**
 * Optimizer updates: one kernel per parameter that reads the gradient and overwrites parameter and
 * state in place. Step-dependent numbers are per-call scalars, so the plan never changes with them.
 * Run by `tensor/run.ts`, for optim.
 */
import { at } from "../base/access.ts";
import { ShapeError } from "../base/errors.ts";
import { formatShape, sameShape, sizeOf } from "../base/shape.ts";
import type { View } from "../kernels/kernel.ts";
import { type Meta, type OpDef, defineOp } from "./op.ts";

function inferUpdate(
  name: string,
  inputs: readonly View[],
  outputs: readonly number[],
): readonly Meta[] {
  const [p, ...others] = inputs;
  for (const o of others)
    if (!sameShape(o.layout.shape, p!.layout.shape))
      throw new ShapeError(
        name,
        `a gradient and states of the parameter's shape ${formatShape(p!.layout.shape)}`,
        formatShape(o.layout.shape),
        "reset the optimizer after replacing a parameter",
      );
  return outputs.map((i) => ({ shape: at(inputs, i).layout.shape, dtype: at(inputs, i).dtype }));
}

const f32 = (n: number): { type: "f32" }[] => Array.from({ length: n }, () => ({ type: "f32" }));

// The last scalar of most updates is the sign of the gradient: -1 to climb.

/**
 * p -= lr·(g + decay·p). Inputs: parameter, gradient. Scalars: learning rate, weight decay, sign.
 */
export const sgdUpdate: OpDef = defineOp({
  name: "sgdUpdate",
  facts: { elementwise: true, inplaceOf: [0], recomputable: false },
  infer: (inputs) => inferUpdate("sgdUpdate", inputs, [0]),
  expression: () => ({ body: "r0 = a0 - s0 * (s2 * a1 + s1 * a0);", scalars: f32(3) }),
});

/**
 * v = momentum·v + (1 - dampening)·g; p -= lr·v, or lr·(g + momentum·v) with Nesterov. As
 * torch.optim.SGD. Inputs: parameter, gradient, velocity. Scalars: learning rate, momentum,
 * dampening factor (1 - dampening), weight decay, sign.
 */
export const momentumUpdate: OpDef<{ nesterov: boolean }> = defineOp<{ nesterov: boolean }>({
  name: "momentumUpdate",
  facts: { elementwise: true, inplaceOf: [0, 2], recomputable: false },
  infer: (inputs) => inferUpdate("momentumUpdate", inputs, [0, 2]),
  key: ({ nesterov }) => [nesterov ? 1 : 0],
  expression: (_, { nesterov }) => ({
    body:
      "let g = s4 * a1 + s3 * a0;\nlet v = s1 * a2 + s2 * g;\n" +
      `r0 = a0 - s0 * ${nesterov ? "(g + s1 * v)" : "v"};\n` +
      "r1 = v;",
    scalars: f32(5),
  }),
});

function adam(name: string, amsgrad: boolean): OpDef {
  const inplaceOf = [0, 2, 3, ...(amsgrad ? [4] : [])];
  const body = [
    "let w = a0 * s7;",
    "let g = s9 * a1 + s6 * w;",
    "let m = s1 * a2 + s2 * g;",
    "let v = s3 * a3 + s4 * g * g;",
    ...(amsgrad ? ["let top = nanMax(a4, v);"] : []),
    `r0 = w - s0 * m / (sqrt(${amsgrad ? "top" : "v"}) / s8 + s5);`,
    "r1 = m;",
    "r2 = v;",
    ...(amsgrad ? ["r3 = top;"] : []),
  ].join("\n");
  return defineOp({
    name,
    facts: { elementwise: true, inplaceOf, recomputable: false },
    infer: (inputs) => inferUpdate(name, inputs, inplaceOf),
    expression: () => ({ body, scalars: f32(10), ...(amsgrad ? { helpers: ["nanMax"] } : {}) }),
  });
}

/**
 * Adam (Kingma & Ba 2015) and, with decoupled decay, AdamW (Loshchilov & Hutter 2019);
 * bias-corrected as in PyTorch. Inputs: parameter, gradient, first moment, second moment. Scalars:
 * lr / (1 - beta1^t), beta1, 1 - beta1, beta2, 1 - beta2, eps, decay added to the gradient, factor
 * on the parameter (1 - lr·decay when decoupled), sqrt(1 - beta2^t), sign: all of them computed in
 * double precision by the caller.
 */
export const adamUpdate: OpDef = adam("adamUpdate", false);
/** `adamUpdate` by the largest second moment so far (Reddi et al. 2018), the fifth input. */
export const amsgradUpdate: OpDef = adam("amsgradUpdate", true);

function rmsprop(name: string, momentum: boolean, centered: boolean): OpDef {
  const inplaceOf = [0, 2, ...(momentum ? [3] : []), ...(centered ? [momentum ? 4 : 3] : [])];
  const mean = momentum ? "a4" : "a3",
    step = `g / (sqrt(${centered ? "max(v - m * m, 0.0)" : "v"}) + s3)`;
  const body = [
    "let g = s6 * a1 + s4 * a0;",
    "let v = s1 * a2 + s2 * g * g;",
    ...(centered ? [`let m = s1 * ${mean} + s2 * g;`] : []),
    `let u = ${momentum ? `s5 * a3 + ${step}` : step};`,
    "r0 = a0 - s0 * u;",
    "r1 = v;",
    ...(momentum ? ["r2 = u;"] : []),
    ...(centered ? [`r${momentum ? 3 : 2} = m;`] : []),
  ].join("\n");
  return defineOp({
    name,
    facts: { elementwise: true, inplaceOf, recomputable: false },
    infer: (inputs) => inferUpdate(name, inputs, inplaceOf),
    expression: () => ({ body, scalars: f32(7) }),
  });
}

/**
 * v = α·v + (1 - α)·g²; p -= lr·g / (sqrt(v) + eps), as torch.optim.RMSprop. With momentum, u =
 * momentum·u + g / (sqrt(v) + eps) takes the place of the quotient; centered, m = α·m + (1 - α)·g,
 * and v - m² the place of v. Inputs: parameter, gradient, mean square, then the velocity if
 * `momentum` and the mean gradient if `centered`: one record for each of the four. Scalars: lr,
 * alpha, 1 - alpha, eps, weight decay, momentum, sign.
 */
export const rmspropUpdate: {
  readonly plain: OpDef;
  readonly momentum: OpDef;
  readonly centered: OpDef;
  readonly both: OpDef;
} = {
  plain: rmsprop("rmspropUpdate", false, false),
  momentum: rmsprop("rmspropMomentumUpdate", true, false),
  centered: rmsprop("rmspropCenteredUpdate", false, true),
  both: rmsprop("rmspropCenteredMomentumUpdate", true, true),
};

/**
 * s += g²; p -= lr·g / (sqrt(s) + eps). Adagrad (Duchi et al. 2011), as torch.optim.Adagrad.
 * Inputs: parameter, gradient, sum of squares. Scalars: decayed lr, eps, weight decay, sign.
 */
export const adagradUpdate: OpDef = defineOp({
  name: "adagradUpdate",
  facts: { elementwise: true, inplaceOf: [0, 2], recomputable: false },
  infer: (inputs) => inferUpdate("adagradUpdate", inputs, [0, 2]),
  expression: () => ({
    body:
      "let g = s3 * a1 + s2 * a0;\nlet v = a2 + g * g;\n" +
      "r0 = a0 - s0 * g / (sqrt(v) + s1);\nr1 = v;",
    scalars: f32(4),
  }),
});

/**
 * p -= lr·(sign(β1·m + (1 - β1)·g) + decay·p); m = β2·m + (1 - β2)·g. Lion (Chen et al. 2023).
 * Inputs: parameter, gradient, momentum. Scalars: lr, beta1, 1 - beta1, beta2, 1 - beta2, weight
 * decay.
 */
export const lionUpdate: OpDef = defineOp({
  name: "lionUpdate",
  facts: { elementwise: true, inplaceOf: [0, 2], recomputable: false },
  infer: (inputs) => inferUpdate("lionUpdate", inputs, [0, 2]),
  expression: () => ({
    body: "r0 = a0 * (1.0 - s0 * s5) - s0 * signOf(s1 * a2 + s2 * a1);\nr1 = s3 * a2 + s4 * a1;",
    scalars: f32(6),
    helpers: ["signOf"],
  }),
});

/**
 * Takes over elements of the float16 second input that are not the rounding of the first: somebody
 * wrote them. Inputs: the float32 master of a float16 parameter, and the parameter.
 */
export const followParameter: OpDef = defineOp<undefined, [View, View]>({
  name: "followParameter",
  facts: { elementwise: true, inplaceOf: [0], recomputable: false },
  infer: (inputs) => inferUpdate("followParameter", inputs, [0]),
  expression: ([, parameter]) => ({
    body: `r0 = select(a1, a0, ${parameter.dtype === "float16" ? "f32(f16(a0))" : "a0"} == a1);`,
  }),
});

// === Changes to a tensor that is not a parameter: clipped gradients, running statistics ===

/**
 * Scales the first input by max / (norm + 1e-6) where that is below 1; a norm of NaN makes all NaN.
 * As torch.nn.utils.clip_grad_norm_. Inputs: gradient, total norm (one element). Scalar: largest
 * norm.
 */
export const clipByNorm: OpDef = defineOp<undefined, [View, View]>({
  name: "clipByNorm",
  facts: { elementwise: true, inplaceOf: [0], recomputable: false },
  infer: ([g, norm]) => {
    if (sizeOf(norm.layout.shape) !== 1)
      throw new ShapeError(
        "clipByNorm",
        "a norm with one element",
        formatShape(norm.layout.shape),
        "pass the norm of all gradients",
      );
    return [{ shape: g.layout.shape, dtype: g.dtype }];
  },
  expression: () => ({
    body: "let k = s0 / (a1 + 1e-6);\nr0 = a0 * select(k, 1.0, k > 1.0);",
    scalars: f32(1),
  }),
});

/** Clamps the input to [-max, max]; NaN stays NaN. Input: gradient. Scalar: largest magnitude. */
export const clipByValue: OpDef = defineOp<undefined, [View]>({
  name: "clipByValue",
  facts: { elementwise: true, inplaceOf: [0], recomputable: false },
  infer: ([g]) => [{ shape: g.layout.shape, dtype: g.dtype }],
  expression: () => ({
    body: "r0 = nanMin(nanMax(a0, -s0), s0);",
    scalars: f32(1),
    helpers: ["nanMin", "nanMax"],
  }),
});

/**
 * Moves the first input by a fraction of the way to the scaled second: r += w·(k·x - r). Inputs:
 * running value, new value. Scalars: weight of the new value, factor on the new value.
 */
export const runningAverage: OpDef = defineOp({
  name: "runningAverage",
  facts: { elementwise: true, inplaceOf: [0], recomputable: false },
  infer: (inputs) => inferUpdate("runningAverage", inputs, [0]),
  expression: () => ({ body: "r0 = a0 + s0 * (s1 * a1 - a0);", scalars: f32(2) }),
});
