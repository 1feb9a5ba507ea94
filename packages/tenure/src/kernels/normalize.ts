/**
 * Layer and RMS normalisation along an axis with scale and shift, their gradient, and log-sum-exp:
 * a row is read a few times and written once, in one dispatch. Variance is the mean squared
 * distance from the mean, never a difference of large numbers. Built on rows.ts; owns nothing.
 */
import type { Epilogue } from "./fused.ts";
import type { DeviceCaps, Kernel, View } from "./kernel.ts";
import { rest, rowKernel } from "./rows.ts";
import type { RowPass } from "./sweeps.ts";
import { usualLanes } from "./tile.ts";
import { Params, negInfBits } from "./wgsl.ts";

const total = (name: string, element: string, after?: string): RowPass => ({
  name,
  identity: "0.0",
  join: (a, b) => `${a} + ${b}`,
  element,
  ...(after === undefined ? {} : { after }),
});

/** Mean `m` (0 for RMS) and `scale`, 1 over the root of the variance. */
function moments(params: Params, eps: number, rms: boolean): RowPass[] {
  const scale = `let scale = 1.0 / sqrt(v / f32(p.axisLength) + ${params.f32("eps", eps)});`;
  return rms
    ? [total("v", "a0 * a0", scale)]
    : [total("m", "a0", "m = m / f32(p.axisLength);"), total("v", "(a0 - m) * (a0 - m)", scale)];
}

/**
 * Bindings: input, [weight, [bias,]] output (contiguous). Weight and bias broadcast to the input's
 * shape.
 */
export function normalizeKernel(
  spec: { inputs: readonly View[]; axis: number; eps: number; rms: boolean; after?: Epilogue },
  caps: DeviceCaps,
): Kernel {
  const params = new Params(),
    [x, weight, bias] = spec.inputs,
    centered = spec.rms ? "a0" : "(a0 - m)";
  return rowKernel(
    {
      name: spec.rms ? "rmsNorm" : "layerNorm",
      shape: x!.layout.shape,
      axis: spec.axis,
      operands: spec.inputs.map((view, binding) => ({ view, binding })),
      inputs: spec.inputs.length,
      params,
      lanes: usualLanes(x!.layout, spec.axis, caps),
      ...rest(spec),
      passes: moments(params, spec.eps, spec.rms),
      output: {
        dtype: x!.dtype,
        per: "element",
        value:
          `${centered} * ` +
          `scale${weight === undefined ? "" : " * a1"}${bias === undefined ? "" : " + a2"}`,
      },
    },
    caps,
  );
}

/**
 * Gradient for the input, in three sweeps: Σ x and Σ g, then the sums that need the mean. Bindings:
 * input, grad, [weight,] result (contiguous).
 */
export function normalizeBackwardKernel(
  spec: { inputs: readonly View[]; axis: number; eps: number; rms: boolean; after?: Epilogue },
  caps: DeviceCaps,
): Kernel {
  const params = new Params(),
    [x, , weight] = spec.inputs,
    g = weight === undefined ? "a1" : "(a1 * a2)",
    d = spec.rms ? "a0" : "(a0 - means.x)",
    n = "f32(p.axisLength)";
  const pair = (name: string, first: string, second: string, after: string): RowPass => ({
    ...total(name, `vec2<f32>(${first}, ${second})`, after),
    identity: "vec2<f32>()",
    pair: true,
  });
  return rowKernel(
    {
      name: spec.rms ? "rmsNormBackward" : "layerNormBackward",
      shape: x!.layout.shape,
      axis: spec.axis,
      operands: spec.inputs.map((view, binding) => ({ view, binding })),
      inputs: spec.inputs.length,
      params,
      lanes: usualLanes(x!.layout, spec.axis, caps),
      ...rest(spec),
      passes: [
        ...(spec.rms ? [] : [pair("means", "a0", g, `means = means / ${n};`)]),
        pair(
          "spread",
          `${d} * ${d}`,
          `${g} * ${d}`,
          `spread = spread / ${n};\nlet scale = 1.0 / sqrt(spread.x + ` +
            `${params.f32("eps", spec.eps)});\nlet tilt = spread.y * scale * scale;`,
        ),
      ],
      output: {
        dtype: x!.dtype,
        per: "element",
        value: `scale * (${g}${spec.rms ? "" : " - means.y"} - ${d} * tilt)`,
      },
    },
    caps,
  );
}

/**
 * log Σ exp along an axis. Bindings: input, output (one value per row). Rows of nothing but
 * −infinity give −infinity.
 */
export function logSumExpKernel(
  spec: { input: View; axis: number; after?: Epilogue },
  caps: DeviceCaps,
): Kernel {
  const params = new Params(),
    low = params.u32("negInf", negInfBits);
  return rowKernel(
    {
      name: "logSumExp",
      shape: spec.input.layout.shape,
      axis: spec.axis,
      operands: [{ view: spec.input, binding: 0 }],
      inputs: 1,
      params,
      helpers: ["nanMax", "isFinite", "expShifted", "logOf"],
      ...rest(spec),
      passes: [
        {
          name: "m",
          identity: `bitcast<f32>(${low})`,
          join: (a, b) => `nanMax(${a}, ${b})`,
          element: "a0",
          after: "let shift = select(0.0, m, isFinite(m));",
        },
        {
          name: "z",
          identity: "0.0",
          join: (a, b) => `${a} + ${b}`,
          element: "expShifted(a0, shift)",
        },
      ],
      output: {
        dtype: spec.input.dtype,
        per: "row",
        value: "select(m, logOf(z) + shift, isFinite(m))",
      },
    },
    caps,
  );
}
