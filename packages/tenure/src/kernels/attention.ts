/**
 * The middle of attention: scaled scores, masked, through softmax, in one dispatch. Rows with
 * nothing left to attend to are zeros. Built on rows.ts; owns nothing.
 */
import { at } from "../base/access.ts";
import type { DeviceCaps, Kernel, View } from "./kernel.ts";
import { rowKernel } from "./rows.ts";
import { Params, negInfBits } from "./wgsl.ts";
import { shapeClass, styled } from "./variants.ts";

/**
 * Bindings: scores [..., L, S], [mask (bool: what stays; float: added) that broadcasts,] weights
 * (contiguous). Causal: query i sees keys 0 … i.
 */
export function attentionWeightsKernel(
  spec: { scores: View; mask?: View; scale: number; causal: boolean },
  device: DeviceCaps,
): Kernel {
  const params = new Params(),
    { scores, mask } = spec,
    { shape } = scores.layout,
    axis = shape.length - 1,
    length = at(shape, axis),
    sizes = shapeClass([scores.layout.size / length, length], scores.dtype),
    { caps } = styled(device, "attention", sizes),
    low = `bitcast<f32>(${params.u32("negInf", negInfBits)})`;
  const scaled = `a0 * ${params.f32("scale", spec.scale)}`;
  const masked =
    mask === undefined
      ? scaled
      : mask.dtype === "bool"
        ? `select(${low}, ${scaled}, a1)`
        : `${scaled} + a1`;
  // On a CPU exp costs more than memory: keep the exponentials in the output instead of computing
  // them twice.
  const keep = caps.software && scores.dtype === "float32";
  const value = `(${spec.causal ? `select(${low}, ${masked}, at <= query)` : masked})`;
  return rowKernel(
    {
      name: "attentionWeights",
      shape,
      axis,
      operands: [
        { view: scores, binding: 0 },
        ...(mask === undefined ? [] : [{ view: mask, binding: 1 }]),
      ],
      inputs: mask === undefined ? 1 : 2,
      params,
      helpers: ["nanMax", "expShifted"],
      ...(spec.causal
        ? {
            reach: "min(query + 1u, p.axisLength)",
            before: `let query = row % ${params.u32("queries", at(shape, axis - 1))};`,
          }
        : {}),
      passes: [
        {
          name: "m",
          identity: low,
          join: (a, b) => `nanMax(${a}, ${b})`,
          element: value,
          after: `let none = m == ${low};\nlet shift = select(m, 0.0, none);`,
        },
        {
          name: "z",
          identity: "0.0",
          join: (a, b) => `${a} + ${b}`,
          element: `expShifted(${value}, shift)`,
          keep,
          after: "let over = select(1.0 / z, 0.0, none);",
        },
      ],
      output: {
        dtype: scores.dtype,
        per: "element",
        value: !keep
          ? `expShifted(${value}, shift) * over`
          : spec.causal
            ? "select(0.0, y * over, at <= query)"
            : "y * over",
      },
    },
    caps,
  );
}
