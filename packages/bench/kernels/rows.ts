/** What works on rows: norms, softmax, attention weights, sums; against a thread per row. */
import { sizeOf } from "../../tenure/src/base/shape.ts";
import type { DeviceCaps } from "../../tenure/src/kernels/kernel.ts";
import { attentionWeightsKernel } from "../../tenure/src/kernels/attention.ts";
import {
  flashKernel,
  flashKeyGradKernel,
  flashQueryGradKernel,
} from "../../tenure/src/kernels/flash.ts";
import { normalizeBackwardKernel, normalizeKernel } from "../../tenure/src/kernels/normalize.ts";
import { reduceKernel } from "../../tenure/src/kernels/reduce.ts";
import { softmaxBackwardKernel, softmaxKernel } from "../../tenure/src/kernels/softmax.ts";
import { view } from "../../tenure/test/gpu/kernels/harness.ts";

import { type Case, naive } from "./case.ts";

/**
 * What a transformer does beside matrix products: norms, attention weights, gradients of softmax
 * and of slices. `rows` of `n` elements.
 */
export function rowCases(caps: DeviceCaps, rows: number, n: number): Case[] {
  const x = view([rows, n]),
    row = view([n]),
    size = rows * n,
    mean = `
      var m = 0.0; for (var k = 0u; k < ${n}u; k++) { m += b0[r + k]; } m /= ${n}.0; var v = 0.0;
      for (var k = 0u; k < ${n}u; k++) { v += (b0[r + k] - m) * (b0[r + k] - m); }
      let s = inverseSqrt(v / ${n}.0 + 1e-5);
    `;
  return [
    {
      name: `layerNorm [${rows},${n}]`,
      sizes: [size, n, size],
      work: 8 * size,
      unit: "GB/s",
      kernel: normalizeKernel({ inputs: [x, row], axis: 1, eps: 1e-5, rms: false }, caps),
      naive: naive(
        2,
        rows,
        `
          let r = i * ${n}u; ${mean} for (var k = 0u; k < ${n}u; k++) {
          b2[r + k] = (b0[r + k] - m) * s * b1[k]; }
        `,
      ),
    },
    {
      name: `layerNorm backward [${rows},${n}]`,
      sizes: [size, size, n, size],
      work: 12 * size,
      unit: "GB/s",
      kernel: normalizeBackwardKernel(
        { inputs: [x, x, row], axis: 1, eps: 1e-5, rms: false },
        caps,
      ),
      naive: naive(
        3,
        rows,
        `
          let r = i * ${n}u; ${mean} var f = 0.0; var t = 0.0; for (var k = 0u; k < ${n}u; k++) {
          let g = b1[r + k] * b2[k]; f += g; t += g * (b0[r + k] - m) * s; } f /= ${n}.0;
          t /= ${n}.0; for (var k = 0u; k < ${n}u; k++) {
          b3[r + k] = s * (b1[r + k] * b2[k] - f - (b0[r + k] - m) * s * t); }
        `,
      ),
    },
    {
      name: `softmax backward [${rows},${n}]`,
      sizes: [size, size, size],
      work: 12 * size,
      unit: "GB/s",
      kernel: softmaxBackwardKernel({ output: x, grad: x, axis: 1, log: false }, caps),
      naive: naive(
        2,
        rows,
        `
          let r = i * ${n}u; var t = 0.0; for (var k = 0u; k < ${n}u; k++) {
          t += b0[r + k] * b1[r + k]; } for (var k = 0u; k < ${n}u; k++) {
          b2[r + k] = b0[r + k] * (b1[r + k] - t); }
        `,
      ),
    },
  ];
}

/** The weights of causal attention over `heads` of `n` positions. */
export function attentionCase(caps: DeviceCaps, heads: number, n: number): Case {
  const shape = [heads, n, n];
  return {
    name: `attention weights [${shape.join()}] causal`,
    sizes: [heads * n * n, heads * n * n],
    work: 8 * heads * n * n,
    unit: "GB/s",
    kernel: attentionWeightsKernel({ scores: view(shape), scale: 0.25, causal: true }, caps),
    naive: naive(
      1,
      heads * n,
      `
        let r = i * ${n}u; let q = i % ${n}u; var m = -1e30; for (var k = 0u; k <= q; k++) {
        m = max(m, b0[r + k] * 0.25); } var s = 0.0; for (var k = 0u; k <= q; k++) {
        s += exp(b0[r + k] * 0.25 - m); } for (var k = 0u; k < ${n}u; k++) {
        b1[r + k] = select(exp(b0[r + k] * 0.25 - m) / s, 0.0, k > q); }
      `,
    ),
  };
}

/** Attention of `heads` × `n` queries and keys of `e` features, and its gradients. */
export function flashCases(caps: DeviceCaps, heads: number, n: number, e: number): Case[] {
  const x = view([heads, n, e]),
    rows = view([heads, n, 2]),
    size = heads * n * e,
    spec = { query: x, key: x, value: x, scale: 0.125, causal: false, dropout: false },
    inputs = [size, size, size],
    label = `[${[heads, n, e].join()}]`;
  const forward = `
    let keys = (i / ${n}u) * ${n * e}u; var o = array<f32, ${e}>(); var m = -1e30; var t = 0.0;
    for (var k = 0u; k < ${n}u; k++) {
      var s = 0.0; let key = keys + k * ${e}u;
      for (var f = 0u; f < ${e}u; f++) { s += b0[i * ${e}u + f] * b1[key + f]; }
      let top = max(m, s * 0.125); let c = exp(m - top); let w = exp(s * 0.125 - top);
      m = top; t = t * c + w;
      for (var f = 0u; f < ${e}u; f++) { o[f] = o[f] * c + w * b2[key + f]; }
    }
    for (var f = 0u; f < ${e}u; f++) { b3[i * ${e}u + f] = o[f] / t; }
    b4[i] = m + log(t);
  `;
  const products = (count: number): Pick<Case, "work" | "unit"> => ({
    work: 2 * count * size * n,
    unit: "GFLOP/s",
  });
  return [
    {
      name: `attention ${label}`,
      sizes: [...inputs, size, heads * n],
      ...products(2),
      kernel: flashKernel(spec, caps),
      naive: naive(3, heads * n, forward, 2),
    },
    {
      name: `attention backward query ${label}`,
      sizes: [...inputs, size, 2 * heads * n, size],
      ...products(3),
      kernel: flashQueryGradKernel({ ...spec, grad: x, rows }, caps),
    },
    {
      name: `attention backward key and value ${label}`,
      sizes: [...inputs, size, 2 * heads * n, size, size],
      ...products(4),
      kernel: flashKeyGradKernel({ ...spec, grad: x, rows }, caps),
    },
  ];
}

/** The sum over an axis of a matrix. */
export const sumCase = (
  caps: DeviceCaps,
  shape: readonly [number, number],
  axis: number,
): Case => ({
  name: `sum [${shape.join()}] over ${axis}`,
  sizes: [sizeOf(shape), shape[1 - axis]!],
  work: 4 * sizeOf(shape),
  unit: "GB/s",
  kernel: reduceKernel({ op: "sum", input: view(shape), axes: [axis], outDtype: "float32" }, caps),
  naive: naive(
    1,
    shape[1 - axis]!,
    `var s = 0.0;
    for (var k = 0u; k < ${shape[axis]}u; k++) {
      s += b0[${axis === 0 ? `k * ${shape[1]}u + i` : `i * ${shape[1]}u + k`}];
    }
    b1[i] = s;`,
  ),
});

/** A softmax over `rows` of `n` elements. */
export const softmaxCase = (caps: DeviceCaps, rows: number, n: number): Case => ({
  name: `softmax [${rows},${n}]`,
  sizes: [rows * n, rows * n],
  work: 8 * rows * n,
  unit: "GB/s",
  kernel: softmaxKernel({ input: view([rows, n]), axis: 1, log: false }, caps),
  naive: naive(
    1,
    rows,
    `
      let r = i * ${n}u; var m = -1e30; for (var k = 0u; k < ${n}u; k++) { m = max(m, b0[r + k]);
      } var s = 0.0; for (var k = 0u; k < ${n}u; k++) { s += exp(b0[r + k] - m); }
      for (var k = 0u; k < ${n}u; k++) { b1[r + k] = exp(b0[r + k] - m) / s; }
    `,
  ),
});
