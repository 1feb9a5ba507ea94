/**
 * Images of another size: nearest, bilinear, and adaptive averages. Each dimension has a weight for
 * every pair of output and input position, zero but for a few neighbours; the gradient gathers with
 * the same weights, so it is exact and written once. Owns nothing.
 */
import { at } from "../base/access.ts";
import { f32Bits } from "../base/bits.ts";
import type { DeviceCaps, Kernel, View } from "./kernel.ts";
import {
  Params,
  flatWorkgroup,
  gridOf,
  indent,
  loadElement,
  makeKernel,
  toStored,
} from "./wgsl.ts";

/**
 * The scaled modes step by a given ratio of input to output pixels rather than by that of the
 * sizes.
 */
export type ResampleMode =
  "nearest" | "nearestScaled" | "bilinear" | "bilinearScaled" | "bilinearCorners" | "average";

/**
 * WGSL per mode, for one dimension of `size` inputs and `count` outputs, `k` inputs per output: the
 * inputs `low … high` of output p, the weight of a pair, and the outputs `begin … end` (exclusive)
 * that may use input y.
 */
function weights(mode: ResampleMode): string {
  const source =
    mode === "bilinear"
      ? "max((f32(p) + 0.5) * f32(size) / f32(count) - 0.5, 0.0)"
      : mode === "bilinearScaled"
        ? "max((f32(p) + 0.5) * k - 0.5, 0.0)"
        : "f32(p) * f32(size - 1u) / f32(max(count, 2u) - 1u)";
  const ratio = mode === "bilinearScaled" ? "k" : "f32(size) / f32(count)",
    // the last pixel serves all positions beyond it
    last = mode === "bilinearScaled" ? "select(0u, count, y == size - 1u)" : "0u";
  switch (mode) {
    case "nearest":
      return (
        "fn low(p: u32, size: u32, count: u32, k: f32) -> u32 { return p * size / " +
        `count; }
fn high(p: u32, size: u32, count: u32, k: f32) -> u32 { return low(p, size, count, k); }
fn weight(p: u32, y: u32, size: u32, count: u32, k: f32) -> f32 { return select(0.0, 1.0, ` +
        `low(p, size, count, k) == y); }
fn begin(y: u32, size: u32, count: u32, k: f32) -> u32 { return (y * count + size - 1u) / ` +
        `size; }
fn end(y: u32, size: u32, count: u32, k: f32) -> u32 { return ((y + 1u) * count + size - ` +
        "1u) / size; }\n"
      );
    case "nearestScaled":
      return (
        "fn low(p: u32, size: u32, count: u32, k: f32) -> u32 { return min(u32(f32(p) * " +
        `k), size - 1u); }
fn high(p: u32, size: u32, count: u32, k: f32) -> u32 { return low(p, size, count, k); }
fn weight(p: u32, y: u32, size: u32, count: u32, k: f32) -> f32 { return select(0.0, 1.0, ` +
        `low(p, size, count, k) == y); }
fn begin(y: u32, size: u32, count: u32, k: f32) -> u32 { return u32(max(f32(y) / k - 1.0, ` +
        `0.0)); }
fn end(y: u32, size: u32, count: u32, k: f32) -> u32 { return min(max(u32(f32(y + 1u) / k + ` +
        "2.0), select(0u, count, y == size - 1u)), count); }\n"
      );
    case "average":
      return (
        "fn low(p: u32, size: u32, count: u32, k: f32) -> u32 { return p * size / " +
        `count; }
fn high(p: u32, size: u32, count: u32, k: f32) -> u32 { return ((p + 1u) * size + count - ` +
        `1u) / count - 1u; }
fn weight(p: u32, y: u32, size: u32, count: u32, k: f32) -> f32 {
  let a = low(p, size, count, k); let b = high(p, size, count, k);
  return select(0.0, 1.0 / f32(b - a + 1u), y >= a && y <= b);
}
fn begin(y: u32, size: u32, count: u32, k: f32) -> u32 { return y * count / size; }
fn end(y: u32, size: u32, count: u32, k: f32) -> u32 { return ((y + 1u) * count + size - ` +
        "1u) / size; }\n"
      );
    case "bilinear":
    case "bilinearScaled":
    case "bilinearCorners":
      return (
        `fn position(p: u32, size: u32, count: u32, k: f32) -> f32 { return ${source}; ` +
        `}
fn low(p: u32, size: u32, count: u32, k: f32) -> u32 { return min(u32(position(p, size, ` +
        `count, k)), size - 1u); }
fn high(p: u32, size: u32, count: u32, k: f32) -> u32 { return min(low(p, size, count, k) + ` +
        `1u, size - 1u); }
fn weight(p: u32, y: u32, size: u32, count: u32, k: f32) -> f32 {
  let a = low(p, size, count, k);
  let part = clamp(position(p, size, count, k) - f32(a), 0.0, 1.0);
  return select(0.0, 1.0 - part, y == a) + select(0.0, part, y == high(p, size, count, k));
}
fn begin(y: u32, size: u32, count: u32, k: f32) -> u32 { return u32(max((f32(y) - 1.0) / ` +
        `(${ratio}) - 2.0, 0.0)); }
fn end(y: u32, size: u32, count: u32, k: f32) -> u32 { return min(max(u32((f32(y) + 2.0) / ` +
        `(${ratio}) + 2.0), ${last}), count); }\n`
      );
  }
}

/**
 * Forward: input [N, C, H, W] → result [N, C, P, Q]. Backward: grad [N, C, P, Q] → result [N, C, H,
 * W]. Bindings: source, result (contiguous).
 */
export function resampleKernel(
  spec: {
    source: View;
    shape: readonly number[];
    mode: ResampleMode;
    scale?: readonly [number, number];
    backward: boolean;
  },
  caps: DeviceCaps,
): Kernel {
  const { source, shape, mode, backward } = spec,
    params = new Params(),
    [N, C, A, B] = shape as [number, number, number, number],
    total = N * C * A * B,
    from = source.layout.shape;
  const rows = params.u32("rows", A),
    columns = params.u32("columns", B),
    sourceRows = params.u32("sourceRows", at(from, 2)),
    sourceColumns = params.u32("sourceColumns", at(from, 3)),
    channels = params.u32("channels", C);
  const s = source.layout.strides.map((v, i) => params.u32(`s${i}`, v)),
    decl = { dtype: source.dtype, vec: false, access: "read" } as const;
  const k = (["rowRatio", "columnRatio"] as const).map((name, i) =>
    spec.scale === undefined
      ? "0.0"
      : `bitcast<f32>(${params.u32(name, f32Bits(at(spec.scale, i)))})`,
  );
  const range = (v: string, at: string, own: string, other: string, ratio: string): string =>
    backward
      ? `for (var ${v} = begin(${at}, ${own}, ${other}, ${ratio}); ${v} < end(${at}, ${own}, ` +
        `${other}, ${ratio}); ${v}++) {`
      : `for (var ${v} = low(${at}, ${other}, ${own}, ${ratio}); ${v} <= high(${at}, ` +
        `${other}, ${own}, ${ratio}); ${v}++) {`;
  const weight = (v: string, at: string, own: string, other: string, ratio: string): string =>
    backward
      ? `weight(${v}, ${at}, ${own}, ${other}, ${ratio})`
      : `weight(${at}, ${v}, ${other}, ${own}, ${ratio})`;
  const main = [
    `let id = (${flatWorkgroup}) * 64u + lane;`,
    `if (id >= ${params.u32("total", total)}) { return; }`,
    `let x = id % ${columns};`,
    `var rest = id / ${columns};`,
    `let y = rest % ${rows};`,
    `rest /= ${rows};`,
    `let plane = ${params.u32("offset", source.layout.offset)} + (rest / ${channels}) * ` +
      `${s[0]} + (rest % ${channels}) * ${s[1]};`,
    "var sum = 0.0;",
    range("v", "y", rows, sourceRows, at(k, 0)),
    indent(
      [
        `let row = ${weight("v", "y", rows, sourceRows, at(k, 0))};`,
        range("u", "x", columns, sourceColumns, at(k, 1)),
        indent(
          [
            `let w = row * ${weight("u", "x", columns, sourceColumns, at(k, 1))};`,
            "if (w != 0.0) { sum += w * " +
              `${loadElement(decl, 0, `plane + v * ${s[2]} + u * ${s[3]}`)}; }`,
          ].join("\n"),
        ),
        "}",
      ].join("\n"),
    ),
    "}",
    `b1[id] = ${toStored(source.dtype, "sum")};`,
  ].join("\n");
  return makeKernel(
    {
      name: `resample.${mode}${backward ? ".backward" : ""}`,
      storages: [decl, { ...decl, access: "read_write" }],
      params,
      globals: weights(mode),
      workgroupSize: [64, 1, 1],
      main,
      workgroups: gridOf(Math.ceil(total / 64), caps),
    },
    caps,
  );
}
