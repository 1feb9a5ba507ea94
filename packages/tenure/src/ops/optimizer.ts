/**
 * Optimizer updates: one kernel per parameter that reads the gradient and overwrites parameter and state in place. Step-dependent numbers are per-call
 * scalars, so the plan never changes with them. Called by optim through the runtime's door.
 */
import { ShapeError } from "../base/errors.ts";
import { formatShape, sameShape } from "../base/shape.ts";
import type { View } from "../kernels/kernel.ts";
import { type Meta, type OpDef, defineOp } from "./op.ts";

function inferUpdate(name: string, inputs: readonly View[], outputs: readonly number[]): readonly Meta[] {
  const [p, ...others] = inputs;
  for (const o of others) if (!sameShape(o.layout.shape, p!.layout.shape)) throw new ShapeError(name, `a gradient and states of the parameter's shape ${formatShape(p!.layout.shape)}`, formatShape(o.layout.shape), "reset the optimizer after replacing a parameter");
  return outputs.map((i) => ({ shape: inputs[i]!.layout.shape, dtype: inputs[i]!.dtype }));
}

const f32 = (n: number): { type: "f32" }[] => Array.from({ length: n }, () => ({ type: "f32" }));

/** Inputs: parameter, gradient. Scalars: learning rate, weight decay. */
export const sgdUpdate: OpDef = defineOp({
  name: "sgdUpdate", doc: "p -= lr·(g + decay·p).", facts: { elementwise: true, inplaceOf: [0], recomputable: false },
  infer: (inputs) => inferUpdate("sgdUpdate", inputs, [0]),
  expression: () => ({ body: "r0 = a0 - s0 * (a1 + s1 * a0);", scalars: f32(2) }),
});

/** Inputs: parameter, gradient, velocity. Scalars: learning rate, momentum, dampening factor (1 - dampening), weight decay. */
export const momentumUpdate: OpDef<{ nesterov: boolean }> = defineOp<{ nesterov: boolean }>({
  name: "momentumUpdate", doc: "v = momentum·v + (1 - dampening)·g; p -= lr·v, or lr·(g + momentum·v) with Nesterov. As torch.optim.SGD.", facts: { elementwise: true, inplaceOf: [0, 2], recomputable: false },
  infer: (inputs) => inferUpdate("momentumUpdate", inputs, [0, 2]),
  key: ({ nesterov }) => [nesterov ? 1 : 0],
  expression: (_, { nesterov }) => ({ body: `let g = a1 + s3 * a0;\nlet v = s1 * a2 + s2 * g;\nr0 = a0 - s0 * ${nesterov ? "(g + s1 * v)" : "v"};\nr1 = v;`, scalars: f32(4) }),
});

/** Inputs: parameter, gradient, first moment, second moment. Scalars: lr, beta1, beta2, eps, weight decay, 1 - beta1^t, sqrt(1 - beta2^t), decoupled decay. */
export const adamUpdate: OpDef = defineOp({
  name: "adamUpdate", doc: "Adam (Kingma & Ba 2015) and, with decoupled decay, AdamW (Loshchilov & Hutter 2019); bias-corrected as in PyTorch.", facts: { elementwise: true, inplaceOf: [0, 2, 3], recomputable: false },
  infer: (inputs) => inferUpdate("adamUpdate", inputs, [0, 2, 3]),
  expression: () => ({
    body: `let w = a0 * (1.0 - s0 * s7);
let g = a1 + s4 * w;
let m = s1 * a2 + (1.0 - s1) * g;
let v = s2 * a3 + (1.0 - s2) * g * g;
r0 = w - s0 / s5 * m / (sqrt(v) / s6 + s3);
r1 = m;
r2 = v;`,
    scalars: f32(8),
  }),
});
