/**
 * Softmax, log-softmax and cross entropy with their gradients, along any axis of any strided view;
 * stable by subtracting the row's maximum. A row that holds NaN or +infinity, or nothing but
 * −infinity, is NaN throughout, as in PyTorch. Built on rows.ts; owns nothing.
 */
import { at } from "../base/access.ts";
import type { Epilogue } from "./fused.ts";
import type { DType } from "../base/dtype.ts";
import type { DeviceCaps, Kernel, View } from "./kernel.ts";
import { rest, rowKernel } from "./rows.ts";
import type { RowPass } from "./sweeps.ts";
import { Params, nanBits, negInfBits } from "./wgsl.ts";
import { shapeClass, styled } from "./variants.ts";

/**
 * Maximum and Σ exp(x − maximum) of a row. NaN elements reach the sum by themselves; `max` may lose
 * them.
 */
function maxAndSum(params: Params, keep: boolean): RowPass[] {
  const low = params.u32("negInf", negInfBits);
  params.u32("nan", nanBits);
  return [
    {
      name: "m",
      identity: `bitcast<f32>(${low})`,
      join: (a, b) => `max(${a}, ${b})`,
      element: "a0",
      after: "if (!isFinite(m)) { m = bitcast<f32>(p.nan); }",
    },
    {
      name: "z",
      identity: "0.0",
      join: (a, b) => `${a} + ${b}`,
      element: "expShifted(a0, m)",
      keep,
    },
  ];
}

/** Bindings: input, output (contiguous, same shape and dtype). */
export function softmaxKernel(
  spec: { input: View; axis: number; log: boolean; after?: Epilogue },
  device: DeviceCaps,
): Kernel {
  const params = new Params(),
    { layout, dtype } = spec.input;
  const length = at(layout.shape, spec.axis);
  const caps = styled(device, "softmax", shapeClass([layout.size / length, length], dtype));
  // On a CPU exp costs more than memory: keep the exponentials in the output instead of computing
  // them twice.
  const keep = caps.software && !spec.log && dtype === "float32" && spec.after === undefined;
  const passes = maxAndSum(params, keep);
  return rowKernel(
    {
      name: spec.log ? "logSoftmax" : "softmax",
      shape: layout.shape,
      axis: spec.axis,
      operands: [{ view: spec.input, binding: 0 }],
      inputs: 1,
      params,
      helpers: ["isFinite", "expShifted", "logOf"],
      ...rest(spec),
      passes: [
        at(passes, 0),
        { ...at(passes, 1), after: spec.log ? "let shift = logOf(z);" : "let scale = 1.0 / z;" },
      ],
      output: {
        dtype,
        per: "element",
        value: spec.log ? "(a0 - m) - shift" : keep ? "y * scale" : "expShifted(a0, m) * scale",
      },
    },
    caps,
  );
}

/** Gradient of (log-)softmax from its output. Bindings: output, grad, result (contiguous). */
export function softmaxBackwardKernel(
  spec: { output: View; grad: View; axis: number; log: boolean; after?: Epilogue },
  caps: DeviceCaps,
): Kernel {
  return rowKernel(
    {
      name: spec.log ? "logSoftmaxBackward" : "softmaxBackward",
      shape: spec.output.layout.shape,
      axis: spec.axis,
      inputs: 2,
      params: new Params(),
      helpers: spec.log ? ["expOf"] : [],
      ...rest(spec),
      operands: [
        { view: spec.output, binding: 0 },
        { view: spec.grad, binding: 1 },
      ],
      passes: [
        {
          name: "total",
          identity: "0.0",
          join: (a, b) => `${a} + ${b}`,
          element: spec.log ? "a1" : "a0 * a1",
        },
      ],
      output: {
        dtype: spec.output.dtype,
        per: "element",
        value: spec.log ? "a1 - expOf(a0) * total" : "a0 * (a1 - total)",
      },
    },
    caps,
  );
}

/** WGSL tests of a row's target `q0`. Without an ignored index nothing is ignored. */
function targetTests(
  params: Params,
  targets: DType,
  ignoreIndex: number | undefined,
): { ignored: string; valid: string } {
  const on = params.u32("ignores", ignoreIndex === undefined ? 0 : 1),
    index = params.i32("ignored", ignoreIndex ?? 0);
  return {
    ignored: `${on} == 1u && ${targets === "uint32" ? "bitcast<i32>(q0)" : "q0"} == ${index}`,
    valid: "u32(q0) < p.axisLength",
  };
}

/**
 * Loss per row: −log softmax(logits)[target]. Bindings: logits [N, C], targets [N] (int32 or
 * uint32), loss [N]. A target outside [0, C) gives NaN; one equal to `ignoreIndex` gives 0.
 */
export function crossEntropyKernel(
  spec: { logits: View; targets: View; ignoreIndex?: number },
  caps: DeviceCaps,
): Kernel {
  const params = new Params(),
    { layout, dtype } = spec.logits;
  const passes = maxAndSum(params, false),
    is = targetTests(params, spec.targets.dtype, spec.ignoreIndex);
  return rowKernel(
    {
      name: "crossEntropy",
      shape: layout.shape,
      axis: 1,
      inputs: 2,
      params,
      helpers: ["isFinite", "expShifted", "logOf"],
      operands: [{ view: spec.logits, binding: 0 }],
      rowOperands: [{ view: spec.targets, binding: 1 }],
      passes,
      before:
        `let ignored = ${is.ignored};\nlet valid = ${is.valid};\n` +
        "var picked = bitcast<f32>(p.nan);\nif (row < p.rows && valid && !ignored) { let t = " +
        "u32(q0);\n picked = element0(t); }",
      output: { dtype, per: "row", value: "select(logOf(z) - (picked - m), 0.0, ignored)" },
    },
    caps,
  );
}

/**
 * Gradient of `crossEntropyKernel`. Bindings: logits [N, C], targets [N], gradPerRow [N], result
 * [N, C] (contiguous).
 */
export function crossEntropyBackwardKernel(
  spec: { logits: View; targets: View; gradPerRow: View; ignoreIndex?: number },
  caps: DeviceCaps,
): Kernel {
  const params = new Params(),
    { layout, dtype } = spec.logits;
  const passes = maxAndSum(params, caps.software && dtype === "float32"),
    is = targetTests(params, spec.targets.dtype, spec.ignoreIndex);
  const e = at(passes, 1).keep === true ? "y" : "expShifted(a0, m)";
  return rowKernel(
    {
      name: "crossEntropyBackward",
      shape: layout.shape,
      axis: 1,
      inputs: 3,
      params,
      helpers: ["isFinite", "expShifted", "logOf"],
      operands: [{ view: spec.logits, binding: 0 }],
      rowOperands: [
        { view: spec.targets, binding: 1 },
        { view: spec.gradPerRow, binding: 2 },
      ],
      before: `let ignored = ${is.ignored};\nlet valid = ${is.valid};\nlet t = u32(q0);`,
      passes: [
        at(passes, 0),
        { ...at(passes, 1), after: "let scale = select(bitcast<f32>(p.nan), 1.0 / z, valid);" },
      ],
      output: {
        dtype,
        per: "element",
        value: `select(q1 * (${e} * scale - select(0.0, 1.0, at == t)), 0.0, ignored)`,
      },
    },
    caps,
  );
}
