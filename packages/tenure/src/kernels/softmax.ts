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
import type { RowPass, RowSpec, SoftmaxPass } from "./sweeps.ts";
import { lanesAlong, usualLanes } from "./tile.ts";
import { Params, nanBits, negInfBits } from "./wgsl.ts";
import { shapeClass, styled } from "./variants.ts";

/** How a row is swept. */
interface Way {
  /** Lanes of a subgroup that share a row, or 1. */
  readonly lanes: number;
  /** The exponentials are kept in the output instead of being computed twice. */
  readonly keep: boolean;
}

/**
 * The sweeps that find a row's maximum `m` and `z`, the sum of exp(x − m), with what follows. NaN
 * elements reach the sum by themselves; `max` may lose them.
 */
function sweepsOf(params: Params, way: Way, after?: string): (RowPass | SoftmaxPass)[] {
  const low = way.lanes > 1 ? "" : params.u32("negInf", negInfBits);
  params.u32("nan", nanBits);
  const then = after === undefined ? {} : { after };
  if (way.lanes > 1) return [{ softmax: true, ...then }];
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
      keep: way.keep,
      ...then,
    },
  ];
}

/** What the text of `way` calls and how many lanes it has. */
function formOf(way: Way, ...helpers: readonly string[]): Pick<RowSpec, "helpers" | "lanes"> {
  return way.lanes > 1
    ? { helpers: ["isNan", ...helpers], lanes: way.lanes }
    : { helpers: ["isFinite", "expShifted", ...helpers] };
}

/** exp(x − m) of an element after the sweeps; a row with NaN has it in `z` and `m` already. */
function raisedIn({ lanes, keep }: Way): string {
  return lanes > 1 ? "exp(max(a0 - m, -110.0))" : keep ? "y" : "expShifted(a0, m)";
}

/** Bindings: input, output (contiguous, same shape and dtype). */
export function softmaxKernel(
  spec: { input: View; axis: number; log: boolean; after?: Epilogue },
  device: DeviceCaps,
): Kernel {
  const params = new Params(),
    { layout, dtype } = spec.input;
  const length = at(layout.shape, spec.axis);
  const most = lanesAlong(layout, spec.axis, device);
  const usual = usualLanes(layout, spec.axis, device) > 1;
  const { caps, extra } = styled(
    device,
    "softmax",
    shapeClass([layout.size / length, length], dtype),
    most > 1 ? { name: "lanes", usual } : undefined,
  );
  // On SwiftShader exp costs more than memory.
  const keep = caps.software && !spec.log && dtype === "float32" && spec.after === undefined;
  const way = { lanes: extra ? most : 1, keep: keep && !extra };
  return rowKernel(
    {
      name: spec.log ? "logSoftmax" : "softmax",
      shape: layout.shape,
      axis: spec.axis,
      operands: [{ view: spec.input, binding: 0 }],
      inputs: 1,
      params,
      ...formOf(way, "logOf"),
      ...rest(spec),
      passes: sweepsOf(params, way, spec.log ? "let shift = logOf(z);" : "let scale = 1.0 / z;"),
      output: {
        dtype,
        per: "element",
        value: spec.log ? "(a0 - m) - shift" : `${raisedIn(way)} * scale`,
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
      lanes: usualLanes(spec.output.layout, spec.axis, caps),
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
  const way = { lanes: usualLanes(layout, 1, caps), keep: false },
    passes = sweepsOf(params, way),
    is = targetTests(params, spec.targets.dtype, spec.ignoreIndex);
  return rowKernel(
    {
      name: "crossEntropy",
      shape: layout.shape,
      axis: 1,
      inputs: 2,
      params,
      ...formOf(way, "logOf"),
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
  const lanes = usualLanes(layout, 1, caps);
  const way = { lanes, keep: lanes === 1 && caps.software && dtype === "float32" },
    passes = sweepsOf(params, way, "let scale = select(bitcast<f32>(p.nan), 1.0 / z, valid);"),
    is = targetTests(params, spec.targets.dtype, spec.ignoreIndex);
  return rowKernel(
    {
      name: "crossEntropyBackward",
      shape: layout.shape,
      axis: 1,
      inputs: 3,
      params,
      ...formOf(way),
      operands: [{ view: spec.logits, binding: 0 }],
      rowOperands: [
        { view: spec.targets, binding: 1 },
        { view: spec.gradPerRow, binding: 2 },
      ],
      before: `let ignored = ${is.ignored};\nlet valid = ${is.valid};\nlet t = u32(q0);`,
      passes,
      output: {
        dtype,
        per: "element",
        value: `select(q1 * (${raisedIn(way)} * scale - select(0.0, 1.0, at == t)), 0.0, ignored)`,
      },
    },
    caps,
  );
}
