/**
 * Moving elements along an axis by position or by index: concat, flip, gather, and scatter-add,
 * which is its gradient. Scatter-add is a gather too: an output element collects what was sent to
 * it, in order of position, so its bits never depend on timing. It scans all indices of its line,
 * or, for long lines, finds them by binary search in an order made by sort.ts. Indices may be
 * negative (from the end); one out of range reads NaN (0 for integers) and adds nothing.
 */
import { at } from "../base/access.ts";
import { broadcastLayout } from "../base/layout.ts";
import { isFloat } from "../base/dtype.ts";
import type { Shape } from "../base/shape.ts";
import { type SourceText, axisKernel } from "./axis.ts";
import type { DeviceCaps, Kernel, View } from "./kernel.ts";
import { Params, indent } from "./wgsl.ts";

/** Bindings: the inputs, output (contiguous). Inputs differ along the axis only. */
export function concatKernel(
  spec: { inputs: readonly View[]; shape: Shape; axis: number },
  caps: DeviceCaps,
): Kernel {
  const params = new Params();
  let end = 0;
  const ends = spec.inputs.map((v, k) =>
    params.u32(`end${k}`, (end += at(v.layout.shape, spec.axis))),
  );
  return axisKernel(
    {
      name: "concat",
      shape: spec.shape,
      axis: spec.axis,
      sources: spec.inputs.map((view) => ({ view })),
      dtype: at(spec.inputs, 0).dtype,
      params,
      body: (s) =>
        s
          .map(
            (x, k) =>
              `${k > 0 ? "else " : ""}${k < s.length - 1 ? `if (d < ${ends[k]}) ` : ""}{ r ` +
              `= ${x.load(k === 0 ? "d" : `d - ${ends[k - 1]}`)}; }`,
          )
          .join("\n"),
    },
    caps,
  );
}

/** Bindings: input, output (contiguous): the axis backwards. */
export function flipKernel(spec: { input: View; axis: number }, caps: DeviceCaps): Kernel {
  return axisKernel(
    {
      name: "flip",
      shape: spec.input.layout.shape,
      axis: spec.axis,
      sources: [{ view: spec.input }],
      dtype: spec.input.dtype,
      params: new Params(),
      body: ([x]) => `r = ${x!.load(`${x!.size} - 1u - d`)};`,
    },
    caps,
  );
}

/** WGSL of an index as an i32 counted from the front. */
function position(value: string, size: string, indices: View): string[] {
  return indices.dtype === "uint32"
    ? [`let at = ${value};`]
    : [
        `let sent = ${value};`,
        `let at = bitcast<u32>(select(sent, sent + i32(${size}), sent < 0));`,
      ];
}

/**
 * Bindings: input, indices, output (contiguous, shape of the indices). Off the axis the indices may
 * be smaller than the input.
 */
export function gatherKernel(
  spec: { input: View; indices: View; axis: number },
  caps: DeviceCaps,
): Kernel {
  const { input, indices, axis } = spec,
    params = new Params();
  const nan = isFloat(input.dtype);
  return axisKernel(
    {
      name: "gather",
      shape: indices.layout.shape,
      axis,
      sources: [{ view: input }, { view: indices, indices: true }],
      dtype: input.dtype,
      params,
      helpers: nan ? ["nan"] : [],
      body: ([x, i]) =>
        [
          ...position(i!.load("d"), x!.size, indices),
          `r = T(${nan ? (input.dtype === "float16" ? "f16(nan())" : "nan()") : "0"});`,
          `if (at < ${x!.size}) { r = ${x!.load("at")}; }`,
        ].join("\n"),
    },
    caps,
  );
}

/**
 * Bindings: start, indices, [order,] source, output (contiguous, shape of start): start plus, at
 * each position, every source element whose index says so. Start, indices and source have equal
 * dimensions off the axis. `order` sorts the indices along the axis.
 */
export function scatterAddKernel(
  spec: { start: View; indices: View; order?: View; source: View; axis: number },
  caps: DeviceCaps,
): Kernel {
  const { start, indices, order, source, axis } = spec,
    { shape } = start.layout,
    params = new Params();
  const off = (v: View): View => ({
    dtype: v.dtype,
    layout: broadcastLayout(
      v.layout,
      shape.map((d, i) => (i === axis ? at(v.layout.shape, axis) : d)),
    ),
  });
  const sources = [
    { view: start },
    { view: off(indices), indices: true },
    ...(order === undefined ? [] : [{ view: off(order), indices: true }]),
    { view: off(source) },
  ];
  const f32 = isFloat(start.dtype);
  const scan = (x: SourceText, i: SourceText, v: SourceText): string[] => [
    `for (var k = 0u; k < ${i.size}; k++) {`,
    indent(
      [...position(i.load("k"), x.size, indices), `if (at == d) { r += T(${v.load("k")}); }`].join(
        "\n",
      ),
    ),
    "}",
  ];
  // The indices in order: those equal to `key` begin at the lower bound. A position has two names,
  // d and d - size.
  const search = (x: SourceText, i: SourceText, p: SourceText, v: SourceText): string[] => {
    const unsigned = indices.dtype === "uint32",
      keyAt = (at: string): string => i.load(`u32(${p.load(at)})`);
    const collect = [
      "var low = 0u;",
      `var high = ${i.size};`,
      "while (low < high) {",
      `  let middle = (low + high) / 2u;`,
      `  if (${keyAt("middle")} < key) { low = middle + 1u; } else { high = middle; }`,
      "}",
      `for (; low < ${i.size}; low++) {`,
      `  let k = u32(${p.load("low")});`,
      `  if (${i.load("k")} != key) { break; }`,
      `  r += T(${v.load("k")});`,
      "}",
    ];
    return unsigned
      ? ["let key = d;", ...collect]
      : [
          "for (var name = 0; name < 2; name++) {",
          indent(
            [`let key = i32(d) - select(i32(${x.size}), 0, name == 1);`, ...collect].join("\n"),
          ),
          "}",
        ];
  };
  return axisKernel(
    {
      name: order === undefined ? "scatterAdd" : "scatterAddSorted",
      shape,
      axis,
      sources,
      dtype: start.dtype,
      f32,
      params,
      body: (s) =>
        [
          `r = T(${at(s, 0).load("d")});`,
          ...(order === undefined
            ? scan(at(s, 0), at(s, 1), at(s, 2))
            : search(at(s, 0), at(s, 1), at(s, 2), at(s, 3))),
        ].join("\n"),
    },
    caps,
  );
}
