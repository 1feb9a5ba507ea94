/**
 * Running sums and products along an axis, forwards or backwards. A line is walked by one
 * invocation; long lines of sums are cut into one chunk per lane, whose totals meet in workgroup
 * memory. The order of additions depends on the shape only. Owns nothing.
 */
import { at } from "../base/access.ts";
import { type Layout, collapse, stridedLayout } from "../base/layout.ts";
import { sizeOf } from "../base/shape.ts";
import type { DType } from "../base/dtype.ts";
import type { DeviceCaps, Kernel, View } from "./kernel.ts";
import { split, terms } from "./indices.ts";
import { convert } from "./accumulators.ts";
import {
  Params,
  type StorageDecl,
  computeType,
  flatWorkgroup,
  gridOf,
  indent,
  loadElement,
  makeKernel,
  toStored,
} from "./wgsl.ts";

interface ScanSpec {
  readonly name: string;
  readonly inputs: readonly View[];
  readonly axis: number;
  readonly dtype: DType;
  readonly reverse: boolean;
  readonly start: string;
  /**
   * WGSL of the next state from `h`, and of the value stored, from `h` after it. `v(k, at)` is
   * input `k` at a position of the line; `j` is the current one.
   */
  readonly next: (v: (k: number, at: string) => string) => string;
  readonly value: (v: (k: number, at: string) => string) => string;
  /** The state is a sum of what each position adds: chunks can be summed apart. */
  readonly additive: boolean;
}

/** Bindings: input, output (contiguous, same shape). */
export function cumSumKernel(
  spec: { input: View; axis: number; dtype: DType; reverse: boolean },
  caps: DeviceCaps,
): Kernel {
  const type = computeType(spec.dtype);
  return scanKernel(
    {
      ...spec,
      name: "cumSum",
      inputs: [spec.input],
      start: `${type}(0)`,
      next: (v) => `h + ${v(0, "j")}`,
      value: () => "h",
      additive: true,
    },
    caps,
  );
}

/** Bindings: input, output (contiguous, same shape). */
export function cumProdKernel(
  spec: { input: View; axis: number; dtype: DType },
  caps: DeviceCaps,
): Kernel {
  const type = computeType(spec.dtype);
  return scanKernel(
    {
      ...spec,
      name: "cumProd",
      inputs: [spec.input],
      reverse: false,
      start: `${type}(1)`,
      next: (v) => `h * ${v(0, "j")}`,
      value: () => "h",
      additive: false,
    },
    caps,
  );
}

/**
 * Gradient of the running product, exact where elements are 0: dx[k] = out[k-1] · R[k] with R[k] =
 * g[k] + x[k+1]·R[k+1]. Bindings: input, output of cumProd, grad, result (contiguous).
 */
export function cumProdBackwardKernel(
  spec: { input: View; output: View; grad: View; axis: number },
  caps: DeviceCaps,
): Kernel {
  return scanKernel(
    {
      name: "cumProdBackward",
      inputs: [spec.input, spec.output, spec.grad],
      axis: spec.axis,
      dtype: spec.input.dtype,
      reverse: true,
      start: "0.0",
      additive: false,
      next: (v) =>
        `${v(2, "j")} + select(0.0, ${v(0, "min(j + 1u, p.length - 1u)")} * h, j + 1u < p.length)`,
      value: (v) => `select(1.0, ${v(1, "max(j, 1u) - 1u")}, j > 0u) * h`,
    },
    caps,
  );
}

function scanKernel(spec: ScanSpec, caps: DeviceCaps): Kernel {
  const params = new Params(),
    { axis } = spec,
    shape = at(spec.inputs, 0).layout.shape,
    length = at(shape, axis),
    type = computeType(spec.dtype);
  const without = <T>(list: readonly T[]): T[] => list.filter((_, i) => i !== axis);
  const rest = without(shape),
    lines = length === 0 ? 0 : sizeOf(rest),
    innerSize = sizeOf(shape.slice(axis + 1));
  const layouts = spec.inputs.map((v) => v.layout),
    lineOf = (l: Layout): Layout => stridedLayout(without(l.shape), without(l.strides), 0);
  const outStrides = rest.map((_, i) =>
    i < axis ? sizeOf(rest.slice(i + 1)) * length : sizeOf(rest.slice(i + 1)),
  );
  const merged = collapse([...layouts.map(lineOf), stridedLayout(rest, outStrides, 0)]),
    out = layouts.length;
  const decls: StorageDecl[] = [
    ...spec.inputs.map((v): StorageDecl => ({ dtype: v.dtype, vec: false, access: "read" })),
    { dtype: spec.dtype, vec: false, access: "read_write" },
  ];

  const most = caps.software ? 1 : 256;
  let lanes = 1;
  while (spec.additive && lanes < most && lanes * 8 < length && lines * lanes < 65536) lanes *= 2;
  const perGroup = lanes === 1 ? 64 : 1,
    total = params.u32("lines", lines);
  params.u32("length", length);
  const chunk = params.u32("chunk", Math.ceil(length / lanes));
  const base = [
    ...layouts.map(
      (l, k) =>
        `let base${k} = ` +
        `${[params.u32(`o${k}`, l.offset), ...terms("c", at(merged.strides, k), `t${k}c`, 1, params)].join(" + ")};`,
    ),
    "let baseOut = " +
      `${["0u", ...terms("c", at(merged.strides, out), "toc", 1, params)].join(" + ")};`,
  ];
  const steps = layouts.map((l, k) => params.u32(`step${k}`, at(l.strides, axis))),
    outStep = params.u32("stepOut", innerSize);
  const load = (k: number, position: string): string =>
    convert(
      loadElement(at(decls, k), k, `base${k} + (${position}) * ${steps[k]}`),
      computeType(at(decls, k).dtype),
      type,
    );
  const walk = (body: readonly string[]): string[] => [
    "for (var i = first; i < end; i++) {",
    indent(
      [
        spec.reverse ? "let j = p.length - 1u - i;" : "let j = i;",
        `h = ${spec.next(load)};`,
        ...body,
      ].join("\n"),
    ),
    "}",
  ];
  const store = [`b${out}[baseOut + j * ${outStep}] = ${toStored(spec.dtype, spec.value(load))};`];
  const main =
    lanes === 1
      ? [
          `let line = (${flatWorkgroup}) * 64u + lane;`,
          `if (line >= ${total}) { return; }`,
          ...split("line", merged.shape, "c", params),
          ...base,
          "let first = 0u;",
          "let end = p.length;",
          `var h = ${spec.start};`,
          ...walk(store),
        ]
      : [
          `let line = ${flatWorkgroup};`,
          ...split("line", merged.shape, "c", params),
          ...base,
          `let first = min(lane * ${chunk}, p.length);`,
          `let end = select(first, min(first + ${chunk}, p.length), line < ${total});`,
          `var h = ${spec.start};`,
          ...walk([]),
          "sums[lane] = h;",
          "workgroupBarrier();",
          `if (lane == 0u) {`,
          indent(
            [
              `var before = ${spec.start};`,
              `for (var k = 0u; k < ${lanes}u; k++) { let own = sums[k]; sums[k] = before; ` +
                "before += own; }",
            ].join("\n"),
          ),
          "}",
          "workgroupBarrier();",
          "h = sums[lane];",
          ...walk(store),
        ];
  return makeKernel(
    {
      name: `scan.${spec.name}`,
      storages: decls,
      params,
      workgroupSize: [lanes === 1 ? 64 : lanes, 1, 1],
      globals: lanes === 1 ? "" : `var<workgroup> sums: array<${type}, ${lanes}>;\n`,
      main: main.join("\n"),
      workgroups: gridOf(Math.ceil(lines / perGroup), caps),
    },
    caps,
  );
}
