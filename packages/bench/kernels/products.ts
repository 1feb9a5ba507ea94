/** Matrix products and convolutions with their gradients, against a thread per output. */
import { convShape } from "../../tenure/src/kernels/shapes.ts";
import { permuteLayout, contiguousLayout } from "../../tenure/src/base/layout.ts";
import { sizeOf } from "../../tenure/src/base/shape.ts";
import {
  conv2dBackwardInputKernel,
  conv2dKernel,
  conv2dBackwardWeightKernel,
} from "../../tenure/src/kernels/conv-ways.ts";
import type { DeviceCaps } from "../../tenure/src/kernels/kernel.ts";
import { matmulKernel } from "../../tenure/src/kernels/matmul-ways.ts";
import { view } from "../../tenure/test/gpu/kernels/harness.ts";

import { type Case, naive } from "./case.ts";

/** A product `[m,k] × [k,n]`, either side given transposed. */
export function matmulCase(
  caps: DeviceCaps,
  m: number,
  n: number,
  k: number,
  ta = false,
  tb = false,
): Case {
  const side = (rows: number, columns: number, t: boolean): ReturnType<typeof view> =>
    view(
      t
        ? permuteLayout(contiguousLayout([columns, rows]), [1, 0])
        : contiguousLayout([rows, columns]),
    );
  const a = ta ? `b0[k * ${m}u + y]` : `b0[y * ${k}u + k]`,
    b = tb ? `b1[x * ${k}u + k]` : `b1[k * ${n}u + x]`;
  return {
    name: `matmul ${ta ? `[${k},${m}]ᵀ` : `[${m},${k}]`} × ${tb ? `[${n},${k}]ᵀ` : `[${k},${n}]`}`,
    kernel: matmulKernel({ a: side(m, k, ta), b: side(k, n, tb) }, caps),
    naive: naive(
      2,
      m * n,
      `
        let y = i / ${n}u; let x = i % ${n}u; var s = 0.0; for (var k = 0u; k < ${k}u; k++) {
        s += ${a} * ${b}; } b2[i] = s;
      `,
    ),
    sizes: [m * k, k * n, m * n],
    work: 2 * m * n * k,
    unit: "GFLOP/s",
  };
}

type Shape = readonly [number, number, number, number];

/** The three as loops over taps and channels, of a thread per element. */
function naiveConv(x: Shape, w: Shape): Record<"output" | "input" | "weight", string> {
  const [, C, H, W] = x,
    [O, , R, S] = w,
    pad = (R - 1) / 2;
  const taps = (inner: string): string =>
    `for (var r = 0u; r < ${R}u; r++) { for (var s = 0u; s < ${S}u; s++) { ${inner} } }`;
  const pixel = `let x = i % ${W}u; let y = i / ${W}u % ${H}u;`,
    inside = `if (v < ${H}u && u < ${W}u)`,
    weightAt = `b1[((o * ${C}u + c) * ${R}u + r) * ${S}u + s]`;
  const pixelOf = (channels: number, c: string): string =>
    `b0[((n * ${channels}u + ${c}) * ${H}u + v) * ${W}u + u]`;
  return {
    output: `${pixel} let o = i / ${H * W}u % ${O}u; let n = i / ${O * H * W}u;
        var t = 0.0;
        for (var c = 0u; c < ${C}u; c++) { ${taps(
          `let v = y + r - ${pad}u; let u = x + s - ${pad}u;
          ${inside} { t += ${pixelOf(C, "c")} * ${weightAt}; }`,
        )} }
        b2[i] = t;`,
    input: `${pixel} let c = i / ${H * W}u % ${C}u; let n = i / ${C * H * W}u;
        var t = 0.0;
        for (var o = 0u; o < ${O}u; o++) { ${taps(
          `let v = y + ${pad}u - r; let u = x + ${pad}u - s;
          ${inside} { t += ${pixelOf(O, "o")} * ${weightAt}; }`,
        )} }
        b2[i] = t;`,
    weight: `let s = i % ${S}u; let r = i / ${S}u % ${R}u;
        let c = i / ${R * S}u % ${C}u; let o = i / ${C * R * S}u;
        var t = 0.0;
        for (var n = 0u; n < ${x[0]}u; n++) {
          for (var y = 0u; y < ${H}u; y++) {
            for (var x = 0u; x < ${W}u; x++) {
              let v = y + r - ${pad}u; let u = x + s - ${pad}u;
              ${inside} {
                t += ${pixelOf(C, "c")} * b1[((n * ${O}u + o) * ${H}u + y) * ${W}u + x];
              }
            }
          }
        }
        b2[i] = t;`,
  };
}

/** A convolution and its two gradients. */
export function convCases(caps: DeviceCaps, x: Shape, w: Shape): Case[] {
  const pad = (w[2] - 1) / 2,
    o = { stride: [1, 1], padding: [pad, pad], dilation: [1, 1], groups: 1 } as const,
    out = convShape(x, w, o);
  const [, C] = x,
    [, , R, S] = w,
    nx = sizeOf(x),
    nw = sizeOf(w),
    no = sizeOf(out),
    work = 2 * no * C * R * S,
    label = `[${x.join()}] × [${w.join()}]`;
  const input = view(x),
    weight = view(w),
    grad = view(out);
  const plain = naiveConv(x, w);
  return [
    {
      name: `conv2d ${label}`,
      sizes: [nx, nw, no],
      work,
      unit: "GFLOP/s",
      kernel: conv2dKernel({ ...o, input, weight }, caps),
      naive: naive(2, no, plain.output),
    },
    {
      name: `conv2d backward input ${label}`,
      sizes: [no, nw, nx],
      work,
      unit: "GFLOP/s",
      kernel: conv2dBackwardInputKernel({ ...o, grad, weight, inputShape: x }, caps),
      naive: naive(2, nx, plain.input),
    },
    {
      name: `conv2d backward weight ${label}`,
      sizes: [nx, no, nw],
      work,
      unit: "GFLOP/s",
      kernel: conv2dBackwardWeightKernel({ ...o, input, grad, weightShape: w }, caps),
      naive: naive(2, nw, plain.weight),
    },
  ];
}
