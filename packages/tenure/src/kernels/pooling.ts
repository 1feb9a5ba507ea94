/**
 * Max and average pooling over NCHW images of any strides. Windows are part of the structure, sizes
 * are parameters. Owns nothing.
 */
import { at } from "../base/access.ts";
import type { DType } from "../base/dtype.ts";
import type { DeviceCaps, Kernel, View } from "./kernel.ts";
import { type ImageView, area, decompose, imageView } from "./pool-window.ts";
import { type PoolWindow, poolShape } from "./shapes.ts";
import {
  Params,
  type StorageDecl,
  gridOf,
  indent,
  makeKernel,
  negInfBits,
  toStored,
} from "./wgsl.ts";

/** Bindings: input, output (contiguous). NaN counts as the maximum. */
export function maxPool2dKernel(
  spec: PoolWindow & { readonly input: View },
  caps: DeviceCaps,
): Kernel {
  return forward("maxPool2d", spec, caps, ["isNan"], (params) => ({
    open: `var best = bitcast<f32>(${params.u32("low", negInfBits)});`,
    visit: "if (!isNan(best) && (v > best || isNan(v))) { best = v; }",
    result: "best",
  }));
}

/**
 * Bindings: input, output (int32, contiguous): where in its plane, row-major, the first maximum of
 * each window lies.
 */
export function maxPool2dIndicesKernel(
  spec: PoolWindow & { readonly input: View },
  caps: DeviceCaps,
): Kernel {
  return forward(
    "maxPool2dIndices",
    spec,
    caps,
    ["isNan"],
    (params, _, W) => ({
      open: `var best = bitcast<f32>(${params.u32("low", negInfBits)});\nvar found = -1;`,
      visit:
        "if (found < 0 || (!isNan(best) && (v > best || isNan(v)))) { best = v; found = " +
        `i32(y * ${W} + x); }`,
      result: "found",
    }),
    "int32",
  );
}

/** Bindings: input, output (contiguous). */
export function avgPool2dKernel(
  spec: PoolWindow & { readonly input: View; readonly countIncludePad?: boolean },
  caps: DeviceCaps,
): Kernel {
  const all = spec.countIncludePad ?? true;
  return forward("avgPool2d", spec, caps, [], (_, H, W) => ({
    open: `var sum = 0.0;\nvar count = 0.0;`,
    visit: "sum += v;\ncount += 1.0;",
    result: all ? `sum / ${area(spec, H, W)}` : "sum / count",
  }));
}

/** WGSL of a pooling: before its window, for each element `v` at row `y`, column `x`, and after. */
interface Visit {
  readonly open: string;
  readonly visit: string;
  readonly result: string;
}

/** A window without padding, written out without a branch. */
function unrolledWindow(
  { kernel: [R, S], stride: [sh, sw] }: PoolWindow,
  x: ImageView,
  visit: string,
): string[] {
  return [
    `let corner = plane + py * ${sh}u * ${x.y} + px * ${sw}u * ${x.x};`,
    ...Array.from({ length: R * S }, (_, i) => {
      const cell = `corner + ${Math.floor(i / S)}u * ${x.y} + ${i % S}u * ${x.x}`;
      return `{ let v = ${x.at(cell)}; ${visit.replace("\n", " ")} }`;
    }),
  ];
}

/** A window of which some elements may lie outside the image. */
function guardedWindow(w: PoolWindow, x: ImageView, H: string, W: string, visit: string): string[] {
  const {
    kernel: [R, S],
    padding: [ph, pw],
    stride: [sh, sw],
  } = w;
  const column = [
    `let x = px * ${sw}u + s - ${pw}u;`,
    `if (x >= ${W}) { continue; }`,
    `let v = ${x.load("plane", "y", "x")};`,
    visit,
  ];
  const row = [
    `let y = py * ${sh}u + r - ${ph}u;`,
    `if (y >= ${H}) { continue; }`,
    `for (var s = 0u; s < ${S}u; s++) {`,
    indent(column.join("\n")),
    "}",
  ];
  return [`for (var r = 0u; r < ${R}u; r++) {`, indent(row.join("\n")), "}"];
}

/** An invocation per window. */
function forward(
  name: string,
  spec: PoolWindow & { readonly input: View },
  caps: DeviceCaps,
  helpers: readonly string[],
  text: (params: Params, H: string, W: string) => Visit,
  dtype: DType = spec.input.dtype,
): Kernel {
  const params = new Params(),
    shape = spec.input.layout.shape,
    [N, C, P, Q] = poolShape(shape, spec),
    total = N * C * P * Q;
  const decls: StorageDecl[] = [
    { dtype: spec.input.dtype, vec: false, access: "read" },
    { dtype, vec: false, access: "read_write" },
  ];
  const H = params.u32("H", at(shape, 2)),
    W = params.u32("W", at(shape, 3)),
    t = text(params, H, W),
    x = imageView(params, "x", spec.input, 0, at(decls, 0));
  const [ph, pw] = spec.padding;
  const [R, S] = spec.kernel;
  // Without padding every window lies inside.
  const inside = ph === 0 && pw === 0 && spec.ceil !== true;
  const window =
    inside && R * S <= 16 && dtype === spec.input.dtype
      ? unrolledWindow(spec, x, t.visit)
      : guardedWindow(spec, x, H, W, t.visit);
  const main = [
    ...decompose(
      params.u32("total", total),
      params.u32("Q", Q),
      params.u32("P", P),
      params.u32("C", C),
      "py",
      "px",
    ),
    `let plane = ${x.base};`,
    t.open,
    ...window,
    `b1[id] = ${toStored(dtype, t.result)};`,
  ].join("\n");
  return makeKernel(
    {
      name,
      storages: decls,
      params,
      helpers,
      workgroupSize: [64, 1, 1],
      main,
      workgroups: gridOf(Math.ceil(total / 64), caps),
    },
    caps,
  );
}
